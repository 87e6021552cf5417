//go:build embedded

package e2e_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// Every answer of the store equals the same computation over the spans in
// memory: for every type of metric, both focuses, both axes, filters that rows
// decide and filters that documents decide, before traces are finalized and after.
func TestAnalyticsOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	g := &generator{Rand: rand.New(rand.NewPCG(3, 4)), now: time.Now().UTC()}
	project := domain.ProjectID(uuid.New())
	var all []*tracepb.TracesData
	for n := range uint64(250) {
		all = append(all, g.trace(n))
	}
	corpus := w.write(project, all...)
	g.corpus = corpus
	reader, err := analytics.New(analytics.DefaultConfig(), w.reader, time.Now)
	require.NoError(t, err)
	stored := w.creation(t, project)

	check := func(t *testing.T, q analytics.Question, text string) {
		t.Helper()
		got, err := reader.Query(t.Context(), project, q)
		require.NoError(t, err, text)
		want := reference(corpus, stored, q, got.Interval)
		opts := gocmp.Options{cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty()}
		if diff := gocmp.Diff(want, plain(t, got), opts); diff != "" {
			t.Fatalf("%s\n%+v (-want +got):\n%s", text, q, diff)
		}
		if len(q.GroupBy) > 0 {
			if diff := gocmp.Diff(referenceGroups(corpus, stored, q, got.Interval), plainGroups(t, got), opts); diff != "" {
				t.Fatalf("groups: %s\n%+v (-want +got):\n%s", text, q, diff)
			}
		}
		totals, err := reader.Totals(t.Context(), project, q)
		require.NoError(t, err, text)
		if diff := gocmp.Diff(referenceTotals(corpus, stored, q, totals), totals, opts); diff != "" {
			t.Fatalf("totals: %s\n%+v (-want +got):\n%s", text, q, diff)
		}
	}
	run := func(t *testing.T, questions int) {
		t.Helper()
		for range questions / 2 {
			where, text := g.piece(t)
			check(t, g.question(where), text)
		}
		for range questions {
			var where filter.Expr
			text := []byte("none")
			if g.IntN(3) > 0 {
				text, err = json.Marshal(g.group(2))
				require.NoError(t, err)
				where, err = filterjson.Parse(text)
				require.NoError(t, err)
			}
			check(t, g.question(where), string(text))
		}
	}
	check(t, analytics.Question{Roots: true, Specs: analytics.DefaultSpecs()}, "the default")
	t.Run("pending", func(t *testing.T) { run(t, asked(20)) })
	// Some traces come again, with other spans and values: only the latest counts.
	w.write(project, g.trace(1), g.trace(2), g.trace(3))
	w.finalized(t, project)
	corpus, stored = w.everySpan(t, project), w.creation(t, project)
	g.corpus = corpus
	var trees, finalized uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT countIf(one_tree = 1), count() FROM trace_totals FINAL WHERE project_id = ?", project.String()).Scan(&trees, &finalized))
	require.Greater(t, trees, uint64(50), "single trees, whose totals are used")
	require.Greater(t, finalized-trees, uint64(50), "others, whose spans are summed")
	check(t, analytics.Question{Roots: true, Specs: analytics.DefaultSpecs()}, "the default, finalized")
	t.Run("finalized", func(t *testing.T) { run(t, asked(20)) })
}

func (g *generator) question(where filter.Expr) analytics.Question {
	q := analytics.Question{
		Where: where, Roots: g.IntN(2) == 0, Axis: pick(g, analyticssql.ByStart, analyticssql.ByCreation),
		Newest: g.now.Add(pick(g, 2*time.Hour, time.Duration(0), -time.Minute)), Interval: pick(g, 0, 1, 7, 60, 1440),
	}
	q.Oldest = q.Newest.Add(-pick(g, time.Hour, 36*time.Hour, 10*24*time.Hour, 600*24*time.Hour))
	if g.IntN(4) == 0 {
		rate := pick(g, 0, 0.3, 0.7, 1)
		q.Rate = &rate
	}
	for _, p := range []string{"ag.metrics.duration.cumulative", "ag.metrics.tokens.cumulative.total", "ag.metrics.costs.cumulative.total", "ag.metrics.errors.cumulative"} {
		if g.IntN(2) == 0 {
			q.Specs = append(q.Specs, g.spec(p, pick(g, analytics.Continuous, analytics.Discrete)))
		}
	}
	if g.IntN(2) == 0 {
		q.Top = 1 + g.IntN(4)
		for _, field := range g.Perm(len(groupFields()))[:1+g.IntN(2)] {
			q.GroupBy = append(q.GroupBy, groupFields()[field].Group)
		}
		if len(q.Specs) > 0 && g.IntN(2) == 0 {
			q.Path, q.Stat = q.Specs[0].Path, "count"
		}
	}
	for range 1 + g.IntN(5) {
		p := pick(g, paths...)
		if !slices.ContainsFunc(q.Specs, func(s analytics.Spec) bool { return s.Path == "attributes."+p }) {
			q.Specs = append(q.Specs, g.spec(p, pick(g, analytics.Types()...)))
		}
	}
	return q
}

// groupField is a field that a question groups by, as SQL and as a span has it.
type groupField struct {
	analyticssql.Group
	of func(*trace.Span) string
}

func groupFields() []groupField {
	column := func(name string, of func(*trace.Span) string) groupField {
		c, _ := statements.TextColumn(name)
		return groupField{analyticssql.Group{Column: c}, of}
	}
	attribute := func(path string) groupField {
		return groupField{analyticssql.Group{Path: path}, func(s *trace.Span) string {
			switch v, _ := jsonvalue.Lookup(s.Attributes, jsonvalue.SplitPath(path)); v := v.(type) {
			case string:
				if len(v) <= 512 {
					return v
				}
			case bool:
				return strconv.FormatBool(v)
			}
			return ""
		}}
	}
	return []groupField{
		column("span_name", func(s *trace.Span) string { return s.Name }), column("status_code", func(s *trace.Span) string { return s.Status.String() }),
		column("session_id", func(s *trace.Span) string { return s.SessionID }), column("span_type", func(s *trace.Span) string { return s.EffectiveType().String() }),
		column("model", (*trace.Span).Model), column("service", (*trace.Span).Service),
		attribute("ag.meta.customer"), attribute("ag.flags.f"), attribute("ag.tags.t"), attribute("ag.meta.system"), attribute("ag.type.span"),
	}
}

// referenceGroups returns the metrics of each group by bucket and key, the groups beyond the
// top ones under "rest".
func referenceGroups(corpus []trace.Span, stored map[spanKey]int64, q analytics.Question, interval int) map[string]answer {
	buckets := chosen(corpus, stored, q, interval)
	keyOf := func(s *trace.Span) string {
		var key strings.Builder
		for _, g := range q.GroupBy {
			i := slices.IndexFunc(groupFields(), func(f groupField) bool { return f.Group == g })
			key.WriteString(strconv.Quote(groupFields()[i].of(s)))
		}
		return key.String()
	}
	counts := map[string]int{}
	for _, spans := range buckets {
		for _, s := range spans {
			_, has := jsonvalue.Lookup(s.Attributes, jsonvalue.SplitPath(strings.TrimPrefix(q.Path, "attributes.")))
			if counts[keyOf(s)] += 0; q.Path == "" || has {
				counts[keyOf(s)]++
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	top := keys[:min(q.Top, len(keys))]
	out := map[string]answer{}
	for start, spans := range buckets {
		groups := map[string][]trace.Span{}
		for _, s := range spans {
			key := keyOf(s)
			if !slices.Contains(top, key) {
				key = "rest"
			}
			groups[key] = append(groups[key], *s)
		}
		for key, of := range groups {
			if metrics := reference(of, stored, q, interval)[start]; len(metrics) > 0 {
				if out[start] == nil {
					out[start] = answer{}
				}
				out[start][key] = metrics
			}
		}
	}
	return out
}

// plainGroups returns the groups of an answer as referenceGroups does.
func plainGroups(t *testing.T, a analytics.Answer) map[string]answer {
	t.Helper()
	out := map[string]answer{}
	for _, b := range a.Buckets {
		start := b.Timestamp.Format(time.RFC3339Nano)
		out[start] = answer{}
		for _, g := range b.Groups {
			var quoted strings.Builder
			for _, v := range g.Key {
				if v == nil {
					v = new(string)
				}
				quoted.WriteString(strconv.Quote(*v))
			}
			key := quoted.String()
			if g.Key == nil {
				key = "rest"
			}
			of := analytics.Answer{Buckets: []analytics.Bucket{{Timestamp: b.Timestamp, Metrics: g.Metrics}}}
			out[start][key] = plain(t, of)[start]
		}
	}
	return out
}

func (g *generator) spec(path string, kind analytics.Type) analytics.Spec {
	s := analytics.Spec{Type: kind, Path: "attributes." + path, Keys: jsonvalue.SplitPath(path), Bins: pick(g, 0, 0, 1, 3, 10), Centered: g.IntN(4) == 0}
	bound := func(from ...float64) *float64 {
		if g.IntN(3) > 0 {
			return nil
		}
		v := pick(g, from...)
		return &v
	}
	s.Min, s.Max = bound(-1, 0, .5), bound(3, 50, 1e6)
	return s
}

// creation is when the store first saw each span, in microseconds.
func (w *pipeline) creation(t *testing.T, project domain.ProjectID) map[spanKey]int64 {
	t.Helper()
	out := map[spanKey]int64{}
	rows, err := w.conn.Query(t.Context(), "SELECT hex(trace_id), hex(span_id), toUnixTimestamp64Micro(argMax(created_at, version)) FROM spans WHERE project_id = ? GROUP BY trace_id, span_id", project.String())
	require.NoError(t, err)
	for rows.Next() {
		var traceID, spanID string
		var at int64
		require.NoError(t, rows.Scan(&traceID, &spanID, &at))
		tid, err := trace.ParseTraceID(strings.ToLower(traceID))
		require.NoError(t, err)
		sid, err := trace.ParseSpanID(strings.ToLower(spanID))
		require.NoError(t, err)
		out[spanKey{tid, sid}] = at
	}
	require.NoError(t, rows.Err())
	return out
}

// finalized waits until every trace has totals of its latest version, which are
// the last that settling writes. Which traces there are is asked of their spans:
// nothing that is derived of them could hide one.
func (w *pipeline) finalized(t *testing.T, project domain.ProjectID) {
	t.Helper()
	require.Eventually(t, func() bool {
		var open uint64
		err := w.conn.QueryRow(t.Context(), `SELECT count() FROM (SELECT trace_id, max(version) AS v FROM spans WHERE project_id = ? GROUP BY trace_id) AS i
			LEFT JOIN (SELECT trace_id, max(version) AS r FROM trace_totals WHERE project_id = ? GROUP BY trace_id) AS s USING trace_id WHERE r < v`, project.String(), project.String()).Scan(&open)
		return err == nil && open == 0
	}, 3*time.Minute, 50*time.Millisecond, "every trace is finalized")
}

// everySpan is what readers see, all of it.
func (w *pipeline) everySpan(t *testing.T, project domain.ProjectID) (out []trace.Span) {
	t.Helper()
	window := domain.Window{Limit: 500}
	for {
		page, err := w.reader.Spans(t.Context(), project, nil, window)
		require.NoError(t, err)
		out = append(out, page.Items...)
		if window.Next = page.Next; page.Next == uuid.Nil {
			return out
		}
	}
}

// answer is what is compared: buckets by their start, metrics as JSON reads them.
type answer map[string]map[string]any

func plain(t *testing.T, a analytics.Answer) answer {
	t.Helper()
	out := answer{}
	for i, b := range a.Buckets {
		require.True(t, i == 0 || b.Timestamp.After(a.Buckets[i-1].Timestamp))
		text, err := json.Marshal(b.Metrics)
		require.NoError(t, err)
		var metrics map[string]any
		require.NoError(t, json.Unmarshal(text, &metrics))
		out[b.Timestamp.Format(time.RFC3339Nano)] = metrics
	}
	return out
}

// chosen are the spans of a question by their bucket.
func chosen(corpus []trace.Span, stored map[spanKey]int64, q analytics.Question, interval int) map[string][]*trace.Span {
	out := map[string][]*trace.Span{}
	newest, oldest := q.Newest, q.Oldest
	if newest.IsZero() {
		newest = time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}
	if oldest.IsZero() {
		oldest = newest.AddDate(0, 0, -30)
	}
	low, high := oldest.UnixMicro(), newest.UnixMicro()
	for i := range corpus {
		s := &corpus[i]
		at := s.Start / 1000
		if q.Axis == analyticssql.ByCreation {
			at = stored[spanKey{s.TraceID, s.SpanID}]
		}
		if at < low || at >= high || q.Roots && !s.IsRoot() || !filter.Match(q.Where, s) || !sqltext.NewRate(q.Rate).Keeps(s.TraceID) {
			continue
		}
		width := int64(interval) * 60_000_000
		start := time.UnixMicro(low + (at-low)/width*width).UTC().Format(time.RFC3339Nano)
		out[start] = append(out[start], s)
	}
	return out
}

func reference(corpus []trace.Span, stored map[spanKey]int64, q analytics.Question, interval int) answer {
	out := answer{}
	for start, spans := range chosen(corpus, stored, q, interval) {
		metrics := map[string]any{}
		for _, spec := range q.Specs {
			var values []any
			for _, s := range spans {
				if v, ok := jsonvalue.Lookup(s.Attributes, spec.Keys); ok {
					values = append(values, v)
				}
			}
			if m := referenceMetric(spec, spec.Type, values); m != nil {
				metrics[spec.Path] = m
			}
		}
		if len(metrics) > 0 {
			out[start] = metrics
		}
	}
	return out
}

func referenceTotals(corpus []trace.Span, stored map[spanKey]int64, q analytics.Question, got []analytics.TotalsBucket) []analytics.TotalsBucket {
	interval := got[0].Interval
	spans := chosen(corpus, stored, q, interval)
	kind := "incremental"
	if q.Roots {
		kind = "cumulative"
	}
	value := func(s *trace.Span, keys ...string) float64 {
		v, _ := jsonvalue.Lookup(s.Attributes, append([]string{"ag", "metrics"}, keys...))
		switch v := v.(type) {
		case int64:
			return float64(v)
		case float64:
			return v
		default:
			return 0
		}
	}
	out := make([]analytics.TotalsBucket, len(got))
	for i := range got {
		b := analytics.TotalsBucket{Timestamp: got[0].Timestamp.Add(time.Duration(i*interval) * time.Minute), Interval: interval}
		for _, s := range spans[b.Timestamp.Format(time.RFC3339Nano)] {
			to := []*analytics.Totals{&b.Total}
			if slices.ContainsFunc(s.Events, func(e trace.Event) bool { return e.Name == "exception" }) {
				to = append(to, &b.Errors)
			}
			for _, n := range to {
				n.Count++
				n.Duration += value(s, "duration", "cumulative")
				n.Costs += value(s, "costs", kind, "total")
				n.Tokens += value(s, "tokens", kind, "total")
			}
		}
		out[i] = b
	}
	return out
}

// referenceMetric is the table of contract §3.6, written down a second time.
func referenceMetric(spec analytics.Spec, kind analytics.Type, values []any) map[string]any {
	var numbers []float64
	var words []string
	var flags []bool
	var labels []string
	objects := 0
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			numbers = append(numbers, float64(v))
		case float64:
			numbers = append(numbers, v)
		case string:
			words = append(words, v)
		case bool:
			flags = append(flags, v)
		case map[string]any:
			objects++
		case []any:
			for _, e := range v {
				if text, ok := e.(string); ok {
					labels = append(labels, text)
				}
			}
		}
	}
	counted := func(n int, freq, uniq []any) map[string]any {
		if n == 0 {
			return nil
		}
		m := map[string]any{"type": string(kind), "count": float64(n)}
		if freq != nil {
			m["freq"], m["uniq"] = freq, uniq
		}
		return m
	}
	switch kind {
	case analytics.Continuous, analytics.Discrete:
		if len(numbers) == 0 {
			return nil
		}
		return referenceNumbers(spec, kind, numbers)
	case analytics.Binary:
		trues := 0
		for _, f := range flags {
			if f {
				trues++
			}
		}
		freq := []any{share(true, trues, len(flags)), share(false, len(flags)-trues, len(flags))}
		return counted(len(flags), freq, []any{true, false})
	case analytics.Single:
		freq, uniq := referenceFreq(words)
		return counted(len(words), freq, uniq)
	case analytics.Multiple:
		freq, uniq := referenceFreq(labels)
		return counted(len(labels), freq, uniq)
	case analytics.String:
		return counted(len(words), nil, nil)
	case analytics.JSON:
		return counted(objects, nil, nil)
	case analytics.Any:
		best, most := analytics.Type(""), 0
		for _, c := range []struct {
			kind analytics.Type
			n    int
		}{{analytics.Continuous, len(numbers)}, {analytics.Binary, len(flags)}, {analytics.Single, len(words)}, {analytics.Multiple, len(labels)}, {analytics.JSON, objects}} {
			if c.n > most {
				best, most = c.kind, c.n
			}
		}
		return referenceMetric(spec, best, values)
	default:
		return nil
	}
}

func share(value any, count, of int) any {
	return map[string]any{"value": value, "count": float64(count), "density": math.Round(float64(count)/float64(max(of, 1))*1e5) / 1e5}
}

func referenceFreq[T cmp.Ordered](values []T) (freq, uniq []any) {
	counts := map[T]int{}
	for _, v := range values {
		counts[v]++
	}
	var keys []T
	for v := range counts {
		keys = append(keys, v)
	}
	slices.SortFunc(keys, func(a, b T) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for _, k := range keys {
		freq, uniq = append(freq, share(k, counts[k], len(values))), append(uniq, k)
	}
	return freq, uniq
}

func referenceNumbers(spec analytics.Spec, kind analytics.Type, values []float64) map[string]any {
	slices.Sort(values)
	n, sum := len(values), 0.0
	for _, v := range values {
		sum += v
	}
	lo, hi := values[0], values[n-1]
	m := map[string]any{"type": string(kind), "count": float64(n), "sum": sum, "mean": sum / float64(n), "min": lo, "max": hi, "range": hi - lo}
	pct := func(p float64) float64 {
		at := p / 100 * float64(n-1)
		i := int(math.Floor(at))
		j := int(math.Ceil(at))
		return values[i] + (at-float64(i))*(values[j]-values[i])
	}
	pcts, iqrs, pscs := map[string]any{}, map[string]any{}, map[string]any{}
	for key, p := range map[string]float64{
		"p00.05": .05, "p00.1": .1, "p00.5": .5, "p01": 1, "p02.5": 2.5, "p05": 5, "p10": 10, "p12.5": 12.5, "p20": 20, "p25": 25, "p30": 30, "p37.5": 37.5, "p40": 40, "p50": 50,
		"p60": 60, "p62.5": 62.5, "p70": 70, "p75": 75, "p80": 80, "p87.5": 87.5, "p90": 90, "p95": 95, "p97.5": 97.5, "p99": 99, "p99.5": 99.5, "p99.9": 99.9, "p99.95": 99.95,
	} {
		pcts[key] = pct(p)
	}
	for key, p := range map[string][2]float64{"25": {37.5, 62.5}, "50": {25, 75}, "75": {12.5, 87.5}, "80": {10, 90}, "90": {5, 95}, "95": {2.5, 97.5}, "99": {.5, 99.5}, "99.9": {.05, 99.95}} {
		iqrs["iqr"+key] = pct(p[1]) - pct(p[0])
		pscs["psc"+key] = 0.0
		if pct(50) != 0 {
			pscs["psc"+key] = (pct(p[1]) - pct(p[0])) / pct(50)
		}
	}
	m["pcts"], m["iqrs"] = pcts, iqrs
	if !(pct(1)*pct(99) < 0 || math.Abs(pct(50)) < math.Abs(pct(99))/100 || math.Abs(pct(50)) < math.Abs(pct(1))/100) {
		m["pscs"] = pscs
	}
	if spec.Max != nil {
		hi = *spec.Max
		lo = min(lo, hi)
	}
	if spec.Min != nil {
		lo = *spec.Min
		hi = max(hi, lo)
	}
	m["hist"] = referenceHist(spec, lo, hi, values)
	if kind == analytics.Discrete {
		m["freq"], m["uniq"] = referenceFreq(values)
	}
	return m
}

func referenceHist(spec analytics.Spec, lo, hi float64, values []float64) []any {
	bins := spec.Bins
	if bins == 0 {
		for bins*bins < len(values) {
			bins++
		}
	}
	if len(values) == 1 || lo == hi {
		bins = 1
	}
	edges := []float64{lo}
	for i := 1; i < bins; i++ {
		if spec.Centered {
			edges = append(edges, lo+(hi-lo)*(float64(i)-.5)/float64(bins-1))
		} else {
			edges = append(edges, lo+(hi-lo)*float64(i)/float64(bins))
		}
	}
	edges = append(edges, hi)
	counts, total := make([]int, bins), 0
	for _, v := range values {
		for i := range bins {
			if last := i == bins-1; v >= edges[i] && (v < edges[i+1] || last && v <= edges[i+1]) {
				counts[i]++
				total++
				break
			}
		}
	}
	var out []any
	for i := range bins {
		out = append(out, map[string]any{
			"bin": float64(i + 1), "count": float64(counts[i]), "interval": []any{edges[i], edges[i+1]},
			"density": math.Round(float64(counts[i])/float64(max(total, 1))*1e5) / 1e5,
		})
	}
	return out
}
