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
	oneTree            bool
	types              uint8 // a bit for each trace type that a row has
	maxEnd, created    int64
	root               trace.SpanID
	rootName           string
	version            uint64
	// values are the sums over all spans, NaN for a metric that no span has.
	values [spanmetrics.Count]float64
	spans  []recent.SpanMetrics
	sums   [][spanmetrics.Count]float64
	// first reports that the trace was not finalized before, so that no rows of it in
	// span_cumulative need to be replaced.
	first bool
}

// add computes the total of the spans of a trace; there is at least one span.
func (t *total) add(spans []recent.SpanMetrics) {
	// One order, because floating-point sums depend on it: spans of the cache and of
	// ClickHouse must sum alike.
	slices.SortFunc(spans, func(a, b recent.SpanMetrics) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.StartNS, b.StartNS), bytes.Compare(a.ID[:], b.ID[:]))
	})
	t.spans, t.Bounds, t.created = spans, clickhouse.NoBounds(), math.MaxInt64
	edges, own := make([]trace.Edge, len(spans)), make([][spanmetrics.Count]float64, len(spans))
	for i := range t.values {
		t.values[i] = math.NaN()
	}
	rooted := false
	for i := range spans {
		f := &spans[i]
		t.declared, t.linked = max(t.declared, f.Declared), t.linked || f.Linked
		t.Add(f.Start, f.Start, f.PartitionWeek, f.PartitionWeek)
		t.maxEnd, t.created, t.version = max(t.maxEnd, f.End), min(t.created, f.Created), max(t.version, f.Version)
		if f.Parent.IsZero() && !rooted {
			rooted, t.root, t.rootName = true, f.ID, f.Name
		}
		edges[i], own[i] = trace.Edge{ID: f.ID, Parent: f.Parent, Start: f.Start*1000 + int64(f.StartNS)}, f.Own
		for k, v := range f.Own {
			switch {
			case math.IsNaN(v):
			case math.IsNaN(t.values[k]):
				t.values[k] = v
			default:
				t.values[k] += v
			}
		}
	}
	t.resolved = trace.TypeOf(t.declared, t.linked)
	t.sums, t.oneTree = spanmetrics.Sum(edges, own)
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
		start.Int64(t.MinStart)
		end.Int64(t.maxEnd)
		root.Bytes(t.root[:])
		name.Append(t.rootName)
		spans.Uint32(uint32(len(t.spans))) //nolint:gosec // a trace of more does not fit into memory
		for k, value := range t.values {
			metrics[k].Float64(value)
		}
		oneTree.Bool(t.oneTree)
		versions.Uint64(version)
		at.Int64(rows.Micros(finalizedAt))
	}
	return &c.Block
}
