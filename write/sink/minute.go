package sink

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

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/rows"
)

// The table trace_metrics_1m follows the spans at a distance: minutes into which
// a trace reaches that was touched, and settled since, are computed anew from
// spans and span_cumulative, whole. So it does not matter what was written how often
// or in which order. What readers may take from it says the claim, in
// rollup_watermark; see migrations/clickhouse/0001_schema.sql.
//
// One process does it, that of partition 0. Should two do so for a while, the
// row with the higher claim wins, and it knows more: a claim is never above
// what every partition says is settled.

const (
	secondsOfMinute = int64(time.Minute / time.Second)
	microsOfMinute  = int64(time.Minute / time.Microsecond)
	// minutesAtOnce is how many minutes one statement computes, minutesApart how far they may lie
	// apart, and minutesFraction the part of them that is tried where they were too much.
	minutesAtOnce   = 500
	minutesApart    = 24 * 60
	minutesFraction = 4
	// fewMinutes are what changes from one time to the next. More of them, after a backlog
	// or when the table is new, need all processors to end within InsertTimeout.
	fewMinutes = 10
	// longTrace is the number of minutes beyond which a trace is asked which it has spans in.
	longTrace = 120
	// never is above every claim: such a minute is never served.
	never = math.MaxInt64
	// minutesShare is how many times longer than minutes took they rest, up to minutesRest.
	// At a full load two minutes take the store some seconds, which spans and readers
	// wait for; and the longer they rest, the more readers have to sum up themselves.
	minutesShare, minutesRest = 20, 5 * time.Minute
)

// projectMinute is a minute of a project, in minutes since 1970.
type projectMinute struct {
	project domain.ProjectID
	minute  int64
}

// watchMinutes keeps the table at intervals, longer ones where that takes long.
func (s *Sink) watchMinutes(ctx context.Context) {
	timer := time.NewTimer(s.cfg.RollupEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := s.deps.Now()
		if s.ownsFirst() {
			if err := s.rollMinutes(ctx); err != nil && ctx.Err() == nil {
				s.log.LogAttrs(ctx, slog.LevelWarn, "computation of rollups failed, statistics fall back to spans until it succeeds", slog.Any("error", err))
			}
		}
		timer.Reset(restOfMinutes(s.cfg.RollupEvery, s.deps.Now().Sub(start)))
	}
}

// restOfMinutes is how long to wait after minutes that took so long.
func restOfMinutes(every, took time.Duration) time.Duration {
	return max(every, min(took, minutesRest/minutesShare)*minutesShare)
}

// rollMinutes computes what was touched since the last claim, and claims it.
func (s *Sink) rollMinutes(ctx context.Context) error {
	old, next, err := s.claims(ctx)
	if err != nil || next <= old {
		return err
	}
	var due map[projectMinute]bool
	if old == 0 {
		due, err = s.everyMinute(ctx)
	} else {
		due, err = s.touchedMinutes(ctx, old, next)
	}
	if err != nil {
		return err
	}
	all := make([]projectMinute, 0, len(due))
	for m := range due {
		if m.minute >= 0 && m.minute < math.MaxUint32/secondsOfMinute { // what a DateTime can hold; readers take no others
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b projectMinute) int {
		if a.minute != b.minute {
			return int(a.minute - b.minute)
		}
		return slices.Compare(a.project[:], b.project[:])
	})
	if err := s.computeAll(ctx, all, next); err != nil {
		return err
	}
	s.metrics.minutes.Add(float64(len(due)))
	return s.store.Exec(ctx, "claim minutes", fmt.Sprintf("INSERT INTO %s (rollup, version) VALUES ('%s', %d)", s.cfg.Deployment.Table(schema.RollupWatermark), schema.TraceMetrics1m, next))
}

// computeAll computes minutes, ascending, as many at once as the store can: of a dense
// import, or after an outage, a few hundred may be a hundred million spans. One that is too
// much by itself is set aside, or all others would wait for it.
func (s *Sink) computeAll(ctx context.Context, minutes []projectMinute, claim int64) error {
	for most := minutesAtOnce; len(minutes) > 0; {
		n := 1
		for n < len(minutes) && n < most && minutes[n].minute-minutes[0].minute < minutesApart {
			n++
		}
		err := s.store.Within(ctx, s.cfg.InsertTimeout, func(ctx context.Context) error { return s.computeMinutes(ctx, minutes[:n], claim) })
		switch {
		case err == nil:
			minutes = minutes[n:]
		case ctx.Err() != nil:
			return err
		case n == 1:
			// At the claim and not above it: the next round looks for stale minutes from there on, and tries this one again.
			if err := s.staleMinutes(ctx, map[projectMinute]bool{minutes[0]: true}, claim); err != nil {
				return err
			}
			s.log.LogAttrs(ctx, slog.LevelWarn, "rollup of one minute exceeds the query limits, statistics fall back to spans",
				slog.String("project_id", minutes[0].project.String()), slog.Time("minute", time.Unix(minutes[0].minute*secondsOfMinute, 0).UTC()), slog.Any("error", err))
			minutes, most = minutes[1:], minutesAtOnce
		default:
			most = max(n/minutesFraction, 1)
			s.log.LogAttrs(ctx, slog.LevelWarn, "rollups of several minutes exceed the query limits, fewer are computed at a time", slog.Int("minutes", n), slog.Int("next_minutes", most), slog.Any("error", err))
		}
	}
	return nil
}

// claims reads the last claim, 0 for none, and what may be claimed now: all
// that was touched before the partitions are settled, less what clocks may lie apart.
func (s *Sink) claims(ctx context.Context) (old, next int64, err error) {
	d := s.cfg.Deployment
	statement := fmt.Sprintf(`SELECT (SELECT toInt64(max(version)) FROM %s WHERE rollup = '%s'),
  (SELECT toUnixTimestamp64Micro(min(until)) FROM (SELECT max(finalized_until) AS until FROM %s WHERE topic = %s GROUP BY stream_partition))`,
		d.Table(schema.RollupWatermark), schema.TraceMetrics1m, d.Table(schema.SinkProgress), clickhouse.Quote(s.topic))
	err = s.store.Query(ctx, "read the claim of minutes", statement, func() {}, func(result driver.Rows) error {
		var a, b *int64
		if err := result.Scan(&a, &b); err != nil {
			return err
		}
		old, next = 0, 0
		if a != nil {
			old = *a
		}
		if b != nil {
			next = *b - s.cfg.MaxClockSkew.Microseconds()
		}
		return nil
	})
	return old, next, err
}

// everyMinute are all minutes that hold roots: the first time.
func (s *Sink) everyMinute(ctx context.Context) (map[projectMinute]bool, error) {
	due := map[projectMinute]bool{}
	return due, s.minutesOf(ctx, "find all minutes", "SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM "+
		s.cfg.Deployment.Table(schema.Spans)+" WHERE parent_id = toFixedString('', 8)", due)
}

func (s *Sink) minutesOf(ctx context.Context, what, statement string, into map[projectMinute]bool) error {
	return s.store.Query(ctx, what, statement, func() {}, func(result driver.Rows) error {
		var project uuid.UUID
		var minute int64
		err := result.Scan(&project, &minute)
		into[projectMinute{domain.ProjectID(project), minute}] = true
		return err
	})
}

// touchedMinutes are those into which traces reach that were touched between
// two claims, and those of which spans were removed.
func (s *Sink) touchedMinutes(ctx context.Context, from, until int64) (map[projectMinute]bool, error) {
	d := s.cfg.Deployment
	due := map[projectMinute]bool{}
	var long []rows.TraceKey
	touched := fmt.Sprintf("last_write_at >= fromUnixTimestamp64Micro(%d, 'UTC') AND last_write_at < fromUnixTimestamp64Micro(%d, 'UTC')", from, until)
	statement := fmt.Sprintf(`SELECT project_id, trace_id, toUnixTimestamp64Micro(min(min_start)), toUnixTimestamp64Micro(max(max_start)) FROM %[1]s
WHERE (project_id, trace_id) IN (SELECT project_id, trace_id FROM %[1]s WHERE %[2]s) GROUP BY project_id, trace_id`, d.Table(schema.TraceIndex), touched)
	err := s.store.Query(ctx, "find touched traces", statement, func() { long = nil }, func(result driver.Rows) error {
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
			due[projectMinute{key.Project, m}] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(long, clickhouse.TracesAtOnce) {
		err := s.minutesOf(ctx, "find minutes of long traces", fmt.Sprintf("SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM %s WHERE project_id IN %s AND (project_id, trace_id) IN %s",
			d.Table(schema.Spans), clickhouse.ProjectList(some), clickhouse.TraceList(some)), due)
		if err != nil {
			return nil, err
		}
	}
	return due, s.minutesOf(ctx, "find minutes that need a rebuild", fmt.Sprintf("SELECT DISTINCT project_id, toInt64(intDiv(toUnixTimestamp(minute), 60)) FROM %s WHERE needs_rebuild AND version >= %d AND version < %d",
		d.Table(schema.TraceMetrics1m), from, until), due)
}

// computeMinutes writes minutes, ascending, as they are now, the empty ones too. What a
// root shows is what it sums, or what a client sent where that is nothing. A
// trace may have been sent to several projects, in each with other spans: only the
// whole key of a root names its sums. A few are left to one thread, so that there is
// another processor for those who read meanwhile.
// Source: spanmetrics.Cumulate; read/sqltext and read/filtersql do the same of single spans.
func (s *Sink) computeMinutes(ctx context.Context, minutes []projectMinute, claim int64) error {
	d := s.cfg.Deployment
	var list, columns, values, shown, summed strings.Builder
	projects := make([]rows.TraceKey, len(minutes))
	for i, m := range minutes {
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
	if len(minutes) <= fewMinutes {
		threads = " SETTINGS max_threads = 1"
	}
	where := fmt.Sprintf("project_id IN %s AND trace_type IN ('invocation', 'annotation') AND start_time >= toDateTime64(%d, 6, 'UTC') AND start_time < toDateTime64(%d, 6, 'UTC')",
		clickhouse.ProjectList(projects), minutes[0].minute*secondsOfMinute, (minutes[len(minutes)-1].minute+1)*secondsOfMinute)
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
    FROM (SELECT * FROM %[8]s FINAL WHERE %[9]s AND parent_id = toFixedString('', 8)) AS root
    LEFT ANY JOIN (SELECT project_id AS of_project, trace_type AS of_type, start_time AS at_start, sort_hash AS at_hash, true AS summed%[10]s FROM %[11]s FINAL WHERE %[9]s) AS sums
      ON project_id = of_project AND trace_type = of_type AND start_time = at_start AND sort_hash = at_hash
  ) GROUP BY project_id, minute, trace_type
) AS made USING (project_id, minute, trace_type)%[12]s`,
		d.Table(schema.TraceMetrics1m), columns.String(), claim, list.String(), values.String(), strings.Join(quoted, ","), shown.String(),
		d.Table(schema.Spans), where, summed.String(), d.Table(schema.SpanCumulative), threads)
	return s.store.Exec(ctx, "compute minutes", statement)
}

// staleMinutes tells that minutes do not hold, or will not once their spans go.
func (s *Sink) staleMinutes(ctx context.Context, minutes map[projectMinute]bool, version int64) error {
	if len(minutes) == 0 {
		return nil
	}
	values := make([]string, 0, 2*len(minutes))
	for m := range minutes {
		for _, t := range [...]trace.Type{trace.Invocation, trace.Annotation} {
			values = append(values, fmt.Sprintf("(toUUID('%s'),%d,'%s',%d,true)", m.project, m.minute*secondsOfMinute, t, version))
		}
	}
	for some := range slices.Chunk(values, 10*minutesAtOnce) {
		statement := fmt.Sprintf("INSERT INTO %s (project_id, minute, trace_type, version, needs_rebuild) VALUES %s", s.cfg.Deployment.Table(schema.TraceMetrics1m), strings.Join(some, ","))
		if err := s.store.Exec(ctx, "mark stale minutes", statement); err != nil {
			return err
		}
	}
	return nil
}

// minutesOfRows are the minutes of stored spans.
func (w *worker) minutesOfRows(ctx context.Context, conditions []string) (map[projectMinute]bool, error) {
	minutes := map[projectMinute]bool{}
	for which := range clickhouse.AnyOf(conditions) {
		err := w.sink.minutesOf(ctx, "find minutes of removed spans", "SELECT DISTINCT project_id, intDiv(toUnixTimestamp64Micro(start_time), 60000000) FROM "+
			w.store.Table(schema.Spans)+" WHERE "+which, minutes)
		if err != nil {
			return nil, err
		}
	}
	return minutes, nil
}
