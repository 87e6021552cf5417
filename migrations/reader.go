package migrations

import (
	"fmt"
	"strings"
	"time"

	"colonnade/migrations/schema"
)

// ReaderLimits bounds the statements of the read side's user. A statement may lower
// them and not raise them.
type ReaderLimits struct {
	Timeout     time.Duration
	MemoryBytes int64
}

// readerName is the name of the user and of its profile.
const readerName = "colonnade_reader"

// readerTables returns the tables that reads use.
func readerTables() []string {
	return []string{
		schema.Spans, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.SpanCumulative, schema.TraceIndex, schema.TraceTotals,
		schema.TraceMetrics1m, schema.RollupWatermark, schema.AnnotationIndex, schema.EvaluationIndex, schema.RunResults, schema.AttributeKeys,
		schema.RejectedSpans, schema.SinkProgress, schema.SinkHistory,
	}
}

// ReaderScript returns the statements that create the user of the read side for those
// who administrate ClickHouse: it selects from our tables and does nothing else. The
// deployment names its database.
func ReaderScript(d Deployment, limits ReaderLimits) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+";\n", args...) }
	// readonly = 2 refuses every write and DDL, and lets a statement set its own bounds
	// within the constraints. 0 would lift a bound, so each has a MIN.
	line("CREATE SETTINGS PROFILE IF NOT EXISTS %s%s SETTINGS readonly = 2 CONST, allow_ddl = 0 CONST, allow_introspection_functions = 0 CONST,"+
		" max_execution_time = %[3]d MIN 1 MAX %[3]d, max_memory_usage = %[4]d MIN 1 MAX %[4]d",
		readerName, d.OnCluster(), int64(max(limits.Timeout.Round(time.Second), time.Second).Seconds()), limits.MemoryBytes)
	line("CREATE USER IF NOT EXISTS %s%s IDENTIFIED WITH sha256_password BY 'choose a password' SETTINGS PROFILE '%s'", readerName, d.OnCluster(), readerName)
	for _, table := range readerTables() {
		names := []string{d.Table(table)}
		if local := d.Local(table); local != names[0] {
			names = append(names, local)
		}
		for _, name := range names {
			line("GRANT%s SELECT ON %s TO %s", d.OnCluster(), name, readerName)
		}
	}
	line("GRANT%s SELECT ON system.data_skipping_indices TO %s", d.OnCluster(), readerName)
	return b.String()
}
