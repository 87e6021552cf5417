package traces

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// attempts is how often a lookup is repeated whose two halves saw different
// versions of a span: a write came in between.
const attempts = 3

// fetchChunk is how many keys one lookup names.
const fetchChunk = 2000

// byStart orders spans as traces are returned: by start in full precision, then by id.
func byStart(a, b trace.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.SpanID[:], b.SpanID[:]))
}

// fetch gives the spans of these rows in their order, each in its latest
// version at its place, without cumulative metrics. A span that went away
// since is left out.
func (r *Reader) fetch(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error) {
	var total int64
	for _, k := range rows {
		total += int64(k.bytes)
	}
	if total > maxBytes {
		return nil, tooLarge(maxBytes)
	}
	found := make(map[identity]trace.Span, len(rows))
	for chunk := range slices.Chunk(rows, fetchChunk) {
		chunk, err := r.fetchDocuments(ctx, project, chunk, maxBytes, found)
		if err != nil {
			return nil, err
		}
		if len(chunk) == 0 {
			continue
		}
		keys := keysOfRows(chunk)
		wanted := make(map[identity]bool, len(chunk))
		for _, k := range chunk {
			wanted[k.identity] = true
		}
		err = r.join(ctx, bound{bytes: maxBytes}, compile.ByKeys(project, compile.Core, keys), compile.ByKeys(project, compile.Payload, keys), func(s trace.Span) {
			if id := (identity{s.TraceID, s.SpanID}); wanted[id] {
				found[id] = s
			}
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]trace.Span, 0, len(rows))
	for _, k := range rows {
		if s, ok := found[k.identity]; ok {
			out = append(out, s)
			delete(found, k.identity)
		}
	}
	return out, nil
}

func keysOfRows(rows []keyRow) []compile.Key {
	keys := make([]compile.Key, len(rows))
	for i, k := range rows {
		keys[i] = k.Key
	}
	return keys
}

// fetchDocuments completes rows whose core came with the scan. It gives those
// it could not: without core, or written again since.
func (r *Reader) fetchDocuments(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64, found map[identity]trace.Span) ([]keyRow, error) {
	if rows[0].core == nil {
		return rows, nil
	}
	documents, err := r.documents(ctx, bound{bytes: maxBytes}, compile.ByKeys(project, compile.Payload, keysOfRows(rows)))
	if err != nil {
		return nil, err
	}
	var rest []keyRow
	for _, k := range rows {
		if d, ok := documents[k.identity]; ok && d.Version == k.version {
			found[k.identity] = k.core.with(d)
		} else {
			rest = append(rest, k)
		}
	}
	return rest, nil
}

func tooLarge(maxBytes int64) error {
	return domain.E(domain.Rejected, "The answer would hold more than %d MiB. Ask for fewer traces or spans, or page through the spans with a filter on trace_id.", maxBytes>>20)
}

// bound is what a lookup may bring into memory. With spans set it is that of a
// page, which can be made smaller: to go over it is errOverPage and no refusal.
type bound struct {
	bytes int64
	spans int
}

// errOverPage tells that the items of a page do not fit into one.
var errOverPage = domain.E(domain.Internal, "more than a page holds")

// join runs the two halves of a lookup at once and hands each span, whole and
// in its latest version, to each. The halves see the store at two moments: a
// span of which they saw different versions is looked up again.
func (r *Reader) join(ctx context.Context, limit bound, core, payload compile.Statement, each func(trace.Span)) error {
	return r.joinRows(ctx, limit, core, payload, func(c *coreRow, documents trace.Span) { each(c.with(documents)) })
}

// joinRows is join for those who want to know where a span stands.
func (r *Reader) joinRows(ctx context.Context, limit bound, core, payload compile.Statement, each func(c *coreRow, documents trace.Span)) error {
	for range attempts {
		cores, documents, err := r.halves(ctx, limit, core, payload)
		if err != nil {
			return err
		}
		complete := true
		for id, c := range cores {
			d, ok := documents[id]
			complete = complete && ok && d.Version == c.span.Version
		}
		if !complete {
			continue
		}
		for id, c := range cores {
			each(c, documents[id])
		}
		return nil
	}
	return &domain.Error{Kind: domain.Unavailable, Message: "A span's documents are being replaced. Try again shortly.", RetryAfter: grace}
}

// halves reads both halves, the latest version of each span only. The documents are spans with nothing else in them.
func (r *Reader) halves(ctx context.Context, limit bound, core, payload compile.Statement) (map[identity]*coreRow, map[identity]trace.Span, error) {
	cores := map[identity]*coreRow{}
	var documents map[identity]trace.Span
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		scan := newCoreScan(false)
		return r.query(ctx, "core", core, func(rows driver.Rows) error {
			c, err := scan.scan(rows)
			if err != nil {
				return err
			}
			if old := cores[c.identity()]; old == nil || old.span.Version < c.span.Version {
				cores[c.identity()] = c
			}
			if limit.spans > 0 && len(cores) > limit.spans {
				return errOverPage
			}
			return nil
		})
	})
	group.Go(func() (err error) {
		documents, err = r.documents(ctx, limit, payload)
		return err
	})
	return cores, documents, group.Wait()
}

// documents reads the documents of spans, the latest version of each.
func (r *Reader) documents(ctx context.Context, limit bound, payload compile.Statement) (map[identity]trace.Span, error) {
	out := map[identity]trace.Span{}
	var read int64
	var from producers
	err := r.query(ctx, "payload", payload, func(rows driver.Rows) error {
		p, err := scanPayload(rows)
		if err != nil {
			return err
		}
		if read += p.bytes(); read > limit.bytes {
			if limit.spans > 0 {
				return errOverPage
			}
			return tooLarge(limit.bytes)
		}
		if old, ok := out[p.identity]; ok && old.Version >= p.version {
			return nil
		}
		out[p.identity], err = p.parse(&from)
		return err
	})
	return out, err
}

// load gives whole traces by id, spans ascending, with their cumulative metrics.
func (r *Reader) load(ctx context.Context, project domain.ProjectID, bounds []compile.Bounds, limit bound) (map[trace.TraceID][]trace.Span, error) {
	out := make(map[trace.TraceID][]trace.Span, len(bounds))
	err := r.join(ctx, limit, compile.OfTraces(project, compile.Core, bounds, nil), compile.OfTraces(project, compile.Payload, bounds, nil), func(s trace.Span) {
		out[s.TraceID] = append(out[s.TraceID], s)
	})
	for _, spans := range out {
		slices.SortFunc(spans, byStart)
		pointers := make([]*trace.Span, len(spans))
		for i := range spans {
			pointers[i] = &spans[i]
		}
		trace.Cumulate(pointers)
	}
	return out, err
}

// bounds looks up where traces lie, those that exist.
func (r *Reader) bounds(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) ([]compile.Bounds, error) {
	if project.IsZero() {
		return nil, unauthenticated()
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var out []compile.Bounds
	at := make(map[trace.TraceID]int, len(ids))
	err := r.query(ctx, "bounds", compile.TraceBounds(project, ids), func(rows driver.Rows) error {
		var b compile.Bounds
		err := rows.Scan(traceOf(&b.Trace), &b.Min, &b.Max)
		i, there := at[b.Trace]
		if !there {
			at[b.Trace] = len(out)
			out = append(out, b)
			return err
		}
		out[i].Min, out[i].Max = min(out[i].Min, b.Min), max(out[i].Max, b.Max)
		return err
	})
	return out, err
}

// fetchWhole is fetch with cumulative metrics.
func (r *Reader) fetchWhole(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error) {
	return r.fetchSummed(ctx, project, rows, maxBytes, true)
}

// fetchSummed is fetchWhole for rows that lie in a crowd, or not: see crowded.
// Both halves of the work run at once.
func (r *Reader) fetchSummed(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64, crowded bool) (spans []trace.Span, err error) {
	var known *sums
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		spans, err = r.fetch(ctx, project, rows, maxBytes)
		return err
	})
	group.Go(func() (err error) {
		known, err = r.sumsOf(ctx, project, rows, crowded)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	known.cumulate(spans)
	return spans, nil
}
