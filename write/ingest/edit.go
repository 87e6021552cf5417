package ingest

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/stream"
)

// Delete removes the trace of the turn. It says nothing about whether it exists;
// the receipt's token tells when it is gone.
func (i *Ingest) Delete(ctx context.Context, turn *Turn, source string) (Receipt, error) {
	caller, err := i.caller(ctx)
	if err != nil {
		return Receipt{}, err
	}
	token, err := i.producer.Publish(ctx, []stream.Record{i.record(caller, source, stream.Delete, turn.at.trace)})
	turn.note(token)
	return Receipt{Token: token}, err
}

// Replace gives spans of the turn's trace a new state and leaves the others as
// they are. One bad span refuses the call.
func (i *Ingest) Replace(ctx context.Context, turn *Turn, source string, spans []trace.Span) (Receipt, error) {
	return i.change(ctx, turn, source, request{op: stream.Edit, some: true}, spans)
}

// Edit gives the turn's trace a new state: the spans are all that is left of it.
// One bad span refuses the call.
//
// An edit that does not fit one record comes as several, of which each replaces
// the spans that it holds; the others are removed when all of them are
// acknowledged. On an error some spans may have their new state already, but
// none is missing, and the same call does the rest.
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

// change publishes what becomes of spans of the turn's trace.
func (i *Ingest) change(ctx context.Context, turn *Turn, source string, what request, spans []trace.Span) (Receipt, error) {
	if err := turn.holds(spans); err != nil {
		return Receipt{}, err
	}
	receipt, err := i.canonical(ctx, source, what, spans, nil)
	turn.note(receipt.Token)
	return receipt, err
}

// others are the spans of the turn's trace that an edit leaves out, as far as
// they name themselves. What came to the stream after the edit is not its matter.
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

// after tells whether a position comes after all those of a token in its partition.
func after(p domain.Position, token domain.Token) bool {
	for _, q := range token {
		if q.Partition == p.Partition {
			return p.Offset > q.Offset
		}
	}
	return false
}
