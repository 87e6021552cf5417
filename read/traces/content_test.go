//go:build embedded

package traces_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/migrations/schema"
	"colonnade/read/traces"
)

// library are spans over a week whose documents hold texts of many kinds.
func library() (all []trace.Span) {
	texts := []string{
		"Paris is mild in spring", "the comparison of towers", "a café near the Émile station", "naïveté", `he said "quoted words" and left`, `back\slash and tab` + "\t" + `then`, "line\nbreak",
		"under_score and 100%", "12345678", "x", "PARIS", "東京の天気", "refund-policy v2", "", "many many many words words words", "order 4821173 of 20261123",
	}
	for n := range uint64(450) {
		one := span(n, n, now.Add(-time.Duration(n)*17*time.Minute))
		data := map[string]any{"inputs": map[string]any{"q": texts[n%uint64(len(texts))]}, "outputs": fmt.Sprint("answer ", n)}
		switch n {
		case 449:
			data["outputs"] = "a xylophone"
		case 425:
			data["outputs"] = "lost order-4829999"
		}
		one.Attributes["ag"].(map[string]any)["data"] = data
		one.Events = []trace.Event{{Time: one.Start, Name: "note", Attributes: map[string]any{"text": fmt.Sprint("event number", n%7)}}}
		all = append(all, one)
	}
	return all
}

func searches() []string {
	return []string{
		"paris", "aris", "spring", "xylophone", "ylophon", "compar", "café", "émile", "station", `"quoted words"`, "slash", "then", "break", "nbreak", "score", "under_score", "100%", "2345", "x", "東京", "refund-policy",
		"answer 12", "paris -spring", "towers or xylophone", "xylophone or 100%", "number3", "nowhere at all", "many words", `"words words"`, "4821173", `"order 4821"`, `"r 4821173 of 2"`, "82117 261123", `"1173 of 20261123"`, "order 4821174", "order-4829999", "482999 or 4829991",
		"CAFÉ", `"CAFÉ near the éMILE stat"`, "NaÏvetÉ", "-Émile café",
	}
}

// containing are the conditions of searches.
func containing(searches ...string) (conditions []string) {
	for _, search := range searches {
		conditions = append(conditions, fmt.Sprintf(`{"field":"content","operator":"contains","value":%q}`, search))
	}
	return conditions
}

// search holds that conditions find what they should among what is stored, newest
// first, and gives what was asked for all of them.
func (s *store) search(stored []trace.Span, conditions ...string) (asked map[string]spent) {
	s.t.Helper()
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(s.t, err)
	for _, condition := range conditions {
		e := where(s.t, condition)
		var want, got []string
		for i := range stored {
			if filter.Match(e, &stored[i]) {
				want = append(want, stored[i].SpanID.String())
			}
		}
		window := domain.Window{Limit: 100}
		for {
			page, err := r.Spans(s.t.Context(), s.project, e, window)
			require.NoError(s.t, err)
			for i := range page.Items {
				got = append(got, page.Items[i].SpanID.String())
			}
			if window.Next = page.Next; page.Next == uuid.Nil {
				break
			}
		}
		require.Equal(s.t, want, got, condition)
	}
	return statementsOf(s.t, registry)
}

// A search finds the same spans with the full-text index of documents and
// without, as the index comes and goes, and does look into it.
func TestContentIndex(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	all := library()
	s.insert(all[:300]...)
	change := func(on bool) {
		t.Helper()
		changed, err := migrations.ContentIndex(t.Context(), s.conn, migrations.Deployment{}, on)
		require.NoError(t, err)
		require.True(t, changed)
		changed, err = migrations.ContentIndex(t.Context(), s.conn, migrations.Deployment{}, on)
		require.NoError(t, err)
		require.False(t, changed, "it is so already")
	}
	change(true)
	s.insert(all[300:]...)
	s.search(all, containing(searches()...)...) // also those from before, in whatever state their index is

	plan := strings.Join(explain(t, s.conn, "SELECT count() FROM span_payloads_packed WHERE project_id = ? AND "+schema.ContentText+" LIKE '%xylophone%'", s.project.String()), "\n")
	require.Contains(t, plan, schema.ContentIndex, "what is asked is what is indexed")

	change(false)
	s.search(all, containing("xylophone", "refund-policy")...)
}

// What attributes say, the names of agents and keys, is not searched: where the
// documents of most spans have a word there, those that have it elsewhere, or in an
// exception, are found without reading all others to decide.
func TestContentBesideAttributes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.batched = true
	var all, sought []trace.Span
	for n := range uint64(400) {
		one := span(n, n, now.Add(-time.Duration(n+1)*time.Second))
		ag := one.Attributes["ag"].(map[string]any)
		one.Attributes["agent"] = "travel planner"
		inputs := "where to"
		switch n % 100 {
		case 97:
			inputs = "whom to TRAVEL with"
		case 98:
			ag["exception"] = map[string]any{"message": "no travel today"}
		case 99:
			ag["exception"] = map[string]any{"message": "timeout"}
		}
		ag["data"] = map[string]any{"inputs": inputs}
		if all = append(all, one); n%100 == 97 || n%100 == 98 {
			sought = append(sought, one)
		}
	}
	s.insert(all...)
	e := where(t, containing("travel")[0])
	for name, page := range map[string]func(*traces.Reader) ([]trace.Span, error){
		"spans": func(r *traces.Reader) ([]trace.Span, error) {
			page, err := r.Spans(t.Context(), s.project, e, domain.Window{Limit: 50})
			return page.Items, err
		},
		"traces": func(r *traces.Reader) ([]trace.Span, error) {
			page, err := r.Traces(t.Context(), s.project, e, domain.Window{Limit: 50})
			return slices.Concat(page.Items...), err
		},
	} {
		registry := prometheus.NewRegistry()
		r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		found, err := page(r)
		require.NoError(t, err)
		require.Equal(t, idsInOrder(sought, domain.Descending), idsInOrder(found, domain.Descending), name)
		const first, rejected = 64, 4 // of a first batch all are rejected, then what has an exception that says something else
		require.LessOrEqual(t, examined(t, registry), first+len(sought)+rejected, name)
	}
}

func explain(t *testing.T, conn driver.Conn, statement string, args ...any) (lines []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN indexes = 1 "+statement, args...)
	require.NoError(t, err)
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return lines
}
