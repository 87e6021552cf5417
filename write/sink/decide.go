package sink

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/normalize"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
	"colonnade/write/stream"
)

// decide finds the type of a group and the stored version of each span, builds the rows,
// and updates the cache.
func (w *worker) decide(b *batch, g *group) {
	defer func() {
		if p := recover(); p != nil { // the panic does not show which record is at fault
			for _, i := range g.records {
				b.quarantine(i, "row", fmt.Errorf("sink: spans of trace %s cannot be made rows: %v", g.Key.Trace, p))
			}
		}
	}()
	switch {
	case g.Whole:
		w.memory.Drop(w.memory.Trace(g.Key), nil)
	case g.Spans != nil:
		w.memory.Drop(w.memory.Trace(g.Key), g.Spans)
	}
	if len(g.entries) == 0 {
		return
	}
	known := w.memory.Trace(g.Key)
	g.traceType, g.declared, g.linked = w.resolve(g, known)
	g.judging = known != nil && known.HasEvaluator || slices.ContainsFunc(g.entries, func(e *entry) bool { return rows.HasEvaluator(e.Span) })
	for _, e := range g.entries {
		known = w.enter(b, g, known, e)
	}
}

// enter adds the rows of a span unless it is a client retry, and puts it into the cache. A
// panic must cost one record instead of ending the process again and again at the same
// offset.
func (w *worker) enter(b *batch, g *group, before *recent.Trace, e *entry) (k *recent.Trace) {
	k = before
	defer func() {
		if p := recover(); p != nil {
			b.quarantine(e.record, "row", fmt.Errorf("sink: span %s of trace %s cannot be made a row: %v", e.Span.SpanID, e.Key.Trace, p))
		}
	}()
	if w.place(b, g, k, e) {
		k = w.memory.Touch(g.Key, b.builtAt, g.ReceivedAt)
		k.Declared, k.Linked, k.HasEvaluator = g.declared, g.linked, g.judging
		k.NoteIdentifiers(e.Span)
		w.memory.Put(k, e.known(), e.facts(w.rows.Spans.LastNumbers, w.rows.Spans.LastTraits))
		g.written = append(g.written, e)
	}
	e.release()
	return k
}

// release drops the references to what the rows have now. The attributes of a batch are
// many times as large as its records, and the garbage collector would scan them again and
// again while the batch is in flight. revive decodes them again.
func (e *entry) release() {
	s := e.Span
	s.Attributes, s.Events, s.Resource, s.Scope = nil, nil, nil, nil
}

// revive decodes the records of entries again, for rows that have to be built again.
func (w *worker) revive(b *batch, entries []*entry) error {
	var spans []trace.Span
	at := -1
	for _, e := range entries {
		if e.Span.Attributes != nil {
			continue
		}
		if e.record != at { // entries of one record are usually adjacent
			r := &b.records[e.record]
			var err error
			if spans, _, err = w.sink.deps.Normalizer.Spans(metaOf(r), r.Value); err != nil {
				return fmt.Errorf("sink: fit offset %d again: %w", r.Offset, err)
			}
			at = e.record
		}
		again := &spans[e.Version&(maxSpansOfRecord-1)]
		e.Span.Attributes, e.Span.Events, e.Span.Resource, e.Span.Scope = again.Attributes, again.Events, again.Resource, again.Scope
		rows.SetTraceType(e.Span, e.Span.Type)
	}
	return nil
}

func metaOf(r *stream.Record) normalize.Meta {
	return normalize.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}
}

// resolve returns the type of a trace from the spans of the batch and the recent ones.
func (w *worker) resolve(g *group, k *recent.Trace) (t, declared trace.Type, linked bool) {
	spans := make([]*trace.Span, len(g.entries))
	for i, e := range g.entries {
		spans[i] = e.Span
		declared = max(declared, e.Declared) // of two that differ, annotation
		linked = linked || len(e.Span.Links) > 0
	}
	given, _ := normalize.Trace(spans)
	if k != nil {
		declared = max(declared, k.Declared)
		linked = linked || k.Linked
	}
	if t = trace.TypeOf(declared, linked); t != given {
		for _, s := range spans {
			rows.SetTraceType(s, t)
		}
	}
	return t, declared, linked
}

// place reports whether a span is written, and adds its rows: it finds the version that the
// span replaces.
func (w *worker) place(b *batch, g *group, k *recent.Trace, e *entry) bool {
	w.document.Render(e.Span, e.Declared)
	e.ContentHash = w.document.Hash
	stored, ok := k.Span(e.Span.SpanID)
	switch {
	case ok && stored.ContentHash == e.ContentHash:
		w.metrics.dropped.WithLabelValues("retry").Inc()
		return false
	case ok:
		e.replaces(stored, &b.records[e.record])
		b.outdated = append(b.outdated, outdated{plan.Version{Project: e.Key.Project, Span: e.Span.SpanID, Version: stored.Version}, e.record})
		g.supersede(k, e)
		if stored.Start != e.Start || stored.TraceType != g.traceType {
			g.LeftBehind = append(g.LeftBehind, plan.RowKey{Span: e.Span.SpanID, TraceType: stored.TraceType, Start: stored.Start})
		}
		w.metrics.spans.WithLabelValues("replaced").Inc()
	case e.cleared:
		if before, was := g.Before.Span(e.Span.SpanID); was {
			e.replaces(before, &b.records[e.record])
		}
	}
	b.entries = append(b.entries, e)
	w.rows.Append(&e.Entry, w.partition.Number(), &w.document)
	return true
}

// facts returns the metrics of an entry, whose numbers and traits are those of its row.
func (e *entry) facts(numbers [schema.NumberCount]float64, traits spanmetrics.Traits) recent.SpanMetrics {
	f := recent.SpanMetrics{
		ID: e.Span.SpanID, Parent: e.Span.ParentID, TraceType: e.Span.Type, Declared: e.Declared,
		Linked: len(e.Span.Links) > 0, Root: e.Span.IsRoot(), NotRoot: !e.Span.IsRoot(), Traits: traits,
		StartNS: e.StartNS, PartitionWeek: e.PartitionWeek, Start: e.Start, Created: rows.Micros(e.CreatedAt), SortHash: e.SortHash, Version: e.Version,
	}
	f.End, _ = rows.SplitTime(e.Span.End)
	copy(f.Own[:], numbers[1:])         // the first is the duration
	f.Name = strings.Clone(e.Span.Name) // a clone, because the name would keep the record in memory until the trace is finalized
	return f
}

// supersede notes a span whose stored version may have rows under other keys than the new one.
func (g *group) supersede(k *recent.Trace, e *entry) {
	if rows.MayHaveAnnotations(k.Declared, k.Linked, k.HasEvaluator) || rows.HasAnnotation(&e.Entry) || rows.HasEvaluator(e.Span) {
		g.Replaced = append(g.Replaced, e.Span.SpanID)
	}
}

func (e *entry) known() recent.Span {
	return recent.Span{
		ID: e.Span.SpanID, TraceType: e.Span.Type, ContentHash: e.ContentHash, Version: e.Version, Start: e.Start,
		CreatedAt: rows.Micros(e.CreatedAt), CreatedBy: e.CreatedBy,
	}
}

// replaces keeps the creation of the first version of a span.
func (e *entry) replaces(stored *recent.Span, r *stream.Record) {
	e.CreatedAt, e.CreatedBy = time.UnixMicro(stored.CreatedAt).UTC(), stored.CreatedBy
	e.UpdatedAt, e.UpdatedBy = r.ReceivedAt, r.User
}

// indexOf returns one row of trace_index for each trace of a batch.
func indexOf(groups []*group, partition int32) []rows.IndexRow {
	var out []rows.IndexRow
	for _, g := range groups {
		if len(g.written) > 0 {
			out = append(out, rows.IndexRow{Key: g.Key, Declared: g.declared, Linked: g.linked, HasEvaluator: g.judging, Summary: summarize(g, partition)})
		}
	}
	return out
}

func summarize(g *group, partition int32) rows.Summary {
	first := g.written[0]
	s := rows.Summary{MinStart: first.Start, MaxStart: first.Start, MinPartitionWeek: first.PartitionWeek, MaxPartitionWeek: first.PartitionWeek, Created: rows.Micros(first.CreatedAt), FirstVersion: first.Version}
	for _, e := range g.written {
		s.MinStart, s.MaxStart = min(s.MinStart, e.Start), max(s.MaxStart, e.Start)
		s.MinPartitionWeek, s.MaxPartitionWeek = min(s.MinPartitionWeek, e.PartitionWeek), max(s.MaxPartitionWeek, e.PartitionWeek)
		s.Created, s.LastVersion, s.FirstVersion = min(s.Created, rows.Micros(e.CreatedAt)), max(s.LastVersion, e.Version), min(s.FirstVersion, e.Version)
		//nolint:gosec // a partition's number is never negative
		if n := schema.Record(uint32(partition), e.Version); len(s.Records) == 0 || s.Records[len(s.Records)-1] != n {
			s.Records = append(s.Records, n)
		}
	}
	return s
}
