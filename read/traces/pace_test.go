//go:build embedded

package traces_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

// What a list's pace was tells how much is read at first, and nothing else: in
// bursts and in pauses every span comes once and in order, of both types, from
// both ends, with conditions and without, also where the store refuses the stretch.
func TestPace(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	at := now
	add := func(n int, apart time.Duration) {
		for range n {
			at = at.Add(-apart)
			one := span(uint64(len(all)/5), uint64(len(all)), at)
			if len(all)/5%3 == 0 {
				one.Type = trace.Annotation
			}
			if len(all)%7 == 0 {
				one.Status = trace.StatusError
			}
			one.SessionID = fmt.Sprint("session-", len(all)/5%11)
			one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": fmt.Sprint("word", len(all)%9)}
			all = append(all, one)
		}
	}
	add(150, time.Millisecond)
	add(60, time.Minute) // the pace of before finds nothing here
	add(200, 0)          // and that of the minutes far more than a page
	add(60, time.Hour)
	add(100, time.Second)
	s.insert(all...)
	for _, conditions := range []string{
		``, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, `{"field":"session_id","value":"session-3"}`,
		`{"field":"trace_type","value":"annotation"}`, `{"field":"content","operator":"contains","value":"word4"}`,
	} {
		for _, refuse := range []bool{false, true} {
			for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
				t.Run(fmt.Sprintf("%s %s refused %t", conditions, order, refuse), func(t *testing.T) {
					t.Parallel()
					registry := prometheus.NewRegistry()
					reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
					require.NoError(t, err)
					if refuse {
						reader.RefuseNarrow()
					}
					e := where(t, conditions)
					got := s.walk(t, reader, e, domain.Window{Limit: 30, Order: order})
					matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
					require.NotEmpty(t, matching)
					require.Equal(t, idsInOrder(matching, order), got)
					statements := statementsOf(t, registry)
					if !strings.Contains(conditions, "trace_type") { // a single type is planned once in any case
						require.NotZero(t, statements["scan_narrow"].count)
					}
					require.Equal(t, refuse || strings.Contains(conditions, "trace_type"), statements["scan"].count > 0)
				})
			}
		}
	}
}

// The second look at a list takes one statement to find its rows, however long
// ago they are and however few.
func TestASecondLookIsShort(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	at := now.Add(-250 * 24 * time.Hour)
	for n := range uint64(400) {
		at = at.Add(-20 * time.Minute)
		one := span(n, n, at)
		if n%40 == 0 {
			one.Status = trace.StatusError
		}
		all = append(all, one)
	}
	s.insert(all...)
	for _, conditions := range []string{``, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`} {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		var scans [2]uint64
		for look := range scans {
			before := statementsOf(t, registry)
			page, err := reader.Spans(t.Context(), s.project, where(t, conditions), domain.Window{Limit: 50})
			require.NoError(t, err)
			require.NotEmpty(t, page.Items)
			for name, of := range statementsOf(t, registry) {
				if strings.HasPrefix(name, "scan") {
					scans[look] += of.count - before[name].count
				}
			}
		}
		require.Greater(t, scans[0], uint64(2), conditions)
		require.Equal(t, uint64(1), scans[1], conditions)
	}
}

// A list of traces asks for as many rows as its traces took the last time, so that
// one scan is enough, but not for all of a trace of thousands of spans: it is left
// out of the next look.
func TestRowsOfTraces(t *testing.T) {
	t.Parallel()
	small, usual, large := newStore(t), newStore(t), newStore(t)
	var ofThree, ofTwenty, ofMany []trace.Span
	for n := range uint64(120) {
		ofThree = append(ofThree, span(n/3+1, n+1, now.Add(-time.Duration(n)*time.Second)))
	}
	for n := range uint64(800) {
		ofTwenty = append(ofTwenty, span(n/20+1, n+1, now.Add(-time.Duration(n)*time.Second)))
	}
	for n := range uint64(600) {
		ofMany = append(ofMany, span(1, n+1, now.Add(-time.Duration(n)*time.Millisecond)))
	}
	for n := range uint64(20) {
		ofMany = append(ofMany, span(n+2, n+1000, now.Add(-time.Duration(n+1)*time.Minute)))
	}
	latest := domain.Window{Limit: 10}
	for _, c := range []struct {
		name  string
		s     *store
		spans []trace.Span
		then  int
		scans uint64 // of the second look
	}{
		{"of three spans", small, ofThree, 11*3*3/2 + 1, 1},
		{"of twenty spans", usual, ofTwenty, 11*20*3/2 + 1, 1},
		{"of many spans", large, ofMany, 11 * 48, 2},
	} {
		c.s.insert(c.spans...)
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), c.s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		rows := func(window domain.Window) int {
			n, err := reader.FirstRows(t.Context(), c.s.project, nil, window)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, 11*16, rows(latest), c.name)
		var scans uint64
		for look := range 2 {
			if look == 1 {
				require.InDelta(t, c.then, rows(latest), 2, c.name) // a scan may end in the middle of a trace
			}
			before := statementsOf(t, registry)
			page, err := reader.Traces(t.Context(), c.s.project, nil, latest)
			require.NoError(t, err)
			require.Len(t, page.Items, 10)
			after := statementsOf(t, registry)
			scans = after["scan_narrow"].count + after["scan"].count - before["scan_narrow"].count - before["scan"].count
		}
		require.Equal(t, c.scans, scans, c.name)
		require.Equal(t, 11*16, rows(domain.Window{Limit: 10, Newest: now.Add(-time.Hour)}), "pages of the past are another list")
	}
}

// Documents are searched in stretches that the store does not refuse, and what
// it refused is known the next time.
func TestDocumentsAreSearchedInPortions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(45) { // each in a partition of its own
		one := span(n+1, n+1, now.Add(-time.Duration(n)*7*24*time.Hour))
		one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": fmt.Sprint("word ", n)}
		all = append(all, one)
	}
	s.insert(all...)
	registry := prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	reader.LimitNarrow(6)
	e := where(t, `{"field":"content","operator":"contains","value":"word"}`)
	var narrow [2]uint64
	for look := range narrow {
		before := statementsOf(t, registry)["scan_narrow"].count
		page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 40})
		require.NoError(t, err)
		require.Len(t, page.Items, 40)
		for i := range page.Items {
			require.Equal(t, all[i].SpanID, page.Items[i].SpanID)
		}
		narrow[look] = statementsOf(t, registry)["scan_narrow"].count - before
	}
	require.Zero(t, statementsOf(t, registry)["scan"].count, "each was read under the limit")
	require.GreaterOrEqual(t, narrow[0], uint64(7))
	require.Less(t, narrow[1], narrow[0])
}

// A search of documents, or a list of everything, goes on at length where little
// is: a refusal in a dense stretch, near or behind a gap, does not make it crawl
// through what is empty.
func TestASearchDoesNotCrawl(t *testing.T) {
	t.Parallel()
	minutes := func(ago time.Duration) (starts []time.Time) {
		for n := range 30 {
			starts = append(starts, now.Add(-ago-time.Duration(n)*time.Minute))
		}
		return starts
	}
	weeks := func(ago time.Duration) (starts []time.Time) {
		for n := range 20 {
			starts = append(starts, now.Add(-ago-time.Duration(n)*7*24*time.Hour))
		}
		return starts
	}
	const month = 30 * 24 * time.Hour
	for _, tt := range []struct {
		name   string
		starts []time.Time
		// most bounds the statements of two lists of everything; with windows that
		// only grow it were 131 to 143 for the sparse, 97 for the other.
		most uint64
	}{
		{"dense, then sparse", append(minutes(time.Minute), weeks(month)...), 120},
		{"dense behind a gap", minutes(2 * month), 40},
		{"dense behind a gap, sparse behind that", append(minutes(2*month), weeks(4*month)...), 120},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			for _, table := range []string{"spans", "span_payloads_packed"} { // rows are counted by parts: each span stays in its own
				require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES "+table))
			}
			var want []trace.SpanID
			for n, at := range tt.starts {
				one := span(uint64(n+1), uint64(n+1), at)
				one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": "one word"}
				s.insert(one)
				want = append(want, one.SpanID)
				require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_metrics_1m (project_id, minute, trace_type, version) VALUES (?, ?, 'invocation', 1)", s.project.String(), at.Truncate(time.Minute)))
			}
			for _, conditions := range []string{`{"field":"content","operator":"contains","value":"word"}`, ``} {
				registry := prometheus.NewRegistry()
				reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
				require.NoError(t, err)
				reader.LimitNarrow(6)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // minute by minute it would take hours
				defer cancel()
				for range 2 { // the second knows what was refused
					page, err := reader.Spans(ctx, s.project, where(t, conditions), domain.Window{Limit: 60})
					require.NoError(t, err)
					require.Equal(t, want, idsOf(page.Items))
				}
				statements := statementsOf(t, registry)
				if conditions == `` { // what a shorter stretch lacks is read in order
					require.Less(t, statements["scan"].count+statements["scan_narrow"].count, tt.most)
					continue
				}
				require.Zero(t, statements["scan"].count, "each was read under the limit")
				require.Less(t, statements["scan_narrow"].count, uint64(300), "two searches of some 80 windows; minute by minute it were tens of thousands")
			}
		})
	}
}

// Parts that hold no start of a page are left closed: they do not count as rows
// that it would read, so that it is not refused for them. By the key alone, which
// has the type before the start, each of them may hold any start.
func TestPartsStayClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	for n := range uint64(12) {
		invocation, annotation := span(2*n+1, 2*n+1, now.Add(-time.Duration(n)*time.Minute)), span(2*n+2, 2*n+2, now.Add(-time.Duration(n)*time.Minute-time.Second))
		annotation.Type = trace.Annotation
		s.insert(invocation, annotation)
	}
	registry := prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	reader.LimitNarrow(6) // of 24 rows
	for range 2 {
		page, err := reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 1})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
	}
	require.Zero(t, statementsOf(t, registry)["scan"].count, "refused for rows of parts that hold none of the page")
}

// What a part cannot hold is known before it is looked into, to the microsecond and
// to the record: a bound that was rounded would hide spans. Starts and offsets are
// anywhere here, each is the only one of its part.
func TestPartsAreKnownByWhatTheyHold(t *testing.T) {
	t.Parallel()
	const parts = 80
	s := newStore(t)
	for _, table := range []string{"spans", "span_payloads_packed"} {
		require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES "+table))
	}
	random := rand.New(rand.NewPCG(7, 7))
	var all []trace.Span
	for n := range uint64(parts) {
		start := now.Add(-time.Duration(random.Int64N(int64(6 * 24 * time.Hour)))).Truncate(time.Microsecond)
		if n%8 == 0 { // the clocks of some lie
			start = time.Unix(0, random.Int64()).Truncate(time.Microsecond)
		}
		one := span(n+1, n+1, start.UTC())
		s.apart = 1 + random.Uint64N(1<<37)
		s.insert(one)
		one.Version = s.version
		all = append(all, one)
	}
	partsOf := func(statement sqltext.Statement) string {
		lines := explain(t, s.conn, statement.SQL, statement.Args...)
		at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(strings.Trim(l, "│ ")) == "Statistics" })
		require.GreaterOrEqual(t, at, 0, lines)
		return strings.Trim(lines[at+3], "│ ")
	}
	for _, one := range all {
		start := time.Unix(0, one.Start)
		page, err := s.reader.Spans(t.Context(), s.project, nil, domain.Window{Oldest: start, Newest: start.Add(time.Microsecond), Limit: 10})
		require.NoError(t, err)
		require.Equal(t, []trace.SpanID{one.SpanID}, idsOf(page.Items))
	}
	for _, one := range all[:8] {
		micros := one.Start / 1000
		require.Regexp(t, `^Parts: 1/\d+$`, partsOf(statements.Payloads(s.project, []statements.Version{{Version: one.Version, Start: micros}})))
		condition, err := filtersql.Filter(nil)
		require.NoError(t, err)
		require.Regexp(t, `^Parts: 1/\d+$`, partsOf(statements.Scan{Project: s.project, Condition: condition, Range: order.Starts(micros, micros), Limit: 1}.Narrow(0)))
	}
}

// Where a trace lies is read of the parts that have it, not of all whose ids are
// around its own.
func TestATraceIsLookedUpWhereItIs(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES trace_index"))
	var all []trace.TraceID
	for n := range uint64(12) {
		low, high := span(100+n, 1, now.Add(-time.Hour)), span(300+n, 1, now.Add(-time.Hour))
		s.insert(low, high)
		all = append(all, low.TraceID)
	}
	for _, id := range all {
		bounds := statements.TraceBounds(s.project, []trace.TraceID{id})
		rows, err := s.conn.Query(t.Context(), bounds.SQL+" SETTINGS max_rows_to_read = 6", bounds.Args...) // of 24
		require.NoError(t, err)
		require.True(t, rows.Next())
		require.False(t, rows.Next())
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Err())
	}
}

// A search ends with a clear refusal when its time is over, also where no single
// statement takes that long.
func TestASearchEnds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.insert(span(1, 1, now.Add(-time.Hour)), span(2, 2, now.Add(-1000*time.Hour)))
	var clock atomic.Int64
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time {
		return now.Add(time.Duration(clock.Add(int64(2 * time.Second)))) // every look at the clock takes two seconds
	}, prometheus.NewRegistry())
	require.NoError(t, err)
	_, err = reader.Spans(t.Context(), s.project, where(t, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`), domain.Window{Limit: 10})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.ErrorContains(t, err, "longer than 15s")
}

// Where nothing was for long, statistics tell where to look next. What they do
// not know of yet is found all the same.
func TestGapsAreLeapt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	newest, unknown, old := now.Add(-30*24*time.Hour), now.Add(-200*24*time.Hour), now.Add(-900*24*time.Hour)
	var all []trace.Span
	for n, at := range []time.Time{newest, unknown, old} {
		one := span(uint64(n+1), uint64(n+1), at)
		one.Status = trace.StatusUnset
		one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": "one word"}
		all = append(all, one)
		if at != unknown {
			require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_metrics_1m (project_id, minute, trace_type, version) VALUES (?, ?, 'invocation', 1)", s.project.String(), at.Truncate(time.Minute)))
		}
	}
	s.insert(all...)
	unaware := domain.ProjectID(uuid.New()) // without statistics
	s.insertInto(unaware, all...)
	for _, conditions := range []string{``, `{"field":"status_code","value":"STATUS_CODE_UNSET"}`, `{"field":"content","operator":"contains","value":"word"}`} {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			registry := prometheus.NewRegistry()
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
			require.NoError(t, err)
			e := where(t, conditions)
			page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 2, Order: order, Newest: now})
			require.NoError(t, err)
			matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
			want := idsInOrder(matching, order)
			require.Equal(t, want[:min(2, len(want))], idsOf(page.Items), "%s %s", conditions, order)
			if order == domain.Ascending {
				continue // it begins at the first row
			}
			leapt := statementsOf(t, registry)
			require.NotZero(t, leapt["scan_gap"].count)
			require.Equal(t, uint64(4), leapt["scan_narrow"].count, "one before each gap, one behind it; windows that grow take six to nine")
			page, err = reader.Spans(t.Context(), unaware, e, domain.Window{Limit: 2, Order: order, Newest: now})
			require.NoError(t, err)
			require.Equal(t, want[:min(2, len(want))], idsOf(page.Items), "%s without statistics", conditions)
			require.Equal(t, uint64(4+2), statementsOf(t, registry)["scan_narrow"].count, "where statistics know of none all is one window")
		}
	}
}

// walk reads a list page by page; it is not nil.
func (s *store) walk(t *testing.T, reader *traces.Reader, e filter.Expr, window domain.Window) []trace.SpanID {
	t.Helper()
	ids := []trace.SpanID{}
	for {
		page, err := reader.Spans(t.Context(), s.project, e, window)
		require.NoError(t, err)
		for i := range page.Items {
			ids = append(ids, page.Items[i].SpanID)
		}
		if window.Next = page.Next; window.Next == uuid.Nil {
			return ids
		}
	}
}

// idsInOrder are the ids of spans in the order of a list.
func idsInOrder(all []trace.Span, order domain.Order) []trace.SpanID {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b trace.Span) int {
		if a.Start != b.Start {
			return int(b.Start - a.Start)
		}
		if tieOf(&a) < tieOf(&b) {
			return 1
		}
		return -1
	})
	if order == domain.Ascending {
		slices.Reverse(sorted)
	}
	return idsOf(sorted)
}

// idsOf are the ids of spans as they are given.
func idsOf(spans []trace.Span) []trace.SpanID {
	out := make([]trace.SpanID, len(spans))
	for i := range spans {
		out[i] = spans[i].SpanID
	}
	return out
}

// Where nothing came for a while the list from now on begins where it did last time, and
// does not look into all that came before the pause. What was refused on the way there does
// not have the next look crawl through it.
func TestPausedList(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	var all []trace.Span
	add := func(n int, newest time.Time, apart time.Duration) {
		before := len(all)
		for i := range n {
			one := span(uint64(len(all)/20), uint64(len(all)), newest.Add(-time.Duration(i)*apart))
			if i%5 == 2 {
				one.Status = trace.StatusError
			}
			all = append(all, one)
		}
		for some := range slices.Chunk(all[before:], 500) {
			s.insert(some...)
		}
	}
	type list struct {
		where    filter.Expr
		registry *prometheus.Registry
		reader   *traces.Reader
		before   map[string]spent
	}
	at := now
	anew := func(conditions string) *list {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(1500) // the first look is refused, for it is of hours
		return &list{where: where(t, conditions), registry: registry, reader: reader}
	}
	plain, errs := anew(``), anew(`{"field":"status_code","value":"STATUS_CODE_ERROR"}`)
	lists := []*list{plain, errs}
	look := func(l *list, limit int) (statements int) {
		page, err := l.reader.Spans(t.Context(), s.project, l.where, domain.Window{Limit: limit})
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(l.where, &s) })
		require.Equal(t, idsInOrder(matching, domain.Descending)[:limit], idsOf(page.Items))
		before, asked := l.before, statementsOf(t, l.registry)
		l.before = asked
		if before != nil {
			require.Equal(t, before["scan"].count, asked["scan"].count, "in order")
		}
		return int(asked["scan_narrow"].count - before["scan_narrow"].count)
	}
	add(4000, now.Add(-20*time.Minute), 50*time.Millisecond)
	for n, pause := range []time.Duration{0, time.Second, 30 * time.Second, time.Minute, 8 * time.Minute} {
		at = at.Add(pause)
		for _, l := range lists {
			if narrow := look(l, 20); n > 0 {
				require.Equal(t, 1, narrow, pause)
			}
		}
	}

	add(3000, at, 50*time.Millisecond) // the pause is over
	at = at.Add(time.Second)
	for _, l := range lists {
		require.LessOrEqual(t, look(l, 20), 3, "too much twice, then without the pause")
		require.Equal(t, 1, look(l, 30))
	}

	at = at.Add(10 * time.Minute)
	add(3000, at, 10*time.Millisecond)
	at = at.Add(time.Second)
	look(errs, 20)
	at = at.Add(3 * time.Minute)
	for range 5 {
		at = at.Add(time.Second)
		require.LessOrEqual(t, look(errs, 20), 2, "what was guessed before is too much beyond the pause")
	}
	require.Equal(t, 1, look(errs, 20), "what was refused is what lies beyond it")
	require.Equal(t, 2, look(errs, 200), "the next window has no pause before it")

	at = at.Add(10 * time.Minute)
	add(1000, at, 50*time.Millisecond)
	plain = anew(``)
	look(plain, 20)
	at = at.Add(10 * time.Second)
	add(3000, at, 2*time.Millisecond) // it is over, and what comes is denser than before
	at = at.Add(200 * time.Millisecond)
	require.LessOrEqual(t, look(plain, 20), 4)

	at = at.Add(800 * time.Millisecond)
	look(plain, 20) // what is latest is seen after a second
	at = at.Add(10 * time.Minute)
	add(3000, at, 2*time.Millisecond)
	at = at.Add(time.Second)
	require.LessOrEqual(t, look(plain, 20), 2, "it is a second ago again")
}

// What nothing finds is looked for in all there is. As long as windows find nothing the next
// may read more, so that they do not become as many as the store has of what it reads at once.
func TestWhatNothingFinds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	const spans = 16_000
	all := make([]trace.Span, spans)
	for i := range all {
		all[i] = span(uint64(i), uint64(i), now.Add(-time.Duration(spans-i)*time.Minute))
	}
	all[7].StatusMessage = "rare"
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	check := func(message string, most uint64) {
		t.Helper()
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(1500)
		e := where(t, `{"field":"status_message","value":"`+message+`"}`)
		page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 10})
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
		require.Equal(t, idsInOrder(matching, domain.Descending), idsOf(page.Items))
		asked := statementsOf(t, registry)
		require.LessOrEqual(t, asked["scan_narrow"].count, most, "windows that read no more than the first take 187")
		require.Zero(t, asked["scan"].count, "in order")
	}
	check("none", 25) // half of them are from the first span back to 1900
	check("rare", 25)
	s.rollUp(now, every(100, all)...)
	check("none", 14)
	check("rare", 14)
}

func every(n int, of []trace.Span) (out []trace.Span) {
	for i := 0; i < len(of); i += n {
		out = append(out, of[i])
	}
	return out
}

// A stretch that was guessed where spans are rare is too much where they are dense: a
// shorter one has the page then, and neither there nor where they are rare rows are read
// in order, which takes many times as long. What lies before all spans is one window,
// though the store refused a short one lately, and changes no guess.
func TestRefusedWhereSpansAreDense(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	rare, dense := now.Add(-10*24*time.Hour), now.Add(-24*time.Hour)
	var all []trace.Span
	add := func(n int, at time.Time, apart time.Duration) {
		for i := range n {
			one := span(uint64(len(all)), uint64(len(all)), at.Add(-time.Duration(i)*apart))
			if i%5 == 0 && i != n-5 {
				one.Status = trace.StatusError
			}
			all = append(all, one)
		}
	}
	add(400, rare, 6*time.Minute)
	add(4000, dense, 2*time.Second)
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	first := rare.Add(-399 * 6 * time.Minute)
	require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO trace_metrics_1m (project_id, minute, trace_type, version) VALUES (?, ?, 'invocation', 1)", s.project.String(), first.Truncate(time.Minute)))
	var registry *prometheus.Registry
	var reader *traces.Reader
	at := now
	anew := func() { // who has seen no list
		registry = prometheus.NewRegistry()
		var err error
		reader, err = traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(2000)
	}
	errs := where(t, `{"field":"status_code","value":"STATUS_CODE_ERROR"}`)
	list := func(newest time.Time, limit int) {
		page, err := reader.Spans(t.Context(), s.project, errs, domain.Window{Limit: limit, Newest: newest})
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(errs, &s) || s.Start >= newest.UnixNano() })
		require.Equal(t, idsInOrder(matching, domain.Descending)[:min(limit, len(matching))], idsOf(page.Items))
	}
	asked := func(newest time.Time, limit int) uint64 {
		before := statementsOf(t, registry)["scan_narrow"].count
		list(newest, limit)
		return statementsOf(t, registry)["scan_narrow"].count - before
	}
	anew()
	list(rare.Add(time.Second), 10)
	require.Equal(t, uint64(2), asked(dense.Add(time.Second), 10), "one that is refused, and one that is shorter")
	list(rare.Add(time.Second), 70)
	list(dense.Add(time.Second), 10)
	list(dense.Add(time.Second), 70)
	require.Equal(t, uint64(2), asked(rare.Add(-1000*time.Hour), 10), "the first window, and all that is before it")
	list(dense.Add(time.Second), 70)
	require.LessOrEqual(t, asked(first.Add(50*time.Minute), 5), uint64(6), "nine spans, of which none matches")
	at = at.Add(2 * time.Minute) // what was refused is forgotten, or it would bound the guess
	list(rare.Add(-1000*time.Hour), 10)
	require.Equal(t, uint64(1), asked(dense.Add(time.Second), 10), "where there are none says nothing of where there are some")
	require.Zero(t, statementsOf(t, registry)["scan"].count, "in order")

	anew()
	list(rare.Add(-1000*time.Hour), 10)
	require.Equal(t, uint64(2), asked(dense.Add(time.Second), 10), "of all time, which is refused, and the first window")
}
