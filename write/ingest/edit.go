package ingest

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// Delete removes the trace of the turn, whether it exists or not. The deletion is visible
// when the receipt's token is.
func (i *Ingest) Delete(ctx context.Context, turn *Turn, source string) (Receipt, error) {
	caller, err := i.caller(ctx)
	if err != nil {
		return Receipt{}, err
	}
	token, err := i.producer.Publish(ctx, []stream.Record{i.record(caller, source, stream.Delete, turn.at.trace)})
	turn.note(token)
	return Receipt{Token: token}, err
}

// Replace stores a new version of the given spans of the turn's trace and leaves the others
// unchanged. One invalid span refuses the call.
func (i *Ingest) Replace(ctx context.Context, turn *Turn, source string, spans []trace.Span) (Receipt, error) {
	return i.change(ctx, turn, source, request{op: stream.Edit, some: true}, spans)
}

// Edit replaces the turn's trace by the given spans. One invalid span refuses the call.
//
// An edit that does not fit one record is split into several records, of which each replaces
// its spans; the other spans of the trace are removed after Kafka has acknowledged all
// records. After an error some spans may be new already, but none is missing, and the same
// call completes the edit.
func (i *Ingest) Edit(ctx context.Context, turn *Turn, source string, spans []trace.Span) (Receipt, error) {
	receipt, err := i.change(ctx, turn, source, request{op: stream.Edit}, spans)
	if err != nil || !receipt.parted {
		return receipt, err
	}
	others, err := turn.others(ctx, receipt)
	if err != nil {
		return Receipt{}, err
	}
	gone, err := i.change(ctx, turn, source, request{op: stream.Delete}, others)
	if err != nil {
		return Receipt{}, err
	}
	for _, p := range gone.Token {
		receipt.Token = receipt.Token.Add(p)
	}
	return receipt, nil
}

// change publishes new versions of spans of the turn's trace.
func (i *Ingest) change(ctx context.Context, turn *Turn, source string, what request, spans []trace.Span) (Receipt, error) {
	if err := turn.holds(spans); err != nil {
		return Receipt{}, err
	}
	receipt, err := i.canonical(ctx, source, what, spans, nil)
	turn.note(receipt.Token)
	return receipt, err
}

// others returns the spans of the turn's trace that an edit leaves out. Spans that reach
// Kafka after the edit are not part of it.
func (t *Turn) others(ctx context.Context, edit Receipt) ([]trace.Span, error) {
	stored, err := t.Outline(ctx, nil)
	if err != nil {
		return nil, err
	}
	kept := make(map[trace.SpanID]bool, len(edit.Links))
	for _, l := range edit.Links {
		kept[l.SpanID] = true
	}
	var others []trace.Span
	for i := range stored.Spans {
		if s := &stored.Spans[i]; !kept[s.SpanID] && !after(stored.keys[s.SpanID].position(), edit.Token) {
			others = append(others, *s)
		}
	}
	return others, nil
}

// after reports whether a position is after all positions of a token in its partition.
func after(p domain.Position, token domain.Token) bool {
	for _, q := range token {
		if q.Partition == p.Partition {
			return p.Offset > q.Offset
		}
	}
	return false
}
