package sql

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// describeViews reads the columns of the current database, which is the project's.
const describeViews = `SELECT t.name, t.comment, c.name, c.type, c.comment
FROM system.tables AS t INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name
WHERE t.database = currentDatabase() AND c.database = currentDatabase()
	AND NOT startsWith(t.name, 'system_') AND NOT startsWith(t.name, 'information_schema_') ORDER BY t.name, c.position`

// schema answers GET /sql/schema by a statement of ours, which no check would let through.
func (r *Runner) schema(c *gin.Context) error {
	ctx := c.Request.Context()
	if !r.cfg.Enabled || r.cfg.ClickHouseURL == "" {
		return domain.E(domain.NotFound, "SQL is not available here: sql.enabled and sql.clickhouse_url.")
	}
	resp, err := r.send(ctx, r.of(ctx, ""), describeViews, "JSONCompactEachRow", r.file())
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	reply := schemaReply{Views: []SchemaView{}}
	rows := json.NewDecoder(resp.Body)
	for {
		var row [5]string
		if err := rows.Decode(&row); err == io.EOF {
			break
		} else if err != nil {
			return domain.Wrap(domain.Unavailable, err, "ClickHouse did not reply.")
		}
		if n := len(reply.Views); n == 0 || reply.Views[n-1].Name != row[0] {
			reply.Views = append(reply.Views, SchemaView{Name: row[0], Comment: row[1]})
		}
		last := &reply.Views[len(reply.Views)-1]
		last.Columns = append(last.Columns, SchemaColumn{row[2], row[3], row[4]})
	}
	if len(reply.Views) < len(schema.ViewNames()) {
		return domain.E(domain.Unavailable, "The views of this project are not made yet.")
	}
	c.JSON(http.StatusOK, reply)
	return nil
}
