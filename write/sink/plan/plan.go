// Package plan holds the changes of stored rows that write/sink/finalize and
// write/sink/deletion return as values. The worker of write/sink executes them, so that
// neither package imports the worker or the other one.
//
// Not here: how the changes are found, and what a worker notes when one is executed.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/rows"
)

// Step is one change: an Insert, a Statement, a Delete, a Removal or Superseded.
type Step interface{ step() } //nolint:iface // a closed set: finalize and deletion return steps, the worker executes them

// Insert adds a block of rows without a token: a repetition replaces them by equal rows.
type Insert struct {
	Table string
	Block *native.Block
}

// Statement runs an INSERT SELECT that may be repeated.
type Statement struct {
	// What names the statement in metrics and errors.
	What, SQL string
}

// Delete hides the rows of a table that meet a condition.
type Delete struct{ Table, Where string }

// Superseded names the payloads of replaced versions. The worker deletes them when it
// has time.
type Superseded []Version

func (Insert) step()     {}
func (Statement) step()  {}
func (Delete) step()     {}
func (Superseded) step() {}
func (*Removal) step()   {}

// Version names a row of a span by its version.
type Version struct {
	Project domain.ProjectID
	Span    trace.SpanID
	Version uint64
}

// RowKey is the part of a row's key that may differ between versions of a span.
type RowKey struct {
	Span      trace.SpanID
	TraceType trace.Type
	Start     int64 // microseconds
}

// SupersededRows are rows of one trace whose key differs from that of the version that
// replaces them.
type SupersededRows struct {
	Key  rows.TraceKey
	Rows []RowKey
}

// Removal holds the conditions on the rows that are to go, by table. Executing it marks
// the rollup buckets of the spans first, then hides the rows that make a trace visible
// before the others.
type Removal struct {
	Spans, Totals, Index, Rejected, Annotations []string
	// Payloads are the conditions of Spans except those on rows that a version left
	// behind under another key: such payloads are deleted later, see Superseded.
	Payloads []string
	// Buckets are conditions on the spans whose rollup buckets change. Of a trace that
	// loses some spans they name all, because what its root sums changes with them.
	Buckets []string
	// Traces is the number of traces that have superseded rows.
	Traces int
}

// AddSuperseded adds rows of versions below a version that were left behind under
// another key.
func (r *Removal) AddSuperseded(traces []SupersededRows, below uint64) {
	r.Traces += len(traces)
	keys := make([]rows.TraceKey, len(traces))
	var named []string
	for i, t := range traces {
		keys[i] = t.Key
		for _, s := range t.Rows {
			named = append(named, fmt.Sprintf("('%s',%s,%s,'%s',%s)", t.Key.Project, clickhouse.BytesLiteral(t.Key.Trace[:]), clickhouse.BytesLiteral(s.Span[:]), s.TraceType, clickhouse.TimeLiteral(s.Start)))
		}
	}
	for some := range slices.Chunk(named, clickhouse.TracesAtOnce) {
		which := fmt.Sprintf("project_id IN %s AND (project_id, trace_id, span_id, trace_type, start_time) IN (%s) AND version < %d", clickhouse.ProjectList(keys), strings.Join(some, ","), below)
		r.Spans, r.Buckets = append(r.Spans, which), append(r.Buckets, which)
	}
}
