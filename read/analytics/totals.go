package analytics

import (
	"context"
	"time"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/semconv"
	"colonnade/read/analyticssql"
)

// Totals are sums over the spans of a bucket. Duration is in milliseconds. A sum
// beyond what a float64 holds is not finite; see Finite.
type Totals struct {
	Count    uint64
	Duration float64
	Costs    float64
	Tokens   float64
}

// TotalsBucket is the totals of a stretch of time, of all its spans and of
// those with an exception among their events.
type TotalsBucket struct {
	Timestamp time.Time
	// Interval is the width in minutes.
	Interval      int
	Total, Errors Totals
}

// Totals answers in the legacy form: every bucket of the window, empty ones
// too. Roots count with what they sum, other spans with what is theirs alone.
// Specs and the grouping of the question mean nothing here. Source: contract §3.6.
func (r *Reader) Totals(ctx context.Context, project domain.ProjectID, q Question) ([]TotalsBucket, error) {
	w, err := windowOf(q, r.now())
	if err != nil {
		return nil, err
	}
	total, err := r.totals(ctx, project, q, w)
	if err != nil {
		return nil, err
	}
	failed := filter.Expr(filter.Event{Name: semconv.ExceptionEvent})
	if q.Where != nil {
		failed = filter.And{q.Where, failed}
	}
	q.Where = failed
	errors, err := r.totals(ctx, project, q, w)
	if err != nil {
		return nil, err
	}
	out := make([]TotalsBucket, w.count())
	for n := range out {
		out[n] = TotalsBucket{Timestamp: w.start(int64(n)), Interval: w.minutes(), Total: total[int64(n)], Errors: errors[int64(n)]}
	}
	return out, nil
}

func (r *Reader) totals(ctx context.Context, project domain.ProjectID, q Question, w window) (map[int64]Totals, error) {
	q.Grouping = Grouping{}
	kind := semconv.Incremental
	if q.Roots {
		kind = semconv.Cumulative
	}
	sum := func(keys ...string) analyticssql.Measure {
		return analyticssql.Measure{Kind: analyticssql.Sum, Keys: append([]string{semconv.Root, semconv.Metrics}, keys...)}
	}
	c := &collection{reader: r, project: project, question: q, window: w, measures: []analyticssql.Measure{
		sum(semconv.Duration, semconv.Cumulative), sum(semconv.Costs, kind, semconv.Total), sum(semconv.Tokens, kind, semconv.Total),
	}}
	buckets, err := c.collect(ctx)
	out := make(map[int64]Totals, len(buckets))
	for at, b := range buckets {
		out[at.n] = Totals{Count: b.spans, Duration: b.measures[0].sum, Costs: b.measures[1].sum, Tokens: b.measures[2].sum}
	}
	return out, err
}
