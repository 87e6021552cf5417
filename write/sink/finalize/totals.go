package finalize

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/internal/native"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// total is what the spans of a trace sum.
type total struct {
	key rows.TraceKey
	clickhouse.Bounds
	declared, resolved trace.Type
	linked, stale      bool
	types              uint8 // a bit for each trace type that a row has
	maxEnd, created    int64
	version            uint64
	// values are the totals of the trace, NaN for a metric that no span has.
	values [spanmetrics.Count]float64
	spans  []recent.SpanMetrics
	sums   [][spanmetrics.Count]float64
	// tops are the positions of the roots of what is stored among spans, ascending by start;
	// there is at least one.
	tops []int32
	// first reports that the trace was not finalized before, so that no rows of it in
	// span_cumulative need to be replaced.
	first bool
	// identified reports that its roots have their identifiers now.
	identified bool
}

// add computes the total of the spans of a trace; there is at least one span.
func (t *total) add(spans []recent.SpanMetrics) {
	// One order, because floating-point sums depend on it: spans of the cache and of
	// ClickHouse must sum alike.
	slices.SortFunc(spans, func(a, b recent.SpanMetrics) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.StartNS, b.StartNS), bytes.Compare(a.ID[:], b.ID[:]))
	})
	t.spans, t.Bounds, t.created = spans, clickhouse.NoBounds(), math.MaxInt64
	own := make([]spanmetrics.Incremental, len(spans))
	for i := range spans {
		f := &spans[i]
		t.declared, t.linked = max(t.declared, f.Declared), t.linked || f.Linked
		t.Add(f.Start, f.Start, f.PartitionWeek, f.PartitionWeek)
		t.maxEnd, t.created, t.version = max(t.maxEnd, f.End), min(t.created, f.Created), max(t.version, f.Version)
		own[i] = spanmetrics.Incremental{Edge: trace.Edge{ID: f.ID, Parent: f.Parent, Start: f.Start*1000 + int64(f.StartNS)}, Traits: f.Traits, Metrics: f.Own}
	}
	t.resolved = trace.TypeOf(t.declared, t.linked)
	sums := spanmetrics.Sum(own)
	t.sums, t.values, t.tops = sums.Spans, sums.Totals, sums.Tops
	for k, has := range spanmetrics.HasAny(own) {
		if !has {
			t.values[k] = math.NaN()
		}
	}
}

// root returns the first root, of those without a parent if there are any.
func (t *total) root() *recent.SpanMetrics {
	for _, i := range t.tops {
		if t.spans[i].Parent.IsZero() {
			return &t.spans[i]
		}
	}
	return &t.spans[t.tops[0]]
}

// rerooted returns the spans whose rows say of whether they are roots what does not hold,
// and whether any root has a parent.
func (t *total) rerooted() (changed []trace.SpanID, orphans bool) {
	top := make([]bool, len(t.spans))
	for _, i := range t.tops {
		top[i] = true
		orphans = orphans || !t.spans[i].Parent.IsZero()
	}
	for i := range t.spans {
		if f := &t.spans[i]; top[i] && f.NotRoot || !top[i] && f.Root {
			changed = append(changed, f.ID)
		}
	}
	return changed, orphans
}

// sumsMore reports whether the sum of a span differs from its own value.
func (t *total) sumsMore(i int) bool {
	for k, v := range t.sums[i] {
		if own := t.spans[i].Own[k]; v != own && (v != 0 || !math.IsNaN(own)) {
			return true
		}
	}
	return false
}

// cumulativeRows returns the rows of the table span_cumulative.
func cumulativeRows(found []total, version uint64) *native.Block {
	c := &rows.Columns{}
	project := c.Fixed("project_id", rows.TypeUUID, 16)
	traceType := c.Fixed("trace_type", rows.TypeEnum, 1)
	start := c.Fixed("start_time", rows.TypeTime, 8)
	tie := c.Fixed("sort_hash", "UInt64", 8)
	week := c.Fixed("partition_week", "Date", 2)
	id := c.Fixed("trace_id", rows.TypeTraceID, 16)
	span := c.Fixed("span_id", rows.TypeSpanID, 8)
	versions := c.Fixed("version", "UInt64", 8)
	var metrics [spanmetrics.Count]*native.Fixed
	for k, m := range schema.Metrics() {
		metrics[k] = c.Fixed(m.Column, "Float64", 8)
	}
	for i := range found {
		t := &found[i]
		for j := range t.spans {
			f := &t.spans[j]
			if t.first && !t.sumsMore(j) {
				continue
			}
			project.UUID(t.key.Project)
			traceType.Uint8(uint8(t.resolved))
			start.Int64(f.Start)
			tie.Uint64(f.SortHash)
			week.Uint16(f.PartitionWeek)
			id.Bytes(t.key.Trace[:])
			span.Bytes(f.ID[:])
			versions.Uint64(version)
			for k, v := range t.sums[j] {
				if own := f.Own[k]; v == 0 && own != 0 && !math.IsNaN(own) {
					v = math.NaN() // readers would take 0 for the own value of a span without a row
				}
				metrics[k].Float64(v)
			}
		}
	}
	return &c.Block
}

// totalsRows returns the rows of the table trace_totals.
func totalsRows(found []total, version uint64, finalizedAt time.Time) *native.Block {
	c := &rows.Columns{}
	project := c.Fixed("project_id", rows.TypeUUID, 16)
	id := c.Fixed("trace_id", rows.TypeTraceID, 16)
	traceType := c.Fixed("trace_type", rows.TypeEnum, 1)
	start := c.Fixed("start_time", rows.TypeTime, 8)
	end := c.Fixed("end_time", rows.TypeTime, 8)
	root := c.Fixed("root_span_id", rows.TypeSpanID, 8)
	name := c.Text("root_name")
	spans := c.Fixed("spans", "UInt32", 4)
	var metrics [spanmetrics.Count]*native.Fixed
	for k, m := range schema.Metrics() {
		metrics[k] = c.Fixed(m.Column, "Float64", 8)
	}
	oneTree := c.Fixed("one_tree", "UInt8", 1)
	versions := c.Fixed("version", "UInt64", 8)
	at := c.Fixed("finalized_at", rows.TypeTime, 8)
	for i := range found {
		t := &found[i]
		project.UUID(t.key.Project)
		id.Bytes(t.key.Trace[:])
		traceType.Uint8(uint8(t.resolved))
		first := t.root()
		start.Int64(first.Start)
		end.Int64(t.maxEnd)
		root.Bytes(first.ID[:])
		name.Append(first.Name)
		spans.Uint32(uint32(len(t.spans))) //nolint:gosec // a trace of more does not fit into memory
		for k, value := range t.values {
			metrics[k].Float64(value)
		}
		oneTree.Bool(len(t.tops) == 1)
		versions.Uint64(version)
		at.Int64(rows.Micros(finalizedAt))
	}
	return &c.Block
}
