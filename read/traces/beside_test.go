//go:build embedded

package traces_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/traces"
)

// measured is a span with tokens and a document.
func measured(traceN, n uint64, parent trace.SpanID, start time.Time, tokens int64) trace.Span {
	s := span(traceN, n, start)
	s.ParentID, s.SpanType = parent, trace.Chat
	s.Attributes["ag"].(map[string]any)["metrics"] = map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": tokens}}}
	s.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": "a needle"}
	return s
}

// A page's spans sum what their whole traces do, however those came, and what is
// read for it is what lies beside them where that is enough.
func TestSumsBeside(t *testing.T) {
	t.Parallel()
	at := now.Add(-time.Hour)
	tree := func(start func(i int) time.Time) []trace.Span { // a root, a chain below it, leaves
		all := []trace.Span{measured(1, 1, trace.SpanID{}, start(0), 1)}
		for i := 1; i < 12; i++ {
			all = append(all, measured(1, uint64(i+1), all[(i-1)/2].SpanID, start(i), int64(1)<<i))
		}
		return all
	}
	near := func(i int) time.Time { return at.Add(time.Duration(i) * time.Millisecond) }
	monday := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	const (
		documents = "documents"
		heads     = "heads"
		metrics   = "metrics"
	)
	tests := []struct {
		name  string
		store func(s *store)
		limit func(r *traces.Reader)
		asked []string // beside the scan and the bounds
	}{
		{"one record", func(s *store) { s.insert(tree(near)...) }, nil, []string{documents}},
		{"two records", func(s *store) { all := tree(near); s.insert(all[:5]...); s.insert(all[5:]...) }, nil, []string{documents, heads}},
		{"two records, the later spans first", func(s *store) { all := tree(near); s.insert(all[5:]...); s.insert(all[:5]...) }, nil, []string{documents, heads}},
		{"across a week", func(s *store) {
			s.insert(tree(func(i int) time.Time { return monday.Add(time.Duration(i-6) * time.Second) })...)
		}, nil, []string{documents, heads}},
		{"with a clock that is years off", func(s *store) { s.insert(tree(func(i int) time.Time { return near(i).AddDate(-i%2*10, 0, 0) })...) }, nil, []string{documents, heads}},
		{"a leaf replaced", func(s *store) {
			all := tree(near)
			s.insert(all...)
			all[11] = measured(1, 12, all[5].SpanID, near(11), 1000)
			s.insert(all[11])
		}, nil, []string{documents, heads}},
		{"another trace in one record, this one in two", func(s *store) {
			all := tree(near)
			s.insert(append(all[:5:5], measured(2, 1, trace.SpanID{}, near(3), 5), measured(2, 2, trace.SpanID{}, near(3), 5))...)
			s.insert(all[5:]...)
		}, nil, []string{documents, heads}},
		{"too many records", func(s *store) {
			for _, one := range tree(near) {
				s.insert(one)
			}
		}, func(r *traces.Reader) { r.LimitBeside(0, 0, 3) }, []string{documents, metrics}},
		{"too many spans", func(s *store) { s.insert(tree(near)...) }, func(r *traces.Reader) { r.LimitBeside(0, 5, 0) }, []string{documents, metrics}},
		{"too large a page", func(s *store) { s.insert(tree(near)...) }, nil, []string{documents, metrics}},
		{"too much beside it", func(s *store) {
			all := tree(near)
			for i := range all[6:] {
				all[6+i].Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": "a needle in" + strings.Repeat(" much", 20_000)}
			}
			s.insert(all...)
		}, func(r *traces.Reader) { r.LimitBeside(100_000, 0, 0) }, []string{documents, metrics}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.batched = true
			require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
			tt.store(s)
			want := map[string]any{}
			whole, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{span(1, 1, at).TraceID, span(2, 1, at).TraceID})
			require.NoError(t, err)
			for _, of := range whole {
				for i := range of {
					want[of[i].TraceID.String()+of[i].SpanID.String()], _ = jsonvalue.Lookup(of[i].Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
				}
			}
			require.GreaterOrEqual(t, len(want), 12)
			// A page of some of them, of everything, of what a condition chose, and of
			// what was read to decide.
			const decided = `{"field":"content","operator":"contains","value":"needle"}`
			for _, conditions := range []string{"", `{"field":"trace_type","value":"invocation"}`, decided} {
				for _, limit := range []int{1, 4, 100} {
					registry := prometheus.NewRegistry()
					cfg := traces.DefaultConfig()
					if tt.name == "too large a page" {
						cfg.MaxBesideBytes = 10
					}
					reader, err := traces.New(cfg, s.conn, func() time.Time { return now }, registry)
					require.NoError(t, err)
					if tt.limit != nil {
						tt.limit(reader)
					}
					page, err := reader.Spans(t.Context(), s.project, where(t, conditions), domain.Window{Limit: limit, Order: domain.Ascending})
					require.NoError(t, err)
					require.NotEmpty(t, page.Items)
					for i := range page.Items {
						one := &page.Items[i]
						got, _ := jsonvalue.Lookup(one.Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
						require.Equal(t, want[one.TraceID.String()+one.SpanID.String()], got, "span %s of a page of %d with %q", one.SpanID, limit, conditions)
					}
					var asked []string
					for _, name := range []string{documents, heads, metrics} {
						if statementsOf(t, registry)[name].count > 0 {
							asked = append(asked, name)
						}
					}
					if limit == 4 && conditions != decided {
						require.Equal(t, tt.asked, asked)
					}
				}
			}
		})
	}
}

// What is read beside a page also tells that a later version stands at a row's
// place: nothing is looked up for it.
func TestReplacedBeside(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.batched = true
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	one, other := span(1, 1, now.Add(-time.Hour)), span(1, 2, now.Add(-time.Hour))
	s.insert(one, other)
	one.Status = trace.StatusError
	s.insert(one)
	for _, tt := range []struct {
		status string
		want   []trace.SpanID
		looked bool
	}{{"STATUS_CODE_OK", []trace.SpanID{other.SpanID}, true}, {"STATUS_CODE_ERROR", []trace.SpanID{one.SpanID}, false}} {
		got, asked := s.ofStatus(traces.DefaultConfig(), tt.status)
		require.Equal(t, tt.want, got, tt.status)
		require.NotZero(t, asked["heads"].count)
		require.Zero(t, asked["metrics"].count+asked["settled"].count)
		require.Equal(t, tt.looked, asked["keys_latest"].count > 0, tt.status)
	}
}

// A project whose records hold too much is not asked for what lies beside its
// pages for a while: that was read for nothing.
func TestTooMuchBesideIsRemembered(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.batched = true
	var all []trace.Span
	for n := range uint64(10) {
		all = append(all, measured(1, n+1, trace.SpanID{}, now.Add(-time.Hour), 1))
	}
	s.insert(all...)
	registry, at := prometheus.NewRegistry(), now
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
	require.NoError(t, err)
	reader.LimitBeside(0, 5, 0)
	for _, tt := range []struct {
		after time.Duration
		asked uint64
	}{{0, 2}, {time.Second, 3}, {50 * time.Second, 4}, {20 * time.Second, 6}} {
		at = at.Add(tt.after)
		page, err := reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 4})
		require.NoError(t, err)
		require.Len(t, page.Items, 4)
		require.Equal(t, tt.asked, statementsOf(t, registry)["documents"].count)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		require.NotEqual(t, "colonnade_read_query_errors_total", f.GetName(), "nothing failed")
	}
}

// Where most of what is read to decide is shown, what it sums is read along with
// it: one look at documents and one at where their traces are, and none at later
// versions. Where little of it is, sums are read for what is shown alone.
func TestDecidedWithSums(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.batched = true
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	at := now.Add(-time.Hour)
	var all []trace.Span
	for n := range uint64(100) {
		one := measured(n+1, 1, trace.SpanID{}, at.Add(time.Duration(n)*time.Millisecond), 1)
		below := measured(n+1, 2, one.SpanID, at.Add(time.Duration(n)*time.Millisecond), 2)
		text := "a needle"
		if n >= 5 && n < 70 {
			text = "hay" // attributes have the words, where they do not count: documents decide
		}
		for _, of := range []*trace.Span{&one, &below} {
			of.Attributes["ag"].(map[string]any)["data"] = map[string]any{"outputs": text}
			of.Attributes["hay"] = "a needle"
		}
		all = append(all, one, below)
	}
	s.insert(all...)
	for _, tt := range []struct {
		name string
		// newest is the span that the page begins before, limit how many it has.
		newest, limit int
		asked         map[string]uint64
	}{
		{"all are shown", 100, 40, map[string]uint64{"documents": 1, "bounds": 1, "heads": 0, "keys_latest": 0}},
		{"few are shown", 70, 8, map[string]uint64{"documents": 2, "bounds": 2, "heads": 1, "keys_latest": 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
			require.NoError(t, err)
			page, err := reader.Spans(t.Context(), s.project, where(t, `{"field":"content","operator":"contains","value":"a needle"}`),
				domain.Window{Limit: tt.limit, Newest: at.Add(time.Duration(tt.newest) * time.Millisecond)})
			require.NoError(t, err)
			require.Len(t, page.Items, tt.limit)
			for i := range page.Items {
				got, _ := jsonvalue.Lookup(page.Items[i].Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
				want := int64(2)
				if page.Items[i].ParentID == (trace.SpanID{}) {
					want = 3
				}
				require.Equal(t, want, got)
			}
			asked := statementsOf(t, registry)
			for name, n := range tt.asked {
				require.Equal(t, n, asked[name].count, name)
			}
		})
	}
}
