package spans

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
)

// Reader gives the stored spans of a project; read/traces implements it.
// Spans come as readers see them: with the cumulative metrics of their whole
// trace (spanmetrics.Cumulate), each once, in its latest version. A query that fails
// is an error, never an empty page.
type Reader interface {
	// Wait returns when every position of the token is visible, or when its
	// bound has passed; pending are the positions that are not visible yet.
	Wait(ctx context.Context, token domain.Token) (pending domain.Token, err error)

	// Spans gives a page of the spans for which the filter holds (nil holds
	// everywhere), in the window's order of (start_time, id). The window's
	// Limit is set. Its Next is a cursor of ours, or the id of the last span as
	// a client makes it (contract §0 row 22).
	Spans(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[trace.Span], error)

	// Records is Spans without the cumulative metrics.
	Records(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[trace.Span], error)

	// Traces gives a page of the traces of which some span matches, in the
	// window's order of that span's start_time; each is all spans of the trace,
	// ascending by start_time, and never empty.
	Traces(ctx context.Context, project domain.ProjectID, where filter.Expr, window domain.Window) (domain.Page[[]trace.Span], error)

	// TracesByID gives those of the traces that exist, in the order of ids, each as Traces does.
	TracesByID(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) ([][]trace.Span, error)

	// TraceByID returns a trace as Traces does, or a stream if it is too large to be in
	// memory at once. Both are nil if it does not exist.
	TraceByID(ctx context.Context, project domain.ProjectID, id trace.TraceID) ([]trace.Span, *trace.Stream, error)

	// Lease returns a context whose reads count the memory of their answers, and the
	// function that gives it back once the reply is written.
	Lease(ctx context.Context) (held context.Context, release func())

	// SpansByID gives the spans of these traces that have these ids, ascending
	// by start_time. An empty list restricts nothing; not both are empty.
	SpansByID(ctx context.Context, project domain.ProjectID, traces []trace.TraceID, spans []trace.SpanID) ([]trace.Span, error)
}
