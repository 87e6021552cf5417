//go:build embedded

package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
)

// spansAt returns a trace of spans that start at these offsets, in microseconds, from a base.
func spansAt(n, first uint64, base time.Time, name string, offsets ...int) *tracepb.TracesData {
	scope := &tracepb.ScopeSpans{}
	for i, offset := range offsets {
		start := base.Add(time.Duration(offset) * time.Microsecond)
		scope.Spans = append(scope.Spans, &tracepb.Span{
			TraceId: traceIDOf(n), SpanId: idOf(first + uint64(i)), Name: name,
			StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.Add(time.Second).UnixNano()),
			Attributes: keyValues(map[string]any{"ag.data.inputs": map[string]any{"q": "needle " + name}}),
		})
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{scope}}}}
}

func parse(t *testing.T, condition string) filter.Expr {
	t.Helper()
	e, err := filterjson.Parse([]byte(`{"conditions":[` + condition + `]}`))
	require.NoError(t, err)
	return e
}

// The filters of the walks: one that rows decide, one that documents decide.
func walkFilters() []string {
	return []string{`{"field":"span_name","value":"old"}`, `{"field":"content","operator":"contains","value":"\"needle old\""}`}
}

// While spans arrive on both sides of a walk, each that was there before comes
// exactly once, in order, however many share a microsecond.
func TestCursorOfSpans(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	base := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		for i, condition := range walkFilters() {
			t.Run(fmt.Sprint(order, i), func(t *testing.T) {
				t.Parallel()
				project := domain.ProjectID(uuid.New())
				var all []*tracepb.TracesData
				for n := range uint64(60) {
					all = append(all, spansAt(n, 1, base, "old", 0, 0, 0, 1, 1, int(n/30)))
				}
				corpus := w.write(project, all...)
				slices.SortFunc(corpus, byPlace)
				if order == domain.Descending {
					slices.Reverse(corpus)
				}
				where := parse(t, condition)
				window := domain.Window{Limit: 17, Order: order}
				var got []spanKey
				for pages := uint64(0); ; pages++ {
					page, err := w.reader.Spans(t.Context(), project, where, window)
					require.NoError(t, err)
					for _, s := range page.Items {
						if s.TraceID[5] == 0 { // of the first writes
							got = append(got, spanKey{s.TraceID, s.SpanID})
						}
					}
					if window.Next = page.Next; page.Next == uuid.Nil {
						break
					}
					if pages%4 == 0 {
						w.write(project, spansAt(1<<16+pages, 1, base, "old", -1, 0, 0, 1, 1, 2))
					}
				}
				var want []spanKey
				for _, s := range corpus {
					want = append(want, spanKey{s.TraceID, s.SpanID})
				}
				require.Equal(t, want, got)
			})
		}
	}
}

// Each trace that was there before a walk comes exactly once, in the order of
// its first matching span, also when it gets spans under way, and no trace
// comes twice.
func TestCursorOfTraces(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	base := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		for i, condition := range walkFilters() {
			t.Run(fmt.Sprint(order, i), func(t *testing.T) {
				t.Parallel()
				project := domain.ProjectID(uuid.New())
				const traces = 90
				var all []*tracepb.TracesData
				for n := range uint64(traces) {
					// Spans of a trace lie on both sides of many others; three timestamps are shared by all.
					all = append(all, spansAt(n, 1, base, "old", int(n%3)*10, int(n%3)*10, 10, int(n/30)*5))
				}
				corpus := w.write(project, all...)
				w.write(project, spansAt(0, 100, base, "other", 1000)) // does not match
				slices.SortFunc(corpus, byPlace)
				if order == domain.Descending {
					slices.Reverse(corpus)
				}
				var want []trace.TraceID
				for _, s := range corpus {
					if !slices.Contains(want, s.TraceID) {
						want = append(want, s.TraceID)
					}
				}
				where := parse(t, condition)
				window := domain.Window{Limit: 7, Order: order}
				var got []trace.TraceID
				for pages := uint64(0); ; pages++ {
					page, err := w.reader.Traces(t.Context(), project, where, window)
					require.NoError(t, err)
					for _, spans := range page.Items {
						id := spans[0].TraceID
						require.NotContains(t, got, id, "a trace comes once")
						got = append(got, id)
						require.GreaterOrEqual(t, len(spans), 4, "a trace comes whole")
					}
					if window.Next = page.Next; page.Next == uuid.Nil {
						break
					}
					if pages%4 == 1 {
						// New spans of shown and of coming traces, before, between and after theirs; and a new trace.
						shown := uint64(slices.Index(traceOrder(), want[0]))
						next := uint64(slices.Index(traceOrder(), want[len(want)-1]))
						w.write(project, spansAt(shown, 200+10*pages, base, "old", -5, 7, 30), spansAt(next, 200+10*pages, base, "old", -5, 7, 30), spansAt(1<<16+pages, 1, base, "old", -3, 4, 40))
					}
				}
				got = slices.DeleteFunc(got, func(id trace.TraceID) bool { return id[5] != 0 })
				require.Equal(t, want, got)
			})
		}
	}
}

// traceOrder is the ids of the first traces by their numbers.
func traceOrder() []trace.TraceID {
	out := make([]trace.TraceID, 90)
	for n := range out {
		out[n] = trace.TraceID(traceIDOf(uint64(n)))
	}
	return out
}

// A walk by the last item's id and start, as clients of the reference make it.
func TestCursorMadeByCaller(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	base := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	var all []*tracepb.TracesData
	for n := range uint64(20) {
		all = append(all, spansAt(n, n*100+1, base.Add(123456789), "old", int(n/5), int(n/5), int(n/5)+1))
	}
	corpus := w.write(project, all...)
	slices.SortFunc(corpus, byPlace)
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		t.Run("spans "+string(order), func(t *testing.T) {
			t.Parallel()
			window := domain.Window{Limit: 7, Order: order}
			var got []trace.Span
			for {
				page, err := w.reader.Spans(t.Context(), project, nil, window)
				require.NoError(t, err)
				got = append(got, page.Items...)
				if len(page.Items) < window.Limit {
					break
				}
				last := page.Items[len(page.Items)-1]
				window.Next = uuid.UUID(append(last.SpanID[:], last.SpanID[:]...))
				bound(&window, time.Unix(0, last.Start))
			}
			requireOrder(t, corpus, got, order)
		})
		t.Run("traces "+string(order), func(t *testing.T) {
			t.Parallel()
			window := domain.Window{Limit: 3, Order: order}
			var got []trace.TraceID
			for {
				page, err := w.reader.Traces(t.Context(), project, nil, window)
				require.NoError(t, err)
				for _, spans := range page.Items {
					got = append(got, spans[0].TraceID)
				}
				if len(page.Items) < window.Limit {
					break
				}
				spans := page.Items[len(page.Items)-1]
				last := spans[len(spans)-1]
				if order == domain.Ascending {
					last = spans[0]
				}
				window.Next = uuid.UUID(last.TraceID)
				bound(&window, time.Unix(0, last.Start))
			}
			require.Len(t, got, 20)
			slices.SortFunc(got, func(a, b trace.TraceID) int { return slices.Compare(a[:], b[:]) })
			require.Len(t, slices.Compact(got), 20, "each trace comes once")
		})
	}
}

func bound(w *domain.Window, t time.Time) {
	if w.Order == domain.Ascending {
		w.Oldest = t
	} else {
		w.Newest = t
	}
}

func requireOrder(t *testing.T, corpus, got []trace.Span, order domain.Order) {
	t.Helper()
	want := slices.Clone(corpus)
	if order == domain.Descending {
		slices.Reverse(want)
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].SpanID, got[i].SpanID, i)
	}
}

func TestCursorIsRefused(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	project := domain.ProjectID(uuid.New())
	base := time.Now().UTC().Add(-time.Hour)
	w.write(project, spansAt(1, 1, base, "old", 0, 1, 2), spansAt(2, 1, base, "old", 0, 1, 2))
	spans, err := w.reader.Spans(t.Context(), project, nil, domain.Window{Limit: 1})
	require.NoError(t, err)
	traces, err := w.reader.Traces(t.Context(), project, nil, domain.Window{Limit: 1})
	require.NoError(t, err)
	asSpans := func(w2 domain.Window) error {
		_, err := w.reader.Spans(t.Context(), project, nil, w2)
		return err
	}
	asTraces := func(w2 domain.Window) error {
		_, err := w.reader.Traces(t.Context(), project, nil, w2)
		return err
	}
	tests := []struct {
		name   string
		ask    func(domain.Window) error
		window domain.Window
		says   string
	}{
		{"other direction", asSpans, domain.Window{Next: spans.Next, Order: domain.Ascending}, "descending"},
		{"traces in spans", asSpans, domain.Window{Next: traces.Next}, "list of traces"},
		{"spans in traces", asTraces, domain.Window{Next: spans.Next}, "list of spans"},
		{"a stranger", asSpans, domain.Window{Next: uuid.New()}, "not a cursor"},
		{"a stranger with a bound", asSpans, domain.Window{Next: uuid.Must(uuid.NewV7()), Newest: base}, "not a cursor"},
		{"a trace id without bound", asTraces, domain.Window{Next: uuid.UUID(traceIDOf(1))}, "not a cursor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.ask(tt.window)
			require.Equal(t, domain.Rejected, domain.KindOf(err))
			require.ErrorContains(t, err, tt.says)
		})
	}
}

// Two projects with equal trace and span ids see nothing of each other, whatever they ask.
func TestIsolation(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	one, two, none := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	base := time.Now().UTC().Add(-time.Hour)
	w.write(one, spansAt(1, 1, base, "one", 0, 1, 2))
	w.write(two, spansAt(1, 1, base, "two", 0, 1, 2, 3))
	id := trace.TraceID(traceIDOf(1))
	span := trace.SpanID(idOf(1))
	questions := map[string]func(p domain.ProjectID) ([]trace.Span, error){
		"spans": func(p domain.ProjectID) ([]trace.Span, error) {
			page, err := w.reader.Spans(t.Context(), p, nil, domain.Window{Limit: 10})
			return page.Items, err
		},
		"spans by trace": func(p domain.ProjectID) ([]trace.Span, error) {
			page, err := w.reader.Spans(t.Context(), p, filter.TraceID{In: []trace.TraceID{id}}, domain.Window{Limit: 10})
			return page.Items, err
		},
		"spans by content": func(p domain.ProjectID) ([]trace.Span, error) {
			page, err := w.reader.Spans(t.Context(), p, filter.Content{Phrase: "needle"}, domain.Window{Limit: 10})
			return page.Items, err
		},
		"traces": func(p domain.ProjectID) ([]trace.Span, error) {
			page, err := w.reader.Traces(t.Context(), p, nil, domain.Window{Limit: 10})
			return slices.Concat(page.Items...), err
		},
		"traces by content": func(p domain.ProjectID) ([]trace.Span, error) {
			page, err := w.reader.Traces(t.Context(), p, filter.Content{Phrase: "needle"}, domain.Window{Limit: 10})
			return slices.Concat(page.Items...), err
		},
		"a trace": func(p domain.ProjectID) ([]trace.Span, error) {
			found, err := w.reader.TracesByID(t.Context(), p, []trace.TraceID{id})
			return slices.Concat(found...), err
		},
		"a span": func(p domain.ProjectID) ([]trace.Span, error) {
			return w.reader.SpansByID(t.Context(), p, []trace.TraceID{id}, []trace.SpanID{span})
		},
		"a span by its id": func(p domain.ProjectID) ([]trace.Span, error) {
			return w.reader.SpansByID(t.Context(), p, nil, []trace.SpanID{span})
		},
		"spans of a trace": func(p domain.ProjectID) ([]trace.Span, error) {
			return w.reader.SpansByID(t.Context(), p, []trace.TraceID{id}, nil)
		},
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for project, want := range map[domain.ProjectID]string{one: "one", two: "two"} {
				spans, err := ask(project)
				require.NoError(t, err)
				require.NotEmpty(t, spans)
				for _, s := range spans {
					require.Equal(t, want, s.Name)
				}
			}
			spans, err := ask(none)
			require.NoError(t, err)
			require.Empty(t, spans)
			_, err = ask(domain.ProjectID{})
			require.Equal(t, domain.Unauthenticated, domain.KindOf(err), "no project, no answer")
		})
	}
}
