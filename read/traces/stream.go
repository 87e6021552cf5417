package traces

import (
	"context"
	"errors"
	"math"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/slot"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/clickhouse"
	"colonnade/read/memory"
	"colonnade/read/statements"
)

// A trace up to these bounds is read with one statement. Of a larger one the skeleton
// is read first, and payloads in the order of the tree while they are written.
const (
	wholeTraceBytes = 8 << 20
	wholeTraceSpans = 5000
)

// What a stream holds at a time, beside the skeleton.
const (
	streamChunkBytes = 1 << 20
	streamChunkSpans = 1000
)

// skeletonBytes is what a span takes in a skeleton, with the maps that build it.
const skeletonBytes = 400

// TraceByID returns a trace: its spans ascending by start, or a stream if it is
// large. Both are nil if it does not exist.
func (r *Reader) TraceByID(ctx context.Context, project domain.ProjectID, id trace.TraceID) ([]trace.Span, *trace.Stream, error) {
	ctx = clickhouse.Admit(ctx, project, slot.Short)
	before := memory.LeaseOf(ctx).Mark()
	found, err := r.whole(ctx, project, []trace.TraceID{id}, bound{bytes: wholeTraceBytes, spans: wholeTraceSpans})
	if !errors.Is(err, errOverPage) {
		return found[id], nil, err
	}
	memory.LeaseOf(ctx).Rewind(before)
	s, err := r.stream(ctx, project, id)
	return nil, s, err
}

// stream reads the skeleton of a trace. The memory for it is taken before.
func (r *Reader) stream(ctx context.Context, project domain.ProjectID, id trace.TraceID) (*trace.Stream, error) {
	bounds, err := r.bounds(ctx, project, []trace.TraceID{id})
	if err != nil || len(bounds) == 0 {
		return nil, err
	}
	var spans, bytes uint64
	err = r.db.Query(ctx, "sizes", statements.OfTraces(project, statements.Sizes, bounds, nil), func(rows driver.Rows) error {
		var id trace.TraceID
		return rows.Scan(traceOf(&id), &spans, &bytes)
	})
	if err != nil {
		return nil, err
	}
	if err := memory.LeaseOf(ctx).Charge(int64(min(spans, math.MaxInt32)) * skeletonBytes); err != nil {
		return nil, err
	}
	k, err := r.skeleton(ctx, project, bounds)
	if err != nil || len(k.rows) == 0 {
		return nil, err
	}
	edges := make([]trace.Edge, len(k.rows))
	names := make([]string, len(k.rows))
	metrics := make([]spanmetrics.Incremental, len(k.rows))
	for i := range k.rows {
		edges[i], names[i], metrics[i] = k.rows[i].own.Edge, k.rows[i].name, k.rows[i].own
	}
	tree := trace.NewSkeleton(edges, names)
	sums := spanmetrics.Sum(metrics).Spans
	s := &spanStream{r: r, ctx: ctx, project: project, lease: memory.LeaseOf(ctx)}
	for _, i := range tracejson.Order(tree) {
		row := k.rows[i].keyRow
		row.Type = k.traceType
		s.rest, s.sums = append(s.rest, row), append(s.sums, sums[i])
	}
	s.base = s.lease.Mark()
	// A failure from here on breaks the connection, so the memory of the largest chunk is taken as well.
	if err := s.lease.Reserve(s.largestChunk()); err != nil {
		return nil, err
	}
	return &trace.Stream{ID: id, Skeleton: tree, Next: s.next}, nil
}

// skeleton is the spans of a trace without their payloads.
type skeleton struct {
	rows      []skeletonRow
	traceType trace.Type
}

type skeletonRow struct {
	keyRow
	name string
	own  spanmetrics.Incremental
}

// skeleton reads the latest version of each span of a trace. A trace is an annotation
// as soon as one of its rows is.
func (r *Reader) skeleton(ctx context.Context, project domain.ProjectID, bounds []statements.Bounds) (k skeleton, err error) {
	scan := newKeyScan()
	var row skeletonRow
	var nano uint16
	var typ int8
	to := append(scan.to, spanOf(&row.own.Parent), &nano, &row.name, &typ, &row.own.Response, (*uint64)(&row.own.Failure))
	for i := range row.own.Metrics {
		to = append(to, &row.own.Metrics[i])
	}
	at := map[trace.SpanID]int{}
	names := map[string]string{}
	err = r.db.Query(ctx, "skeleton", statements.OfTraces(project, statements.Skeleton, bounds, nil), func(rows driver.Rows) error {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		row.keyRow = scan.done()
		row.own.ID, row.own.Start, row.own.Type = row.span, row.Start*1000+int64(nano), trace.SpanType(typ) //nolint:gosec // an enum's number
		if known, ok := names[row.name]; ok {
			row.name = known
		} else {
			names[row.name] = row.name
		}
		if k.traceType != trace.Annotation && (k.traceType == 0 || row.Type != trace.Unknown) {
			k.traceType = row.Type
		}
		i, there := at[row.span]
		switch {
		case !there:
			at[row.span] = len(k.rows)
			k.rows = append(k.rows, row)
		case k.rows[i].version < row.version:
			k.rows[i] = row
		}
		return nil
	})
	return k, err
}

// spanStream reads the payloads of a trace chunk by chunk.
type spanStream struct {
	r       *Reader
	ctx     context.Context // that of the request, which the stream lives no longer than
	project domain.ProjectID
	lease   *memory.Lease
	base    int64 // what the lease counts without a chunk

	rest  []keyRow // what is not read yet, in the order of the tree
	sums  [][spanmetrics.Count]float64
	chunk []trace.Span
	at    int
}

// errGone is the error of a stream whose trace changed while it was read. The client
// has a part of the reply, which ends.
var errGone = domain.E(domain.Unavailable, "The trace changed while it was read. Try again.")

func (s *spanStream) next() (*trace.Span, error) {
	if s.at == len(s.chunk) {
		if err := s.read(); err != nil {
			return nil, err
		}
	}
	span := &s.chunk[s.at]
	spanmetrics.SetCumulative(span, s.sums[s.at])
	s.at++
	return span, nil
}

// read reads the next chunk in the place of the last one.
func (s *spanStream) read() error {
	s.sums = s.sums[len(s.chunk):]
	n, bytes := chunkOf(s.rest)
	s.chunk, s.at = nil, 0
	s.lease.Rewind(s.base)
	found, err := s.r.fetch(s.ctx, s.project, s.rest[:n], max(bytes, s.r.cfg.MaxReadBytes))
	if err != nil {
		return err
	}
	if len(found) != n || n == 0 {
		return errGone
	}
	s.chunk, s.rest = found, s.rest[n:]
	return nil
}

// chunkOf returns how many of the rows are read at once, and their payload bytes: one
// at least.
func chunkOf(rows []keyRow) (n int, bytes int64) {
	for n < len(rows) && n < streamChunkSpans && (n == 0 || bytes+int64(rows[n].bytes) <= streamChunkBytes) {
		bytes += int64(rows[n].bytes)
		n++
	}
	return n, bytes
}

func (s *spanStream) largestChunk() (largest int64) {
	for rest := s.rest; len(rest) > 0; {
		n, bytes := chunkOf(rest)
		largest = max(largest, int64(n)*memory.SpanBytes+bytes*memory.PayloadFactor)
		rest = rest[n:]
	}
	return largest
}
