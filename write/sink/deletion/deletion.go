// Package deletion finds the stored rows that edits, deletes and new versions leave
// behind, and returns their removal as a value of write/sink/plan. It also reads what was
// done to a trace since a redriven record was received, purges deleted projects, and
// removes deleted rows from disk.
//
// Not here: which records a batch has and what is left of its spans (write/sink), and the
// totals of what is left (write/sink/finalize).
package deletion

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// Trace is what a batch removes of one trace, and what is stored of it.
type Trace struct {
	Key rows.TraceKey
	// Whole reports that everything stored of the trace is to go; else Spans are the spans
	// that are, nil for none. Only rows of lower offsets go: the batch's own rows were
	// taken out while it was built.
	Whole bool
	Spans map[trace.SpanID]bool
	// ReceivedAt is the receipt of the last record of the trace.
	ReceivedAt time.Time
	// Replaced are the spans of which the batch replaces a version that may have
	// annotations, LeftBehind the stored rows that new versions leave under other keys.
	Replaced   []trace.SpanID
	LeftBehind []plan.RowKey
	// Written are the rows of the trace that the batch inserts.
	Written []plan.Version
	// Tombstones are to be inserted for what is removed. Past is what was done to the
	// trace, nil unless it has a redriven record.
	Tombstones []Tombstone
	Past       *History

	// What LookUp finds: whether the trace is stored, where, up to which version, and
	// whether it may have annotations. Before has the creation of the spans that an edit
	// replaces, see ReadReplaced.
	Stored      bool
	Bounds      clickhouse.Bounds
	LastVersion uint64
	Annotated   bool
	Before      *recent.Trace
}

// Removes reports whether stored rows of the trace are removed on request.
func (t *Trace) Removes() bool { return t.Whole || t.Spans != nil }

// Source is where stored rows are looked up.
type Source struct {
	DB *clickhouse.DB
	// Partition is the label of the worker's partition.
	Partition string
	// Timeout bounds one read of the spans of traces, MaxClockSkew is the largest
	// difference between the clocks of two receivers.
	Timeout, MaxClockSkew time.Duration
	Log                   *slog.Logger
}

// LookUp reads what is stored of the traces of which rows are removed.
func (s Source) LookUp(ctx context.Context, traces []*Trace) error {
	index, err := s.DB.LookUpTraces(ctx, keysOf(traces))
	if err != nil {
		return err
	}
	for _, t := range traces {
		if x, ok := index[t.Key]; ok {
			t.Bounds, t.LastVersion, t.Stored, t.Annotated = x.Bounds, x.LastVersion, true, rows.MayHaveAnnotations(x.Declared, x.Linked, x.HasEvaluator)
			t.Before = recent.NewTrace(t.Key, nil)
		}
	}
	return nil
}

func keysOf(traces []*Trace) []rows.TraceKey {
	keys := make([]rows.TraceKey, len(traces))
	for i, t := range traces {
		keys[i] = t.Key
	}
	return keys
}

// boundsOf returns the bounds of traces that LookUp found.
func boundsOf(traces []*Trace) func(rows.TraceKey) clickhouse.Bounds {
	bounds := make(map[rows.TraceKey]clickhouse.Bounds, len(traces))
	for _, t := range traces {
		bounds[t.Key] = t.Bounds
	}
	return func(key rows.TraceKey) clickhouse.Bounds { return bounds[key] }
}

// ReadReplaced reads the creation of the spans that edits of stored traces replace, below
// an offset: of an edit of some spans only of those.
func (s Source) ReadReplaced(ctx context.Context, first int64, traces []*Trace) error {
	byKey := make(map[rows.TraceKey]*Trace, len(traces))
	var whole []rows.TraceKey
	var conditions []string
	for _, t := range traces {
		byKey[t.Key] = t
		if t.Spans == nil {
			whole = append(whole, t.Key)
			continue
		}
		conditions = append(conditions, t.spansWhere())
	}
	for which := range clickhouse.AnyOf(append(conditions, clickhouse.Conditions(whole, boundsOf(traces))...)) {
		err := s.DB.Within(ctx, s.Timeout, func(ctx context.Context) error { return s.readReplacedWhere(ctx, which, first, byKey) })
		if err != nil {
			return err
		}
	}
	return nil
}

// where returns the condition on the stored rows of the trace.
func (t *Trace) where() string { return clickhouse.OfTrace(t.Key) + " AND " + t.Bounds.SQL() }

// spansWhere returns the condition on the stored rows of the spans that are removed.
func (t *Trace) spansWhere() string {
	if t.Spans == nil {
		return t.where()
	}
	return t.where() + " AND " + clickhouse.OfSpans(slices.Collect(maps.Keys(t.Spans)))
}

// readReplacedWhere reads when and by whom spans were first written, below an offset.
func (s Source) readReplacedWhere(ctx context.Context, which string, first int64, traces map[rows.TraceKey]*Trace) error {
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toUnixTimestamp64Micro(min(created_at)), argMin(created_by_id, created_at) FROM %s WHERE (%s) AND version < %d GROUP BY project_id, trace_id, span_id`,
		s.DB.Table(schema.Spans), which, clickhouse.VersionOf(first))
	found := map[rows.TraceKey][]recent.Span{}
	err := s.DB.Query(ctx, "read replaced spans", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var x recent.Span
		if err := result.Scan(&project, &rawTrace, &rawSpan, &x.CreatedAt, &x.CreatedBy); err != nil {
			return err
		}
		copy(x.ID[:], rawSpan)
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}
		found[key] = append(found[key], x)
		return nil
	})
	if err != nil {
		return err
	}
	for key, list := range found {
		if t := traces[key]; t != nil {
			t.Before = recent.NewTrace(key, list)
		}
	}
	return nil
}

// Plan returns the removal of rows of versions below a version: of traces that were edited
// or deleted, and of spans whose new version has another key.
func (s Source) Plan(ctx context.Context, traces []*Trace, below uint64) (*plan.Removal, error) {
	var gone removals
	var changed, whole []*Trace
	var superseded []plan.SupersededRows
	for _, t := range traces {
		gone.ofAnnotations(t, below)
		if len(t.LeftBehind) > 0 && !t.Whole {
			superseded = append(superseded, plan.SupersededRows{Key: t.Key, Rows: t.LeftBehind})
		}
		if !t.Removes() || !t.Stored {
			continue
		}
		changed = append(changed, t)
		if t.Spans != nil {
			gone.spans(t, below)
		} else {
			whole = append(whole, t)
		}
	}
	gone.AddSuperseded(superseded, below)
	gone.traces(whole, below)
	for _, t := range changed {
		if err := s.laterRows(ctx, t, below, &gone); err != nil {
			return nil, err
		}
	}
	return &gone.Removal, nil
}

// laterRows adds rows that are older than what removes them although their versions are
// not lower: of a topic that was created again, or of the partition that the trace was in
// before there were more. Their receipt shows it. They are named one by one, so that a
// repetition never removes rows that were written since.
func (s Source) laterRows(ctx context.Context, t *Trace, below uint64, gone *removals) error {
	if t.LastVersion < below {
		return nil
	}
	before := fmt.Sprintf("fromUnixTimestamp64Micro(%d, 'UTC')", rows.Micros(t.ReceivedAt.Add(-s.MaxClockSkew)))
	which := t.spansWhere()
	own := make(map[string]bool, len(t.Written))
	for _, v := range t.Written {
		own[clickhouse.VersionLiteral(v.Version, v.Span)] = true
	}
	statement := fmt.Sprintf("SELECT version, span_id FROM %s WHERE %s AND version >= %d AND greatest(created_at, updated_at) < %s",
		s.DB.Table(schema.Spans), which, below, before)
	var found []string
	err := s.DB.Query(ctx, "find former rows", statement, func() { found = nil }, func(result driver.Rows) error {
		var version uint64
		var raw string
		var id trace.SpanID
		if err := result.Scan(&version, &raw); err != nil {
			return err
		}
		copy(id[:], raw)
		if row := clickhouse.VersionLiteral(version, id); !own[row] {
			found = append(found, row)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	s.Log.LogAttrs(ctx, slog.LevelWarn, "edit or delete removes earlier rows with later offsets: the topic was created again or its partitions were increased",
		slog.String("trace_id", t.Key.Trace.String()), slog.Int("rows", len(found)))
	for some := range slices.Chunk(found, RowsAtOnce) {
		named := " AND (version, span_id) IN (" + strings.Join(some, ",") + ")"
		gone.Spans, gone.Payloads = append(gone.Spans, which+named), append(gone.Payloads, which+named)
		if t.Annotated {
			gone.Annotations = append(gone.Annotations, clickhouse.OfTrace(t.Key)+named)
		}
	}
	gone.Totals = append(gone.Totals, fmt.Sprintf("%s AND version >= %d AND finalized_at < %s", clickhouse.OfTrace(t.Key), below, before))
	if t.Whole && len(t.Written) == 0 {
		gone.Index = append(gone.Index, fmt.Sprintf("%s AND last_version >= %d AND last_write_at < %s", clickhouse.OfTrace(t.Key), below, before))
		gone.Rejected = append(gone.Rejected, fmt.Sprintf("%s AND stream_offset >= %d AND rejected_at < %s", clickhouse.RejectedSpansOf([]rows.TraceKey{t.Key}), below>>schema.VersionShift, before))
	}
	return nil
}

// removals are conditions on the rows that go, by table.
type removals struct{ plan.Removal }

// traces adds the lower versions of traces in every table that holds a part of them.
func (r *removals) traces(traces []*Trace, below uint64) {
	keys := keysOf(traces)
	var annotated, gone []rows.TraceKey
	for _, t := range traces {
		if t.Annotated {
			annotated = append(annotated, t.Key)
		}
		if t.Whole && len(t.Written) == 0 { // after an edit the finalization corrects the index, which is never without the trace
			gone = append(gone, t.Key)
		}
	}
	for _, which := range clickhouse.Conditions(keys, boundsOf(traces)) {
		r.Buckets = append(r.Buckets, which)
		r.lowerSpans(which, below)
	}
	for some := range slices.Chunk(keys, clickhouse.TracesAtOnce) {
		r.lowerTotals(clickhouse.OfTraces(some), below)
	}
	for some := range slices.Chunk(annotated, clickhouse.TracesAtOnce) {
		r.Annotations = append(r.Annotations, fmt.Sprintf("%s AND version < %d", clickhouse.OfTraces(some), below))
	}
	for some := range slices.Chunk(gone, clickhouse.TracesAtOnce) {
		r.Index = append(r.Index, fmt.Sprintf("%s AND last_version < %d", clickhouse.OfTraces(some), below))
		r.Rejected = append(r.Rejected, fmt.Sprintf("%s AND stream_offset < %d", clickhouse.RejectedSpansOf(some), below>>schema.VersionShift))
	}
}

// lowerSpans adds the lower versions of spans.
func (r *removals) lowerSpans(which string, below uint64) {
	which += fmt.Sprintf(" AND version < %d", below)
	r.Spans, r.Payloads = append(r.Spans, which), append(r.Payloads, which)
}

// lowerTotals adds the totals of traces of lower versions: the totals of what is left may
// have a lower version, which would not replace these.
func (r *removals) lowerTotals(which string, below uint64) {
	r.Totals = append(r.Totals, fmt.Sprintf("%s AND version < %d", which, below))
}

// spans adds the lower versions of some of a trace's spans.
func (r *removals) spans(t *Trace, below uint64) {
	ids := slices.Collect(maps.Keys(t.Spans))
	which := t.where()
	r.Buckets = append(r.Buckets, which)
	for some := range slices.Chunk(ids, clickhouse.SpansAtOnce) {
		r.lowerSpans(which+" AND "+clickhouse.OfSpans(some), below)
	}
	r.lowerTotals(clickhouse.OfTrace(t.Key), below)
}

// ofAnnotations adds the annotations of lower versions that replaced spans leave behind.
// Those of whole traces are added by traces. Their keys are what they annotate, so that
// they are found through an index by the trace that they are of.
func (r *removals) ofAnnotations(t *Trace, below uint64) {
	ids := slices.Clone(t.Replaced)
	if t.Stored && t.Annotated {
		ids = slices.AppendSeq(ids, maps.Keys(t.Spans))
	}
	if t.Whole || len(ids) == 0 {
		return
	}
	for some := range slices.Chunk(ids, clickhouse.SpansAtOnce) {
		r.Annotations = append(r.Annotations, fmt.Sprintf("%s AND version < %d AND %s", clickhouse.OfTrace(t.Key), below, clickhouse.OfSpans(some)))
	}
}
