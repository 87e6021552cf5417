package compile

import (
	"math"
	"strconv"
	"strings"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// Minutes asks trace_metrics_1m for what the roots of whole minutes measure. The
// table holds values, so that what is made of them is what is made of the spans.
// Source: migrations/clickhouse/0001_schema.sql.
type Minutes struct {
	Project domain.ProjectID
	// Types are the trace types to take.
	Types []trace.Type
	// Low and High bound the minutes, in Unix seconds: both begin one, High is exclusive.
	Low, High int64
	// Origin and Width make the buckets as in Analysis, microseconds.
	Origin, Width int64
	// Columns are those of MinuteColumn, without repetition.
	Columns []string
}

// MinuteColumn gives the column of trace_metrics_1m that holds what a measure takes of roots.
func MinuteColumn(m Measure) (column string, ok bool) {
	path := jsonvalue.JoinPath(m.Keys...)
	switch {
	case m.Gather == Numbers && computed(path):
		return strings.TrimPrefix(total(m.Keys), "total_"), true
	case m.Gather == Numbers && path == "ag.metrics.duration.cumulative":
		return "duration", true
	case m.Gather == Strings && path == traceTypePath:
		return "trace_types", true
	case m.Gather == Strings && path == spanTypePath:
		return "span_types", true
	default:
		return "", false
	}
}

// MinuteClaim asks up to when the table holds all that was touched. Its row is
// the claim in Unix microseconds, Int64, 0 for none.
func MinuteClaim() Statement {
	return Statement{SQL: "SELECT toInt64(max(version)) FROM " + schema.RollupWatermark + " WHERE rollup = '" + schema.TraceMetrics1m + "'"}
}

// Unclaimed asks for the stretches of time into which traces reach that were
// touched since a claim. Its rows are the first and the last start, Int64, in Unix seconds.
func Unclaimed(project domain.ProjectID, claim int64) Statement {
	w := new(writer)
	w.put("SELECT DISTINCT intDiv(toUnixTimestamp64Micro(min(min_start)), 60000000) * 60 AS first, intDiv(toUnixTimestamp64Micro(max(max_start)), 60000000) * 60 AS last FROM "+schema.TraceIndex+
		" WHERE project_id = ? AND trace_id IN (SELECT trace_id FROM "+schema.TraceIndex+" WHERE project_id = ? AND last_write_at >= fromUnixTimestamp64Micro(?, 'UTC')) GROUP BY trace_id ORDER BY first, last",
		project.String(), project.String(), claim)
	return w.statement()
}

// NextMinute asks for the first minute that has spans, in an order from a start
// on (Unix microseconds), as far as statistics were made. Its row is the minute
// in Unix seconds, Int64, 0 for none.
func NextMinute(project domain.ProjectID, from int64, order domain.Order) Statement {
	end, beyond := "max", "<="
	if order == domain.Ascending {
		end, beyond = "min", ">="
	}
	second := min(max(from/1_000_000, 0), math.MaxUint32) / 60 * 60 // what a DateTime holds
	w := new(writer)
	w.put("SELECT toInt64(toUnixTimestamp("+end+"(minute))) FROM "+schema.TraceMetrics1m+" WHERE project_id = ? AND minute "+beyond+" toDateTime("+strconv.FormatInt(second, 10)+", 'UTC')", project.String())
	return w.statement()
}

// Roots asks how many roots started in each minute of a stretch, bounded as Minutes is, so
// that a list knows how dense spans are where it begins. Its rows are the minute, Unix
// seconds, Int64, the trace type and the number, UInt64; minutes without spans have none.
func Roots(project domain.ProjectID, low, high int64) Statement {
	w := new(writer)
	w.put("SELECT toInt64(toUnixTimestamp(minute)), toUInt8(trace_type), argMax(roots, version) FROM "+schema.TraceMetrics1m+
		" WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC') GROUP BY minute, trace_type",
		project.String(), low, high)
	return w.statement()
}

// Granules asks where the rows of some types before a start are, newest first: a row for each
// granule, of its first row's start, Unix microseconds, Int64, and how many rows it has, UInt64;
// most of them at most, from the week of the start and the one before. The store answers from
// the primary index, which it has in memory, and so knows of what was stored a moment ago. It
// does so for tables of its own: on a Distributed one the statement fails. Who may read the
// key's columns may ask, a read-only user too. Source: ClickHouse, table function mergeTreeIndex.
func Granules(project domain.ProjectID, types []trace.Type, before int64, most int) Statement {
	const partition = "20060102" // how a week begins the names of its parts
	week := monday(before)
	last := week.AddDate(0, 0, -7)
	w := new(writer)
	w.put("SELECT toUnixTimestamp64Micro(start_time), rows_in_granule FROM mergeTreeIndex(currentDatabase(), "+schema.Spans+
		") WHERE (startsWith(part_name, ?) OR startsWith(part_name, ?)) AND project_id = ? AND ", week.Format(partition)+"_", last.Format(partition)+"_", project.String())
	among("trace_type", words(types)).write(w, nil)
	w.put(" AND start_time >= "+momentOf(last.UnixMicro())+" AND start_time < "+momentOf(before)+" AND rows_in_granule > 0 ORDER BY start_time DESC LIMIT ?", most)
	return w.statement()
}

// Values is the statement. Its rows are bucket Int64, an Array(Int64) of the
// minutes (Unix seconds) that cannot serve, the number of roots UInt64 without
// theirs, and of each column what Numbers or Strings have. without are stretches
// of minutes, ends included, that are left out.
func (m Minutes) Values(without [][2]int64) Statement {
	w := new(writer)
	w.put("SELECT intDiv(toInt64(toUnixTimestamp(minute)) * 1000000 - ?, ?) AS bucket, groupArrayIf(toInt64(toUnixTimestamp(minute)), bad), sumIf(all_roots, NOT bad)", m.Origin, m.Width)
	for i, column := range m.Columns {
		name := "c" + strconv.Itoa(i)
		if column == "trace_types" || column == "span_types" {
			w.put(", sumMapIf(" + name + ", NOT bad)")
		} else {
			w.put(", arrayStringConcat(arrayMap(x -> concat(reinterpretAsFixedString(x), ''), groupArrayArrayIf(" + name + ", NOT bad)))")
		}
	}
	w.put(" FROM (SELECT minute, max(needs_rebuild OR undecided > 0) AS bad, sum(roots) AS all_roots")
	for i, column := range m.Columns {
		name := " AS c" + strconv.Itoa(i)
		switch column {
		case "trace_types":
			w.put(", sumMap(if(roots > 0, map(toString(trace_type), roots), CAST(map(), 'Map(String, UInt64)')))" + name)
		case "span_types":
			w.put(", sumMap(CAST(span_types, 'Map(String, UInt64)'))" + name)
		default:
			w.put(", groupArrayArray(" + column + ")" + name)
		}
	}
	w.put(" FROM "+schema.TraceMetrics1m+" FINAL WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC')", m.Project.String(), m.Low, m.High)
	w.put(" AND ")
	among("trace_type", words(m.Types)).write(w, nil)
	for _, s := range without {
		w.put(" AND NOT (minute BETWEEN toDateTime(?, 'UTC') AND toDateTime(?, 'UTC'))", s[0], s[1])
	}
	w.put(" GROUP BY minute) GROUP BY bucket ORDER BY bucket")
	return w.statement()
}
