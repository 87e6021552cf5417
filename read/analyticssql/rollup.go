package analyticssql

import (
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/sqltext"
)

// Rollup asks trace_metrics_1m for the metrics of the roots of whole minutes. The table has
// the values themselves, so that percentiles are those of the spans.
// Source: migrations/clickhouse/0001_schema.sql.
type Rollup struct {
	Project domain.ProjectID
	// Types are the trace types to take.
	Types []trace.Type
	// Low and High bound the minutes, in Unix seconds: both begin one, High is exclusive.
	Low, High int64
	// Origin and Width make the buckets as in Analysis, microseconds.
	Origin, Width int64
	// Columns are those of RollupColumn, without repetition.
	Columns []string
}

// RollupColumn returns the column of trace_metrics_1m with the values of a measure of roots.
func RollupColumn(m Measure) (column string, ok bool) {
	path := jsonvalue.JoinPath(m.Keys...)
	switch {
	case m.Kind == Numbers && filtersql.Cumulative(path):
		return strings.TrimPrefix(total(m.Keys), "total_"), true
	case m.Kind == Numbers && path == "ag.metrics.duration.cumulative":
		return "duration", true
	case m.Kind == Strings && path == schema.TraceTypePath:
		return "trace_types", true
	case m.Kind == Strings && path == schema.SpanTypePath:
		return "span_types", true
	default:
		return "", false
	}
}

// RollupWatermark returns the statement that asks up to which write the table is complete.
// Its row is the watermark in Unix microseconds, Int64, 0 for none.
func RollupWatermark() sqltext.Statement {
	return sqltext.Statement{SQL: "SELECT toInt64(max(version)) FROM " + schema.RollupWatermark + " WHERE rollup = '" + schema.TraceMetrics1m + "'"}
}

// WrittenSince returns the statement that asks for the time ranges of the traces that were
// written since a watermark. Its rows are the first and the last start, Int64, in Unix seconds.
func WrittenSince(project domain.ProjectID, claim int64) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT DISTINCT intDiv(toUnixTimestamp64Micro(min(min_start)), 60000000) * 60 AS first, intDiv(toUnixTimestamp64Micro(max(max_start)), 60000000) * 60 AS last FROM "+schema.TraceIndex+
		" WHERE project_id = ? AND trace_id IN (SELECT trace_id FROM "+schema.TraceIndex+" WHERE project_id = ? AND last_write_at >= fromUnixTimestamp64Micro(?, 'UTC')) GROUP BY trace_id ORDER BY first, last",
		project.String(), project.String(), claim)
	return w.Statement()
}

// Values returns the statement. Its rows are bucket Int64, an Array(Int64) of the
// minutes (Unix seconds) that the rollup does not decide, the number of roots UInt64
// without those minutes, and for each column the columns of Numbers or Strings. without
// are ranges of minutes, ends included, to exclude.
func (m Rollup) Values(without [][2]int64) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT intDiv(toInt64(toUnixTimestamp(minute)) * 1000000 - ?, ?) AS bucket, groupArrayIf(toInt64(toUnixTimestamp(minute)), bad), sumIf(all_roots, NOT bad)", m.Origin, m.Width)
	for i, column := range m.Columns {
		name := "c" + strconv.Itoa(i)
		if column == "trace_types" || column == "span_types" {
			w.Put(", sumMapIf(" + name + ", NOT bad)")
		} else {
			w.Put(", arrayStringConcat(arrayMap(x -> concat(reinterpretAsFixedString(x), ''), groupArrayArrayIf(" + name + ", NOT bad)))")
		}
	}
	w.Put(" FROM (SELECT minute, max(needs_rebuild OR undecided > 0) AS bad, sum(roots) AS all_roots")
	for i, column := range m.Columns {
		name := " AS c" + strconv.Itoa(i)
		switch column {
		case "trace_types":
			w.Put(", sumMap(if(roots > 0, map(toString(trace_type), roots), CAST(map(), 'Map(String, UInt64)')))" + name)
		case "span_types":
			w.Put(", sumMap(CAST(span_types, 'Map(String, UInt64)'))" + name)
		default:
			w.Put(", groupArrayArray(" + column + ")" + name)
		}
	}
	w.Put(" FROM "+schema.TraceMetrics1m+" FINAL WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC')", m.Project.String(), m.Low, m.High)
	w.Put(" AND ")
	sqltext.Among("trace_type", sqltext.Names(m.Types)).Write(w, nil)
	for _, s := range without {
		w.Put(" AND NOT (minute BETWEEN toDateTime(?, 'UTC') AND toDateTime(?, 'UTC'))", s[0], s[1])
	}
	w.Put(" GROUP BY minute) GROUP BY bucket ORDER BY bucket")
	return w.Statement()
}
