//go:build embedded

package e2e_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/traces"
	"colonnade/write/sink"
)

// summedPaths are what readers see summed over the spans below one.
var summedPaths = []string{
	"ag.metrics.tokens.cumulative.total", "ag.metrics.tokens.cumulative.prompt", "ag.metrics.costs.cumulative.total", "ag.metrics.errors.cumulative",
}

// metered is a trace of which more spans have metrics: of their own, sent in
// place of sums, and such that cancel each other out; some calls name one response.
func (g *generator) metered(n uint64) *tracepb.TracesData {
	data := g.trace(n)
	for _, s := range data.ResourceSpans[0].ScopeSpans[0].Spans {
		s.Attributes = slices.DeleteFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.Key == "ag.metrics.tokens.incremental.total" })
		some := map[string]any{}
		if g.IntN(2) == 0 {
			some["ag.metrics.tokens.incremental.total"] = pick[any](g, 1, 5, 5, 10, 100, -5)
		}
		if g.IntN(3) == 0 {
			some["ag.metrics.tokens.incremental.prompt"] = pick[any](g, 1, 0, 2.5)
		}
		if g.IntN(6) == 0 {
			some["ag.metrics.tokens.cumulative.total"] = pick[any](g, 3, 15, "many")
		}
		if g.IntN(6) == 0 {
			some["ag.metrics.costs.cumulative.total"] = pick[any](g, 0.125, 4)
		}
		if g.IntN(3) == 0 {
			some["ag.meta.response.id"] = pick[any](g, "r1", "r2")
		}
		s.Attributes = append(s.Attributes, keyValues(some)...)
	}
	return data
}

// A filter on a cumulative value sees what readers see, for every operator and
// both focuses, whatever of the traces is finalized; and where it is, the
// statement alone decides, however many spans do not match.
func TestCumulativeOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t, func(c *sink.Config) { c.FinalizeAfter, c.FinalizeEvery = time.Second, 200*time.Millisecond })
	g := &generator{Rand: rand.New(rand.NewPCG(7, 8)), now: time.Now().UTC()}
	project := domain.ProjectID(uuid.New())
	var all []*tracepb.TracesData
	for n := range uint64(150) {
		all = append(all, g.metered(n))
	}
	corpus := w.write(project, all...)
	slices.SortFunc(corpus, byPlace)
	g.corpus = corpus
	const few = 40
	strict := traces.DefaultConfig()
	strict.MaxExamined = 200 // of some 1200 spans
	reader, err := traces.New(strict, w.conn, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)

	check := func(finalized bool) {
		filters := g.cumulativeFilters()
		g.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
		for i, f := range filters[:asked(len(filters))] {
			if !finalized && i%3 > 0 || finalized && i%3 == 1 {
				continue
			}
			text, err := json.Marshal(f)
			require.NoError(t, err)
			e, err := filterjson.Parse(text)
			require.NoError(t, err, string(text))
			want := ids(corpus, e)
			got := w.checkStatement(t, project, e, want, 4*len(corpus), string(text))
			if !finalized {
				continue
			}
			require.LessOrEqual(t, len(got), len(want)+few, "sums decide but for those that cancel out: %s", text)
			if i%6 > 0 {
				continue // pages take their time
			}
			page, err := reader.Traces(t.Context(), project, e, domain.Window{Limit: 5})
			require.NoError(t, err, string(text))
			require.LessOrEqual(t, min(len(want), 1), len(page.Items))
			w.checkPage(t, project, e, corpus, string(text))
		}
	}
	// A reader an hour later that reads nothing beside its pages asks for the sums
	// of what is finalized. Another reads them beside its pages, and nothing else.
	registry, besides := prometheus.NewRegistry(), prometheus.NewRegistry()
	apart := traces.DefaultConfig()
	apart.MaxBesideBytes = 1
	beside, err := traces.New(traces.DefaultConfig(), w.conn, time.Now, besides)
	require.NoError(t, err)
	later, err := traces.New(apart, w.conn, func() time.Time { return time.Now().Add(time.Hour) }, registry)
	require.NoError(t, err)
	check(false)
	w.finalized(t, project)
	check(true)
	requireSums(t, later, project, len(corpus))
	requireSums(t, beside, project, len(corpus))
	require.NotZero(t, statementCount(t, besides, "documents"))
	require.Zero(t, statementCount(t, besides, "metrics")+statementCount(t, besides, "sums"))
	require.Less(t, 2*statementCount(t, registry, "metrics"), statementCount(t, registry, "sums"), "of few traces all spans are read: their numbers are too large for sums")

	// Late spans, other parents, replaced values: nothing may be taken from what was finalized before.
	all = all[:0]
	for n := range uint64(40) {
		all = append(all, g.metered(n))
	}
	w.write(project, all...)
	requireSums(t, later, project, len(corpus))
	requireSums(t, beside, project, len(corpus))
	corpus = w.everySpan(t, project)
	slices.SortFunc(corpus, byPlace)
	check(false)
	w.finalized(t, project)
	corpus = w.everySpan(t, project)
	slices.SortFunc(corpus, byPlace)
	check(true)
	requireSums(t, later, project, len(corpus))
	requireSums(t, beside, project, len(corpus))
	require.NotZero(t, statementCount(t, besides, "heads"), "traces of several records")
}

// requireSums walks all pages of spans, some with -short: each sums what it does
// in its whole trace. They have a condition, since of everything few start at a time.
func requireSums(t *testing.T, reader *traces.Reader, project domain.ProjectID, atLeast int) {
	t.Helper()
	want := map[spanKey]map[string]any{}
	all, err := filterjson.Parse([]byte(`{"conditions":[{"field":"span_name","operator":"is_not","value":"nobody's name"}]}`))
	require.NoError(t, err)
	atLeast = asked(atLeast)
	window, seen := domain.Window{Limit: 50}, 0
	for {
		page, err := reader.Spans(t.Context(), project, all, window)
		require.NoError(t, err)
		var ids []trace.TraceID
		for _, s := range page.Items {
			if want[spanKey{s.TraceID, s.SpanID}] == nil {
				ids = append(ids, s.TraceID)
			}
		}
		whole, err := reader.TracesByID(t.Context(), project, ids)
		require.NoError(t, err)
		for _, spans := range whole {
			for i := range spans {
				want[spanKey{spans[i].TraceID, spans[i].SpanID}] = summed(&spans[i])
			}
		}
		for _, s := range page.Items {
			require.Equal(t, want[spanKey{s.TraceID, s.SpanID}], summed(&s), "%s/%s", s.TraceID, s.SpanID)
			seen++
		}
		if window.Next = page.Next; page.Next == uuid.Nil || testing.Short() && seen >= atLeast {
			require.GreaterOrEqual(t, seen, atLeast)
			return
		}
	}
}

// summed are the cumulative metrics of a span, numbers as a float: 2.5 and 2.5
// tokens are 5 or 5.0.
func summed(s *trace.Span) map[string]any {
	out := map[string]any{}
	for _, vector := range []string{"errors", "tokens", "costs"} {
		v, _ := jsonvalue.Lookup(s.Attributes, []string{"ag", "metrics", vector, "cumulative"})
		parts, ok := v.(map[string]any)
		if !ok {
			parts = map[string]any{"": v}
		}
		for name, v := range parts {
			if n, ok := v.(int64); ok {
				v = float64(n)
			}
			out[vector+"."+name] = v
		}
	}
	return out
}

// statementCount returns how many statements of a name a reader ran.
func statementCount(t *testing.T, registry *prometheus.Registry, name string) (n uint64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "colonnade_read_query_seconds" && m.GetLabel()[0].GetValue() == name {
				n += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return n
}

// cumulativeFilters are every operator of attributes on sums, alone and within trees; with
// -short each in one of these ways.
func (g *generator) cumulativeFilters() (out []object) {
	for i, op := range operators("attributes") {
		c := g.condition("attributes", op, summedPaths[i%len(summedPaths)])
		other := g.condition("attributes", pick(g, "gt", "lt", "is", "exists"), pick(g, summedPaths...))
		root := object{"field": "parent_id", "operator": "is", "value": nil}
		ways := []object{
			{"conditions": []any{c}},
			{"operator": "not", "conditions": []any{c}},
			{"operator": pick(g, "and", "or", "nand", "nor"), "conditions": []any{c, other}},
			{"conditions": []any{root, c}},
		}
		if testing.Short() {
			ways = ways[i%len(ways):][:1]
		}
		out = append(out, ways...)
	}
	return out
}
