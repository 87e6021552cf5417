package ingest

import (
	"context"
	"fmt"
	"unsafe"

	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
	"colonnade/write/stream"
)

// request holds spans and how they are stored: appended, replaced or deleted.
type request struct {
	op stream.Operation
	// some marks an edit that replaces only the spans that it holds.
	some bool
}

// JSON publishes the spans of a JSON body; refused holds the spans that the endpoint refused.
// It returns the errors of OTLP.
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
