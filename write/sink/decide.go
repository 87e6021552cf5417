package sink

import (
	"fmt"
	"slices"
	"time"

	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/normalize"
	"colonnade/write/stream"
)

// decide gives a group its type and each span its place among the stored
// versions, makes the rows, and brings the memory up to date.
func (w *worker) decide(b *batch, g *group) {
	defer func() {
		if p := recover(); p != nil { // which of them is at fault, nobody can tell
			for _, i := range g.records {
				b.doom(i, "row", fmt.Errorf("sink: spans of trace %s cannot be made rows: %v", g.key.trace, p))
			}
		}
	}()
	switch {
	case g.removed:
		w.memory.drop(w.memory.trace(g.key), nil)
	case g.removedSpans != nil:
		w.memory.drop(w.memory.trace(g.key), g.removedSpans)
	}
	if len(g.entries) == 0 {
		return
	}
	known := w.memory.trace(g.key)
	g.traceType, g.declared, g.linked = w.resolve(g, known)
	g.judging = known != nil && known.judging || slices.ContainsFunc(g.entries, func(e *entry) bool { return judges(e.span) })
	for _, e := range g.entries {
		known = w.enter(b, g, known, e)
	}
}

// enter writes a span, if there is need to, and remembers it. A defect of ours must
// cost one record, not end the process again and again at the same offset.
func (w *worker) enter(b *batch, g *group, before *known, e *entry) (k *known) {
	k = before
	defer func() {
		if p := recover(); p != nil {
			b.doom(e.record, "row", fmt.Errorf("sink: span %s of trace %s cannot be made a row: %v", e.span.SpanID, e.key.trace, p))
		}
	}()
	if w.place(b, g, k, e) {
		k = w.memory.touch(g.key, b.builtAt, g.receivedAt)
		k.declared, k.linked, k.judging = g.declared, g.linked, g.judging
		k.noteIdentifiers(e.span)
		w.memory.put(k, e.known(), e.facts(w.rows.spans.row))
		g.written = append(g.written, e)
	}
	e.release()
	return k
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

func metaOf(r *stream.Record) normalize.Meta {
	return normalize.Meta{Source: r.Source, ReceivedAt: r.ReceivedAt, User: r.User}
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
	given, _ := normalize.Trace(spans)
	if k != nil {
		declared = max(declared, k.declared)
		linked = linked || k.linked
	}
	if t = trace.TypeOf(declared, linked); t != given {
		for _, s := range spans {
			retype(s, t)
		}
	}
	return t, declared, linked
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
	w.document.render(e.span, e.declared)
	e.hash = w.document.hash
	stored, ok := k.span(e.span.SpanID)
	switch {
	case ok && stored.hash == e.hash:
		w.metrics.dropped.WithLabelValues("retry").Inc()
		return false
	case ok:
		e.replaces(stored, &b.records[e.record])
		b.outdated = append(b.outdated, outdated{project: e.key.project, span: e.span.SpanID, version: stored.version, by: e.record})
		g.supersede(k, e)
		if stored.start != e.start || stored.traceType != g.traceType {
			g.stale = append(g.stale, staleRow{e.span.SpanID, stored.traceType, stored.start})
		}
		w.metrics.spans.WithLabelValues("replaced").Inc()
	case e.cleared:
		if before, was := g.before.span(e.span.SpanID); was {
			e.replaces(before, &b.records[e.record])
		}
	}
	b.entries = append(b.entries, e)
	w.rows.append(e, w.partition.Number(), &w.document)
	return true
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
