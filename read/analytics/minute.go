package analytics

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain/filter"
	"colonnade/migrations/schema"
	"colonnade/read/analyticssql"
	"colonnade/read/sqltext"
)

// A question about whole traces that asks for nothing but their cumulative
// metrics and types is answered from trace_metrics_1m, minute by minute. Minutes
// that do not know all (something was written or removed lately, or a document
// would have to be read), and parts of minutes, are read from the spans as any
// other question is. The table holds values, not sums: both give the same answer.

const (
	// oldClaim is how far behind the table may be to be of use.
	oldClaim = time.Hour
	// maxStretches bounds the stretches that are read from spans beside it.
	maxStretches = 64
	minuteSecs   = 60
)

// stretch is a part of the window in microseconds; high is exclusive.
type stretch struct{ low, high int64 }

// columns are those of trace_metrics_1m that answer the question, one for each measure.
func (c *collection) columns() ([]string, bool) {
	q := &c.question
	aligned := c.window.low%minuteMicros == 0 || c.window.width >= c.window.high-c.window.low
	if !q.Roots || len(q.GroupBy) > 0 || c.analysis.Axis != analyticssql.ByStart || q.Rate != nil || !aligned || !onlyTypes(q.Where) {
		return nil, false
	}
	out := make([]string, len(c.measures))
	for i, m := range c.measures {
		column, ok := analyticssql.RollupColumn(m)
		if !ok {
			return nil, false
		}
		out[i] = column
	}
	return out, true
}

// onlyTypes tells whether a filter chooses traces by nothing but their type.
func onlyTypes(e filter.Expr) bool {
	switch e := e.(type) {
	case nil, filter.TraceType:
		return true
	case filter.And:
		return !slices.ContainsFunc(e, func(child filter.Expr) bool { return !onlyTypes(child) })
	case filter.Attribute:
		equal, ok := e.Test.(filter.Equal)
		_, text := equal.Value.(string)
		return ok && text && e.Of == filter.Attributes && e.Path == schema.TraceTypePath
	default:
		return false
	}
}

// minutes takes what it can from trace_metrics_1m and gives what is left to be
// read from spans: all of the window where the table is of no use.
func (c *collection) minutes(ctx context.Context) ([]stretch, error) {
	whole := []stretch{{c.window.low, c.window.high}}
	columns, ok := c.columns()
	low, high := ceil(c.window.low, minuteMicros)*minuteSecs, c.window.high/minuteMicros*minuteSecs
	if !ok || low < 0 || low >= high || high > math.MaxUint32-minuteSecs {
		return whole, nil
	}
	claim, err := c.claim(ctx)
	if err != nil || claim < c.reader.now().Add(-oldClaim).UnixMicro() {
		return whole, err
	}
	unclaimed, err := c.unclaimed(ctx, claim, low, high)
	if err != nil || len(unclaimed) > maxStretches {
		return whole, err
	}
	without := make([][2]int64, len(unclaimed))
	for i, s := range unclaimed {
		without[i] = [2]int64{s.low / minuteMicros * minuteSecs, s.high/minuteMicros*minuteSecs - minuteSecs}
	}
	buckets, bad, err := c.served(ctx, analyticssql.Rollup{
		Project: c.project, Types: c.analysis.Condition.Types, Low: low, High: high, Origin: c.window.low, Width: c.window.width, Columns: columns,
	}.Values(without))
	if err != nil {
		return nil, err
	}
	left := append(unclaimed, stretch{c.window.low, low / minuteSecs * minuteMicros}, stretch{high / minuteSecs * minuteMicros, c.window.high})
	for _, minute := range bad {
		left = append(left, stretch{minute / minuteSecs * minuteMicros, (minute/minuteSecs + 1) * minuteMicros})
	}
	if left = merge(left); len(left) > maxStretches {
		return whole, nil
	}
	for n, b := range buckets {
		if err := c.add(cell{n: n}, b); err != nil {
			return nil, err
		}
	}
	return left, nil
}

func (c *collection) claim(ctx context.Context) (claim int64, err error) {
	err = c.reader.traces.Run(ctx, c.project, "analytics_claim", analyticssql.RollupWatermark(), func(r driver.Rows) error { return r.Scan(&claim) })
	return claim, err
}

// unclaimed are the minutes of which the table may not know all.
func (c *collection) unclaimed(ctx context.Context, claim, low, high int64) ([]stretch, error) {
	var out []stretch
	err := c.reader.traces.Run(ctx, c.project, "analytics_unclaimed", analyticssql.WrittenSince(c.project, claim), func(r driver.Rows) error {
		var first, last int64
		err := r.Scan(&first, &last)
		if first, last = max(first, low), min(last+minuteSecs, high); first < last {
			out = append(out, stretch{first / minuteSecs * minuteMicros, last / minuteSecs * minuteMicros})
		}
		return err
	})
	return merge(out), err
}

// merge sorts stretches and joins those that meet; empty ones are left out.
func merge(in []stretch) (out []stretch) {
	slices.SortFunc(in, func(a, b stretch) int { return int(min(max(a.low-b.low, -1), 1)) })
	for _, s := range in {
		if s.low >= s.high {
			continue
		}
		if n := len(out); n > 0 && s.low <= out[n-1].high {
			out[n-1].high = max(out[n-1].high, s.high)
			continue
		}
		out = append(out, s)
	}
	return out
}

// served reads what minutes hold, and which of them cannot serve.
func (c *collection) served(ctx context.Context, statement sqltext.Statement) (buckets map[int64]*bucket, bad []int64, err error) {
	buckets = map[int64]*bucket{}
	err = c.reader.traces.Run(ctx, c.project, "analytics_minutes", statement, func(r driver.Rows) error {
		var n int64
		var cannot []int64
		b := &bucket{measures: make([]gathered, len(c.measures))}
		into := append(make([]any, 0, 3+len(c.measures)), &n, &cannot, &b.spans)
		for i, m := range c.measures {
			into = append(into, b.measures[i].columns(m)...)
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		bad = append(bad, cannot...)
		buckets[n] = b
		return nil
	})
	return buckets, bad, err
}
