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

// patches let a DELETE write a small patch at once. Without block numbers and
// offsets it rewrites parts, and waits for every merge under way to do so.
const patches = "enable_block_number_column = 1, enable_block_offset_column = 1, "

// serialRemoval removes up to 10 000 merged parts with one thread. They go in sweeps of
// a hundred and more, which ClickHouse removes with 128 threads: on two cores every
// page waited 0.1 to 0.5 s for them, once or twice a minute beside 2 500 spans/s.
const serialRemoval = "concurrent_part_removal_threshold = 10000, "

// settings returns the settings that every table shares. Without a window (0 is the
// default of plain MergeTree) the token of an insert would be forgotten at once.
func settings(d Deployment) string {
	window := d.DeduplicationWindow
	if window == 0 {
		window = schema.DefaultDeduplicationWindow
	}
	const shared = noStatistics + patches + serialRemoval
	if d.Replicated {
		return shared + "replicated_deduplication_window = " + strconv.Itoa(window) + ", replicated_deduplication_window_seconds = 604800"
	}
	return shared + "non_replicated_deduplication_window = " + strconv.Itoa(window)
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

// payload is a payload of a row of span_payloads_packed, as the view for people shows it.
type payload struct{ Name, Expression string }

func payloads() (out []payload) {
	for _, name := range schema.PayloadNames() {
		out = append(out, payload{name, schema.PayloadExpression(name)})
	}
	return out
}

// render returns the text of a file for a deployment.
func render(d Deployment, f file) (string, error) {
	t, err := template.New(f.name).Option("missingkey=error").Funcs(template.FuncMap{
		"table":            d.Local,
		"whole":            d.Table,
		"on_cluster":       d.OnCluster,
		"engine":           func(name string, args ...string) string { return engine(d, name, args...) },
		"settings":         func() string { return settings(d) },
		"distributed":      func(name, shard string) string { return distributed(d, name, shard) },
		"attribute_values": func() string { return schema.AttributeValues },
		"payloads":         payloads,
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
