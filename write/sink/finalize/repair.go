package finalize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/rows"
)

// A statement costs about the same for one trace and for many, and thousands of traces
// may need the same change: no stage has a step for each trace.

// move gives all rows of traces the type of their trace: it copies them under the new
// key first, then deletes the old rows. Payloads have no type and stay.
func (t *Traces) move(ctx context.Context) (steps []plan.Step, err error) {
	byType := map[trace.Type][]rows.TraceKey{}
	for i := range t.found {
		if x := &t.found[i]; x.types != 1<<x.resolved {
			byType[x.resolved] = append(byType[x.resolved], x.key)
		}
	}
	for to, keys := range byType {
		for which := range clickhouse.AnyOf(t.conditions(keys)) {
			steps = append(steps, t.moveRows(schema.Spans, to, which)...)
		}
		for some := range slices.Chunk(keys, clickhouse.TracesAtOnce) {
			annotations, err := t.moveAnnotations(ctx, to, clickhouse.OfTraces(some))
			if err != nil {
				return nil, err
			}
			steps = append(steps, annotations...)
		}
		t.from.Metrics.moved.Add(float64(len(keys)))
	}
	return steps, nil
}

// moveRows returns the steps that give a type to those of some rows that have another.
func (t *Traces) moveRows(table string, to trace.Type, which string) []plan.Step {
	name := t.from.DB.Table(table)
	return []plan.Step{
		plan.Statement{
			What: "move " + table + " to their type",
			SQL:  fmt.Sprintf("INSERT INTO %[1]s SELECT * REPLACE ('%[2]s' AS trace_type) FROM %[1]s AS t WHERE t.trace_type != '%[2]s' AND (%[3]s)", name, to, which),
		},
		plan.Delete{Table: table, Where: fmt.Sprintf("trace_type != '%s' AND (%s)", to, which)},
	}
}

// storedRow is the key and the version of a stored row of a span.
type storedRow struct {
	plan.RowKey
	version uint64
}

// clean removes the rows of traces for whose span there is a newer version under
// another key.
func (t *Traces) clean(ctx context.Context) ([]plan.Step, error) {
	keys := t.where(func(x *total) bool { return x.stale })
	var removal plan.Removal
	var payloads plan.Superseded
	for which := range clickhouse.AnyOf(t.conditions(keys)) {
		byTrace, err := t.storedRows(ctx, which)
		if err != nil {
			return nil, err
		}
		var superseded []plan.SupersededRows
		for key, stored := range byTrace {
			replaced, versions := supersededRows(key, stored)
			if len(replaced) > 0 { // otherwise the move has removed them
				superseded, payloads = append(superseded, plan.SupersededRows{Key: key, Rows: replaced}), append(payloads, versions...)
			}
		}
		removal.AddSuperseded(superseded, math.MaxUint64)
	}
	if len(removal.Spans) == 0 {
		return nil, nil
	}
	return []plan.Step{payloads, &removal}, nil
}

// storedRows reads the keys and versions of the rows of traces.
func (t *Traces) storedRows(ctx context.Context, which string) (map[rows.TraceKey][]storedRow, error) {
	statement := fmt.Sprintf("SELECT project_id, trace_id, span_id, toInt8(trace_type), toUnixTimestamp64Micro(start_time), version FROM %s WHERE %s", t.from.DB.Table(schema.Spans), which)
	found := map[rows.TraceKey][]storedRow{}
	err := t.from.DB.Query(ctx, "find stale rows", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var traceType int8
		var r storedRow
		if err := result.Scan(&project, &rawTrace, &rawSpan, &traceType, &r.Start, &r.version); err != nil {
			return err
		}
		copy(r.Span[:], rawSpan)
		r.TraceType = trace.Type(traceType) //nolint:gosec // an enum is small and positive
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}
		found[key] = append(found[key], r)
		return nil
	})
	return found, err
}

// supersededRows returns those rows of a trace for whose span there is a later version
// under another key, and their versions.
func supersededRows(key rows.TraceKey, stored []storedRow) (superseded []plan.RowKey, versions plan.Superseded) {
	latest := map[trace.SpanID]storedRow{}
	for _, r := range stored {
		if l, ok := latest[r.Span]; !ok || r.version > l.version {
			latest[r.Span] = r
		}
	}
	for _, r := range stored {
		if l := latest[r.Span]; r.version < l.version && r.RowKey != l.RowKey {
			superseded = append(superseded, r.RowKey)
			versions = append(versions, plan.Version{Project: key.Project, Span: r.Span, Version: r.version})
		}
	}
	return superseded, versions
}

// mendIndex corrects the flags of trace_index that no longer hold: its aggregates only
// ever grow. It adds a row and removes none, so that a lookup always finds the trace.
func (t *Traces) mendIndex(context.Context) ([]plan.Step, error) {
	var mended []rows.IndexRow
	for i := range t.found {
		x := &t.found[i]
		if indexed := t.index[x.key]; indexed.Declared == x.declared && indexed.Linked == x.linked {
			continue
		}
		mended = append(mended, rows.IndexRow{
			Key: x.key, Declared: x.declared, Linked: x.linked, FinalizedFlags: clickhouse.FinalizedFlags(t.next, x.declared, x.linked),
			Summary: rows.Summary{
				MinStart: x.MinStart, MaxStart: x.MaxStart, MinPartitionWeek: x.MinPartitionWeek, MaxPartitionWeek: x.MaxPartitionWeek,
				Created: x.created, LastVersion: x.version, FirstVersion: x.version,
			},
		})
	}
	return []plan.Step{plan.Insert{Table: schema.TraceIndex, Block: rows.TraceIndex(mended, t.from.Partition, t.from.Now())}}, nil
}

// noteRepaired notes in the cache the type that the rows have now.
func (t *Traces) noteRepaired() {
	for i := range t.found {
		x := &t.found[i]
		if k := t.from.Cache.Trace(x.key); k != nil {
			k.Declared, k.Linked = x.declared, x.linked
			for j := range k.Spans {
				k.Spans[j].TraceType = x.resolved
			}
		}
	}
}
