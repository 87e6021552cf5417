package migrations

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"colonnade/migrations/schema"
)

// Deployment says on what kind of ClickHouse the tables stand.
type Deployment = schema.Deployment

func literal(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(s) + "'"
}

// engine renders an engine with its arguments.
func engine(d Deployment, name string, args ...string) string {
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

// noStatistics keeps inserts and merges from counting distinct values of every
// column for a planner whose choices we make ourselves: that was a third of
// the store's work for a span (54 against 38 us of CPU).
const noStatistics = "auto_statistics_types = '', "

// fineSpans are settings of spans that only a table which is made can get: ClickHouse changes the
// rows in a granule of no table that is there. They are therefore no file of their own, and not in
// the file that makes the table, which was released without them; a table from before keeps
// granules of 8 192 rows and is read all the same. A page of any moment wants some fifty rows of
// two thousand that started then: of what is read for it, most came with them.
const fineSpans = "index_granularity = 1024, min_compress_block_size = 16384, "

// settings are those that every table shares, and those of one. Without a window (0 is the
// default of plain MergeTree) an insert's token would be forgotten at once.
// Block numbers and offsets let a DELETE write a small patch at once; without
// them it rewrites parts, and waits for every merge under way to do so.
func settings(d Deployment, table string) string {
	own := ""
	if table == schema.Spans {
		own = fineSpans
	}
	window := d.DeduplicationWindow
	if window == 0 {
		window = schema.DefaultDeduplicationWindow
	}
	const patches = "enable_block_number_column = 1, enable_block_offset_column = 1, "
	if d.Replicated {
		return own + noStatistics + patches + "replicated_deduplication_window = " + strconv.Itoa(window) + ", replicated_deduplication_window_seconds = 604800"
	}
	return own + noStatistics + patches + "non_replicated_deduplication_window = " + strconv.Itoa(window)
}

// distributed renders the statement that makes the Distributed table of a
// cluster, nothing on one node. shard must send all rows that can replace or
// delete each other to one shard.
func distributed(d Deployment, name, shard string) string {
	if d.Cluster == "" {
		return ""
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s%s AS %s\nENGINE = Distributed(%s, %s, %s, %s);",
		d.Table(name), d.OnCluster(), d.Local(name), literal(d.Cluster), database(d), literal(name+"_local"), shard)
}

// database is the tables' database as an expression.
func database(d Deployment) string {
	if d.Database == "" {
		return "currentDatabase()"
	}
	return literal(d.Database)
}

// alter renders a change of a table's columns: also of the Distributed table,
// where there is one, and of that after the tables it reads.
func alter(d Deployment, name, change string) string {
	text := fmt.Sprintf("ALTER TABLE %s%s %s;", d.Local(name), d.OnCluster(), change)
	if d.Cluster != "" {
		text += fmt.Sprintf("\nALTER TABLE %s%s %s;", d.Table(name), d.OnCluster(), change)
	}
	return text
}

// render gives a file's text for a deployment.
func render(d Deployment, f file) (string, error) {
	table := "" // the last one named: a CREATE names its own before its settings
	t, err := template.New(f.name).Option("missingkey=error").Funcs(template.FuncMap{
		"table":       func(name string) string { table = name; return d.Local(name) },
		"whole":       d.Table,
		"on_cluster":  d.OnCluster,
		"engine":      func(name string, args ...string) string { return engine(d, name, args...) },
		"settings":    func() string { return settings(d, table) },
		"distributed": func(name, shard string) string { return distributed(d, name, shard) },
		"alter":       func(name, change string) string { return alter(d, name, change) },
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
		text, err := render(d, f)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}
