package analytics

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/read/analyticssql"
	"colonnade/read/filtersql"
	"colonnade/read/sqltext"
)

// collection gathers what a question measures, bucket by bucket.
type collection struct {
	reader   *Reader
	project  domain.ProjectID
	question Question
	window   window
	measures []analyticssql.Measure

	analysis analyticssql.Analysis
	buckets  map[cell]*bucket
	// numbers, open, examined and summed count towards the bounds.
	numbers, open, examined, summed int
}

// steps is into how many stretches a window is cut to see where its rows lie.
const steps = 512

func (c *collection) collect(ctx context.Context) (map[cell]*bucket, error) {
	condition, err := filtersql.Filter(c.question.Where)
	if err != nil {
		return nil, err
	}
	c.buckets = map[cell]*bucket{}
	if c.project.IsZero() {
		return nil, domain.E(domain.Unauthenticated, "Unauthorized")
	}
	if len(condition.Types) == 0 {
		return c.buckets, nil
	}
	c.analysis = analyticssql.Analysis{
		Project: c.project, Condition: condition, Rate: sqltext.NewRate(c.question.Rate), Axis: c.question.Axis,
		Low: c.window.low, High: c.window.high, Origin: c.window.low, Width: c.window.width,
		Roots: c.question.Roots, Measures: c.measures, GroupBy: c.question.GroupBy,
	}
	if c.analysis.Axis == 0 {
		c.analysis.Axis = analyticssql.ByStart
	}
	within, rest, err := c.reader.traces.Within(ctx, c.project, condition, c.analysis.Starts())
	if err != nil || rest.Empty() {
		return c.buckets, err
	}
	c.analysis.Within, condition.Min, condition.Max = within, rest.Low.Start, rest.High.Start
	left, err := c.minutes(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range left {
		c.analysis.Low, c.analysis.High = s.low, s.high
		if err := c.stretch(ctx); err != nil {
			return nil, err
		}
	}
	return c.buckets, nil
}

// stretch reads a part of the window from spans.
func (c *collection) stretch(ctx context.Context) error {
	chunks, err := c.chunks(ctx)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err := c.chunk(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// chunks cuts the window into analyses of about as many rows as one statement
// may read. What an index finds is one.
func (c *collection) chunks(ctx context.Context) ([]analyticssql.Analysis, error) {
	if c.analysis.Condition.Selective() || c.analysis.Within != nil && c.analysis.Within.Few() {
		return []analyticssql.Analysis{c.analysis}, nil
	}
	step := max(ceil(c.analysis.High-c.analysis.Low, steps), 1_000_000)
	var out []analyticssql.Analysis
	rows := 0
	err := c.reader.traces.Run(ctx, c.project, "analytics_volume", c.analysis.Volume(step), func(r driver.Rows) error {
		var n int64
		var count uint64
		if err := r.Scan(&n, &count); err != nil {
			return err
		}
		low := c.analysis.Low + n*step
		if rows += int(min(count, 1<<40)); len(out) == 0 || rows > c.reader.cfg.ChunkRows {
			next := c.analysis
			next.Low, rows = low, int(min(count, 1<<40))
			out = append(out, next)
		}
		out[len(out)-1].High = min(low+step, c.analysis.High)
		return nil
	})
	return out, err
}

func (c *collection) chunk(ctx context.Context, a analyticssql.Analysis) error {
	var open []openRow
	limit := c.reader.cfg.MaxCandidates
	err := c.reader.traces.Run(ctx, c.project, "analytics_values", a.Values(limit+1), func(r driver.Rows) error {
		var at cell
		var lacking []string
		row := bucket{measures: make([]gathered, len(c.measures))}
		into := append(make([]any, 0, 3+maxGroups+2*len(c.measures)), &at.n)
		for i := range a.GroupBy {
			into = append(into, &at.key[i])
		}
		into = append(into, &row.spans, &lacking)
		for i, m := range c.measures {
			into = append(into, row.measures[i].columns(m)...)
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		for _, raw := range lacking {
			o, err := c.openRow(at, raw)
			if err != nil {
				return err
			}
			open = append(open, o)
		}
		if c.open+len(open) > limit {
			return tooOpen(limit)
		}
		return c.add(at, &row)
	})
	if err != nil || len(open) == 0 {
		return err
	}
	c.open += len(open)
	return c.decide(ctx, open)
}

// add takes what a statement gathered in a bucket.
func (c *collection) add(at cell, row *bucket) error {
	b := c.bucket(at)
	if len(c.buckets) > maxCells {
		return domain.E(domain.Rejected, "group_by finds more than %d groups in all buckets. Narrow the query: a longer interval, a shorter window, or a field of fewer values.", maxCells)
	}
	b.spans += row.spans
	for i := range row.measures {
		b.measures[i].add(&row.measures[i])
		c.numbers += len(row.measures[i].numbers)
		if err := c.distinct(&b.measures[i], c.measures[i]); err != nil {
			return err
		}
	}
	if limit := c.reader.cfg.MaxValues; c.numbers > limit {
		return domain.E(domain.Rejected, "More than %d numbers would have to be held. Narrow the query: a shorter window, fewer specs, or a windowing.rate below 1.", limit)
	}
	return nil
}

func (c *collection) bucket(at cell) *bucket {
	b := c.buckets[at]
	if b == nil {
		b = &bucket{measures: make([]gathered, len(c.measures))}
		c.buckets[at] = b
	}
	return b
}

// distinct bounds a frequency table.
func (c *collection) distinct(g *gathered, m analyticssql.Measure) error {
	if limit := c.reader.cfg.MaxDistinct; len(g.strings) > limit {
		return domain.E(domain.Rejected, "attributes.%s has more than %d different values in one bucket. Use a spec of type string to count them, or narrow the query.", jsonvalue.JoinPath(m.Keys...), limit)
	}
	return nil
}

// matches tells whether a span that was read belongs to the question.
func (c *collection) matches(s *span) bool {
	if c.question.Roots && !s.Root {
		return false
	}
	at := s.Start / 1000
	if c.question.Axis == analyticssql.ByCreation {
		at = s.CreatedAt.UnixMicro()
	}
	return c.analysis.Low <= at && at < c.analysis.High && filter.Match(c.question.Where, s)
}
