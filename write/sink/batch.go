package sink

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/fit"
	"colonnade/write/stream"
)

// batch is a range of records and what is to be done for it. Making it changes
// nothing outside the worker's memory, and the same records with the same
// memory make the same batch.
type batch struct {
	rng     stream.Range
	records []stream.Record
	bytes   int
	// groups are the traces in the order of their first record.
	groups []*group
	byKey  map[traceKey]*group
	// entries are the spans to be written.
	entries  []*entry
	rejects  []reject
	dead     []deadRecord
	builtAt  time.Time
	newestAt time.Time
	// doubtful tells that another may have stored rows of it, or may be about to.
	doubtful bool
	// stored are the spans of a doubtful batch that are stored, and all their rows.
	stored map[*entry]bool
}

// group is what a batch holds of one trace.
type group struct {
	key     traceKey
	entries []*entry
	bySpan  map[trace.SpanID]*entry
	// removed tells that everything stored of the trace is to go, removedSpans
	// that these spans are. Only rows of lower offsets: the batch's own were
	// taken out while it was made.
	removed      bool
	removedSpans map[trace.SpanID]bool
	// forgotten tells that a delete was among the removals: what comes after it
	// is new. origins are the creations of spans that an edit took out of the
	// batch before they were written.
	forgotten  bool
	origins    map[trace.SpanID]origin
	operation  stream.Operation
	receivedAt time.Time
	// What lookUpRemovals finds of a trace that is removed: whether and where
	// it is stored, and its spans.
	stored bool
	bounds bounds
	before *known
	// annotated tells that it may have rows in annotations; superseded are the
	// spans of which this batch replaces a version that may.
	annotated  bool
	superseded []trace.SpanID
	// What decide finds: the type of the trace, the entries that are written,
	// and the stored rows they leave behind under other keys.
	traceType, declared trace.Type
	linked, judging     bool
	written             []*entry
	stale               []staleRow
}

// entry is one span on its way to a row.
type entry struct {
	key      traceKey
	span     *trace.Span
	record   int // in batch.records
	declared trace.Type
	version  uint64
	hash     uint64
	tie      uint64
	start    int64 // microseconds
	startNS  uint16
	week     uint16

	receivedAt           time.Time
	createdAt, updatedAt time.Time
	createdBy, updatedBy uuid.UUID
	// cleared tells that an edit in this batch took the stored versions out,
	// continues that the edit that did is an earlier record.
	cleared, continues bool
}

// staleRow is a stored row whose key differs from that of the version that replaces it.
type staleRow struct {
	id        trace.SpanID
	traceType trace.Type
	start     int64
}

// deadRecord is a record that cannot be processed.
type deadRecord struct {
	record int
	stage  string
	reason string
}

// maxSpansOfRecord is what the lower bits of a version can count.
const maxSpansOfRecord = 1 << schema.VersionShift

// collect reads records into groups: the last version of each span, and what edits and deletes leave of them.
func (w *worker) collect(records []stream.Record, rng stream.Range) *batch {
	b := &batch{rng: rng, records: records, byKey: map[traceKey]*group{}, builtAt: w.clock()}
	for i := range records {
		r := &records[i]
		b.bytes += len(r.Value)
		if r.Err != nil {
			b.die(i, "envelope", r.Err)
			continue
		}
		w.metrics.records.WithLabelValues(string(r.Operation)).Inc()
		if r.ReceivedAt.After(b.newestAt) {
			b.newestAt = r.ReceivedAt
		}
		if r.Operation == stream.Reject {
			b.reject(i)
			continue
		}
		w.spans(b, i)
	}
	return b
}

func (b *batch) die(record int, stage string, err error) {
	b.dead = append(b.dead, deadRecord{record, stage, err.Error()})
}

// spans reads one record of spans.
func (w *worker) spans(b *batch, i int) {
	r := &b.records[i]
	whole := traceKey{r.Project, r.Trace}
	if r.Operation == stream.Delete && len(r.Value) == 0 {
		w.drop(b.remove(whole, r, nil))
		return
	}
	spans, refused, err := w.sink.deps.Fitter.Spans(metaOf(r), r.Value)
	if err == nil && len(spans) > maxSpansOfRecord {
		err = fmt.Errorf("sink: a record of %d spans", len(spans))
	}
	if err != nil {
		b.die(i, "fit", err)
		return
	}
	for _, f := range refused {
		b.refuse(i, f)
	}
	switch {
	case r.Operation == stream.Delete:
		w.drop(b.remove(whole, r, idsOf(spans)))
		return
	case r.Operation == stream.Edit && r.Headers[stream.HeaderScope] == stream.ScopeSpans:
		w.drop(b.remove(whole, r, idsOf(spans)))
	case r.Operation == stream.Edit:
		w.drop(b.remove(whole, r, nil))
	default: // an upsert removes nothing
	}
	for k := range spans {
		w.add(b, i, k, &spans[k])
	}
}

func idsOf(spans []trace.Span) map[trace.SpanID]bool {
	ids := make(map[trace.SpanID]bool, len(spans))
	for k := range spans {
		ids[spans[k].SpanID] = true
	}
	return ids
}

// add puts a span into its group in place of an earlier version.
func (w *worker) add(b *batch, i, index int, s *trace.Span) {
	r := &b.records[i]
	g := b.group(traceKey{r.Project, s.TraceID}, r)
	e := &entry{
		key: g.key, span: s, record: i, declared: s.Type,
		version: uint64(r.Offset)<<schema.VersionShift | uint64(index), //nolint:gosec // neither is negative
		tie:     tie(s), week: weekOf(s.Start, r.ReceivedAt), receivedAt: r.ReceivedAt,
		createdAt: r.ReceivedAt, createdBy: r.User,
		cleared:   !g.forgotten && (g.removed || g.removedSpans[s.SpanID]),
		continues: r.Headers[stream.HeaderContinues] == string(stream.Edit),
	}
	if o, ok := g.origins[s.SpanID]; ok {
		e.createdAt, e.createdBy, e.updatedAt, e.updatedBy = o.at, o.by, r.ReceivedAt, r.User
	}
	e.start, e.startNS = split(s.Start)
	if earlier := g.bySpan[s.SpanID]; earlier != nil {
		w.metrics.dropped.WithLabelValues("superseded").Inc()
		e.createdAt, e.createdBy = earlier.createdAt, earlier.createdBy
		e.updatedAt, e.updatedBy = r.ReceivedAt, r.User
		*earlier = *e // it keeps its place
		return
	}
	g.entries = append(g.entries, e)
	g.bySpan[s.SpanID] = e
}

func (b *batch) group(key traceKey, r *stream.Record) *group {
	g := b.byKey[key]
	if g == nil {
		g = &group{key: key, bySpan: map[trace.SpanID]*entry{}}
		b.byKey[key] = g
		b.groups = append(b.groups, g)
	}
	g.receivedAt = r.ReceivedAt
	return g
}

// remove takes a trace, or some of its spans, out of the batch so far and
// marks what is stored of it.
func (b *batch) remove(key traceKey, r *stream.Record, only map[trace.SpanID]bool) (g *group, dropped int) {
	g = b.group(key, r)
	g.operation = r.Operation
	kept := g.entries[:0]
	for _, e := range g.entries {
		if only == nil || only[e.span.SpanID] {
			delete(g.bySpan, e.span.SpanID)
			if g.origins == nil {
				g.origins = map[trace.SpanID]origin{}
			}
			g.origins[e.span.SpanID] = origin{e.createdAt, e.createdBy}
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
		g.removed, g.removedSpans = true, nil
	case !g.removed:
		if g.removedSpans == nil {
			g.removedSpans = map[trace.SpanID]bool{}
		}
		for id := range only {
			g.removedSpans[id] = true
		}
	}
	return g, dropped
}

// forget lets go of the creations of deleted spans. Who deletes some spans and
// edits others in one batch loses the others' creation at worst.
func (g *group) forget(only map[trace.SpanID]bool) {
	g.forgotten = true
	if only == nil {
		clear(g.origins)
	}
	for id := range only {
		delete(g.origins, id)
	}
}

// drop counts what remove took out.
func (w *worker) drop(_ *group, dropped int) {
	w.metrics.dropped.WithLabelValues("removed").Add(float64(dropped))
}

// reject reads the report of a span refused at the door.
func (b *batch) reject(i int) {
	r := &b.records[i]
	var told stream.Rejection
	if err := json.Unmarshal(r.Value, &told); err != nil {
		b.die(i, "reject", err)
		return
	}
	b.rejects = append(b.rejects, reject{
		project: r.Project, at: r.ReceivedAt, source: r.Source, stage: told.Stage, reason: told.Reason,
		traceID: told.TraceID, spanID: told.SpanID, spanName: told.SpanName, raw: told.Raw, offset: r.Offset,
	})
}

// refuse notes a span that could not be fitted.
func (b *batch) refuse(i int, f fit.Refusal) {
	r := &b.records[i]
	row := reject{project: r.Project, at: r.ReceivedAt, source: r.Source, stage: "fit", reason: f.Reason, spanName: f.Name, raw: r.Value, offset: r.Offset}
	if !f.TraceID.IsZero() {
		row.traceID = f.TraceID.String()
	}
	if !f.SpanID.IsZero() {
		row.spanID = f.SpanID.String()
	}
	b.rejects = append(b.rejects, row)
}

// decide gives each group its type and each span its place among the stored
// versions, makes the rows, and brings the memory up to date.
func (w *worker) decide(b *batch) {
	w.rows.reset()
	for _, g := range b.groups {
		switch {
		case g.removed:
			w.memory.drop(w.memory.trace(g.key), nil)
		case g.removedSpans != nil:
			w.memory.drop(w.memory.trace(g.key), g.removedSpans)
		}
		if len(g.entries) == 0 {
			continue
		}
		known := w.memory.trace(g.key)
		g.traceType, g.declared, g.linked = w.resolve(g, known)
		g.judging = known != nil && known.judging || slices.ContainsFunc(g.entries, func(e *entry) bool { return judges(e.span) })
		for _, e := range g.entries {
			if w.place(b, g, known, e) {
				known = w.memory.touch(g.key, b.builtAt, g.receivedAt)
				known.declared, known.linked, known.judging = g.declared, g.linked, g.judging
				known.noteIdentifiers(e.span)
				w.memory.put(known, e.known(), e.facts(w.rows.spans.row))
				g.written = append(g.written, e)
			}
			e.release()
		}
		known.keepOrigins(g)
	}
	w.document.forget()
	w.memory.trim(b.newestAt)
}

// release lets go of what is in the rows now. The trees of a batch are many
// times its records, and the collector would go through them again and again
// while the batch is being written. revive brings them back.
func (e *entry) release() {
	s := e.span
	s.Attributes, s.Events, s.Resource, s.Scope = nil, nil, nil, nil
}

// revive fits the records of entries again, for rows that have to be made anew.
func (w *worker) revive(b *batch, entries []*entry) error {
	var spans []trace.Span
	at := -1
	for _, e := range entries {
		if e.span.Attributes != nil {
			continue
		}
		if e.record != at { // entries of one record mostly stand together
			r := &b.records[e.record]
			var err error
			if spans, _, err = w.sink.deps.Fitter.Spans(metaOf(r), r.Value); err != nil {
				return fmt.Errorf("sink: fit offset %d again: %w", r.Offset, err)
			}
			at = e.record
		}
		again := &spans[e.version&(maxSpansOfRecord-1)]
		e.span.Attributes, e.span.Events, e.span.Resource, e.span.Scope = again.Attributes, again.Events, again.Resource, again.Scope
		retype(e.span, e.span.Type)
	}
	return nil
}

func metaOf(r *stream.Record) fit.Meta {
	return fit.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}
}

// resolve finds the type of a trace from the spans at hand and those known.
// Source: contract §0 row 7, §1.7.
func (w *worker) resolve(g *group, k *known) (t, declared trace.Type, linked bool) {
	spans := make([]*trace.Span, len(g.entries))
	for i, e := range g.entries {
		spans[i] = e.span
		declared = max(declared, e.declared) // of two that differ, annotation
		linked = linked || len(e.span.Links) > 0
	}
	given, _ := fit.Trace(spans)
	if k != nil {
		declared = max(declared, k.declared)
		linked = linked || k.linked
	}
	if t = typeOf(declared, linked); t != given {
		for _, s := range spans {
			retype(s, t)
		}
	}
	return t, declared, linked
}

func typeOf(declared trace.Type, linked bool) trace.Type {
	switch {
	case declared != 0:
		return declared
	case linked:
		return trace.Annotation
	default:
		return trace.Invocation
	}
}

func retype(s *trace.Span, t trace.Type) {
	s.Type = t
	ag, _ := s.Attributes[semconv.Root].(map[string]any)
	if types, ok := ag[semconv.Type].(map[string]any); ok {
		types[semconv.TypeTrace] = t.String()
	}
}

// place decides whether a span is written and as what, and adds its rows.
func (w *worker) place(b *batch, g *group, k *known, e *entry) bool {
	if err := w.renderSafely(e); err != nil {
		b.die(e.record, "row", err)
		return false
	}
	e.hash = w.document.hash
	stored, ok := k.span(e.span.SpanID)
	switch {
	case ok && stored.hash == e.hash:
		w.metrics.dropped.WithLabelValues("retry").Inc()
		return false
	case ok:
		e.replaces(stored, &b.records[e.record])
		g.supersede(k, e)
		if stored.start != e.start || stored.traceType != g.traceType {
			g.stale = append(g.stale, staleRow{e.span.SpanID, stored.traceType, stored.start})
		}
		w.metrics.spans.WithLabelValues("replaced").Inc()
	case e.cleared:
		if before, was := g.before.span(e.span.SpanID); was {
			e.replaces(before, &b.records[e.record])
		}
	case e.continues:
		if o, was := k.origin(e.span.SpanID); was {
			e.createdAt, e.createdBy = o.at, o.by
			e.updatedAt, e.updatedBy = e.receivedAt, b.records[e.record].User
		}
	}
	b.entries = append(b.entries, e)
	w.rows.append(e, w.partition.Number(), &w.document)
	return true
}

// renderSafely renders a span. A defect of ours must cost one record, not end
// the process again and again at the same offset.
func (w *worker) renderSafely(e *entry) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sink: span %s of trace %s cannot be made a row: %v", e.span.SpanID, e.key.trace, p)
		}
	}()
	w.document.render(e.span, e.declared)
	return nil
}

func (e *entry) known() knownSpan {
	return knownSpan{
		id: e.span.SpanID, traceType: e.span.Type, hash: e.hash, version: e.version, start: e.start,
		createdAt: micros(e.createdAt), createdBy: e.createdBy,
	}
}

// replaces keeps what a first version leaves to its successors. Source: contract §1.10.
func (e *entry) replaces(stored *knownSpan, r *stream.Record) {
	e.createdAt, e.createdBy = time.UnixMicro(stored.createdAt).UTC(), stored.createdBy
	e.updatedAt, e.updatedBy = r.ReceivedAt, r.User
}

// reject is a row of the table rejects.
type reject struct {
	project                   domain.ProjectID
	at                        time.Time
	source, stage, reason     string
	traceID, spanID, spanName string
	raw                       []byte
	offset                    int64
}
