package traces

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/clickhouse"
	"colonnade/read/memory"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// attempts is how often rows are looked up whose documents are not there: a write
// came in between.
const attempts = 3

// fetchChunk is how many keys one lookup names.
const fetchChunk = 2000

// byStart orders spans as traces are returned: by start in full precision, then by id.
func byStart(a, b trace.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.SpanID[:], b.SpanID[:]))
}

// fetcher gives the spans of some rows.
type fetcher func(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error)

// fetch gives the spans of these rows in their order, without cumulative
// metrics. The rows are the latest versions; one that was replaced since comes in
// its latest version at its place, one that went away is left out.
func (r *Reader) fetch(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error) {
	if bytesOf(rows) > maxBytes {
		return nil, memory.TooLarge(maxBytes)
	}
	found := make(map[identity]trace.Span, len(rows))
	missing := rows
	for n := 0; len(missing) > 0; n++ {
		if n == attempts {
			return nil, &domain.Error{Kind: domain.Unavailable, Message: "A span's documents are being replaced. Try again shortly.", RetryAfter: time.Second}
		}
		if n > 0 { // a write came in between
			var err error
			if missing, err = r.again(ctx, project, missing); err != nil {
				return nil, err
			}
		}
		if err := r.fetchVersions(ctx, project, missing, maxBytes, found); err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(slices.Clone(missing), func(k keyRow) bool { _, there := found[k.identity]; return there })
	}
	return inOrder(rows, found), nil
}

// inOrder gives what was found of rows, each span once.
func inOrder(rows []keyRow, found map[identity]trace.Span) []trace.Span {
	out := make([]trace.Span, 0, len(rows))
	for _, k := range rows {
		if s, ok := found[k.identity]; ok {
			out = append(out, s)
			delete(found, k.identity)
		}
	}
	return out
}

// fetchLatest is fetch for rows that a condition chose, which the latest version
// of a span may not fulfil while the store still holds an earlier one: it looks
// for the latest at their places as well.
func (r *Reader) fetchLatest(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error) {
	var spans []trace.Span
	var newer []keyRow
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		spans, err = r.fetch(both, project, rows, maxBytes)
		return err
	})
	group.Go(func() (err error) {
		newer, err = r.newer(both, project, rows)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return spans, r.replace(ctx, project, spans, newer, maxBytes)
}

// newer gives of the spans of rows those of which a later version stands at the
// same place.
func (r *Reader) newer(ctx context.Context, project domain.ProjectID, rows []keyRow) ([]keyRow, error) {
	versions := make(map[identity]uint64, len(rows))
	var out []keyRow
	for chunk := range slices.Chunk(rows, fetchChunk) {
		for _, k := range chunk {
			versions[k.identity] = k.version
		}
		found, err := r.keys(ctx, "keys_latest", statements.ByKeys(project, statements.Keys, keysOfRows(chunk)))
		if err != nil {
			return nil, err
		}
		for _, k := range latest(found) {
			if version, there := versions[k.identity]; there && k.version > version {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

// replace puts later versions in the place of spans.
func (r *Reader) replace(ctx context.Context, project domain.ProjectID, spans []trace.Span, newer []keyRow, maxBytes int64) error {
	if len(newer) == 0 {
		return nil
	}
	replaced, err := r.fetch(ctx, project, newer, maxBytes)
	if err != nil {
		return err
	}
	by := make(map[identity]*trace.Span, len(replaced))
	for i := range replaced {
		by[identity{replaced[i].TraceID, replaced[i].SpanID}] = &replaced[i]
	}
	for i := range spans {
		if s := by[identity{spans[i].TraceID, spans[i].SpanID}]; s != nil {
			spans[i] = *s
		}
	}
	return nil
}

// fetchVersions reads just the versions of the rows, as far as they are there.
func (r *Reader) fetchVersions(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64, found map[identity]trace.Span) error {
	var read int64
	for chunk := range slices.Chunk(rows, fetchChunk) {
		versions := make([]statements.Version, len(chunk))
		wanted := make(map[identity]*keyRow, len(chunk))
		for i := range chunk {
			k := &chunk[i]
			versions[i], wanted[k.identity] = versionOf(k), k
		}
		err := r.documents(ctx, bound{bytes: maxBytes}, &read, statements.Payloads(project, versions), func(s stored) error {
			id := identity{s.Span.TraceID, s.Span.SpanID}
			if k := wanted[id]; k != nil && k.version == s.Span.Version {
				found[id] = s.of(k.Type, k.root)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return setIdentifiers(ctx, r, project, rows, found)
}

// again looks up what stands now where these rows were, in the latest versions.
func (r *Reader) again(ctx context.Context, project domain.ProjectID, rows []keyRow) ([]keyRow, error) {
	wanted := make(map[identity]bool, len(rows))
	keys := make([]statements.Key, 0, 3*len(rows))
	for _, k := range rows {
		wanted[k.identity] = true
		for _, t := range []trace.Type{trace.Invocation, trace.Annotation, trace.Unknown} { // it may have changed, too
			keys = append(keys, statements.Key{Type: t, Position: k.Position})
		}
	}
	var out []keyRow
	for chunk := range slices.Chunk(keys, fetchChunk) {
		found, err := r.keys(ctx, "keys_again", statements.ByKeys(project, statements.Keys, chunk))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return latest(slices.DeleteFunc(out, func(k keyRow) bool { return !wanted[k.identity] })), nil
}

func keysOfRows(rows []keyRow) []statements.Key {
	keys := make([]statements.Key, len(rows))
	for i, k := range rows {
		keys[i] = k.Key
	}
	return keys
}

// bound is what a lookup may bring into memory. With spans set it is that of a
// page, which can be made smaller: to go over it is errOverPage and no refusal.
type bound struct {
	bytes int64
	spans int
}

// errOverPage tells that the items of a page do not fit into one.
var errOverPage = domain.Wrap(domain.Internal, clickhouse.ErrStopped, "more than a page holds")

// documents hands each span of a lookup to each. read are the bytes of lookups
// under the same limit, before and after.
func (r *Reader) documents(ctx context.Context, limit bound, read *int64, lookup sqltext.Statement, each func(stored) error) error {
	var from producers
	scan := newDocumentScan()
	lease := memory.LeaseOf(ctx)
	return r.db.Query(ctx, "documents", lookup, func(rows driver.Rows) error {
		d, err := scan.scan(rows)
		if err != nil {
			return err
		}
		if *read += d.bytes(); *read > limit.bytes {
			if limit.spans > 0 {
				return errOverPage
			}
			return memory.TooLarge(limit.bytes)
		}
		if err := lease.Charge(memory.SpanBytes + memory.PayloadFactor*d.bytes()); err != nil {
			return err
		}
		s, err := d.parse(&from)
		if err != nil {
			return err
		}
		return each(s)
	})
}

// recordsAtOnce is how many records one lookup of whole traces names.
const recordsAtOnce = 2000

// whole gives traces that are known by nothing but their ids, as load does.
func (r *Reader) whole(ctx context.Context, project domain.ProjectID, ids []trace.TraceID, limit bound) (map[trace.TraceID][]trace.Span, error) {
	if project.IsZero() {
		return nil, unauthenticated()
	}
	w := r.wholes(project, limit)
	if len(ids) == 0 {
		return w.all(ctx)
	}
	if err := r.documents(ctx, limit, &w.bytes, statements.PayloadsByTraceID(project, ids), w.take); err != nil {
		return nil, err
	}
	return w.all(ctx)
}

// load gives whole traces that lie within bounds, spans ascending, with their type
// and their cumulative metrics.
func (r *Reader) load(ctx context.Context, project domain.ProjectID, bounds []statements.Bounds, limit bound) (map[trace.TraceID][]trace.Span, error) {
	w := r.wholes(project, limit)
	if err := w.read(ctx, bounds); err != nil {
		return nil, err
	}
	return w.traces(ctx, bounds)
}

// wholes are whole traces being read. They are what their documents say, and need no
// other table but for completeRoots: a trace is an annotation as soon as a span of it says so.
type wholes struct {
	r       *Reader
	project domain.ProjectID
	limit   bound
	found   map[trace.TraceID]map[trace.SpanID]stored
	spans   int
	bytes   int64
}

func (r *Reader) wholes(project domain.ProjectID, limit bound) *wholes {
	return &wholes{r: r, project: project, limit: limit, found: map[trace.TraceID]map[trace.SpanID]stored{}}
}

// read takes what traces have in these records.
func (w *wholes) read(ctx context.Context, bounds []statements.Bounds) error {
	for some := range atOnce(bounds) {
		if err := w.r.documents(ctx, w.limit, &w.bytes, statements.TracePayloads(w.project, some), w.take); err != nil {
			return err
		}
	}
	return nil
}

func (w *wholes) take(s stored) error {
	of := w.found[s.Span.TraceID]
	if of == nil {
		of = map[trace.SpanID]stored{}
		w.found[s.Span.TraceID] = of
	}
	old, there := of[s.Span.SpanID]
	if there && old.Span.Version >= s.Span.Version {
		return nil
	}
	of[s.Span.SpanID] = s
	if !there {
		w.spans++
	}
	if w.limit.spans > 0 && w.spans > w.limit.spans {
		return errOverPage
	}
	return nil
}

// traces are those of them that are among these.
func (w *wholes) traces(ctx context.Context, of []statements.Bounds) (map[trace.TraceID][]trace.Span, error) {
	out := make(map[trace.TraceID][]trace.Span, len(of))
	for _, b := range of {
		if spans := w.found[b.Trace]; spans != nil {
			out[b.Trace] = assemble(spans)
		}
	}
	return out, completeRoots(ctx, w.r, w.project, out)
}

// all are all that were read.
func (w *wholes) all(ctx context.Context) (map[trace.TraceID][]trace.Span, error) {
	out := make(map[trace.TraceID][]trace.Span, len(w.found))
	for id, spans := range w.found {
		out[id] = assemble(spans)
	}
	return out, completeRoots(ctx, w.r, w.project, out)
}

// atOnce cuts a list of traces into what one lookup names; a trace of more
// records is in several.
func atOnce(bounds []statements.Bounds) func(yield func([]statements.Bounds) bool) {
	return func(yield func([]statements.Bounds) bool) {
		var some []statements.Bounds
		records := 0
		for _, b := range bounds {
			for chunk := range slices.Chunk(b.Records, recordsAtOnce) {
				if records+len(chunk) > recordsAtOnce {
					if !yield(some) {
						return
					}
					some, records = nil, 0
				}
				b.Records = chunk
				some, records = append(some, b), records+len(chunk)
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}

// assemble makes a trace of its spans.
func assemble(of map[trace.SpanID]stored) []trace.Span {
	var declared trace.Type
	linked := false
	for _, s := range of {
		declared, linked = max(declared, s.Declared), linked || len(s.Span.Links) > 0
	}
	t := trace.TypeOf(declared, linked)
	spans := make([]trace.Span, 0, len(of))
	for _, s := range of {
		spans = append(spans, s.of(t, s.Span.IsRoot()))
	}
	slices.SortFunc(spans, byStart)
	pointers := make([]*trace.Span, len(spans))
	for i := range spans {
		pointers[i] = &spans[i]
	}
	spanmetrics.Cumulate(pointers)
	return spans
}

// bounds looks up where traces lie, those that exist.
func (r *Reader) bounds(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) ([]statements.Bounds, error) {
	if project.IsZero() {
		return nil, unauthenticated()
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var out []statements.Bounds
	at := make(map[trace.TraceID]int, len(ids))
	err := r.db.Query(ctx, "bounds", statements.TraceBounds(project, ids), func(rows driver.Rows) error {
		var b statements.Bounds
		err := rows.Scan(traceOf(&b.Trace), &b.Min, &b.Max, &b.Records)
		i, there := at[b.Trace]
		if !there {
			at[b.Trace] = len(out)
			out = append(out, b)
			return err
		}
		out[i].Min, out[i].Max = min(out[i].Min, b.Min), max(out[i].Max, b.Max)
		out[i].Records = append(out[i].Records, b.Records...)
		return err
	})
	return out, err
}

// summed is a fetcher with cumulative metrics, for rows that lie in a crowd, or
// not: see crowded. chosen tells that a condition chose the rows, see fetchLatest:
// what is read for the sums mostly tells that nothing came after them.
func (r *Reader) summed(crowded, chosen bool) fetcher {
	return func(ctx context.Context, project domain.ProjectID, rows []keyRow, maxBytes int64) ([]trace.Span, error) {
		spans, err := r.summedBeside(ctx, project, rows, crowded, chosen, maxBytes)
		if !errors.Is(err, errBeside) {
			return spans, err
		}
		spans, known, err := r.fetchApart(ctx, project, rows, crowded, maxBytes)
		if err != nil {
			return nil, err
		}
		return spans, r.sumUp(ctx, project, rows, spans, known, chosen, maxBytes)
	}
}

// summedBeside is summed from what lies beside the rows. It fails with errBeside
// where that is too much.
func (r *Reader) summedBeside(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded, chosen bool, maxBytes int64) ([]trace.Span, error) {
	spans, known, err := r.fetchBeside(ctx, project, rows, crowded, maxBytes)
	if err != nil {
		return nil, err
	}
	return spans, r.sumUp(ctx, project, rows, spans, known, chosen, maxBytes)
}

// sumUp writes their cumulative metrics into the spans of rows. Of chosen ones it
// puts later versions in their place.
func (r *Reader) sumUp(ctx context.Context, project domain.ProjectID, rows []keyRow, spans []trace.Span, known *sums, chosen bool, maxBytes int64) error {
	if chosen {
		newer, err := r.newer(ctx, project, known.unsure(rows))
		if err != nil {
			return err
		}
		if err := r.replace(ctx, project, spans, newer, maxBytes); err != nil {
			return err
		}
	}
	known.cumulate(spans)
	return nil
}

// fetchBeside is fetch, and the sums from what lies beside the rows.
func (r *Reader) fetchBeside(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded bool, maxBytes int64) ([]trace.Span, *sums, error) {
	if maxBytes < r.cfg.MaxBesideBytes { // fetch says so
		return nil, nil, errBeside
	}
	found, known, err := r.beside(ctx, project, rows, crowded, true)
	if err != nil {
		return nil, nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { _, there := found[k.identity]; return there })
	replaced, err := r.fetch(ctx, project, missing, maxBytes)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range replaced {
		found[identity{s.TraceID, s.SpanID}] = s
	}
	return inOrder(rows, found), known, nil
}

// fetchApart is fetch, and the sums from where the rows of all spans are. Both run at once.
func (r *Reader) fetchApart(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded bool, maxBytes int64) (spans []trace.Span, known *sums, err error) {
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		spans, err = r.fetch(both, project, rows, maxBytes)
		return err
	})
	group.Go(func() (err error) {
		known, err = r.sumsOf(both, project, rows, crowded)
		return err
	})
	err = group.Wait()
	return spans, known, err
}
