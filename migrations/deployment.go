package migrations

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// Deployment says on what kind of ClickHouse the tables stand. The zero value
// is one node. Queries and inserts are the same text on all of them; only DDL
// and deletes differ. Source: design §4, embedded.md (d).
type Deployment struct {
	// Database qualifies the tables; empty means that of the connection.
	Database string
	// Cluster names the cluster of ON CLUSTER and of the Distributed tables;
	// empty means that there is none.
	Cluster string
	// Replicated takes the Replicated engines. Their paths use the servers'
	// macros {shard} and {replica}.
	Replicated bool
	// DeduplicationWindow is the number of inserted blocks that each table
	// remembers by their tokens; 0 means DefaultDeduplicationWindow.
	DeduplicationWindow int
}

// DefaultDeduplicationWindow covers about half an hour of a busy sink. A
// replay that comes later finds its rows by their versions (write/sink).
const DefaultDeduplicationWindow = 10_000

// Table is a table's quoted name as queries and inserts use it: on a cluster
// the Distributed one.
func (d Deployment) Table(name string) string {
	if d.Database == "" {
		return quote(name)
	}
	return quote(d.Database) + "." + quote(name)
}

// Local is the quoted name of the table that holds rows on each node; DELETE
// and ALTER address it.
func (d Deployment) Local(name string) string {
	if d.Cluster != "" {
		name += "_local"
	}
	return d.Table(name)
}

// OnCluster is the clause that makes a statement run on every node, with a
// blank before it; empty on one node.
func (d Deployment) OnCluster() string {
	if d.Cluster == "" {
		return ""
	}
	return " ON CLUSTER " + quote(d.Cluster)
}

func quote(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

func literal(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(s) + "'"
}

// engine renders an engine with its arguments.
func (d Deployment) engine(name string, args ...string) string {
	if d.Replicated {
		// The server puts shard, database, table and replica in: one path
		// for each shard's copy of each table.
		args = append([]string{"'/clickhouse/tables/{shard}/{database}/{table}'", "'{replica}'"}, args...)
		name = "Replicated" + name
	}
	if len(args) == 0 {
		return name
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// settings are those that every table shares: without a window (0 is the
// default of plain MergeTree) an insert's token would be forgotten at once.
func (d Deployment) settings() string {
	window := d.DeduplicationWindow
	if window == 0 {
		window = DefaultDeduplicationWindow
	}
	if d.Replicated {
		return "replicated_deduplication_window = " + strconv.Itoa(window) + ", replicated_deduplication_window_seconds = 604800"
	}
	return "non_replicated_deduplication_window = " + strconv.Itoa(window)
}

// distributed renders the statement that makes the Distributed table of a
// cluster, nothing on one node. shard must send all rows that can replace or
// delete each other to one shard.
func (d Deployment) distributed(name, shard string) string {
	if d.Cluster == "" {
		return ""
	}
	database := "currentDatabase()"
	if d.Database != "" {
		database = literal(d.Database)
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s%s AS %s\nENGINE = Distributed(%s, %s, %s, %s);",
		d.Table(name), d.OnCluster(), d.Local(name), literal(d.Cluster), database, literal(name+"_local"), shard)
}

// render gives a file's text for this deployment.
func (d Deployment) render(f file) (string, error) {
	t, err := template.New(f.name).Option("missingkey=error").Funcs(template.FuncMap{
		"table":       d.Local,
		"on_cluster":  d.OnCluster,
		"engine":      d.engine,
		"settings":    d.settings,
		"distributed": d.distributed,
	}).Parse(f.text)
	if err != nil {
		return "", fmt.Errorf("migrations: parse %s: %w", f.name, err)
	}
	var out strings.Builder
	if err := t.Execute(&out, nil); err != nil {
		return "", fmt.Errorf("migrations: render %s: %w", f.name, err)
	}
	return out.String(), nil
}

// Script is all ClickHouse migrations rendered for a deployment, for those
// who apply them by other means.
func Script(d Deployment) (string, error) {
	all, err := read(files, "clickhouse")
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range all {
		text, err := d.render(f)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}
