package ingest

import (
	"context"
	"fmt"
	"unsafe"

	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
	"colonnade/write/stream"
)

// request says what is to be done with spans.
type request struct {
	op stream.Operation
	// some tells that an edit replaces the spans it holds and no others.
	some bool
}

// JSON takes the spans of a body of JSON in; refused are those that its door
// found bad. Errors are those of OTLP.
func (i *Ingest) JSON(ctx context.Context, source string, spans []trace.Span, refused *wire.Refusals) (Receipt, error) {
	return i.canonical(ctx, source, request{op: stream.Upsert}, spans, refused)
}

func (i *Ingest) canonical(ctx context.Context, source string, what request, spans []trace.Span, refused *wire.Refusals) (Receipt, error) {
	body, err := wire.AppendBody(nil, spans)
	if err != nil {
		return Receipt{}, fmt.Errorf("ingest: encode spans: %w", err)
	}
	return i.take(ctx, source, what, unsafe.String(unsafe.SliceData(body), len(body)), refused) //nolint:gosec // body is never written again
}
