//go:build embedded

package traces_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/progress"
	"colonnade/read/sqltext"
	"colonnade/read/traces"
)

// Of a span's versions only the latest is seen, in pages and in traces, also
// where an older one matches the filter or stands elsewhere in time.
func TestLatestVersionOnly(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	old, moved, other := span(1, 1, now.Add(-time.Minute)), span(1, 2, now.Add(-2*time.Minute)), span(1, 3, now.Add(-time.Minute))
	old.Name, moved.Name = "old", "old"
	s.insert(old, moved, other)
	old.Name, old.Status = "new", trace.StatusError
	moved.Name = "new"
	moved.Start += int64(time.Second)
	s.insert(old, moved)
	s.insert(old) // the same again
	names := func(spans []trace.Span) (out []string) {
		for _, s := range spans {
			out = append(out, s.Name)
		}
		return out
	}
	page, err := s.reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 10})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"new", "new", "span 3"}, names(page.Items))
	page, err = s.reader.Spans(t.Context(), s.project, where(t, `{"field":"status_code","value":"STATUS_CODE_OK"}`, `{"field":"span_id","value":"0000000000000001"}`), domain.Window{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Items, "the version that matched is not the latest")
	found, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{old.TraceID})
	require.NoError(t, err)
	require.Equal(t, []string{"new", "new", "span 3"}, names(found[0]))
	pages, err := s.reader.Traces(t.Context(), s.project, where(t, `{"field":"span_name","value":"new"}`), domain.Window{Limit: 10})
	require.NoError(t, err)
	require.Len(t, pages.Items, 1)
	require.Len(t, pages.Items[0], 3)
}

// A scan may end between the versions of a span: the page has the latest.
func TestScanEndsBetweenVersions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	require.NoError(t, s.conn.Exec(t.Context(), "SYSTEM STOP MERGES spans"))
	first, second := span(1, 1, now.Add(-time.Minute)), span(2, 2, now.Add(-2*time.Minute))
	for n := range 10 { // a page of two looks at eleven rows
		first.Name, second.Name = fmt.Sprint("first ", n), fmt.Sprint("second ", n)
		s.insert(first, second)
	}
	page, err := s.reader.Spans(t.Context(), s.project, nil, domain.Window{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	require.Equal(t, "first 9, second 9", page.Items[0].Name+", "+page.Items[1].Name)
}

// The end a list begins with is exclusive, the other inclusive; contract §3.3.
func TestWindowEnds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(5) {
		all = append(all, span(n, n, now.Add(time.Duration(n)*time.Microsecond)))
	}
	s.insert(all...)
	window := domain.Window{Limit: 10, Oldest: all[1].CreatedAt, Newest: all[3].CreatedAt.Add(999)}
	tests := []struct {
		order domain.Order
		want  []uint64
	}{{domain.Descending, []uint64{2, 1}}, {domain.Ascending, []uint64{2, 3}}, {"", []uint64{2, 1}}}
	for _, tt := range tests {
		window.Order = tt.order
		spans, err := s.reader.Spans(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		require.Len(t, spans.Items, 2)
		found, err := s.reader.Traces(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		for i, n := range tt.want {
			require.Equal(t, all[n].SpanID, spans.Items[i].SpanID, tt.order)
			require.Equal(t, all[n].SpanID, found.Items[i][0].SpanID, tt.order)
		}
	}
}

// bound has a list begin at a start.
func bound(w *domain.Window, start time.Time) {
	if w.Order == domain.Ascending {
		w.Oldest = start
	} else {
		w.Newest = start
	}
}

// A caller who makes a cursor of the last item's id and start, once or each time, and
// else goes on with the window of the reply or with our cursor and the last start,
// sees each item once, however many start in one microsecond (contract §0 row 22).
func TestCursorsOfTwoKinds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(36) {
		all = append(all, span(n/2, n, now.Add(time.Duration(n/12)*time.Microsecond)))
	}
	s.insert(all...)
	type item struct {
		id    uuid.UUID
		start time.Time
	}
	spans := func(w domain.Window) ([]item, domain.Window, error) {
		page, err := s.reader.Spans(t.Context(), s.project, nil, w)
		var items []item
		for _, sp := range page.Items {
			items = append(items, item{uuid.UUID(append(sp.SpanID[:], sp.SpanID[:]...)), time.Unix(0, sp.Start)})
		}
		return items, page.Following(w), err
	}
	pages := func(w domain.Window) ([]item, domain.Window, error) {
		page, err := s.reader.Traces(t.Context(), s.project, nil, w)
		var items []item
		for _, of := range page.Items {
			place := of[len(of)-1]
			if w.Order == domain.Ascending {
				place = of[0]
			}
			items = append(items, item{uuid.UUID(place.TraceID), time.Unix(0, place.Start)})
		}
		return items, page.Following(w), err
	}
	goOn := map[string]func(page int, last item, reply domain.Window) domain.Window{
		"the caller's, then the reply's": func(page int, last item, reply domain.Window) domain.Window {
			if page == 0 {
				bound(&reply, last.start)
				reply.Next = last.id
			}
			return reply
		},
		"now the caller's, now the reply's": func(page int, last item, reply domain.Window) domain.Window {
			if page%2 == 1 {
				bound(&reply, last.start)
				reply.Next = last.id
			}
			return reply
		},
		"the reply's, with the last start": func(_ int, last item, reply domain.Window) domain.Window {
			bound(&reply, last.start)
			return reply
		},
	}
	for name, next := range goOn {
		for focus, list := range map[string]func(domain.Window) ([]item, domain.Window, error){"spans": spans, "traces": pages} {
			for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
				t.Run(strings.Join([]string{name, focus, string(order)}, ", "), func(t *testing.T) {
					t.Parallel()
					window, want := domain.Window{Limit: 5, Order: order}, len(all)
					if focus == "traces" {
						want /= 2
					}
					seen := map[uuid.UUID]int{}
					for page := 0; ; page++ {
						require.Less(t, page, want)
						items, reply, err := list(window)
						require.NoError(t, err)
						for _, i := range items {
							seen[i.id]++
						}
						if reply.Next == uuid.Nil {
							break
						}
						window = next(page, items[len(items)-1], reply)
					}
					require.Len(t, seen, want)
					for id, times := range seen {
						require.Equal(t, 1, times, id)
					}
				})
			}
		}
	}
}

// A caller may take the start of a trace's root along, which is no place in a list that
// runs down: other traces stand between, and each of them comes (contract §0 row 22).
func TestCursorByTheRootsStart(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const traces = 12
	for n := range uint64(traces) {
		root, child := span(n, 2*n, now.Add(-time.Hour-time.Duration(n)*time.Second)), span(n, 2*n+1, now.Add(-time.Duration(n)*time.Minute))
		child.ParentID = root.SpanID
		child.Name = "child"
		s.insert(root, child)
	}
	for _, condition := range []string{"", `{"field":"span_name","value":"child"}`} {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			w := domain.Window{Limit: 3, Order: order}
			var e filter.Expr
			if condition != "" {
				e = where(t, condition)
			}
			seen := map[trace.TraceID]int{}
			for range traces {
				page, err := s.reader.Traces(t.Context(), s.project, e, w)
				require.NoError(t, err)
				for _, of := range page.Items {
					seen[of[0].TraceID]++
				}
				if len(page.Items) < w.Limit {
					break
				}
				root := page.Items[len(page.Items)-1][0]
				w.Next = uuid.UUID(root.TraceID)
				bound(&w, time.Unix(0, root.Start))
			}
			require.Len(t, seen, traces, "%s %s", condition, order)
			for id, times := range seen {
				require.Equal(t, 1, times, "%s %s %s", condition, order, id)
			}
		}
	}
}

// Spans from far in the past and the future are found without any bound.
func TestAnyTime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.insert(span(1, 1, time.Unix(0, 1000)), span(2, 2, now), span(3, 3, now.AddDate(30, 0, 0)))
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		window := domain.Window{Limit: 1, Order: order}
		for i := range 3 {
			page, err := s.reader.Spans(t.Context(), s.project, nil, window)
			require.NoError(t, err)
			n := byte(i + 1)
			if order == domain.Descending {
				n = byte(3 - i)
			}
			require.Equal(t, trace.SpanID{7: n}, page.Items[0].SpanID)
			require.Equal(t, i == 2, page.Next == uuid.Nil, "the last page is known to be the last")
			window.Next = page.Next
		}
	}
}

// A rate keeps the same traces in every list, and as Go counts them.
func TestRate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(400) {
		all = append(all, span(n, 1, now.Add(-time.Duration(n)*time.Second)), span(n, 2, now.Add(-time.Duration(n)*time.Second)))
	}
	s.insert(all...)
	for _, share := range []float64{0, .25, 1} {
		rate, want := sqltext.NewRate(&share), 0
		for i := range all {
			if rate.Keeps(all[i].TraceID) {
				want++
			}
		}
		window := domain.Window{Limit: 1000, Rate: &share}
		spans, err := s.reader.Spans(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		require.Len(t, spans.Items, want)
		require.InDelta(t, want, share*800, 80)
		found, err := s.reader.Traces(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		require.Len(t, found.Items, want/2)
	}
}

// Cumulative metrics are those of the whole trace, whatever the page holds, and can be asked for.
func TestCumulativeMetrics(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n := range uint64(6) {
		one := span(1, n+1, now.Add(-time.Hour).Add(time.Duration(n)*time.Minute))
		one.SpanType = trace.Chat
		if n > 0 {
			one.ParentID = all[n-1].SpanID
		}
		ag := one.Attributes["ag"].(map[string]any)
		ag["metrics"] = map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": int64(10)}}, "costs": map[string]any{"incremental": map[string]any{"total": 0.1}}}
		all = append(all, one)
	}
	s.insert(all...)
	s.send("INSERT INTO trace_index (project_id, trace_id, min_start, max_start, last_version)", [][]any{{uuid.UUID(s.project), string(all[0].TraceID[:]), time.Unix(0, all[0].Start).UTC(), time.Unix(0, all[5].Start).UTC(), s.version}})
	found, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{all[0].TraceID})
	require.NoError(t, err)
	page, err := s.reader.Spans(t.Context(), s.project, where(t, `{"field":"attributes","key":"ag.metrics.tokens.cumulative.total","operator":"gte","value":50}`), domain.Window{Limit: 10, Order: domain.Ascending})
	require.NoError(t, err)
	require.Equal(t, opened(found[0])[:2], opened(page.Items), "the root has 60, its child 50")
	one, err := s.reader.SpansByID(t.Context(), s.project, []trace.TraceID{all[0].TraceID}, []trace.SpanID{all[3].SpanID})
	require.NoError(t, err)
	require.Equal(t, found[0][3:4], opened(one))
	total, _ := jsonvalue.Lookup(one[0].Attributes, []string{"ag", "metrics", "tokens", "cumulative", "total"})
	require.Equal(t, int64(30), total)
}

// A big trace comes whole; beside others it ends the page early, which the cursor says.
func TestBigTraces(t *testing.T) {
	t.Parallel()
	cfg := traces.DefaultConfig()
	cfg.MaxPageSpans = 22_000
	s := newStoreWith(t, cfg)
	const spans = 20_000
	for n := range uint64(2) {
		var all []trace.Span
		for i := range uint64(spans) {
			all = append(all, span(n+1, i+1, now.Add(-time.Hour*time.Duration(n+1)).Add(time.Duration(i)*time.Millisecond)))
		}
		s.insert(all...)
	}
	s.insert(span(3, 1, now))
	window := domain.Window{Limit: 10}
	var sizes []int
	for {
		page, err := s.reader.Traces(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		for _, spans := range page.Items {
			sizes = append(sizes, len(spans))
		}
		if window.Next = page.Next; page.Next == uuid.Nil {
			break
		}
	}
	require.Equal(t, []int{1, spans, spans}, sizes)
}

// Whatever records the spans of a trace came in, a page has all of them, in one lookup
// of documents where those of its place are all.
func TestTracesWithTheirPlaces(t *testing.T) {
	t.Parallel()
	at, monday := now.Add(-time.Hour), time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	run := func(number, n uint64, start func(i uint64) time.Time) (all []trace.Span) {
		for i := range n {
			all = append(all, measured(number, i+1, trace.SpanID{}, start(i), 1))
		}
		return all
	}
	near := func(i uint64) time.Time { return at.Add(time.Duration(i) * time.Millisecond) }
	for _, tt := range []struct {
		name    string
		store   func(s *store)
		lookups uint64
	}{
		{"one record", func(s *store) { s.insert(run(1, 6, near)...) }, 1},
		{"two records", func(s *store) { all := run(1, 6, near); s.insert(all[:2]...); s.insert(all[2:]...) }, 2},
		{"the place in the second", func(s *store) { all := run(1, 6, near); s.insert(all[2:]...); s.insert(all[:2]...) }, 2},
		{"across a week", func(s *store) {
			s.insert(run(1, 6, func(i uint64) time.Time { return monday.Add(time.Duration(int64(i)-3) * time.Second) })...)
		}, 2},
		{"with a clock that is years off", func(s *store) {
			s.insert(run(1, 6, func(i uint64) time.Time { return near(i).AddDate(-int(i%2)*10, 0, 0) })...)
		}, 2},
		{"one replaced", func(s *store) {
			all := run(1, 6, near)
			s.insert(all...)
			s.insert(measured(1, 3, trace.SpanID{}, near(2), 1000))
		}, 2},
		{"another beside it", func(s *store) { s.insert(append(run(1, 6, near), run(2, 3, near)...)...) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.batched = true
			tt.store(s)
			registry := prometheus.NewRegistry()
			reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
			require.NoError(t, err)
			page, err := reader.Traces(t.Context(), s.project, nil, domain.Window{Limit: 10})
			require.NoError(t, err)
			require.Equal(t, tt.lookups, statementsOf(t, registry)["documents"].count)
			ids := make([]trace.TraceID, len(page.Items))
			for i, of := range page.Items {
				ids[i] = of[0].TraceID
			}
			whole, err := s.reader.TracesByID(t.Context(), s.project, ids)
			require.NoError(t, err)
			require.Equal(t, whole, page.Items)
			require.Contains(t, ids, span(1, 1, at).TraceID)
			require.Len(t, page.Items[slices.Index(ids, span(1, 1, at).TraceID)], 6)
		})
	}
}

// Documents of megabytes end a page early; one that is larger than a page is a page.
func TestBigDocuments(t *testing.T) {
	t.Parallel()
	cfg := traces.DefaultConfig()
	cfg.MaxPageBytes, cfg.MaxReadBytes = 8<<20, 32<<20
	s := newStoreWith(t, cfg)
	for n := range uint64(4) {
		one := span(n+1, 1, now.Add(-time.Duration(n)*time.Second))
		one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"inputs": map[string]any{"text": strings.Repeat(strconv.FormatUint(n, 10), 10<<20)}}
		s.insert(one)
	}
	window := domain.Window{Limit: 10}
	for n := range 4 {
		page, err := s.reader.Spans(t.Context(), s.project, nil, window)
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		text, _ := jsonvalue.Lookup(page.Items[0].Attributes, []string{"ag", "data", "inputs", "text"})
		require.Equal(t, strings.Repeat(strconv.Itoa(n), 10<<20), text)
		require.Equal(t, n == 3, page.Next == uuid.Nil)
		window.Next = page.Next
	}
	_, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{span(1, 1, now).TraceID, span(2, 1, now).TraceID, span(3, 1, now).TraceID, span(4, 1, now).TraceID})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.ErrorContains(t, err, "32 MiB")
}

func TestWait(t *testing.T) {
	t.Parallel()
	cfg := traces.DefaultConfig()
	cfg.WaitTimeout = 200 * time.Millisecond
	s := newStoreWith(t, cfg)
	progress := func(partition uint32, next uint64) {
		batch, err := s.conn.PrepareBatch(t.Context(), "INSERT INTO sink_progress (topic, stream_partition, next_offset, written_at)")
		require.NoError(t, err)
		require.NoError(t, batch.Append(cfg.Topic, partition, next, now))
		require.NoError(t, batch.Send())
	}
	progress(1, 5)
	progress(1, 8)
	progress(2, 3)
	tests := []struct {
		token, pending domain.Token
	}{
		{nil, nil},
		{domain.Token{{Partition: 1, Offset: 7}, {Partition: 2, Offset: 2}}, nil},
		{domain.Token{{Partition: 1, Offset: 8}, {Partition: 2, Offset: 2}, {Partition: 3, Offset: 0}}, domain.Token{{Partition: 1, Offset: 8}, {Partition: 3, Offset: 0}}},
	}
	for _, tt := range tests {
		pending, err := s.reader.Wait(t.Context(), tt.token)
		require.NoError(t, err)
		require.ElementsMatch(t, tt.pending, pending)
	}
}

// waiting gives a reader whose callers wait up to timeout, and how often it looked at the sink's progress.
func (s *store) waiting(timeout time.Duration) (reader *traces.Reader, looks func() uint64) {
	s.t.Helper()
	registry := prometheus.NewRegistry()
	cfg := traces.DefaultConfig()
	cfg.WaitTimeout = timeout
	reader, err := traces.New(cfg, s.conn, time.Now, registry)
	require.NoError(s.t, err)
	return reader, func() uint64 { return statementsOf(s.t, registry)["progress"].count }
}

// Any number of callers who wait cost the store what one costs.
func TestWhoWaitsSharesLooks(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	reader, looks := s.waiting(time.Minute)
	began := time.Now()
	const callers = 100
	done := make(chan error, callers)
	for range callers {
		go func() {
			pending, err := reader.Wait(context.Background(), domain.Token{{Partition: 1, Offset: 7}})
			if len(pending) > 0 {
				err = fmt.Errorf("still waiting for %v", pending)
			}
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return looks() >= 3 }, 30*time.Second, time.Millisecond, "all of them wait by then")
	require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO sink_progress (topic, stream_partition, next_offset, written_at) VALUES (?, 1, 8, now())", traces.DefaultConfig().Topic))
	for range callers {
		require.NoError(t, <-done)
	}
	require.LessOrEqual(t, looks(), uint64(time.Since(began)/progress.MaxAge)+1)
}

// A sink of this process spares the store all looks, as long as it keeps up. One
// that lost its partition without knowing does not hold up a reader.
func TestWhoWaitsHearsTheSink(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	reader, looks := s.waiting(time.Minute)
	var asked atomic.Int64
	reader.UseLocal(func() map[int32]int64 {
		if asked.Add(1) == 1 {
			return map[int32]int64{1: 7}
		}
		return map[int32]int64{1: 8}
	})
	wait := func(token domain.Token) {
		pending, err := reader.Wait(t.Context(), token)
		require.NoError(t, err)
		require.Empty(t, pending)
	}
	wait(domain.Token{{Partition: 1, Offset: 7}})
	require.Zero(t, looks())

	topic := traces.DefaultConfig().Topic
	require.NoError(t, s.conn.Exec(t.Context(), "INSERT INTO sink_progress (topic, stream_partition, next_offset, written_at) VALUES (?, 1, 10, now()), (?, 2, 4, now())", topic, topic))
	wait(domain.Token{{Partition: 1, Offset: 7}, {Partition: 2, Offset: 3}})
	require.EqualValues(t, 1, looks(), "another works on partition 2")
	wait(domain.Token{{Partition: 1, Offset: 9}})
	require.EqualValues(t, 2, looks(), "partition 1 moves without this sink")

	hasty, _ := s.waiting(time.Nanosecond)
	hasty.UseLocal(func() map[int32]int64 { return map[int32]int64{1: 8} })
	pending, err := hasty.Wait(t.Context(), domain.Token{{Partition: 1, Offset: 9}})
	require.NoError(t, err)
	require.Empty(t, pending, "the store is asked within the time, however short it is")
}
