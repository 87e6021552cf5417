//go:build embedded

package traces_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// How long a stretch is follows from how many roots started in the minutes it reaches into.
func TestStretch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	tenth := now.Truncate(24 * time.Hour).Add(-24 * time.Hour)
	minute := func(clock string) int {
		at, err := time.Parse("15:04", clock)
		require.NoError(t, err)
		return at.Hour()*60 + at.Minute()
	}
	s.reader.KnowDay(s.project, tenth, now, func(m int) [3]uint32 {
		switch {
		case m == minute("06:30"), m == minute("09:59"):
			return [3]uint32{6, 0, 0}
		case m >= minute("10:00") && m < minute("10:10"):
			return [3]uint32{60, 60, 0}
		default:
			return [3]uint32{}
		}
	})
	s.reader.KnowDay(s.project, tenth.Add(-24*time.Hour), now, func(m int) [3]uint32 {
		if m >= minute("23:50") {
			return [3]uint32{1, 0, 0}
		}
		return [3]uint32{}
	})
	both, one := []trace.Type{trace.Invocation, trace.Annotation}, []trace.Type{trace.Invocation}
	for _, tt := range []struct {
		name     string
		from     string
		types    []trace.Type
		roots    float64
		back, on time.Duration // 0 for not known
	}{
		{"within a minute", "2026-03-10 10:05:30", both, 30, 15 * time.Second, 15 * time.Second},
		{"of one type", "2026-03-10 10:05:30", one, 30, 30 * time.Second, 30 * time.Second},
		{"a whole minute", "2026-03-10 10:06:00", both, 120, time.Minute, time.Minute},
		{"minutes that differ", "2026-03-10 10:00:30", both, 63, time.Minute, 31500 * time.Millisecond},
		{"a pause", "2026-03-10 09:00:00", both, 6, 150 * time.Minute, time.Hour},
		{"whole minutes after a pause", "2026-03-10 09:00:00", both, 2, 150 * time.Minute, time.Hour},
		{"another day", "2026-03-10 00:00:00", both, 5, 5 * time.Minute, 6*time.Hour + 31*time.Minute},
		{"more than is known", "2026-03-10 00:00:00", one, 100, 20 * 24 * time.Hour, 10*time.Hour + 88*time.Second},
		{"days without any", "2026-02-01 00:00:00", both, 1, 0, 0},
		{"before all days", "1905-01-01 00:00:00", both, 1, 0, 0},
		{"after all days", "2150-01-01 00:00:00", both, 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.DateTime, tt.from)
			require.NoError(t, err)
			for order, want := range map[domain.Order]time.Duration{domain.Descending: tt.back, domain.Ascending: tt.on} {
				got, ok, err := s.reader.Stretch(t.Context(), s.project, tt.types, from, order, tt.roots)
				require.NoError(t, err)
				require.Equal(t, want > 0, ok, order)
				require.InDelta(t, want.Seconds(), got.Seconds(), 1e-5, order)
			}
		})
	}
}

// What a stretch is said to hold is what is counted in it, in both directions, and what
// comes after a pause.
func TestStretchHoldsItsRoots(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	first := now.Truncate(24 * time.Hour).Add(-3 * 24 * time.Hour)
	for day := range 3 {
		s.reader.KnowDay(s.project, first.Add(time.Duration(day)*24*time.Hour), now, func(int) [3]uint32 {
			if random.IntN(3) > 0 {
				return [3]uint32{}
			}
			return [3]uint32{random.Uint32N(2000), random.Uint32N(3), 0}
		})
	}
	types := []trace.Type{trace.Invocation, trace.Annotation}
	for range 2000 {
		from := first.Add(24*time.Hour + time.Duration(random.Int64N(int64(24*time.Hour))))
		roots := math.Exp(random.Float64() * 12)
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			step, ok, err := s.reader.Stretch(t.Context(), s.project, types, from, order, roots)
			require.NoError(t, err)
			require.True(t, ok)
			to := from.Add(-step)
			if order == domain.Ascending {
				to = from.Add(step)
			}
			got, ok := s.reader.RootsIn(s.project, types, from, to)
			require.True(t, ok)
			require.InDelta(t, roots, min(got, roots), .01+roots/1e6, fmt.Sprint(from, order, roots))
			require.LessOrEqual(t, got, roots+1000.01, "a minute after a pause")
		}
	}
}

// A list takes one statement wherever it begins, one that nobody read before, too: statistics
// tell how dense spans are there. Where that is too much for the store, or not enough, the
// next is as much longer or shorter by the roots that it has; a pause within a minute, which
// statistics do not show, says nothing of other places.
func TestWindowsFitTheirPlace(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	day := now.Truncate(24 * time.Hour).Add(-24 * time.Hour)
	rare, dense, few, burst := day.Add(-9*24*time.Hour), day.Add(12*time.Hour), day.Add(15*time.Hour), day.Add(18*time.Hour)
	var all []trace.Span
	add := func(n int, at time.Time, apart time.Duration, failing int) {
		for i := range n {
			one := span(uint64(len(all)), uint64(len(all)), at.Add(-time.Duration(i)*apart-time.Millisecond))
			if failing > 0 && i%failing == 0 {
				one.Status = trace.StatusError
			}
			all = append(all, one)
		}
	}
	add(400, rare, 6*time.Minute, 5)
	add(4000, dense, 200*time.Millisecond, 5)
	add(4000, few, 200*time.Millisecond, 100)
	add(500, burst.Add(20*time.Second), 40*time.Millisecond, 0) // the first third of a minute
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	s.rollUp(now, all...)
	type list struct {
		newest time.Time
		limit  int
		want   uint64
	}
	for _, tt := range []struct {
		name, conditions string
		lists            []list
	}{
		{"wherever it begins", ``, []list{{dense, 20, 1}, {rare, 20, 1}, {dense.Add(-time.Minute), 20, 1}, {few, 20, 1}, {rare.Add(-time.Hour), 20, 1}}},
		{"of some of them", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, []list{{dense, 20, 1}, {rare, 20, 1}, {dense.Add(-time.Minute), 20, 1}}},
		{"too much", ``, []list{{dense, 900, 2}}},
		{"not enough", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, []list{{dense, 20, 1}, {dense, 20, 1}, {few, 20, 2}}},
		{"none, and a pause", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, []list{{dense, 20, 1}, {dense, 20, 1}, {burst.Add(10 * time.Second), 10, 2}}},
		{"none, and a long pause", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, []list{{dense, 20, 1}, {dense, 20, 1}, {burst.Add(5 * time.Hour), 10, 2}}},
		{"a pause within a minute", ``, []list{{burst.Add(50 * time.Second), 1, 2}}},
		{"elsewhere after it", ``, []list{
			{burst.Add(50 * time.Second), 10, 2},
			{burst.Add(50 * time.Second), 10, 2},
			{burst.Add(50 * time.Second), 10, 2},
			{burst.Add(50 * time.Second), 10, 2},
			{burst.Add(50 * time.Second), 10, 2},
			{burst.Add(50 * time.Second), 10, 2},
			{dense, 30, 1},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, registry := where(t, tt.conditions), prometheus.NewRegistry()
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
			require.NoError(t, err)
			reader.LimitNarrow(3500)
			for n, l := range tt.lists {
				before := statementsOf(t, registry)["scan_narrow"].count
				page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: l.limit, Newest: l.newest})
				require.NoError(t, err)
				matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) || s.Start >= l.newest.UnixNano() })
				require.Equal(t, idsInOrder(matching, domain.Descending)[:l.limit], idsOf(page.Items), n)
				require.Equal(t, l.want, statementsOf(t, registry)["scan_narrow"].count-before, n)
			}
			statements := statementsOf(t, registry)
			require.Zero(t, statements["scan"].count, "in order")
			require.Zero(t, statements["scan_gap"].count, "it is known where spans are")
			_, err = reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 1, Newest: tt.lists[0].newest})
			require.NoError(t, err)
			require.Equal(t, statements["density"].count, statementsOf(t, registry)["density"].count, "a day is asked for once")
		})
	}
	t.Run("ascending", func(t *testing.T) {
		t.Parallel()
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(3500)
		for n, from := range []time.Time{dense.Add(-5 * time.Minute), rare.Add(-20 * time.Hour), dense.Add(-6 * time.Minute)} {
			page, err := reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 20, Oldest: from, Order: domain.Ascending})
			require.NoError(t, err)
			after := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return s.Start < from.UnixNano() })
			require.Equal(t, idsInOrder(after, domain.Ascending)[:20], idsOf(page.Items))
			require.Equal(t, uint64(n)+1, statementsOf(t, registry)["scan_narrow"].count)
		}
	})
}

// Where a root has far more spans than statistics let expect, what lies before a pause is too
// much twice; the list goes on by time then, and does not crawl through the pause by halves.
func TestRefusedBehindAPause(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	var all, roots []trace.Span
	for i := range uint64(4000) {
		one := span(i, i, now.Add(-24*time.Hour-time.Duration(i)*10*time.Millisecond))
		if i%5 == 0 {
			one.Status = trace.StatusError
		}
		if all = append(all, one); i%100 == 0 {
			roots = append(roots, one)
		}
	}
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	s.rollUp(now, roots...)
	for _, conditions := range []string{``, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`} {
		e, registry := where(t, conditions), prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(1500)
		page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 10, Newest: now.Add(-time.Hour)})
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
		require.Equal(t, idsInOrder(matching, domain.Descending)[:10], idsOf(page.Items))
		asked := statementsOf(t, registry)
		require.LessOrEqual(t, asked["scan_narrow"].count, uint64(6), "by halves it takes 36")
		require.LessOrEqual(t, asked["scan"].count, uint64(1))
	}
}

// Who looks at what is latest minutes after spans came fast, for the first time or for the
// first time since, asks statistics how far back they are, and does not read in steps
// through the pause.
func TestLatestAfterALoad(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	ended := now.Add(-15 * time.Minute)
	var all, roots []trace.Span
	for i := range uint64(4000) {
		one := span(i/2, i, ended.Add(-time.Duration(i)*10*time.Millisecond))
		if i%5 == 0 {
			one.Status = trace.StatusError
		}
		if all = append(all, one); i%2 == 0 {
			roots = append(roots, one)
		}
	}
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	s.rollUp(now, roots...)
	for _, conditions := range []string{``, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`} {
		for _, before := range []bool{false, true} {
			e, registry, at := where(t, conditions), prometheus.NewRegistry(), ended.Add(time.Second)
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
			require.NoError(t, err)
			reader.LimitNarrow(3500)
			look := func() map[string]spent {
				page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 5})
				require.NoError(t, err)
				matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
				require.Equal(t, idsInOrder(matching, domain.Descending)[:5], idsOf(page.Items))
				return statementsOf(t, registry)
			}
			first := map[string]spent{}
			if before {
				first = look()
			}
			at = now
			asked := look()
			require.Equal(t, uint64(1), asked["density"].count-first["density"].count, conditions)
			require.LessOrEqual(t, asked["scan_narrow"].count-first["scan_narrow"].count, uint64(2), conditions)
			require.Equal(t, first["scan"].count, asked["scan"].count, conditions)
		}
	}
}

// History that is filled in makes a day wrong that was asked for before. A list that is
// refused for it, or finds far more than it let expect, has it asked for again and learns
// nothing of it.
func TestADayThatMisledIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	day := now.Truncate(24 * time.Hour).Add(-24 * time.Hour)
	var rare, filled []trace.Span
	for i := range uint64(48) {
		rare = append(rare, span(i, i, day.Add(time.Duration(i)*30*time.Minute)))
	}
	for i := range uint64(4000) {
		filled = append(filled, span(100+i, 100+i, day.Add(12*time.Hour+time.Duration(i)*time.Second)))
	}
	s.insert(rare...)
	s.rollUp(now, rare...)
	at := now
	type list struct {
		*traces.Reader
		*prometheus.Registry
	}
	newList := func(maxRows int) list {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(maxRows)
		return list{reader, registry}
	}
	// read gives how many windows and days a page took.
	read := func(l list, all []trace.Span, newest time.Time) (windows, days uint64) {
		before := statementsOf(t, l.Registry)
		page, err := l.Spans(t.Context(), s.project, nil, domain.Window{Limit: 10, Newest: newest})
		require.NoError(t, err)
		all = slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return s.Start >= newest.UnixNano() })
		require.Equal(t, idsInOrder(all, domain.Descending)[:10], idsOf(page.Items))
		after := statementsOf(t, l.Registry)
		return after["scan_narrow"].count - before["scan_narrow"].count, after["density"].count - before["density"].count
	}
	refused, allowed := newList(1500), newList(1_000_000)
	for _, l := range []list{refused, allowed} {
		for range 3 {
			windows, _ := read(l, rare, day.Add(20*time.Hour))
			require.Equal(t, uint64(1), windows)
		}
	}
	for some := range slices.Chunk(filled, 250) {
		s.insert(some...)
	}
	s.rollUp(now, filled...)
	all, newest := append(rare, filled...), day.Add(12*time.Hour+50*time.Minute)

	at = now.Add(time.Second)
	windows, days := read(refused, all, newest)
	require.Equal(t, uint64(2), windows)
	require.Zero(t, days, "asked for just now")
	windows, days = read(allowed, all, newest)
	require.Equal(t, uint64(1), windows)
	require.Zero(t, days)

	at = now.Add(10 * time.Second)
	windows, days = read(refused, all, newest)
	require.Equal(t, uint64(2), windows)
	require.Zero(t, days)
	windows, days = read(refused, all, newest)
	require.Equal(t, uint64(1), windows)
	require.Equal(t, uint64(1), days, "when it was refused")
	windows, days = read(refused, all, newest)
	require.Equal(t, uint64(1), windows)
	require.Zero(t, days)

	knows := func() float64 {
		roots, err := allowed.FirstRoots(t.Context(), s.project, nil, domain.Window{Limit: 10, Newest: newest})
		require.NoError(t, err)
		return roots
	}
	before := knows()
	_, days = read(allowed, all, day.Add(12*time.Hour+30*time.Minute+10*time.Second)) // there is a root that the day told of
	require.Zero(t, days)
	require.InDelta(t, before, knows(), 1e-9, "nothing is learnt of a day that misled")
	_, days = read(allowed, all, newest)
	require.Equal(t, uint64(1), days, "when it had found far more")
	allowed.LimitNarrow(1500)
	windows, _ = read(allowed, all, newest)
	require.Equal(t, uint64(1), windows)
	allowed.LimitNarrow(1_000_000)
	at = now.Add(20 * time.Second)
	asked := statementsOf(t, allowed.Registry)["density"].count
	for range 2 {
		_, err := allowed.Spans(t.Context(), s.project, where(t, `{"field":"span_name","operator":"is_not","value":"none"}`), domain.Window{Limit: 10, Newest: newest})
		require.NoError(t, err)
		windows, _ = read(allowed, all, newest)
		require.Equal(t, uint64(1), windows)
	}
	require.Equal(t, asked, statementsOf(t, allowed.Registry)["density"].count, "all was as expected, or of a list that was never read")
}

// A stretch that misled makes its own days doubtful, of its own project, but not those that
// were asked for just now.
func TestDoubtIsOfItsDays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		a, b  time.Duration // after the day began
		after time.Duration // since it was asked for
		want  string
	}{
		{"within it", 13 * time.Hour, 12 * time.Hour, time.Minute, "the day before, the day after, another project"},
		{"the other way", 12 * time.Hour, 13 * time.Hour, time.Minute, "the day before, the day after, another project"},
		{"all of it", 0, 24 * time.Hour, time.Minute, "the day before, the day after, another project"},
		{"more than it", -time.Second, 13 * time.Hour, time.Minute, "the day after, another project"},
		{"another", 24 * time.Hour, 25 * time.Hour, time.Minute, "the day before, the day, another project"},
		{"just now", 12 * time.Hour, 13 * time.Hour, 5 * time.Second, "the day before, the day, the day after, another project"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reader, err := traces.New(traces.DefaultConfig(), nil, func() time.Time { return now.Add(tt.after) }, prometheus.NewRegistry())
			require.NoError(t, err)
			project, another := domain.ProjectID{1}, domain.ProjectID{2}
			day := now.Truncate(24 * time.Hour).Add(-5 * 24 * time.Hour)
			days := []struct {
				name    string
				project domain.ProjectID
				date    time.Time
			}{{"the day before", project, day.Add(-24 * time.Hour)}, {"the day", project, day}, {"the day after", project, day.Add(24 * time.Hour)}, {"another project", another, day}}
			for _, d := range days {
				reader.KnowDay(d.project, d.date, now, func(int) [3]uint32 { return [3]uint32{1} })
			}
			doubted := reader.Doubt(project, day.Add(tt.a), day.Add(tt.b))
			var left []string
			for _, d := range days {
				if _, known := reader.RootsIn(d.project, []trace.Type{trace.Invocation}, d.date, d.date.Add(time.Hour)); known {
					left = append(left, d.name)
				}
			}
			require.Equal(t, tt.want, strings.Join(left, ", "))
			require.Equal(t, len(left) < len(days), doubted)
		})
	}
}

// What statistics have not counted yet is taken to be as the minute before.
func TestTheLastMinutesAreAsBefore(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var roots []trace.Span
	for i := range uint64(600) {
		roots = append(roots, span(i, i, now.Add(-time.Duration(i)*time.Second)))
	}
	s.rollUp(now.Add(-2*time.Minute), roots...)
	for _, back := range []time.Duration{10 * time.Second, 5 * time.Minute} {
		step, ok, err := s.reader.Stretch(t.Context(), s.project, []trace.Type{trace.Invocation}, now.Add(-back), domain.Descending, 60)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, time.Minute, step.Round(time.Millisecond), back)
	}
}

// What a list had for each root is what it has next; a burst, or a pause, makes
// that twice or half as many at most, and nothing is learnt where no root started.
func TestRowsPerRoot(t *testing.T) {
	t.Parallel()
	reader, err := traces.New(traces.DefaultConfig(), nil, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	for _, seen := range []struct {
		rows        int
		roots, want float64
	}{{50, 0, 64}, {50, 25, 2}, {50, 25, 2}, {50, .01, 1}, {0, 1e6, 2}, {100, 25, math.Sqrt2}} {
		require.InDelta(t, seen.want, reader.SeeRoots(seen.rows, seen.roots), 1e-9)
	}
}

// A load begins or ends where far more roots started in a minute than in the one beside it.
func TestUneven(t *testing.T) {
	t.Parallel()
	reader, err := traces.New(traces.DefaultConfig(), nil, func() time.Time { return now }, prometheus.NewRegistry())
	require.NoError(t, err)
	project, types := domain.ProjectID{1}, []trace.Type{trace.Invocation, trace.Annotation}
	day := now.Truncate(24 * time.Hour).Add(-5 * 24 * time.Hour)
	reader.KnowDay(project, day, now, func(m int) [3]uint32 {
		switch {
		case m >= 100 && m < 110: // of which one type alone is not enough to be many
			return [3]uint32{700, 500, 1e6}
		case m >= 120 && m < 130:
			return [3]uint32{300, 301}
		case m >= 200 && m < 300:
			return [3]uint32{1000, uint32(m % 2 * 2000)}
		case m >= 300:
			return [3]uint32{500, 499}
		}
		return [3]uint32{}
	})
	at := func(minutes, seconds int) time.Time {
		return day.Add(time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second)
	}
	for _, tt := range []struct {
		name   string
		a, b   time.Time
		uneven bool
	}{
		{"in it", at(105, 30), at(105, 20), false},
		{"its second minute", at(101, 0), at(101, 0), false},
		{"its first", at(100, 59), at(100, 59), true},
		{"before it", at(99, 1), at(99, 1), true},
		{"long before it", at(98, 59), at(98, 59), false},
		{"its last", at(109, 0), at(109, 30), true},
		{"after it", at(110, 59), at(110, 59), true},
		{"long after it", at(111, 0), at(111, 0), false},
		{"into it", at(110, 59), at(105, 0), true},
		{"the other way", at(105, 0), at(110, 59), true},
		{"beside it", at(108, 50), at(108, 10), false},
		{"all of it and more, which makes up for it", at(99, 0), at(109, 1), false},
		{"few", at(120, 0), at(120, 0), false},
		{"more and less", at(250, 0), at(251, 0), false},
		{"less by half", at(300, 0), at(299, 0), false},
		{"a day that is not known", at(-3, 0), at(-2, 0), false},
		{"a day that is", at(0, 10), at(1, 0), false},
	} {
		require.Equal(t, tt.uneven, reader.Uneven(project, types, tt.a, tt.b), tt.name)
	}
}

// A load ends in the minute that has fewer roots than the one before, or just before it.
func TestCeases(t *testing.T) {
	t.Parallel()
	reader, err := traces.New(traces.DefaultConfig(), nil, func() time.Time { return now }, prometheus.NewRegistry())
	require.NoError(t, err)
	project := domain.ProjectID{1}
	day := now.Truncate(24 * time.Hour).Add(-5 * 24 * time.Hour)
	reader.KnowDay(project, day, now, func(m int) [3]uint32 {
		return [3]uint32{map[int]uint32{0: 5000, 10: 500, 11: 1000, 12: 750, 13: 749, 14: 1000, 15: 749, 20: 999}[m], 0, 1e6}
	})
	for minute, ceases := range []bool{false, true, false, false, false, false, false, false, false, false, false, false, false, false, false, true, false, false, false, false, false, false} {
		at := day.Add(time.Duration(minute) * time.Minute)
		for _, from := range []time.Time{at, at.Add(time.Minute - 1)} {
			require.Equal(t, ceases, reader.Ceases(project, []trace.Type{trace.Invocation, trace.Annotation}, from), minute)
		}
	}
	require.False(t, reader.Ceases(project, []trace.Type{trace.Invocation}, day.Add(-time.Minute)), "not known")
}

// Where a load ends or begins nothing is learnt of how many rows there are for each root.
func TestAnEdgeTeachesNothing(t *testing.T) {
	t.Parallel()
	s, all := newSections(t, 400, 10*time.Second, func(int, *trace.Span) {})
	const edge = 200
	s.rollUp(now, slices.Concat(all, slices.Repeat(all[edge:edge+1], 5000))...)
	e := where(t, `{"field":"status_code","value":"STATUS_CODE_OK"}`)
	guess := func(n int) float64 {
		t.Helper()
		window := domain.Window{Limit: 5, Newest: time.Unix(0, all[n].Start).Add(time.Microsecond)}
		page, err := s.reader.Spans(t.Context(), s.project, e, window)
		require.NoError(t, err)
		require.Equal(t, idsInOrder(all[n:n+5], domain.Descending), idsOf(page.Items))
		roots, err := s.reader.FirstRoots(t.Context(), s.project, e, window)
		require.NoError(t, err)
		return roots
	}
	calm := guess(10)
	require.InDelta(t, calm, guess(edge-8), calm/10)
	require.InDelta(t, calm, guess(edge), calm/10)
}

// A day is asked for again after a while, and where there is no answer a list goes on without.
func TestDaysAreAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	at, registry := now, prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
	require.NoError(t, err)
	types := []trace.Type{trace.Invocation}
	long, lately := now.Add(-5*24*time.Hour).Truncate(time.Minute), now.Add(-10*time.Minute).Truncate(time.Minute)
	minutes := func(back time.Time) int {
		step, ok, err := reader.Stretch(t.Context(), s.project, types, back.Add(time.Minute), domain.Descending, 60)
		require.NoError(t, err)
		if !ok {
			return 0
		}
		return int(step.Minutes())
	}
	require.Zero(t, minutes(long))
	require.Zero(t, minutes(lately))
	var roots []trace.Span
	for i := range uint64(60) {
		roots = append(roots, span(i, i, long), span(100+i, 100+i, lately))
	}
	s.rollUp(now, roots...)
	require.Zero(t, minutes(lately), "it is known already")
	at = now.Add(2 * time.Minute)
	require.NotZero(t, minutes(lately), "of today")
	require.Zero(t, minutes(long), "of long ago")
	at = now.Add(11 * time.Minute)
	require.NotZero(t, minutes(long))
	idle := now.Add(-100 * 24 * time.Hour)
	before := statementsOf(t, registry)["density"].count
	for range 3 {
		require.Zero(t, minutes(idle))
	}
	require.Equal(t, before+2, statementsOf(t, registry)["density"].count, "it is not looked for farther with each list")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	at = now.Add(time.Hour)
	_, ok, err := reader.Stretch(ended, s.project, types, long, domain.Descending, 60)
	require.False(t, ok)
	require.ErrorIs(t, err, context.Canceled)
}
