package statements

import (
	"math"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// NextRollupMinute returns the statement that asks for the first minute with spans, in an
// order from a start on (Unix microseconds), as far as the rollup reaches. Its row is the
// minute in Unix seconds, Int64, 0 for none.
func NextRollupMinute(project domain.ProjectID, from int64, order domain.Order) sqltext.Statement {
	end, beyond := "max", "<="
	if order == domain.Ascending {
		end, beyond = "min", ">="
	}
	second := min(max(from/1_000_000, 0), math.MaxUint32) / 60 * 60 // what a DateTime holds
	w := new(sqltext.Writer)
	w.Put("SELECT toInt64(toUnixTimestamp("+end+"(minute))) FROM "+schema.TraceMetrics1m+" WHERE project_id = ? AND minute "+beyond+" toDateTime("+strconv.FormatInt(second, 10)+", 'UTC')", project.String())
	return w.Statement()
}

// RootsPerMinute returns the statement that asks how many roots started in each minute from
// low to high (Unix seconds, high exclusive), which is the root rate where a list begins.
// Its rows are the minute, Unix
// seconds, Int64, the trace type and the number, UInt64; minutes without spans have none.
func RootsPerMinute(project domain.ProjectID, low, high int64) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT toInt64(toUnixTimestamp(minute)), toUInt8(trace_type), argMax(roots, version) FROM "+schema.TraceMetrics1m+
		" WHERE project_id = ? AND minute >= toDateTime(?, 'UTC') AND minute < toDateTime(?, 'UTC') GROUP BY minute, trace_type",
		project.String(), low, high)
	return w.Statement()
}

// Granules returns the statement that asks for the granules with rows of some types before a
// start, newest first: a row for each granule, with the start of its first row, Unix
// microseconds, Int64, and its number of rows, UInt64; at most most of them, from the week of
// the start and the week before. ClickHouse answers from the primary index in memory, which has
// the rows of the last insert. On a Distributed table the statement fails. A user who may read
// the columns of the key may run it. Source: ClickHouse, table function mergeTreeIndex.
func Granules(project domain.ProjectID, types []trace.Type, before int64, most int) sqltext.Statement {
	const partition = "20060102" // how a week begins the names of its parts
	week := order.Monday(before)
	last := week.AddDate(0, 0, -7)
	w := new(sqltext.Writer)
	w.Put("SELECT toUnixTimestamp64Micro(start_time), rows_in_granule FROM mergeTreeIndex(currentDatabase(), "+schema.Spans+
		") WHERE (startsWith(part_name, ?) OR startsWith(part_name, ?)) AND project_id = ? AND ", week.Format(partition)+"_", last.Format(partition)+"_", project.String())
	sqltext.Among("trace_type", sqltext.Names(types)).Write(w, nil)
	w.Put(" AND start_time >= "+sqltext.TimeLiteral(last.UnixMicro())+" AND start_time < "+sqltext.TimeLiteral(before)+" AND rows_in_granule > 0 ORDER BY start_time DESC LIMIT ?", most)
	return w.Statement()
}
