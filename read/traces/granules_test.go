//go:build embedded

package traces_test

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// A load ends within a minute, another begins within it, slowly, and the last two minutes are
// not counted yet. A list that begins at such a minute, or finds nothing where statistics let
// expect something, knows from the primary index where it has to look.
func TestGranulesTellWhatStatisticsDoNot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans")) // whole parts count for what would be read
	minute := now.Add(-time.Hour)
	var all []trace.Span
	add := func(n int, from time.Time, apart time.Duration) {
		for range n {
			one := span(uint64(len(all)), uint64(len(all)), from)
			if len(all)%5 == 0 {
				one.Status = trace.StatusError
			}
			all, from = append(all, one), from.Add(apart)
		}
	}
	add(4000, minute.Add(-12*time.Second), 5*time.Millisecond) // to 8 s after the minute began
	add(20, minute.Add(30*time.Second), time.Second)
	add(2000, now.Add(-100*time.Second), 10*time.Millisecond)  // to 80 s before now
	add(5500, minute.Add(10*time.Minute), 50*time.Millisecond) // more than four minutes
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	s.rollUp(now.Add(-2*time.Minute), all...)
	s.rollUp(now, slices.Repeat([]trace.Span{span(9000, 1, now.Add(-150*time.Second))}, 3000)...) // what is not counted yet is taken to be like this

	for _, tt := range []struct {
		name, conditions string
		newest           time.Time
		limit            int
		windows, asked   uint64
	}{
		{"where it is dense", ``, minute.Add(12 * time.Minute), 10, 1, 0},
		{"where that begins", ``, minute.Add(10*time.Minute + 5*time.Second), 10, 1, 0},
		{"where that ends", ``, minute.Add(14*time.Minute + 40*time.Second), 10, 1, 1},
		{"before it ends", ``, minute.Add(5 * time.Second), 10, 1, 1},
		{"between them", ``, minute.Add(25 * time.Second), 10, 1, 1},
		{"errors between them", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, minute.Add(25 * time.Second), 2, 1, 1},
		{"a few, and all before", ``, minute.Add(33 * time.Second), 10, 1, 1},
		{"not counted", ``, now.Add(-3 * time.Second), 10, 2, 1},
		{"errors, not counted", `{"field":"status_code","value":"STATUS_CODE_ERROR"}`, now.Add(-3 * time.Second), 2, 2, 1},
		{"nothing anywhere", `{"field":"span_name","value":"nothing"}`, minute.Add(25 * time.Second), 2, 3, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, registry := where(t, tt.conditions), prometheus.NewRegistry()
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
			require.NoError(t, err)
			_, err = reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 10, Newest: minute.Add(5 * time.Second)}) // how many errors roots have
			require.NoError(t, err)
			before := statementsOf(t, registry)
			page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: tt.limit, Newest: tt.newest})
			require.NoError(t, err)
			matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) || s.Start >= tt.newest.UnixNano() })
			want := idsInOrder(matching, domain.Descending)
			require.Equal(t, want[:min(tt.limit, len(want))], idsOf(page.Items))
			asked := statementsOf(t, registry)
			require.Equal(t, []uint64{tt.windows, tt.asked, 0}, []uint64{
				asked["scan_narrow"].count - before["scan_narrow"].count, asked["scan_granules"].count - before["scan_granules"].count, asked["scan"].count - before["scan"].count,
			})
		})
	}
}

// Where even that is too much at once, the list goes on as if the store told nothing.
func TestGranulesThatAreTooMuch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	burst := now.Add(-time.Hour + 20*time.Second)
	var all []trace.Span
	for i := range uint64(2000) {
		all = append(all, span(i, i, burst.Add(-time.Duration(i)*10*time.Millisecond)))
	}
	for some := range slices.Chunk(all, 250) {
		s.insert(some...)
	}
	s.rollUp(now, all...)
	for _, conditions := range []string{``, `{"field":"status_code","operator":"is_not","value":"STATUS_CODE_ERROR"}`} {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		reader.LimitNarrow(100) // no part is that small
		page, err := reader.Spans(t.Context(), s.project, where(t, conditions), domain.Window{Limit: 2, Newest: burst.Add(30 * time.Second)})
		require.NoError(t, err)
		require.Equal(t, idsInOrder(all, domain.Descending)[:2], idsOf(page.Items))
		asked := statementsOf(t, registry)
		require.Equal(t, uint64(1), asked["scan_granules"].count)
		require.LessOrEqual(t, asked["scan_narrow"].count, uint64(8), conditions)
	}
}

// A store that does not tell where its granules are is asked once.
func TestNoGranules(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	burst := now.Add(-time.Hour + 20*time.Second)
	var all []trace.Span
	for i := range uint64(500) {
		all = append(all, span(i, i, burst.Add(-time.Duration(i)*20*time.Millisecond)))
	}
	s.insert(all...)
	s.rollUp(now, all...)
	require.NoError(t, s.conn.Exec(t.Context(), "RENAME TABLE spans TO spans_local"))
	require.NoError(t, s.conn.Exec(t.Context(), "CREATE TABLE spans AS spans_local ENGINE = Merge(currentDatabase(), '^spans_local$')"))
	registry := prometheus.NewRegistry()
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	for range 2 {
		page, err := reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 2, Newest: burst.Add(30 * time.Second)})
		require.NoError(t, err)
		require.Equal(t, idsInOrder(all, domain.Descending)[:2], idsOf(page.Items))
		require.Equal(t, uint64(1), statementsOf(t, registry)["scan_granules"].count)
	}
	require.Less(t, uint64(2), statementsOf(t, registry)["scan_narrow"].count, "it was misled")
}
