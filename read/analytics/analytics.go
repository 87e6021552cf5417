// Package analytics answers questions about many spans at once: statistics of
// attribute values in buckets of time. It implements the Analyst of read/api/spans.
//
// Every answer equals the same computation over the spans that read/traces
// would return one by one; nothing is estimated. The store gathers values from
// the core rows, each span once in its latest version, and this package makes
// statistics of them; questions about the cumulative metrics and types of whole
// traces read whole minutes from trace_metrics_1m instead (minute.go). What a root sums comes from the totals of its trace where
// that is settled and a single tree. Rows that cannot decide a filter, a value
// or a sum are read one by one, up to a bound; beyond it the answer is an error
// that says what to narrow, never a part of the answer.
//
// SQL is in read/analyticssql; statements run through read/traces.
package analytics

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/read/analyticssql"
	"colonnade/read/traces"
)

// Config bounds the work of one query.
type Config struct {
	// ChunkRows is about how many rows one statement reads.
	ChunkRows int
	// MaxValues bounds the numbers in memory from which percentiles are computed.
	MaxValues int
	// MaxDistinct bounds the distinct values of a frequency table, strings or numbers.
	MaxDistinct int
	// MaxCandidates bounds the rows of spans that the statement alone cannot decide,
	// MaxExamined those of them whose payloads are read, MaxTraceSpans the spans that
	// are read to compute totals of traces.
	MaxCandidates, MaxExamined, MaxTraceSpans int
}

// DefaultConfig returns bounds for one machine that runs every role.
func DefaultConfig() Config {
	return Config{ChunkRows: 2_000_000, MaxValues: 20_000_000, MaxDistinct: 10_000, MaxCandidates: 200_000, MaxExamined: 20_000, MaxTraceSpans: 1_000_000}
}

// Validate reports a bound that is not positive.
func (c Config) Validate() error {
	if min(c.ChunkRows, c.MaxValues, c.MaxDistinct, c.MaxCandidates, c.MaxExamined, c.MaxTraceSpans) <= 0 {
		return errors.New("analytics: every bound must be positive")
	}
	return nil
}

// Reader answers questions about a project. It is safe for concurrent use.
type Reader struct {
	cfg    Config
	traces *traces.Reader
	now    func() time.Time
}

// New makes a reader that runs its statements through another.
func New(cfg Config, reader *traces.Reader, now func() time.Time) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg, traces: reader, now: now}, nil
}

// Question is what spans to take, how to bucket them, and what to make of them.
type Question struct {
	// Where holds for the spans to take; nil takes all.
	Where filter.Expr
	// Roots takes spans without parent only, each for its whole trace.
	Roots bool
	// Axis is the time of a span that counts: zero means its start.
	Axis analyticssql.Axis
	// Oldest is inclusive, Newest exclusive, both by the microsecond. A zero
	// Newest is the next UTC midnight, a zero Oldest thirty days before Newest.
	Oldest, Newest time.Time
	// Interval is the width of a bucket in minutes; zero means one bucket.
	Interval int
	// Rate keeps this share of traces; nil means all.
	Rate *float64
	// Specs say what to make of the spans of a bucket.
	Specs []Spec
	// Grouping divides the spans of a bucket.
	Grouping
}

// Bucket is the metrics of the spans in a stretch of time, by the paths of their specs.
type Bucket struct {
	Timestamp time.Time
	// Interval is the width in minutes.
	Interval int
	Metrics  map[string]Metric
	// Groups are those of a question with a Grouping, the top ones in their order and then
	// all others together.
	Groups []Group
}

// Answer is the buckets that hold anything, chronological, and the window they are of.
type Answer struct {
	Buckets        []Bucket
	Oldest, Newest time.Time
	Interval       int
}

// maxEntries bounds the percentiles, bins and frequencies of an answer. Questions
// that leave the bins to us stay below half of it at any number of values.
const maxEntries = 1_000_000

// Query answers a question. Source: contract §3.6.
func (r *Reader) Query(ctx context.Context, project domain.ProjectID, q Question) (Answer, error) {
	w, err := windowOf(q, r.now())
	if err != nil {
		return Answer{}, err
	}
	t := tabulation{cfg: r.cfg, question: q}
	for _, s := range q.Specs {
		t.first = append(t.first, len(t.measures))
		t.measures = append(t.measures, s.measures()...)
	}
	answer := Answer{Buckets: []Bucket{}, Oldest: w.oldest, Newest: w.newest, Interval: w.minutes()}
	if len(t.measures) == 0 {
		return answer, nil
	}
	c := &collection{reader: r, project: project, question: q, window: w, measures: t.measures}
	cells, err := c.collect(ctx)
	if err != nil {
		return Answer{}, err
	}
	ranks := t.ranks(cells)
	of := byBucket(cells)
	for _, n := range slices.Sorted(maps.Keys(of)) {
		b := Bucket{Timestamp: w.start(n), Interval: answer.Interval}
		whole := t.merge(of[n]) // before metrics are made of the groups, which rearranges what they gathered
		if b.Groups, err = t.groups(of[n], ranks); err != nil {
			return Answer{}, err
		}
		if b.Metrics, err = t.metrics(whole); err != nil {
			return Answer{}, err
		}
		if len(b.Metrics) > 0 {
			answer.Buckets = append(answer.Buckets, b)
		}
	}
	return answer, nil
}

// tabulation makes metrics of what was gathered.
type tabulation struct {
	cfg      Config
	question Question
	measures []analyticssql.Measure
	// first are the positions of the first measure of each spec.
	first []int
	// entries counts the numbers of the answer.
	entries int
}

// metrics returns the metrics of a bucket or of a group in it. It sorts the numbers.
func (t *tabulation) metrics(b *bucket) (map[string]Metric, error) {
	out := map[string]Metric{}
	for i, s := range t.question.Specs {
		of := b.measures[t.first[i] : t.first[i]+len(s.measures())]
		if err := s.few(of, t.cfg.MaxDistinct); err != nil {
			return nil, err
		}
		m, ok := s.metric(of)
		if !ok {
			continue
		}
		// Two spans of a bucket may ask for MaxBins: what is gathered does not bound what is made of it.
		if t.entries += m.entries(); t.entries > maxEntries {
			return nil, domain.E(domain.Rejected, "The answer would have more than %d numbers. Narrow the query: fewer specs or bins, a longer interval, or a shorter window.", maxEntries)
		}
		out[s.Path] = m
	}
	return out, nil
}
