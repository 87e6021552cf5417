package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/normalize"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
)

// batch is a range of records and what is to be stored for it. Building it changes nothing
// but the worker's cache, and the same records with the same cache make the same batch.
type batch struct {
	rng     stream.Range
	records []stream.Record
	bytes   int
	// groups are the traces in the order of their first record.
	groups []*group
	byKey  map[rows.TraceKey]*group
	// entries are the spans to be written.
	entries  []*entry
	rejects  []rows.RejectedSpan
	dead     []deadRecord
	outdated []outdated
	builtAt  time.Time
	newestAt time.Time
	// rows are those of the span tables, progress is what sink_progress has once the batch
	// is stored.
	rows     *rows.Buffer
	progress progress
	// doubtful reports that an earlier attempt may have stored rows of it, or may still do so.
	doubtful bool
	// stored are the spans of a doubtful batch that are stored, and all their rows.
	stored map[*entry]bool
	// quarantined are the records, by their index, for which building rows panicked, in this
	// attempt or in an earlier one. needsRebuild reports that one panicked in this attempt: there
	// are incomplete rows, and the cache has spans that will not be stored.
	quarantined  map[int]deadRecord
	needsRebuild bool
}

// deadRecords returns the indexes of the records that cannot be processed.
func (b *batch) deadRecords() map[int]bool {
	dead := map[int]bool{}
	for _, d := range b.dead {
		dead[d.record] = true
	}
	return dead
}

// lost returns the spans that are not stored because their record was dead-lettered.
func (b *batch) lost() []*entry {
	dead := b.deadRecords()
	if len(dead) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.entries), func(e *entry) bool { return !dead[e.record] })
}

// group is what a batch holds of one trace.
type group struct {
	// Trace is what is removed of it.
	deletion.Trace
	// records are the indexes of the records of the trace, ascending.
	records []int
	entries []*entry
	bySpan  map[trace.SpanID]*entry
	// forgotten reports that a delete was among the removals: what comes after it is new.
	// origins are the creations of spans that an edit took out of the batch before they
	// were written.
	forgotten bool
	origins   map[trace.SpanID]origin
	operation stream.Operation
	// What decide finds: the type of the trace, the entries that are written,
	// and the stored rows they leave behind under other keys.
	traceType, declared trace.Type
	linked, judging     bool
	written             []*entry
}

// origin is when and by whom a span was first written.
type origin struct {
	at time.Time
	by uuid.UUID
}

// entry is one span of a batch.
type entry struct {
	rows.Entry
	record     int // in batch.records
	receivedAt time.Time
	// cleared reports that an edit in this batch removes the stored versions.
	cleared bool
}

// outdated names the payloads of a version that another one replaced.
type outdated struct {
	plan.Version
	// by is the record, within the batch, of the other version.
	by int
}

// deadRecord is a record that cannot be processed.
type deadRecord struct {
	record int
	stage  string
	reason string
}

// maxSpansOfRecord is the number of spans that the lower bits of a version can count.
const maxSpansOfRecord = 1 << schema.VersionShift

// build builds a batch of records: the last version of each span, what edits and deletes
// leave of the spans, and their rows.
//
// It goes through the records trace by trace, from bytes to rows, so that the decoded spans
// of one trace are released before the next. Traces that are edited or deleted, or have a
// redriven record, come last, because ClickHouse is queried for what is left of them.
//
// It leaves out the quarantined records. The caller builds a batch that needs a rebuild again.
func (w *worker) build(ctx context.Context, records []stream.Record, rng stream.Range, quarantined map[int]deadRecord) (*batch, error) {
	b := &batch{rng: rng, records: records, byKey: map[rows.TraceKey]*group{}, builtAt: w.clock(), quarantined: quarantined}
	w.rows.Reset()
	for i := range records {
		w.assign(b, i)
	}
	var changed []*group
	for _, g := range b.groups {
		if slices.ContainsFunc(g.records, func(i int) bool { return records[i].Operation != stream.Upsert || records[i].Redriven }) {
			changed = append(changed, g)
			continue
		}
		w.collect(b, g)
		w.decide(b, g)
	}
	if len(changed) > 0 { // what they remove, or are later than, may be on its way
		if err := w.land(); err != nil {
			return nil, err
		}
	}
	if err := w.lookUpPast(ctx, b, b.redriven(changed)); err != nil {
		return nil, err
	}
	for _, g := range changed {
		w.collect(b, g)
	}
	if err := w.lookUpRemovals(ctx, b); err != nil {
		return nil, err
	}
	for _, g := range changed {
		w.decide(b, g)
	}
	w.document.Release()
	w.memory.Trim(b.newestAt, w.sink.recentSpans())
	return b, nil
}

// assign adds a record to the group of its trace.
func (w *worker) assign(b *batch, i int) {
	r := &b.records[i]
	b.bytes += len(r.Value)
	if r.Err != nil {
		b.deadLetter(i, "envelope", r.Err)
		return
	}
	if d, ok := b.quarantined[i]; ok {
		b.dead = append(b.dead, d)
		return
	}
	w.metrics.records.WithLabelValues(string(r.Operation)).Inc()
	if r.ReceivedAt.After(b.newestAt) {
		b.newestAt = r.ReceivedAt
	}
	if r.Operation == stream.Reject {
		b.reject(i)
		return
	}
	key := rows.TraceKey{Project: r.Project, Trace: r.Trace}
	g := b.byKey[key]
	if g == nil {
		g = &group{Trace: deletion.Trace{Key: key}, bySpan: map[trace.SpanID]*entry{}}
		b.byKey[key] = g
		b.groups = append(b.groups, g)
	}
	g.records = append(g.records, i)
}

func (b *batch) deadLetter(record int, stage string, err error) {
	b.dead = append(b.dead, deadRecord{record, stage, err.Error()})
}

// quarantine notes a record whose rows cannot be built.
func (b *batch) quarantine(record int, stage string, err error) {
	if b.quarantined == nil {
		b.quarantined = map[int]deadRecord{}
	}
	b.quarantined[record] = deadRecord{record, stage, err.Error()}
	b.needsRebuild = true
}

// collect decodes the records of a trace.
func (w *worker) collect(b *batch, g *group) {
	for _, i := range g.records {
		g.ReceivedAt = b.records[i].ReceivedAt
		w.spans(b, g, i)
	}
}

// spans decodes one record of a trace and applies it to the group.
func (w *worker) spans(b *batch, g *group, i int) {
	r := &b.records[i]
	defer func() {
		if p := recover(); p != nil {
			b.quarantine(i, "fit", fmt.Errorf("sink: a record of trace %s cannot be read: %v", r.Trace, p))
		}
	}()
	if r.Redriven && r.Operation != stream.Upsert && g.Past.Changed(rows.Micros(r.ReceivedAt)) {
		b.supersede(i, "The trace was sent, edited or deleted since this %s was received.", r.Operation)
		return
	}
	if r.Operation == stream.Delete && len(r.Value) == 0 {
		w.drop(g.remove(r, nil))
		return
	}
	spans, refused, err := w.sink.deps.Normalizer.Spans(metaOf(r), r.Value)
	if err == nil && len(spans) > maxSpansOfRecord {
		err = fmt.Errorf("sink: a record of %d spans", len(spans))
	}
	if err == nil && slices.ContainsFunc(spans, func(s trace.Span) bool { return s.TraceID != r.Trace }) {
		err = fmt.Errorf("sink: a record of trace %s with spans of another", r.Trace)
	}
	if err != nil {
		b.deadLetter(i, "fit", err)
		return
	}
	for _, f := range refused {
		b.refuse(i, f)
	}
	switch {
	case r.Operation == stream.Delete:
		w.drop(g.remove(r, idsOf(spans)))
		return
	case r.Operation == stream.Edit && r.Headers[stream.HeaderScope] == stream.ScopeSpans:
		w.drop(g.remove(r, idsOf(spans)))
	case r.Operation == stream.Edit:
		w.drop(g.remove(r, nil))
	default: // an upsert removes nothing
	}
	overtaken := 0
	for k := range spans {
		id := spans[k].SpanID
		if r.Redriven && g.Past.Supersedes(id, rows.Micros(r.ReceivedAt)) {
			overtaken++
			continue
		}
		w.add(b, g, i, k, &spans[k])
		g.Past.Note(id, rows.Micros(r.ReceivedAt))
	}
	if overtaken > 0 {
		w.metrics.dropped.WithLabelValues("overtaken").Add(float64(overtaken))
		b.supersede(i, "%d of %d spans were sent, edited or deleted since they were received.", overtaken, len(spans))
	}
}

func idsOf(spans []trace.Span) map[trace.SpanID]bool {
	ids := make(map[trace.SpanID]bool, len(spans))
	for k := range spans {
		ids[spans[k].SpanID] = true
	}
	return ids
}

// add puts a span into its group; it replaces an earlier version of the batch.
func (w *worker) add(b *batch, g *group, i, index int, s *trace.Span) {
	r := &b.records[i]
	e := &entry{
		Entry: rows.Entry{
			Key: g.Key, Span: s, Declared: s.Type,
			Version:  uint64(r.Offset)<<schema.VersionShift | uint64(index), //nolint:gosec // neither is negative
			SortHash: rows.SortHash(s), PartitionWeek: rows.PartitionWeek(s.Start, r.ReceivedAt),
			CreatedAt: r.ReceivedAt, CreatedBy: r.User,
		},
		record: i, receivedAt: r.ReceivedAt,
		cleared: !g.forgotten && (g.Whole || g.Spans[s.SpanID]),
	}
	if o, ok := g.origins[s.SpanID]; ok {
		e.CreatedAt, e.CreatedBy, e.UpdatedAt, e.UpdatedBy = o.at, o.by, r.ReceivedAt, r.User
	}
	e.Start, e.StartNS = rows.SplitTime(s.Start)
	if earlier := g.bySpan[s.SpanID]; earlier != nil {
		w.metrics.dropped.WithLabelValues("superseded").Inc()
		e.CreatedAt, e.CreatedBy = earlier.CreatedAt, earlier.CreatedBy
		e.UpdatedAt, e.UpdatedBy = r.ReceivedAt, r.User
		*earlier = *e // at the position of the earlier version
		return
	}
	g.entries = append(g.entries, e)
	g.bySpan[s.SpanID] = e
}

// remove takes a trace, or some of its spans, out of the batch so far, and marks what is
// stored of them for removal.
func (g *group) remove(r *stream.Record, only map[trace.SpanID]bool) (dropped int) {
	g.operation = r.Operation
	if r.Operation == stream.Delete || only == nil { // the row of a new version has its own receipt
		g.AddTombstones(r.ReceivedAt, r.Offset, only)
	}
	kept := g.entries[:0]
	for _, e := range g.entries {
		if only == nil || only[e.Span.SpanID] {
			delete(g.bySpan, e.Span.SpanID)
			if g.origins == nil {
				g.origins = map[trace.SpanID]origin{}
			}
			g.origins[e.Span.SpanID] = origin{e.CreatedAt, e.CreatedBy}
			dropped++
			continue
		}
		kept = append(kept, e)
	}
	g.entries = kept
	if r.Operation == stream.Delete {
		g.forget(only)
	}
	switch {
	case only == nil:
		g.Whole, g.Spans = true, nil
	case !g.Whole:
		if g.Spans == nil {
			g.Spans = map[trace.SpanID]bool{}
		}
		for id := range only {
			g.Spans[id] = true
		}
	}
	return dropped
}

// forget drops the creations of deleted spans. If one batch deletes some spans of a trace
// and edits others, the others may lose their creation.
func (g *group) forget(only map[trace.SpanID]bool) {
	g.forgotten = true
	if only == nil {
		clear(g.origins)
	}
	for id := range only {
		delete(g.origins, id)
	}
}

// drop counts the spans that remove took out.
func (w *worker) drop(dropped int) {
	w.metrics.dropped.WithLabelValues("removed").Add(float64(dropped))
}

// reject parses the record of a span that a receiver refused.
func (b *batch) reject(i int) {
	r := &b.records[i]
	var rejection stream.Rejection
	if err := json.Unmarshal(r.Value, &rejection); err != nil {
		b.deadLetter(i, "reject", err)
		return
	}
	b.rejects = append(b.rejects, rows.RejectedSpan{
		Project: r.Project, At: r.ReceivedAt, Source: r.Source, Stage: rejection.Stage, Reason: rejection.Reason,
		TraceID: rejection.TraceID, SpanID: rejection.SpanID, SpanName: rejection.SpanName, Raw: rejection.Raw, Offset: r.Offset,
	})
}

// refuse notes a span that could not be normalized.
func (b *batch) refuse(i int, f normalize.Refusal) {
	r := &b.records[i]
	row := rows.RejectedSpan{Project: r.Project, At: r.ReceivedAt, Source: r.Source, Stage: "fit", Reason: f.Reason, SpanName: f.Name, Raw: r.Value, Offset: r.Offset}
	if !f.TraceID.IsZero() {
		row.TraceID = f.TraceID.String()
	}
	if !f.SpanID.IsZero() {
		row.SpanID = f.SpanID.String()
	}
	b.rejects = append(b.rejects, row)
}
