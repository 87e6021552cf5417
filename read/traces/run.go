package traces

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/read/clickhouse"
	"colonnade/read/sqltext"
)

// Run runs a statement for another reader of spans, under the bounds, metrics
// and classification of errors that every statement here has. name is what
// metrics call it.
func (r *Reader) Run(ctx context.Context, project domain.ProjectID, name string, s sqltext.Statement, each func(driver.Rows) error) error {
	if project.IsZero() {
		return unauthenticated()
	}
	return r.db.Query(clickhouse.Admit(ctx, project, slot.Long), name, s, each)
}

// ScanTraceID takes a trace_id column.
func ScanTraceID(id *trace.TraceID) any { return traceOf(id) }

// ScanSpanID takes a span_id column.
func ScanSpanID(id *trace.SpanID) any { return spanOf(id) }

// unauthenticated returns the error of a read without a project: no statement runs
// without one.
func unauthenticated() error { return domain.E(domain.Unauthenticated, "Unauthorized") }

// Slots returns the pool from which the statements of all reads take their slots.
func (r *Reader) Slots() *slot.Pool { return r.db.Slots() }

// Lease opens a lease of the memory of answers. See memory.Budget.
func (r *Reader) Lease(ctx context.Context) (held context.Context, release func()) {
	return r.memory.Open(ctx)
}
