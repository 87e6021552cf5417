package traces

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/payload"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/read/clickhouse"
	"colonnade/read/memory"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// What the spans of a page sum is mostly said where their documents are: spans
// of a trace come in few records, a record's documents lie together, and each has
// its metrics in its head. So the lookup of a page's documents reads the heads
// beside them as well, and of a trace that has more records than those of the page
// the others' heads are looked up. What is left is for sumsOf: traces of many
// records.

// besideLimits bound what is read for that, beside Config.MaxBesideBytes: spans
// beside the page's are as large as those, and more. A page beyond them takes the
// other way.
type besideLimits struct {
	// bytes is how much the store may read in one statement, spans how many come of all.
	bytes int64
	spans int
	// records is how many more records are looked up.
	records int
}

func defaultBesideLimits() besideLimits {
	return besideLimits{bytes: 128 << 20, spans: 20_000, records: 500}
}

// errBeside tells that more lies beside a page than is worth reading.
var errBeside = domain.Wrap(domain.Internal, clickhouse.ErrStopped, "more beside a page than is read with it")

// beside is a page being read with what lies beside it.
type beside struct {
	r       *Reader
	project domain.ProjectID
	rows    map[identity]*keyRow
	from    producers
	// spans are those of the rows that were found.
	spans map[identity]trace.Span
	// heads are all spans that were met, in their latest version.
	heads map[identity]*metricRow
	// partial are the traces of which heads cannot tell what they sum.
	partial map[trace.TraceID]bool
	met     int
}

// sumsBeside is sumsOf from what lies beside the rows, where that is enough.
func (r *Reader) sumsBeside(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded bool) (*sums, error) {
	_, known, err := r.beside(ctx, project, rows, crowded, false)
	if errors.Is(err, errBeside) {
		return r.sumsOf(ctx, project, rows, crowded)
	}
	return known, err
}

// beside gives what is known of the sums of the traces of rows, and with texts
// their spans, those that were found; see summed. It fails with errBeside.
func (r *Reader) beside(ctx context.Context, project domain.ProjectID, rows []keyRow, crowded, texts bool) (map[identity]trace.Span, *sums, error) {
	b := &beside{
		r: r, project: project, rows: make(map[identity]*keyRow, len(rows)),
		spans: make(map[identity]trace.Span, len(rows)), heads: map[identity]*metricRow{}, partial: map[trace.TraceID]bool{},
	}
	for i := range rows {
		b.rows[rows[i].identity] = &rows[i]
	}
	list := likeness{project: project} // of no scan: all pages of the project
	if len(rows) == 0 || len(rows) > fetchChunk || bytesOf(rows) > r.cfg.MaxBesideBytes || r.pace.refused(list, r.now()) > 0 {
		return nil, nil, errBeside
	}
	name := "heads"
	var versions []uint64
	if texts {
		name, versions = "documents", make([]uint64, len(rows))
		for i := range rows {
			versions[i] = rows[i].version
		}
	}
	own := recordsOf(rows)
	var all []statements.Bounds
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := b.read(both, name, statements.PayloadHeaders(project, own, versions, r.limitsBeside.bytes), texts)
		if errors.Is(err, errBeside) { // the next page of the project will have as much
			r.pace.refuse(list, 1, r.now())
		}
		return err
	})
	group.Go(func() (err error) {
		all, err = r.bounds(both, project, tracesOf(rows))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	if texts {
		if err := setIdentifiers(ctx, r, project, rows, b.spans); err != nil {
			return nil, nil, err
		}
	}
	for id, k := range b.rows {
		if _, there := b.spans[id]; texts && !there { // it was replaced meanwhile
			b.partial[k.trace] = true
		}
	}
	if others := b.others(own, all); len(others) > 0 {
		if err := b.read(ctx, "heads", statements.PayloadHeaders(project, others, nil, r.limitsBeside.bytes), false); err != nil {
			return nil, nil, err
		}
	}
	known := &sums{others: b.heads}
	rest := slices.DeleteFunc(slices.Clone(rows), func(k keyRow) bool { return !b.partial[k.trace] })
	if len(rest) == 0 {
		return b.spans, known, nil
	}
	maps.DeleteFunc(known.others, func(id identity, _ *metricRow) bool { return b.partial[id.trace] })
	more, err := r.sumsOf(ctx, project, rest, crowded)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(more.others, known.others)
	return b.spans, more, nil
}

// recordsOf gives the records in which rows came, trace by trace, and where the rows lie.
func recordsOf(rows []keyRow) []statements.Bounds {
	at := make(map[trace.TraceID]int, len(rows))
	var out []statements.Bounds
	for _, k := range rows {
		i, there := at[k.trace]
		if !there {
			i = len(out)
			at[k.trace] = i
			out = append(out, statements.Bounds{Trace: k.trace, Min: k.Start, Max: k.Start})
		}
		b := &out[i]
		b.Min, b.Max = min(b.Min, k.Start), max(b.Max, k.Start)
		if n := schema.Record(k.partition, k.version); !slices.Contains(b.Records, n) {
			b.Records = append(b.Records, n)
		}
	}
	return out
}

// others gives what of the traces was not read yet; own is what was. Those of
// which there is too much are partial from here on.
func (b *beside) others(own, all []statements.Bounds) []statements.Bounds {
	var out []statements.Bounds
	left := b.r.limitsBeside.records
	for _, t := range statements.Unread(own, all) {
		switch n := len(t.Records); {
		case b.partial[t.Trace]:
		case n > left:
			b.partial[t.Trace] = true
		default:
			left -= n
			out = append(out, t)
		}
	}
	return out
}

// read takes the rows of statements.PayloadHeaders; texts tells whether those of the page come with their text.
func (b *beside) read(ctx context.Context, name string, lookup sqltext.Statement, texts bool) error {
	scan, lease := newDocumentScan(), memory.LeaseOf(ctx)
	err := b.r.db.Query(ctx, name, lookup, func(rows driver.Rows) error {
		d, err := scan.scan(rows)
		if err != nil {
			return err
		}
		if b.met++; b.met > b.r.limitsBeside.spans {
			return errBeside
		}
		if texts && b.rows[d.identity] != nil {
			if err := lease.Charge(memory.SpanBytes + memory.PayloadFactor*d.bytes()); err != nil {
				return err
			}
		}
		return b.take(&d, texts)
	})
	if clickhouse.HasCode(err, clickhouse.CodeTooManyBytes) {
		return errBeside
	}
	return err
}

func (b *beside) take(d *documentRow, texts bool) error {
	if k := b.rows[d.identity]; texts && k != nil && k.version == d.version {
		s, err := d.parse(&b.from)
		if err != nil {
			return err
		}
		b.spans[d.identity] = s.of(k.Type, k.root)
	}
	if old := b.heads[d.identity]; old != nil && old.version >= d.version {
		return nil
	}
	text, err := d.ownHead()
	if err != nil {
		return err
	}
	h, err := payload.ParseHeader(text)
	if err != nil {
		return err
	}
	b.heads[d.identity] = &metricRow{d.version, spanmetrics.Incremental{Edge: trace.Edge{ID: d.span, Parent: h.Span.ParentID, Start: h.Span.Start}, Traits: h.Traits, Metrics: h.Metrics}}
	return nil
}
