// What a BI tool asks through JDBC: the schemas, the tables with their columns, and a result.
// Prints a line for each. The arguments are the address of the listener and the API key.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.Properties;

public class Tables {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "default");
        properties.setProperty("password", args[1]);
        try (Connection connection = DriverManager.getConnection("jdbc:clickhouse://" + args[0], properties)) {
            String schema;
            try (ResultSet schemas = connection.getMetaData().getSchemas()) {
                schemas.next();
                schema = schemas.getString("TABLE_SCHEM");
                System.out.println("schema " + schema + " more " + schemas.next());
            }
            try (ResultSet tables = connection.getMetaData().getTables(null, schema, "%", null)) {
                while (tables.next()) {
                    System.out.println("table " + tables.getString("TABLE_NAME") + " " + tables.getString("TABLE_TYPE"));
                }
            }
            try (ResultSet columns = connection.getMetaData().getColumns(null, schema, "traces", "%")) {
                while (columns.next()) {
                    System.out.println("column " + columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME"));
                }
            }
            String text = "SELECT application, count() AS traces, sum(cost) AS cost FROM \"" + schema + "\".\"traces\" WHERE trace_type = ? GROUP BY application ORDER BY application";
            try (PreparedStatement statement = connection.prepareStatement(text)) {
                statement.setString(1, "invocation");
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        System.out.println("row " + rows.getString(1) + " " + rows.getLong(2) + " " + rows.getDouble(3));
                    }
                }
            }
            try (ResultSet rows = connection.createStatement().executeQuery("SELECT name FROM system.query_log")) {
                System.out.println("refused false");
            } catch (java.sql.SQLException e) {
                System.out.println("refused true " + e.getErrorCode());
            }
        }
    }
}
