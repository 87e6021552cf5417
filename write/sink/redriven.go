package sink

import (
	"context"
	"fmt"

	"colonnade/write/sink/deletion"
	"colonnade/write/sink/rows"
)

// A redriven record has the time of its first receipt and an offset of now. What was sent,
// edited or deleted since that receipt stays as it is: of the record the spans that this
// concerns are left out, or a whole edit or delete, and rejected_spans says so.

// supersede reports what of a redriven record is left out.
func (b *batch) supersede(i int, format string, args ...any) {
	r := &b.records[i]
	// Its content is not repeated: it may be what was deleted.
	b.rejects = append(b.rejects, rows.RejectedSpan{
		Project: r.Project, At: r.ReceivedAt, Source: r.Source, Stage: "redrive", Reason: fmt.Sprintf(format, args...), TraceID: r.Trace.String(), Offset: r.Offset,
	})
}

// redriven returns the groups that have a redriven record.
func (b *batch) redriven(groups []*group) (out []*group) {
	for _, g := range groups {
		for _, i := range g.records {
			if b.records[i].Redriven {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

// lookUpPast reads what was done to the traces of groups that have redriven records.
func (w *worker) lookUpPast(ctx context.Context, b *batch, groups []*group) error {
	if len(groups) == 0 {
		return nil
	}
	keys := make([]rows.TraceKey, len(groups))
	for i, g := range groups {
		keys[i] = g.Key
	}
	index, err := w.store.LookUpTraces(ctx, keys)
	if err != nil {
		return err
	}
	return w.eachOrRefuse(ctx, b, groups, "redrive", func(traces []*deletion.Trace) error {
		return w.deletions().ReadHistory(ctx, b.rng.First, traces, index)
	})
}

// eachOrRefuse reads about all groups together. If that fails, because one of them is too
// much for ClickHouse, it reads about each alone and refuses those that fail.
func (w *worker) eachOrRefuse(ctx context.Context, b *batch, groups []*group, stage string, read func([]*deletion.Trace) error) error {
	err := read(tracesOf(groups))
	if err == nil || ctx.Err() != nil || len(groups) == 0 {
		return err
	}
	for _, g := range groups {
		if err := read([]*deletion.Trace{&g.Trace}); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.refuseGroup(g, stage, err)
		}
	}
	return nil
}

func tracesOf(groups []*group) []*deletion.Trace {
	traces := make([]*deletion.Trace, len(groups))
	for i, g := range groups {
		traces[i] = &g.Trace
	}
	return traces
}

// refuseGroup sends the records of a trace to the dead-letter topic, because the trace is
// too large for what they do to it: the partition goes on without them.
func (b *batch) refuseGroup(g *group, stage string, err error) {
	dead := b.deadRecords()
	for _, i := range g.records {
		if !dead[i] {
			b.deadLetter(i, stage, err)
		}
	}
	*g = group{Trace: deletion.Trace{Key: g.Key}}
}
