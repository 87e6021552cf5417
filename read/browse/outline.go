package browse

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

// MaxOutlineSpans bounds the spans of a trace that has an outline: a span takes about 300
// bytes of memory, so that a request takes at most 300 MB.
const MaxOutlineSpans = 1_000_000

// runningFor is how long after its last span was received a trace counts as running.
// Source: console.md 6.3.
const runningFor = 30 * time.Second

// Outline is a trace without its payloads: one element for each span in every column,
// in the order of (start, span id). Times are nanoseconds after Start. Absent numbers
// are null. Parent is a position in the order of the whole trace, -1 without a stored
// parent; other indexes are positions in a dictionary, -1 for none.
type Outline struct {
	TraceID   string `json:"trace_id"`
	TraceType string `json:"trace_type"`
	// Complete is false if there are more spans; Next asks for them. Positions go on.
	Complete bool      `json:"complete"`
	Next     *int      `json:"next"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	// Running is whether a span was received in the last 30 seconds.
	Running      bool         `json:"running"`
	Totals       Totals       `json:"totals"`
	Dictionaries Dictionaries `json:"dictionaries"`
	Columns      Columns      `json:"columns"`
}

// Totals are what a trace has in total, each call of a model once.
type Totals struct {
	Spans            int      `json:"spans"`
	Errors           *float64 `json:"errors"`
	TokensPrompt     *float64 `json:"tokens_prompt"`
	TokensCompletion *float64 `json:"tokens_completion"`
	TokensTotal      *float64 `json:"tokens_total"`
	Cost             *float64 `json:"cost"`
}

// Dictionaries are the texts that columns refer to by their positions.
type Dictionaries struct {
	Name    []string `json:"name"`
	Type    []string `json:"type"`
	Model   []string `json:"model"`
	Service []string `json:"service"`
}

// Columns are the columns of an outline.
type Columns struct {
	SpanID []string `json:"span_id"`
	Parent []int    `json:"parent"`
	// Orphan is 1 for a span whose parent is named and not stored.
	Orphan []int `json:"orphan"`
	Name   []int `json:"name"`
	Type   []int `json:"type"`
	// Kind counts as OpenTelemetry does: 1 internal, 2 server, 3 client, 4 producer, 5
	// consumer. Status is 0 unset, 1 ok, 2 error.
	Kind             []int      `json:"kind"`
	Status           []int      `json:"status"`
	StartNS          []int64    `json:"start_ns"`
	DurationNS       []int64    `json:"duration_ns"`
	TokensPrompt     []*float64 `json:"tokens_prompt"`
	TokensCompletion []*float64 `json:"tokens_completion"`
	Cost             []*float64 `json:"cost"`
	// TotalCost is that of the span and all spans below it.
	TotalCost   []*float64 `json:"total_cost"`
	Errors      []*float64 `json:"errors"`
	Model       []int      `json:"model"`
	Service     []int      `json:"service"`
	Links       []int      `json:"links"`
	Events      []int      `json:"events"`
	Annotations []int      `json:"annotations"`
	// Bytes is the size of the payloads.
	Bytes []int `json:"bytes"`
}

// outlineRow is a row of statements.Outline.
type outlineRow struct {
	spanmetrics.Incremental
	version                 uint64
	end, created            int64
	traceType, kind, status int8
	name, model, service    string
	links                   uint16
	events                  int
	bytes                   uint32
}

// Outline returns spans of a trace from a position on, at most limit of them; nil if the
// trace does not exist.
func (r *Reader) Outline(ctx context.Context, project domain.ProjectID, id trace.TraceID, from, limit int) (*Outline, error) {
	rows, err := r.outlineRows(ctx, project, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	annotations := map[trace.SpanID]int{}
	err = r.run.Run(ctx, project, "annotation_counts", statements.AnnotationCounts(project, id), func(rows driver.Rows) error {
		var span trace.SpanID
		var n uint64
		err := rows.Scan(traces.ScanSpanID(&span), &n)
		annotations[span] += int(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outlineOf(id, rows, annotations, from, limit, r.now()), nil
}

// outlineRows reads the latest version of every span of a trace.
func (r *Reader) outlineRows(ctx context.Context, project domain.ProjectID, id trace.TraceID) ([]outlineRow, error) {
	var bounds statements.Bounds
	err := r.run.Run(ctx, project, "bounds", statements.TraceBounds(project, []trace.TraceID{id}), func(rows driver.Rows) error {
		var b statements.Bounds
		if err := rows.Scan(traces.ScanTraceID(&b.Trace), &b.Min, &b.Max, &b.Records); err != nil {
			return err
		}
		if bounds.Trace.IsZero() {
			bounds = b
		}
		bounds.Min, bounds.Max = min(bounds.Min, b.Min), max(bounds.Max, b.Max)
		return nil
	})
	if err != nil || bounds.Trace.IsZero() {
		return nil, err
	}
	bounds.Records = nil
	at := map[trace.SpanID]int{}
	var out []outlineRow
	err = r.run.Run(ctx, project, "outline", statements.OfTraces(project, statements.Outline, []statements.Bounds{bounds}, nil), func(rows driver.Rows) error {
		row, err := scanOutline(rows)
		if err != nil {
			return err
		}
		i, there := at[row.ID]
		switch {
		case there && out[i].version < row.version:
			out[i] = row
		case there:
		case len(out) == MaxOutlineSpans:
			return domain.E(domain.Rejected, "The trace has more than %d spans. Query its spans by trace_id instead.", MaxOutlineSpans)
		default:
			at[row.ID] = len(out)
			out = append(out, row)
		}
		return nil
	})
	return out, err
}

func scanOutline(rows driver.Rows) (row outlineRow, err error) {
	var id trace.TraceID
	var start int64
	var startNano, endNano uint16
	var events []string
	var typ int8
	v := &row.Metrics
	err = rows.Scan(traces.ScanTraceID(&id), traces.ScanSpanID(&row.ID), traces.ScanSpanID(&row.Parent), &row.version, &start, &startNano, &row.end, &endNano, &row.created,
		&row.traceType, &row.kind, &row.status, &row.name, &row.model, &row.service, &row.links, &events, &row.bytes,
		&typ, &row.Response, (*uint64)(&row.Failure),
		&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6])
	row.Type = trace.SpanType(typ) //nolint:gosec // an enum's number
	row.Start, row.end, row.events = start*1000+int64(startNano), row.end*1000+int64(endNano), len(events)
	return row, err
}

// outlineOf computes an outline from all spans of a trace.
func outlineOf(id trace.TraceID, rows []outlineRow, annotations map[trace.SpanID]int, from, limit int, now time.Time) *Outline {
	slices.SortFunc(rows, func(a, b outlineRow) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:]))
	})
	own := make([]spanmetrics.Incremental, len(rows))
	at := make(map[trace.SpanID]int, len(rows))
	end, created := rows[0].end, rows[0].created
	for i := range rows {
		own[i], at[rows[i].ID] = rows[i].Incremental, i
		end, created = max(end, rows[i].end), max(created, rows[i].created)
	}
	sums := spanmetrics.Sum(own)
	start := rows[0].Start
	o := &Outline{
		TraceID: id.String(), TraceType: trace.Type(rows[0].traceType).String(), Complete: true, //nolint:gosec // an enum's number
		Start: time.Unix(0, start).UTC(), End: time.Unix(0, end).UTC(), Running: now.Sub(time.UnixMicro(created)) < runningFor,
		Totals: totalsOf(own, &sums),
	}
	if n := annotations[trace.SpanID{}]; n > 0 { // those of the trace as a whole stand at its first top
		for i := range rows {
			if _, stored := at[rows[i].Parent]; !stored {
				annotations[rows[i].ID] += n
				break
			}
		}
	}
	from = min(from, len(rows))
	to := len(rows)
	if limit < to-from {
		to = from + limit
		o.Complete, o.Next = false, &to
	}
	o.fill(rows[from:to], sums.Spans[from:to], at, annotations, start)
	return o
}

// fill appends rows to the columns.
func (o *Outline) fill(rows []outlineRow, sums [][spanmetrics.Count]float64, at, annotations map[trace.SpanID]int, start int64) {
	c := newColumns(len(rows))
	names, types, models, services := newDictionary(), newDictionary(), newDictionary(), newDictionary()
	for i := range rows {
		r := &rows[i]
		parent, orphan := -1, 0
		if !r.Parent.IsZero() {
			if p, stored := at[r.Parent]; stored {
				parent = p
			} else {
				orphan = 1
			}
		}
		c.SpanID, c.Parent, c.Orphan = append(c.SpanID, r.ID.String()), append(c.Parent, parent), append(c.Orphan, orphan)
		span := trace.Span{SpanType: r.Type}
		c.Name, c.Type = append(c.Name, names.index(r.name)), append(c.Type, types.index(span.EffectiveType().String()))
		c.Kind, c.Status = append(c.Kind, int(r.kind)), append(c.Status, int(r.status))
		c.StartNS, c.DurationNS = append(c.StartNS, r.Start-start), append(c.DurationNS, r.end-r.Start)
		c.TokensPrompt, c.TokensCompletion = append(c.TokensPrompt, number(r.Metrics[1])), append(c.TokensCompletion, number(r.Metrics[2]))
		c.Cost, c.TotalCost = append(c.Cost, number(r.Metrics[6])), append(c.TotalCost, positive(sums[i][6]))
		c.Errors = append(c.Errors, number(r.Metrics[0]))
		c.Model, c.Service = append(c.Model, models.index(r.model)), append(c.Service, services.index(r.service))
		c.Links, c.Events = append(c.Links, int(r.links)), append(c.Events, r.events)
		c.Annotations, c.Bytes = append(c.Annotations, annotations[r.ID]), append(c.Bytes, int(r.bytes))
	}
	o.Columns = c
	o.Dictionaries = Dictionaries{names.texts, types.texts, models.texts, services.texts}
}

func newColumns(n int) Columns {
	ints := func() []int { return make([]int, 0, n) }
	numbers := func() []*float64 { return make([]*float64, 0, n) }
	return Columns{
		SpanID: make([]string, 0, n), Parent: ints(), Orphan: ints(), Name: ints(), Type: ints(), Kind: ints(), Status: ints(),
		StartNS: make([]int64, 0, n), DurationNS: make([]int64, 0, n), TokensPrompt: numbers(), TokensCompletion: numbers(), Cost: numbers(),
		TotalCost: numbers(), Errors: numbers(), Model: ints(), Service: ints(), Links: ints(), Events: ints(), Annotations: ints(), Bytes: ints(),
	}
}

// totalsOf returns the totals of a trace; a metric that no span has is absent.
func totalsOf(own []spanmetrics.Incremental, sums *spanmetrics.Sums) Totals {
	var totals [spanmetrics.Count]*float64
	for k, has := range spanmetrics.HasAny(own) {
		if has {
			totals[k] = number(sums.Totals[k])
		}
	}
	return Totals{len(own), totals[0], totals[1], totals[2], totals[3], totals[6]}
}

// number returns nil for a number that JSON does not have.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// positive returns nil for 0 as well, which spanmetrics.Sum returns if there is nothing to sum.
func positive(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return number(v)
}

// dictionary numbers texts in the order in which they come; the empty text is -1.
type dictionary struct {
	texts []string
	at    map[string]int
}

func newDictionary() *dictionary { return &dictionary{texts: []string{}, at: map[string]int{}} }

func (d *dictionary) index(text string) int {
	if text == "" {
		return -1
	}
	i, there := d.at[text]
	if !there {
		i = len(d.texts)
		d.at[text], d.texts = i, append(d.texts, text)
	}
	return i
}
