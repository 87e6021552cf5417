// Package rollup keeps the table trace_metrics_1m in step with the spans: it computes the
// buckets into which a trace reaches that was written to and finalized since. A bucket is
// computed as a whole from spans and span_cumulative, so that it does not matter what was
// written how often or in which order. The watermark in rollup_watermark says what readers
// may take from the table; see migrations/clickhouse/0001_schema.sql.
//
// One process computes, the one that has partition 0. If two do so for a while, the row
// with the higher watermark wins, and it is at least as complete: no watermark is above
// what every partition has finalized.
//
// Not here: finalization (write/sink/finalize), and reading the table (read/analytics).
package rollup

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/rows"
)

const (
	secondsOfMinute = int64(time.Minute / time.Second)
	microsOfMinute  = int64(time.Minute / time.Microsecond)
	// maxBuckets bounds the buckets of one statement and maxSpread the minutes that they
	// may be apart; bucketsFraction is the part of them that is tried after a failure.
	maxBuckets      = 500
	maxSpread       = 24 * 60
	bucketsFraction = 4
	// fewBuckets is the usual number of buckets that change between two runs. More of
	// them, after a backlog or when the table is new, need all processors to end within
	// InsertTimeout.
	fewBuckets = 10
	// longTrace is the number of minutes from which the spans of a trace are read to find
	// its buckets, instead of all minutes between its first and its last span.
	longTrace = 120
	// NeverServed is the version of a bucket that readers do not use: it is above every
	// watermark.
	NeverServed = math.MaxInt64
	// restShare is how many times longer than a run the pause after it takes, up to
	// maxRest. At full load two buckets take ClickHouse some seconds, during which inserts
	// and readers wait; the longer the pause, the more readers have to sum up themselves.
	restShare, maxRest = 20, 5 * time.Minute
)

// Bucket is a minute of a project, in minutes since 1970.
type Bucket struct {
	project domain.ProjectID
	minute  int64
}

// BucketOf returns the bucket of a start in microseconds.
func BucketOf(project domain.ProjectID, start int64) Bucket {
	return Bucket{project, start / microsOfMinute}
}

// Config holds the sink's settings that the rollup needs.
type Config struct {
	// Every is the shortest interval between two runs.
	Every time.Duration
	// InsertTimeout bounds one statement.
	InsertTimeout time.Duration
	// MaxClockSkew is the largest difference between the clocks of two owners of a partition.
	MaxClockSkew time.Duration
}

// Deps are what the rollup works with; all are required.
type Deps struct {
	DB    *clickhouse.DB
	Topic string
	// Computes reports whether this process is the one that computes.
	Computes   func() bool
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Rollup is the actor.
type Rollup struct {
	cfg      Config
	deps     Deps
	db       *clickhouse.DB
	log      *slog.Logger
	computed prometheus.Counter
}

// New creates a rollup; nothing runs before Run.
func New(cfg Config, deps Deps) *Rollup {
	return &Rollup{
		cfg: cfg, deps: deps, db: deps.DB, log: deps.Log,
		computed: promauto.With(deps.Registerer).NewCounter(prometheus.CounterOpts{Name: "colonnade_sink_rollup_buckets_total", Help: "One-minute rollup buckets computed."}),
	}
}

// Run computes changed buckets at intervals until ctx ends, at longer ones if that takes
// long.
func (r *Rollup) Run(ctx context.Context) {
	timer := time.NewTimer(r.cfg.Every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := r.deps.Now()
		if r.deps.Computes() {
			if err := r.computeChanged(ctx); err != nil && ctx.Err() == nil {
				r.log.LogAttrs(ctx, slog.LevelWarn, "computation of rollups failed, statistics fall back to spans until it succeeds", slog.Any("error", err))
			}
		}
		timer.Reset(pauseAfter(r.cfg.Every, r.deps.Now().Sub(start)))
	}
}

// pauseAfter returns how long to wait after a run that took so long.
func pauseAfter(every, took time.Duration) time.Duration {
	return max(every, min(took, maxRest/restShare)*restShare)
}

// computeChanged computes the buckets of what was written since the last watermark, and
// advances the watermark.
func (r *Rollup) computeChanged(ctx context.Context) error {
	old, next, err := r.watermarks(ctx)
	if err != nil || next <= old {
		return err
	}
	var due map[Bucket]bool
	if old == 0 {
		due, err = r.allBuckets(ctx)
	} else {
		due, err = r.changedBuckets(ctx, old, next)
	}
	if err != nil {
		return err
	}
	all := make([]Bucket, 0, len(due))
	for m := range due {
		if m.minute >= 0 && m.minute < math.MaxUint32/secondsOfMinute { // what a DateTime can hold; readers take no others
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Bucket) int {
		if a.minute != b.minute {
			return int(a.minute - b.minute)
		}
		return slices.Compare(a.project[:], b.project[:])
	})
	if err := r.computeAll(ctx, all, next); err != nil {
		return err
	}
	r.computed.Add(float64(len(due)))
	return r.db.Exec(ctx, "advance the rollup watermark", fmt.Sprintf("INSERT INTO %s (rollup, version) VALUES ('%s', %d)", r.db.Table(schema.RollupWatermark), schema.TraceMetrics1m, next))
}

// computeAll computes buckets, ascending, as many in one statement as ClickHouse can: after
// a dense import or an outage, a few hundred buckets may have a hundred million spans. A
// bucket that fails alone is marked for a rebuild, because all others would wait for it.
func (r *Rollup) computeAll(ctx context.Context, buckets []Bucket, watermark int64) error {
	for limit := maxBuckets; len(buckets) > 0; {
		n := 1
		for n < len(buckets) && n < limit && buckets[n].minute-buckets[0].minute < maxSpread {
			n++
		}
		err := r.db.Within(ctx, r.cfg.InsertTimeout, func(ctx context.Context) error { return r.compute(ctx, buckets[:n], watermark) })
		switch {
		case err == nil:
			buckets = buckets[n:]
		case ctx.Err() != nil:
			return err
		case n == 1:
			// At the watermark and not above it: the next run reads marks from there on, and tries this bucket again.
			if err := r.MarkStale(ctx, map[Bucket]bool{buckets[0]: true}, watermark); err != nil {
				return err
			}
			r.log.LogAttrs(ctx, slog.LevelWarn, "rollup of one minute exceeds the query limits, statistics fall back to spans",
				slog.String("project_id", buckets[0].project.String()), slog.Time("minute", time.Unix(buckets[0].minute*secondsOfMinute, 0).UTC()), slog.Any("error", err))
			buckets, limit = buckets[1:], maxBuckets
		default:
			limit = max(n/bucketsFraction, 1)
			r.log.LogAttrs(ctx, slog.LevelWarn, "rollups of several minutes exceed the query limits, fewer are computed at a time", slog.Int("minutes", n), slog.Int("next_minutes", limit), slog.Any("error", err))
		}
	}
	return nil
}

// watermarks reads the last watermark, 0 for none, and the one that is possible now: the
// time until which every partition is finalized, less the skew of clocks.
func (r *Rollup) watermarks(ctx context.Context) (old, next int64, err error) {
	d := r.db
	statement := fmt.Sprintf(`SELECT (SELECT toInt64(max(version)) FROM %s WHERE rollup = '%s'),
  (SELECT toUnixTimestamp64Micro(min(until)) FROM (SELECT max(finalized_until) AS until FROM %s WHERE topic = %s GROUP BY stream_partition))`,
		d.Table(schema.RollupWatermark), schema.TraceMetrics1m, d.Table(schema.SinkProgress), clickhouse.Quote(r.deps.Topic))
	err = r.db.Query(ctx, "read the rollup watermark", statement, func() {}, func(result driver.Rows) error {
		var a, b *int64
		if err := result.Scan(&a, &b); err != nil {
			return err
		}
		old, next = 0, 0
		if a != nil {
			old = *a
		}
		if b != nil {
			next = *b - r.cfg.MaxClockSkew.Microseconds()
		}
		return nil
	})
	return old, next, err
}

// allBuckets reads all buckets that have roots, for the first run.
func (r *Rollup) allBuckets(ctx context.Context) (map[Bucket]bool, error) {
	due := map[Bucket]bool{}
	return due, r.bucketsWhere(ctx, "find all rollup buckets", "SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM "+
		r.db.Table(schema.Spans)+" WHERE is_root", due)
}

func (r *Rollup) bucketsWhere(ctx context.Context, what, statement string, into map[Bucket]bool) error {
	return r.db.Query(ctx, what, statement, func() {}, func(result driver.Rows) error {
		var project uuid.UUID
		var minute int64
		err := result.Scan(&project, &minute)
		into[Bucket{domain.ProjectID(project), minute}] = true
		return err
	})
}

// changedBuckets reads the buckets into which traces reach that were written to between
// two watermarks, and those of which spans were removed.
func (r *Rollup) changedBuckets(ctx context.Context, from, until int64) (map[Bucket]bool, error) {
	d := r.db
	due := map[Bucket]bool{}
	var long []rows.TraceKey
	touched := fmt.Sprintf("last_write_at >= fromUnixTimestamp64Micro(%d, 'UTC') AND last_write_at < fromUnixTimestamp64Micro(%d, 'UTC')", from, until)
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(min(min_start)), toUnixTimestamp64Micro(max(max_start)) FROM %[1]s
WHERE (project_id, trace_id) IN (SELECT project_id, trace_id FROM %[1]s WHERE %[2]s) GROUP BY project_id, trace_id`, d.Table(schema.TraceIndex), touched)
	err := r.db.Query(ctx, "find touched traces", statement, func() { long = nil }, func(result driver.Rows) error {
		var project uuid.UUID
		var id string
		var first, last int64
		if err := result.Scan(&project, &id, &first, &last); err != nil {
			return err
		}
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(id)}
		if first, last = first/microsOfMinute, last/microsOfMinute; last-first > longTrace {
			long = append(long, key)
			return nil
		}
		for m := first; m <= last; m++ {
			due[Bucket{key.Project, m}] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(long, clickhouse.TracesAtOnce) {
		err := r.bucketsWhere(ctx, "find rollup buckets of long traces", fmt.Sprintf("SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s",
			d.Table(schema.Spans), clickhouse.ProjectList(some), clickhouse.TraceList(some)), due)
		if err != nil {
			return nil, err
		}
	}
	return due, r.bucketsWhere(ctx, "find rollup buckets that need a rebuild", fmt.Sprintf("SELECT DISTINCT project_id, toInt64(intDiv(toUnixTimestamp(minute), 60)) FROM %s WHERE needs_rebuild AND version >= %d AND version < %d",
		d.Table(schema.TraceMetrics1m), from, until), due)
}

// compute inserts buckets, ascending, as they are now, the empty ones too. A root counts
// with what it sums, or with what the client sent if that sum is empty. A trace may have
// been sent to several projects, with other spans in each: only the whole key of a root
// names its sums. A few buckets are computed by one thread, so that another processor is
// free for readers.
// Source: spanmetrics.Cumulate; read/sqltext and read/filtersql do the same of single spans.
func (r *Rollup) compute(ctx context.Context, buckets []Bucket, watermark int64) error {
	d := r.db
	var list, columns, values, shown, summed strings.Builder
	projects := make([]rows.TraceKey, len(buckets))
	for i, m := range buckets {
		projects[i].Project = m.project
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, "(toUUID('%s'),toDateTime(%d, 'UTC'))", m.project, m.minute*secondsOfMinute)
	}
	quoted := make([]string, spanmetrics.Count)
	for i, m := range schema.Metrics() {
		quoted[i] = clickhouse.Quote(m.Cumulative)
		name := m.Column
		fmt.Fprintf(&columns, ", %s", name)
		fmt.Fprintf(&values, ", groupArrayIf(shown_%[1]s, NOT isNaN(shown_%[1]s)) AS %[1]s", name)
		fmt.Fprintf(&summed, ", %[1]s AS sum_%[1]s", name)
		sum := fmt.Sprintf("if(summed, sum_%[1]s, %[1]s)", name)
		fmt.Fprintf(&shown, ", if(NOT isNaN(%[1]s) AND %[1]s != 0, %[1]s, if(mapContains(attributes_number, %[2]s), attributes_number[%[2]s], nan)) AS shown_%[3]s", sum, quoted[i], name)
	}
	threads := ""
	if len(buckets) <= fewBuckets {
		threads = " SETTINGS max_threads = 1"
	}
	where := fmt.Sprintf("project_id IN %s AND trace_type IN ('invocation', 'annotation') AND start_time >= toDateTime64(%d, 6, 'UTC') AND start_time < toDateTime64(%d, 6, 'UTC')",
		clickhouse.ProjectList(projects), buckets[0].minute*secondsOfMinute, (buckets[len(buckets)-1].minute+1)*secondsOfMinute)
	statement := fmt.Sprintf(`INSERT INTO %[1]s (project_id, minute, trace_type, version, needs_rebuild, undecided, roots, duration%[2]s, span_types)
SELECT project_id, minute, trace_type, %[3]d, false, undecided, roots, duration%[2]s, span_types FROM (
  SELECT at.1 AS project_id, at.2 AS minute, CAST(type, 'Enum8(\'invocation\' = 1, \'annotation\' = 2, \'unknown\' = 3)') AS trace_type
  FROM (SELECT arrayJoin([%[4]s]) AS at) ARRAY JOIN ['invocation', 'annotation'] AS type
) AS wanted LEFT JOIN (
  SELECT project_id, at_minute AS minute, trace_type, count() AS roots, countIf(open) AS undecided, groupArrayIf(duration_ms, NOT isNaN(duration_ms)) AS duration%[5]s,
    sumMapIf(map(toString(span_type), toUInt64(1)), span_type_declared) AS span_types
  FROM (
    SELECT project_id, toStartOfMinute(toDateTime(start_time, 'UTC')) AS at_minute, trace_type, span_type, span_type_declared, duration_ms,
      hasAny(attributes_unindexed, [%[6]s]) AS open%[7]s
    FROM (SELECT * FROM %[8]s FINAL WHERE %[9]s AND is_root) AS root
    LEFT ANY JOIN (SELECT project_id AS of_project, trace_type AS of_type, start_time AS at_start, sort_hash AS at_hash, true AS summed%[10]s FROM %[11]s FINAL WHERE %[9]s) AS sums
      ON project_id = of_project AND trace_type = of_type AND start_time = at_start AND sort_hash = at_hash
  ) GROUP BY project_id, minute, trace_type
) AS made USING (project_id, minute, trace_type)%[12]s`,
		d.Table(schema.TraceMetrics1m), columns.String(), watermark, list.String(), values.String(), strings.Join(quoted, ","), shown.String(),
		d.Table(schema.Spans), where, summed.String(), d.Table(schema.SpanCumulative), threads)
	return r.db.Exec(ctx, "compute rollup buckets", statement)
}

// MarkStale marks buckets for a rebuild: they do not hold, or will not when their spans are
// removed.
func (r *Rollup) MarkStale(ctx context.Context, buckets map[Bucket]bool, version int64) error {
	if len(buckets) == 0 {
		return nil
	}
	values := make([]string, 0, 2*len(buckets))
	for m := range buckets {
		for _, t := range [...]trace.Type{trace.Invocation, trace.Annotation} {
			values = append(values, fmt.Sprintf("(toUUID('%s'),%d,'%s',%d,true)", m.project, m.minute*secondsOfMinute, t, version))
		}
	}
	for some := range slices.Chunk(values, 10*maxBuckets) {
		statement := fmt.Sprintf("INSERT INTO %s (project_id, minute, trace_type, version, needs_rebuild) VALUES %s", r.db.Table(schema.TraceMetrics1m), strings.Join(some, ","))
		if err := r.db.Exec(ctx, "mark rollup buckets for a rebuild", statement); err != nil {
			return err
		}
	}
	return nil
}

// BucketsOf reads the buckets of the stored spans that meet one of these conditions.
func (r *Rollup) BucketsOf(ctx context.Context, conditions []string) (map[Bucket]bool, error) {
	buckets := map[Bucket]bool{}
	for which := range clickhouse.AnyOf(conditions) {
		err := r.bucketsWhere(ctx, "find rollup buckets of removed spans", "SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM "+
			r.db.Table(schema.Spans)+" WHERE "+which, buckets)
		if err != nil {
			return nil, err
		}
	}
	return buckets, nil
}
