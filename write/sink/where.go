package sink

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/rows"
)

// Conditions on rows, as statements of the sink say them.

// bounds is where rows are: what a statement on the span tables says besides
// ids, so that it touches few parts and ranges. Weeks are days since 1970.
type bounds struct {
	minStart, maxStart int64 // microseconds
	minWeek, maxWeek   uint16
}

func noBounds() bounds {
	return bounds{minStart: math.MaxInt64, maxStart: math.MinInt64, minWeek: math.MaxUint16}
}

func (b *bounds) add(minStart, maxStart int64, minWeek, maxWeek uint16) {
	b.minStart, b.maxStart = min(b.minStart, minStart), max(b.maxStart, maxStart)
	b.minWeek, b.maxWeek = min(b.minWeek, minWeek), max(b.maxWeek, maxWeek)
}

func (b *bounds) join(o bounds) { b.add(o.minStart, o.maxStart, o.minWeek, o.maxWeek) }

// sql is the condition.
func (b *bounds) sql() string {
	return fmt.Sprintf("start_time BETWEEN fromUnixTimestamp64Micro(%d, 'UTC') AND fromUnixTimestamp64Micro(%d, 'UTC') AND partition_week BETWEEN toDate(%d) AND toDate(%d)",
		b.minStart, b.maxStart, b.minWeek, b.maxWeek)
}

// ofTrace is the condition that a row is of the trace.
func ofTrace(k rows.TraceKey) string {
	return fmt.Sprintf("project_id = toUUID('%s') AND trace_id = unhex('%s')", k.Project, k.Trace)
}

// traceList renders traces as the right side of (project_id, trace_id) IN. They
// go as one literal, cut in the store: a tuple for each takes longer to parse
// than to look up, and ten thousand are more than a statement may hold.
func traceList(keys []rows.TraceKey) string {
	ids := native.NewFixed(16)
	for _, k := range keys {
		ids.UUID(k.Project)
		ids.Bytes(k.Trace[:])
	}
	return fmt.Sprintf("(WITH unhex('%x') AS ids SELECT reinterpret(toFixedString(substring(ids, 32 * number + 1, 16), 16), 'UUID'), toFixedString(substring(ids, 32 * number + 17, 16), 16) FROM numbers(%d))",
		ids.Raw(), len(keys))
}

// placed gives conditions by which the rows of traces are found where the index
// says that they are: one for those that lie close together.
func placed(keys []rows.TraceKey, index map[rows.TraceKey]indexed) (conditions []string) {
	keys = slices.SortedFunc(slices.Values(keys), func(a, b rows.TraceKey) int { return cmp.Compare(index[a].minStart, index[b].minStart) })
	for len(keys) > 0 {
		n, where := 1, index[keys[0]].bounds
		for ; n < min(len(keys), tracesAtOnce); n++ {
			wider := where
			if wider.join(index[keys[n]].bounds); wider.maxStart-wider.minStart > conditionSpread.Microseconds() {
				break
			}
			where = wider
		}
		conditions = append(conditions, ofTraces(keys[:n])+" AND "+where.sql())
		keys = keys[n:]
	}
	return conditions
}

// tracesAtOnce bounds the traces that one condition names.
const tracesAtOnce = 500

// ofTraces is the condition that a row is of one of these traces, as literals: a
// DELETE on replicas refuses subqueries. An OR of one condition for each takes
// the store three times as long for 64 traces, most of it to plan.
func ofTraces(keys []rows.TraceKey) string {
	var b strings.Builder
	b.WriteString("project_id IN " + projectList(keys) + " AND (project_id, trace_id) IN (")
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("('" + k.Project.String() + "'," + bytesLiteral(k.Trace[:]) + ")")
	}
	b.WriteByte(')')
	return b.String()
}

// bytesLiteral is a literal of these bytes.
func bytesLiteral(raw []byte) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range raw {
		fmt.Fprintf(&b, "\\x%02x", c)
	}
	b.WriteByte('\'')
	return b.String()
}

// timeLiteral is a literal of microseconds since 1970: a list of calls of a
// function is soon more than a statement may hold.
func timeLiteral(us int64) string {
	return "'" + time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000") + "'"
}

// projectList renders the projects of traces as the right side of project_id IN.
func projectList(keys []rows.TraceKey) string {
	seen := map[domain.ProjectID]bool{}
	var b strings.Builder
	for _, k := range keys {
		if seen[k.Project] {
			continue
		}
		if len(seen) > 0 {
			b.WriteByte(',')
		}
		seen[k.Project] = true
		b.WriteString("toUUID('" + k.Project.String() + "')")
	}
	return "(" + b.String() + ")"
}

const (
	// conditionSpread is the range of starts that one condition covers: traces of
	// one moment share the granules they are read from.
	conditionSpread = 10 * time.Minute
	// conditionsAtOnce bounds the conditions of one statement.
	conditionsAtOnce = 64
	// conditionBytes bounds their length: ON CLUSTER a DELETE is a node of Keeper,
	// which holds a megabyte.
	conditionBytes = 256 << 10
)

// anyOf joins conditions into those of as few statements as they fit in.
func anyOf(conditions []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(conditions) > 0 {
			n, size := 0, 0
			for n < len(conditions) && n < conditionsAtOnce && (n == 0 || size+len(conditions[n]) <= conditionBytes) {
				size += len(conditions[n])
				n++
			}
			if !yield("(" + strings.Join(conditions[:n], ") OR (") + ")") {
				return
			}
			conditions = conditions[n:]
		}
	}
}
