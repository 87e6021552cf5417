//go:build embedded

package traces_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/traces"
)

// What many spans have is looked for among all of them: each match comes once and in
// order, of spans and of traces, from both ends, however many are looked at at once,
// also of spans that were replaced and of spans whose earlier documents are gone.
func TestSearchAmongAll(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets / 8
	var all []trace.Span
	for n := range uint64(330) {
		one := span(n/4%60, n, now.Add(-time.Duration(n/3)*time.Second)) // three start at once, and traces lie far apart
		if n/4%60%5 == 0 {
			one.Type = trace.Annotation
		}
		words := []string{"Common"}
		for word, of := range map[string]uint64{"half": 2, "fifth": 5, "twentieth": 20} {
			if n%of == 0 {
				words = append(words, word)
			}
		}
		if n > 200 {
			words = append(words, "late")
		}
		says(&one, strings.Join(words, " "))
		one.Attributes["note"] = "everywhere" // which is not searched
		all = append(all, one)
	}
	s.insert(all...)
	first := s.version
	var gone []string
	for i := range all {
		switch i % 40 { // the text of some is another by now, and of some of those what it was is gone
		case 3, 20:
			says(&all[i], "common again half")
		case 10, 11:
			says(&all[i], "rewritten")
		default:
			continue
		}
		if s.insert(all[i]); i%40 <= 10 {
			gone = append(gone, "unhex('"+all[i].SpanID.String()+"')")
		}
	}
	require.NoError(t, s.conn.Exec(t.Context(), "ALTER TABLE span_payloads_packed DELETE WHERE version <= ? AND span_id IN ("+strings.Join(gone, ", ")+") SETTINGS mutations_sync = 2", first))
	for _, search := range some([]string{"common", "half", "fifth", "twentieth", "late", "fifth -half", "everywhere", "rewritten"}) {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			t.Run(fmt.Sprint(search, " ", order), func(t *testing.T) {
				t.Parallel()
				e := where(t, containing(search)[0])
				for _, bounds := range [][2]int{{0, 0}, {13, 29}} {
					registry := prometheus.NewRegistry()
					reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now.Add(time.Minute) }, registry)
					require.NoError(t, err)
					reader.LimitOften(bounds[0], bounds[1], 0)
					for _, window := range []domain.Window{{Limit: 70}, {Limit: 400}, {Limit: 13, Oldest: now.Add(-80500 * time.Millisecond), Newest: now.Add(-20500 * time.Millisecond)}} {
						window.Order = order
						matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool {
							at := time.Unix(0, s.Start)
							return !filter.Match(e, &s) || !window.Oldest.IsZero() && (at.Before(window.Oldest) || !at.Before(window.Newest))
						})
						require.Equal(t, idsInOrder(matching, order), s.walk(t, reader, e, window), "%v %+v", bounds, window)
						require.Equal(t, tracesInOrder(matching, order), s.walkTraces(t, reader, e, window), "%v %+v", bounds, window)
					}
					if search == "common" {
						require.NotZero(t, statementsOf(t, registry)["hold"].count)
					}
				}
			})
		}
	}
}

// walkTraces reads a list of traces page by page; it is not nil.
func (s *store) walkTraces(t *testing.T, reader *traces.Reader, e filter.Expr, window domain.Window) []trace.TraceID {
	t.Helper()
	ids := []trace.TraceID{}
	for {
		page, err := reader.Traces(t.Context(), s.project, e, window)
		require.NoError(t, err)
		for _, of := range page.Items {
			ids = append(ids, of[0].TraceID)
		}
		if window.Next = page.Next; window.Next == uuid.Nil {
			return ids
		}
	}
}

// tracesInOrder are the ids of the traces of matching spans in the order of a list.
func tracesInOrder(matching []trace.Span, order domain.Order) []trace.TraceID {
	of := map[trace.SpanID]trace.TraceID{}
	for _, s := range matching {
		of[s.SpanID] = s.TraceID
	}
	out := []trace.TraceID{}
	for _, id := range idsInOrder(matching, order) {
		if !slices.Contains(out, of[id]) {
			out = append(out, of[id])
		}
	}
	return out
}

// Where it is not known how many spans have a word, it is asked whether most sections
// do; that it is in few spans is remembered for a while, and that it is in many until it is not.
func TestShareIsRemembered(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets / 100
	var all []trace.Span
	for n := range uint64(1500) {
		one := span(n, n, now.Add(-time.Duration(n)*time.Second))
		words := "common frequent usual"
		if n%50 == 0 {
			words += " seldom"
		}
		if n == 700 {
			words += " hardly-ever"
		}
		says(&one, words)
		all = append(all, one)
	}
	s.insert(all...)
	registry, at := prometheus.NewRegistry(), now.Add(time.Minute)
	reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return at }, registry)
	require.NoError(t, err)
	asked := func(search string, found int) map[string]uint64 { // a scan of sections takes several windows: it counts once
		t.Helper()
		before := statementsOf(t, registry)
		page, err := reader.Spans(t.Context(), s.project, where(t, containing(search)[0]), domain.Window{Limit: 20})
		require.NoError(t, err)
		require.Len(t, page.Items, found)
		out := map[string]uint64{}
		for name, of := range statementsOf(t, registry) {
			if n := of.count - before[name].count; n > 0 && (name == "sections" || name == "hold" || strings.HasPrefix(name, "scan") || strings.HasPrefix(name, "rows")) {
				out[strings.TrimSuffix(name, "_narrow")] += n
			}
		}
		if out["scan"] > 1 {
			out["scan"] = 1
		}
		return out
	}
	require.Equal(t, map[string]uint64{"sections": 1, "rows": 1, "hold": 1}, asked("common", 20))
	require.Equal(t, map[string]uint64{"rows": 1, "hold": 1}, asked("common", 20))
	require.Equal(t, map[string]uint64{"sections": 1, "rows": 1, "hold": 1, "scan": 1}, asked("seldom", 20), "few spans have it")
	require.Zero(t, asked("seldom", 20)["hold"])
	require.Equal(t, map[string]uint64{"sections": 1, "rows": 1, "scan": 1}, asked("hardly-ever", 1), "it is in one section")
	require.Equal(t, map[string]uint64{"sections": 1, "scan": 1}, asked("hardly-ever", 1), "it was rare")
	require.Equal(t, map[string]uint64{"sections": 1, "rows": 1, "hold": 1}, asked("frequent", 20), "few spans had the last")
	require.Equal(t, map[string]uint64{"rows": 1, "hold": 1}, asked("usual", 20), "many spans had the last")
	at = at.Add(time.Hour)
	require.Zero(t, asked("common", 20)["sections"])
	require.NotZero(t, asked("seldom", 20)["hold"], "it may have changed")
}

// A row whose documents went away since it was read is left to who decides: a later
// version of its span may match.
func TestRowsWithoutDocumentsAreDecided(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var all []trace.Span
	for n, text := range []string{"common", "something else", "gone"} {
		one := span(uint64(n), uint64(n), now.Add(-time.Duration(n)*time.Second))
		says(&one, text)
		all = append(all, one)
	}
	s.insert(all...)
	rows := s.reader.Rows(t.Context(), t, s.project)
	require.Len(t, rows, 3)
	require.NoError(t, s.conn.Exec(t.Context(), "ALTER TABLE span_payloads_packed DELETE WHERE position(text, 'gone') > 0 SETTINGS mutations_sync = 2"))
	got, err := s.reader.Hold(t.Context(), s.project, where(t, containing("common")[0]), rows)
	require.NoError(t, err)
	require.Equal(t, traces.KeyRows{rows[0], rows[2]}, got)
}

// Where the search among all rows ends beyond the sections that were asked for, it goes on
// there: nothing is read again.
func TestSectionsAfterAllRows(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets // 16 are asked for
	var all, sought []trace.Span
	for n := range uint64(260) {
		one := span(n, n, now.Add(-time.Duration(n)*time.Minute))
		if text := "something else"; n >= 80 && n%50 != 0 {
			says(&one, text)
		} else {
			says(&one, "common")
			sought = append(sought, one)
		}
		all = append(all, one)
	}
	s.insert(all...)
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		registry := prometheus.NewRegistry()
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now.Add(time.Minute) }, registry)
		require.NoError(t, err)
		reader.LimitOften(20, 40, .5)
		page, err := reader.Spans(t.Context(), s.project, where(t, containing("common")[0]), domain.Window{Limit: 200, Order: order})
		require.NoError(t, err)
		require.Equal(t, idsInOrder(sought, order), idsOf(page.Items))
		require.Equal(t, len(sought), examined(t, registry), order)
	}
}
