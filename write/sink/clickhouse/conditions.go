package clickhouse

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/rows"
)

// Bounds is the range of starts and partitions in which rows are. A statement names it
// beside the ids, so that it reads few parts and granules. Weeks are days since 1970.
type Bounds struct {
	MinStart, MaxStart                 int64 // microseconds
	MinPartitionWeek, MaxPartitionWeek uint16
}

// NoBounds returns the empty range.
func NoBounds() Bounds {
	return Bounds{MinStart: math.MaxInt64, MaxStart: math.MinInt64, MinPartitionWeek: math.MaxUint16}
}

// Add extends the range.
func (b *Bounds) Add(minStart, maxStart int64, minWeek, maxWeek uint16) {
	b.MinStart, b.MaxStart = min(b.MinStart, minStart), max(b.MaxStart, maxStart)
	b.MinPartitionWeek, b.MaxPartitionWeek = min(b.MinPartitionWeek, minWeek), max(b.MaxPartitionWeek, maxWeek)
}

func (b *Bounds) join(o Bounds) {
	b.Add(o.MinStart, o.MaxStart, o.MinPartitionWeek, o.MaxPartitionWeek)
}

// SQL returns the condition that a row is within the bounds.
func (b *Bounds) SQL() string {
	return fmt.Sprintf("start_time BETWEEN fromUnixTimestamp64Micro(%d, 'UTC') AND fromUnixTimestamp64Micro(%d, 'UTC') AND partition_week BETWEEN toDate(%d) AND toDate(%d)",
		b.MinStart, b.MaxStart, b.MinPartitionWeek, b.MaxPartitionWeek)
}

// OfTrace returns the condition that a row is of the trace.
func OfTrace(k rows.TraceKey) string {
	return fmt.Sprintf("project_id = toUUID('%s') AND trace_id = unhex('%s')", k.Project, k.Trace)
}

// TraceList returns traces as the right side of (project_id, trace_id) IN. They are one
// literal that ClickHouse splits: one tuple for each takes longer to parse than to look
// up, and ten thousand tuples exceed the limits of a statement.
func TraceList(keys []rows.TraceKey) string {
	ids := native.NewFixed(16)
	for _, k := range keys {
		ids.UUID(k.Project)
		ids.Bytes(k.Trace[:])
	}
	return fmt.Sprintf("(WITH unhex('%x') AS ids SELECT reinterpret(toFixedString(substring(ids, 32 * number + 1, 16), 16), 'UUID'), toFixedString(substring(ids, 32 * number + 17, 16), 16) FROM numbers(%d))",
		ids.Raw(), len(keys))
}

// Conditions returns conditions that find the rows of traces within their bounds, one
// condition for all traces that are close together.
func Conditions(keys []rows.TraceKey, of func(rows.TraceKey) Bounds) (conditions []string) {
	keys = slices.SortedFunc(slices.Values(keys), func(a, b rows.TraceKey) int { return cmp.Compare(of(a).MinStart, of(b).MinStart) })
	for len(keys) > 0 {
		n, where := 1, of(keys[0])
		for ; n < min(len(keys), TracesAtOnce); n++ {
			wider := where
			if wider.join(of(keys[n])); wider.MaxStart-wider.MinStart > conditionSpread.Microseconds() {
				break
			}
			where = wider
		}
		conditions = append(conditions, OfTraces(keys[:n])+" AND "+where.SQL())
		keys = keys[n:]
	}
	return conditions
}

// TracesAtOnce bounds the traces that one condition names.
const TracesAtOnce = 500

// OfTraces returns the condition that a row is of one of these traces, as literals,
// because a DELETE on replicas refuses subqueries. An OR of one condition for each
// takes three times as long for 64 traces, most of it to plan.
func OfTraces(keys []rows.TraceKey) string {
	var b strings.Builder
	b.WriteString("project_id IN " + ProjectList(keys) + " AND (project_id, trace_id) IN (")
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("('" + k.Project.String() + "'," + BytesLiteral(k.Trace[:]) + ")")
	}
	b.WriteByte(')')
	return b.String()
}

// BytesLiteral returns a literal of these bytes.
func BytesLiteral(raw []byte) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range raw {
		fmt.Fprintf(&b, "\\x%02x", c)
	}
	b.WriteByte('\'')
	return b.String()
}

// TimeLiteral returns a literal of microseconds since 1970; a list of function calls
// would soon exceed the limits of a statement.
func TimeLiteral(us int64) string {
	return "'" + time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.000000") + "'"
}

// ProjectList returns the projects of traces as the right side of project_id IN.
func ProjectList(keys []rows.TraceKey) string {
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
	// ConditionBytes bounds their length: ON CLUSTER a DELETE is a node of Keeper,
	// which holds a megabyte.
	ConditionBytes = 256 << 10
)

// AnyOf joins conditions into the conditions of as few statements as possible.
func AnyOf(conditions []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(conditions) > 0 {
			n, size := 0, 0
			for n < len(conditions) && n < conditionsAtOnce && (n == 0 || size+len(conditions[n]) <= ConditionBytes) {
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

// VersionOf returns the lowest version of an offset.
func VersionOf(offset int64) uint64 { return uint64(max(offset, 0)) << schema.VersionShift }

// VersionLiteral returns the literal of (version, span_id), which names a row of a trace.
func VersionLiteral(version uint64, span trace.SpanID) string {
	return fmt.Sprintf("(%d,unhex('%s'))", version, span)
}

// RejectedSpansOf returns the condition that a rejected span is of one of these traces,
// whose ids the table has as text.
func RejectedSpansOf(keys []rows.TraceKey) string {
	named := make([]string, len(keys))
	for i, k := range keys {
		named[i] = fmt.Sprintf("('%s','%s')", k.Project, k.Trace)
	}
	return "project_id IN " + ProjectList(keys) + " AND (project_id, trace_id) IN (" + strings.Join(named, ",") + ")"
}

// TraceID parses a FixedString(16) as the driver returns it.
func TraceID(raw string) (id trace.TraceID) {
	copy(id[:], raw)
	return id
}

// SpansAtOnce bounds the spans that one condition names.
const SpansAtOnce = 5000

// OfSpans returns the condition that a row is of one of these spans, as literals: see
// OfTraces.
func OfSpans(ids []trace.SpanID) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = BytesLiteral(id[:])
	}
	return "span_id IN (" + strings.Join(quoted, ",") + ")"
}

// ReadUUID parses a UUID of ClickHouse, which has two little-endian halves.
func ReadUUID(b []byte) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], binary.LittleEndian.Uint64(b))
	binary.BigEndian.PutUint64(id[8:], binary.LittleEndian.Uint64(b[8:]))
	return id
}

// Quote returns a text as a literal.
func Quote(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(s) + "'"
}
