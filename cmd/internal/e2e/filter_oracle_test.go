//go:build embedded

package e2e_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// envAllQuestions makes the oracles put all their questions: minutes of a processor, which
// a change of compilers or statements is worth.
const envAllQuestions = "COLONNADE_TEST_ALL_QUESTIONS"

// asked is how many of n questions an oracle puts: half, all where the environment wants
// them, or a quarter with -short, as beside a real Kafka, which has no part in what
// ClickHouse answers.
func asked(n int) int {
	switch {
	case testing.Short():
		return max(n/4, 1)
	case os.Getenv(envAllQuestions) != "":
		return n
	default:
		return max(n/2, 1)
	}
}

// The oracle: what the store finds for a filter is what filter.Match chooses
// among the same spans, for every field with every operator, and for trees of them.
func TestFilterOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	g := &generator{Rand: rand.New(rand.NewPCG(1, 2)), now: time.Now().UTC()}
	project := domain.ProjectID(uuid.New())
	var all []*tracepb.TracesData
	for n := range uint64(400) {
		all = append(all, g.trace(n))
	}
	corpus := w.write(project, all...)
	slices.SortFunc(corpus, byPlace)
	g.corpus = corpus

	t.Run("every span unchanged", func(t *testing.T) {
		window := domain.Window{Limit: 500, Order: domain.Ascending}
		var got []trace.Span
		for {
			page, err := w.reader.Spans(t.Context(), project, nil, window)
			require.NoError(t, err)
			got = append(got, page.Items...)
			if window.Next = page.Next; page.Next == uuid.Nil {
				break
			}
		}
		require.Len(t, got, len(corpus))
		for i := range got {
			got[i].Version = corpus[i].Version
			require.Equal(t, string(tracejson.AppendSpan(nil, &corpus[i])), string(tracejson.AppendSpan(nil, &got[i])))
			jsonvalue.Expand(got[i].Attributes)
			jsonvalue.Expand(got[i].Resource)
			if diff := cmp.Diff(corpus[i], got[i]); diff != "" {
				t.Fatalf("span %d (-want +got):\n%s", i, diff)
			}
		}
	})

	filters := g.everyOperator()
	for range 60 {
		filters = append(filters, g.group(3))
	}
	g.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
	filters = filters[:asked(len(filters))]
	apart := w.apart(t, project)
	hits, narrowed := 0, 0
	for i, f := range filters {
		text, err := json.Marshal(f)
		require.NoError(t, err)
		e, err := filterjson.Parse(text)
		require.NoError(t, err, string(text))
		want := ids(corpus, e)
		if n := len(want); n > 0 && n < len(corpus) {
			hits++
		}
		w.checkStatement(t, project, e, want, len(corpus), string(text))
		if i%2 == 0 && w.checkSections(t, apart, e, corpus, string(text)) > 0 {
			narrowed++
		}
		if i%8 == 0 {
			w.checkPage(t, project, e, corpus, string(text))
		}
	}
	require.Greater(t, hits, len(filters)/3, "most filters choose some spans")
	require.Greater(t, narrowed, len(filters)/40, "n-grams tell of many that they hold for few")
	require.Greater(t, w.leaves, len(filters)/20, "many ask for leaves")
	hits = 0
	pieces := asked(40)
	for range pieces {
		e, text := g.piece(t)
		if len(ids(corpus, e)) > 0 {
			hits++
		}
		w.checkStatement(t, project, e, ids(corpus, e), len(corpus), text)
		w.checkSections(t, apart, e, corpus, text)
		w.checkPage(t, project, e, corpus, text)
	}
	require.Greater(t, hits, pieces/2, "most pieces of texts are found, but attributes beside the data are no content")
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func ids(spans []trace.Span, e filter.Expr) map[spanKey]bool {
	out := map[spanKey]bool{}
	for i := range spans {
		if filter.Match(e, &spans[i]) {
			out[spanKey{spans[i].TraceID, spans[i].SpanID}] = true
		}
	}
	return out
}

// rowsOf are the rows of a scan.
func (w *pipeline) rowsOf(t *testing.T, scan statements.Scan, text string) map[spanKey]bool {
	t.Helper()
	got := map[spanKey]bool{}
	if len(scan.Condition.Types) == 0 {
		return got
	}
	s := scan.Keys()
	// What is asked of the index of leaves has to hold for each row.
	asked := strings.NewReplacer("indexHint(has", "identity(has", "indexHint((has", "identity((has").Replace(s.SQL)
	if asked != s.SQL {
		w.leaves++
	}
	rows, err := w.conn.Query(t.Context(), asked, s.Args...)
	require.NoError(t, err, text)
	for rows.Next() {
		k, err := scanKey(rows)
		require.NoError(t, err)
		got[k] = true
	}
	require.NoError(t, rows.Err(), text)
	require.NoError(t, rows.Close())
	return got
}

// checkStatement compares the rows of a statement: exactly the matching spans
// where it says so, all of them and perhaps more where not.
func (w *pipeline) checkStatement(t *testing.T, project domain.ProjectID, e filter.Expr, want map[spanKey]bool, limit int, text string) map[spanKey]bool {
	t.Helper()
	c, err := filtersql.Filter(e)
	require.NoError(t, err)
	scan := statements.Scan{Project: project, Condition: c, Range: order.Starts(c.Min, c.Max), Limit: limit + 1}
	got := w.rowsOf(t, scan, text)
	for k := range want {
		require.True(t, got[k], "the statement misses %v of\n%s", k, text)
	}
	if c.Rechecks {
		strict := scan
		scan.SkipRecheck = true
		loose := w.rowsOf(t, scan, text)
		missed := maps.Clone(got)
		maps.DeleteFunc(missed, func(k spanKey, _ bool) bool { return loose[k] })
		if len(missed) > 0 { // a trace may have been finalized in between: then neither finds it
			again := w.rowsOf(t, strict, text)
			maps.DeleteFunc(missed, func(k spanKey, _ bool) bool { return !again[k] })
		}
		require.Empty(t, missed, "the loose statement misses rows of\n%s", text)
	}
	if c.Exact {
		require.Len(t, got, len(want), "the statement is not exact for\n%s", text)
	}
	return got
}

func scanKey(rows driver.Rows) (k spanKey, err error) {
	var kind int8
	var start, created int64
	var tie, version uint64
	var traceID, spanID string
	var bytes, partition uint32
	var root, rewritten bool
	if err = rows.Scan(&kind, &start, &tie, &traceID, &spanID, &partition, &version, &created, &bytes, &root, &rewritten); err != nil {
		return k, err
	}
	return spanKey{trace.TraceID([]byte(traceID)), trace.SpanID([]byte(spanID))}, nil
}

// checkPage compares the first pages of spans and of traces.
func (w *pipeline) checkPage(t *testing.T, project domain.ProjectID, e filter.Expr, corpus []trace.Span, text string) {
	t.Helper()
	const limit = 60
	var spans []spanKey
	var order []trace.TraceID
	for i := len(corpus) - 1; i >= 0; i-- {
		s := &corpus[i]
		if !filter.Match(e, s) {
			continue
		}
		spans = append(spans, spanKey{s.TraceID, s.SpanID})
		if !slices.Contains(order, s.TraceID) {
			order = append(order, s.TraceID)
		}
	}
	page, err := w.reader.Spans(t.Context(), project, e, domain.Window{Limit: limit})
	require.NoError(t, err, text)
	var got []spanKey
	for _, s := range page.Items {
		got = append(got, spanKey{s.TraceID, s.SpanID})
	}
	require.Equal(t, spans[:min(limit, len(spans))], got, text)
	require.Equal(t, len(spans) > limit, page.Next != uuid.Nil, text)
	traces, err := w.reader.Traces(t.Context(), project, e, domain.Window{Limit: limit / 4})
	require.NoError(t, err, text)
	var gotTraces []trace.TraceID
	for _, spans := range traces.Items {
		gotTraces = append(gotTraces, spans[0].TraceID)
	}
	require.Equal(t, order[:min(limit/4, len(order))], gotTraces, text)
	require.Equal(t, len(order) > limit/4, traces.Next != uuid.Nil, text)
}

// generator makes spans out of few names and values, so that conditions made
// of the same ones hold for some of them.
type generator struct {
	*rand.Rand
	now    time.Time
	corpus []trace.Span
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) word() string {
	return pick(g, "", "a", "B", "b", "Paris", "paris in Spring", "100%", "under_score", `back\slash`, "qu\"ote's", "é日本💥", "new\nline", "2026-01-02T03:04:05Z", "zz", strings.Repeat("long ", 120)+"end", "control\u0001", "École, STRAẞE ΣΟΦΟΣ", "école, straße σοφος ǅ\u212a",
		"Order-4821173 of 20261123", "order 48 21173: 4821")
}

func (g *generator) number() any {
	return pick[any](g, 0, 1, -1, 2.5, -0.25, 1e6, 3, int64(1)<<53, int64(1)<<53+1, -(int64(1) << 60), 1e17, 7)
}

func (g *generator) scalar() any {
	switch g.IntN(8) {
	case 0, 1, 2:
		return g.word()
	case 3, 4:
		return g.number()
	case 5:
		return pick(g, true, false)
	case 6:
		return nil
	default:
		return pick(g, "a", "b", "B")
	}
}

func (g *generator) value(depth int) any {
	switch n := g.IntN(10); {
	case n < 6 || depth == 0:
		return g.scalar()
	case n < 8:
		var list []any
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		if g.IntN(8) == 0 {
			for range 40 {
				list = append(list, g.scalar())
			}
		}
		if list == nil {
			return []any{}
		}
		return list
	default:
		m := map[string]any{}
		for range g.IntN(4) {
			m[pick(g, "a", "b", "k.v", "kind", "0", "1", "")] = g.value(depth - 1)
		}
		return m
	}
}

var (
	users = []string{"01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"}
	paths = []string{
		"ag.meta.customer", "ag.meta.mixed", "ag.meta.mixed.a", "ag.meta.mixed.0", "ag.meta.mixed.0.a", `ag.meta.mixed.k\.v`, "ag.meta.mixed.kind", "ag.meta.mixed.0.kind", "ag.meta.score", "ag.meta.system", "ag.flags.f", "ag.tags.t", "top", "top.b", "top.kind", "top.kind.0", "top.",
		"ag.data.inputs.q", "ag.data.inputs.messages", "ag.data.inputs.messages.0.role", "ag.data.outputs", "ag.data", "ag", "ag.meta", "ag.type.trace", "ag.type.span", "ag.metrics.duration.cumulative",
		"ag.metrics.tokens.incremental.total", "ag.metrics.tokens.cumulative.total", "ag.metrics.tokens", "ag.metrics.errors.cumulative", "ag.metrics.costs.incremental.total", "ag.references.application.slug", "nowhere",
	}
)

func (g *generator) attributes(kind string) map[string]any {
	m := map[string]any{}
	some := func(p float64, key string, v any) {
		if g.Float64() < p {
			m[key] = v
		}
	}
	some(.5, "ag.meta.customer", g.word())
	some(.6, "ag.meta.mixed", g.value(3))
	some(.4, "ag.meta.score", g.number())
	some(.5, "ag.meta.system", pick(g, "openai", "anthropic"))
	some(.3, "ag.flags.f", pick(g, true, false))
	some(.3, "ag.tags.t", pick(g, "a", "b", "é"))
	some(.5, "top", g.value(2))
	some(.5, "ag.data.inputs", map[string]any{"q": g.word(), "messages": []any{map[string]any{"role": pick(g, "user", "system"), "content": g.word()}, g.value(1)}})
	some(.4, "ag.data.outputs", g.value(2))
	some(.2, "ag.exception", map[string]any{"message": g.word()})
	some(.6, "ag.type.span", kind)
	some(.3, "ag.session.id", pick(g, "s1", "s2", "S3"))
	some(.3, "ag.user.id", pick(g, "u1", "u'2"))
	some(.3, "ag.references.application.id", pick(g, users...))
	some(.3, "ag.references.application.slug", pick(g, "my-app", "other"))
	some(.2, "ag.references.evaluator_revision.version", pick(g, "1", "2"))
	some(.3, "ag.metrics.tokens.incremental.total", pick[any](g, 1, 10, 100))
	some(.2, "ag.metrics.costs.incremental.total", pick[any](g, 0.5, 0.25))
	return m
}

// trace makes one trace of 1 to 15 spans; many spans share a microsecond.
func (g *generator) trace(n uint64) *tracepb.TracesData {
	at := g.now.Add(-pick(g, time.Minute, time.Hour, 30*time.Hour, 9*24*time.Hour, 500*24*time.Hour, -time.Hour))
	scope := &tracepb.ScopeSpans{}
	if g.IntN(2) == 0 {
		scope.Scope = &commonpb.InstrumentationScope{Name: pick(g, "lib", "Lib2"), Version: pick(g, "", "1.0")}
	}
	count := 1 + g.IntN(15)
	for i := range uint64(count) {
		start := at.Add(time.Duration(g.IntN(4)) * pick(g, time.Microsecond, 100*time.Millisecond)).Truncate(time.Microsecond).Add(time.Duration(g.IntN(1000)))
		s := &tracepb.Span{
			TraceId: traceIDOf(n), SpanId: idOf(n%7<<32 | i + 1), Name: pick(g, "chat", "Chat", "tool_call", "root"), Kind: tracepb.Span_SpanKind(g.IntN(6)),
			StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.Add(time.Duration(g.IntN(5)) * time.Second).UnixNano()),
			Status: &tracepb.Status{Code: tracepb.Status_StatusCode(g.IntN(3)), Message: pick(g, "", "", "bad", "Über")},
		}
		if i > 0 && g.IntN(10) > 0 {
			s.ParentSpanId = idOf(n%7<<32 | uint64(g.IntN(int(i))) + 1)
		}
		s.Attributes = keyValues(g.attributes(pick(g, "llm", "tool", "chat", "task", "LLM")))
		if g.IntN(15) == 0 {
			s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: "ag.type.trace", Value: anyValue("annotation")})
		}
		for range g.IntN(3) * g.IntN(2) {
			s.Events = append(s.Events, &tracepb.Span_Event{Name: pick(g, "exception", "log"), TimeUnixNano: s.StartTimeUnixNano, Attributes: keyValues(map[string]any{"exception.type": pick(g, "E", "F"), "n": g.number()})})
		}
		if g.IntN(12) == 0 {
			s.Links = append(s.Links, &tracepb.Span_Link{TraceId: traceIDOf(uint64(g.IntN(5))), SpanId: idOf(uint64(g.IntN(5)) + 1), Attributes: keyValues(map[string]any{"key": pick(g, "invocation", "x y")})})
		}
		scope.Spans = append(scope.Spans, s)
	}
	resource := map[string]any{"service.name": pick(g, "checkout", "Cart"), "host.name": pick(g, "h1", "h2"), "n": g.number()}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{Resource: &resourcepb.Resource{Attributes: keyValues(resource)}, ScopeSpans: []*tracepb.ScopeSpans{scope}}}}
}

type object = map[string]any

var (
	comparison = []string{"is", "is_not"}
	numeric    = []string{"eq", "neq", "gt", "lt", "gte", "lte", "btwn"}
	textual    = []string{"startswith", "endswith", "contains", "matches", "like"}
	listed     = []string{"in", "not_in"}
	existing   = []string{"exists", "not_exists"}
	membership = []string{"has", "has_not"}
)

// operators is the table of contract §3.2, written down a second time.
func operators(field string) []string {
	switch field {
	case "trace_id", "span_id", "parent_id", "trace_type", "span_type", "span_kind", "status_code":
		return slices.Concat(comparison, listed)
	case "root":
		return comparison
	case "created_by_id", "updated_by_id", "deleted_by_id":
		return slices.Concat(comparison, listed, existing)
	case "links", "references", "events":
		return slices.Concat(listed, membership, existing)
	case "hashes":
		return slices.Concat(listed, membership)
	case "content":
		return []string{"contains"}
	case "attributes", "resource", "scope":
		return slices.Concat(comparison, numeric, textual, listed, existing, membership)
	default:
		return slices.Concat(comparison, numeric, textual, listed, existing)
	}
}

var fields = []string{
	"trace_id", "span_id", "parent_id", "root", "trace_type", "span_type", "span_kind", "status_code", "span_name", "status_message", "session_id", "user_id", "agent_id",
	"start_time", "end_time", "created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id", "attributes", "resource", "scope", "links", "references", "events", "hashes", "content",
}

// everyOperator is each field with each of its operators, attributes with each path.
func (g *generator) everyOperator() []object {
	var out []object
	for _, f := range fields {
		for _, op := range operators(f) {
			keys := []string{""}
			if f == "attributes" {
				keys = paths
			}
			for i, key := range keys {
				if f == "attributes" && i%3 != len(out)%3 {
					continue // a third of the paths with each operator, another third with the next
				}
				out = append(out, object{"conditions": []any{g.condition(f, op, key)}})
			}
		}
	}
	return out
}

// group is a random tree.
func (g *generator) group(depth int) object {
	op := pick(g, "and", "and", "or", "nand", "nor", "not")
	n := 1 + g.IntN(3)
	if op == "not" {
		n = 1
	}
	var conditions []any
	for range n {
		if depth > 1 && g.IntN(3) == 0 {
			conditions = append(conditions, g.group(depth-1))
			continue
		}
		f := pick(g, fields...)
		if g.IntN(2) == 0 {
			f = "attributes"
		}
		conditions = append(conditions, g.condition(f, pick(g, operators(f)...), ""))
	}
	return object{"operator": op, "conditions": conditions}
}

func (g *generator) condition(field, op, key string) object {
	c := object{"field": field, "operator": op}
	some := &g.corpus[g.IntN(len(g.corpus))]
	switch field {
	case "attributes":
		if c["key"] = key; key == "" {
			c["key"] = pick(g, paths...)
		}
	case "resource":
		c["key"] = pick(g, "service.name", "host.name", "n", "service", "x")
	case "scope":
		c["key"] = pick(g, "name", "version")
	}
	if slices.Contains(existing, op) {
		return c
	}
	one := func() any { return g.operand(field, op, some, c) }
	switch op {
	case "in", "not_in":
		list := []any{one()}
		for range g.IntN(3) {
			some = &g.corpus[g.IntN(len(g.corpus))]
			list = append(list, one())
		}
		c["value"] = list
		if slices.Contains([]string{"attributes", "resource", "links", "references", "events", "hashes"}, field) && g.IntN(4) == 0 {
			c["options"] = object{"all": true}
		}
	case "btwn":
		lo, hi := one(), one()
		if fmt.Sprintf("%T", lo) != fmt.Sprintf("%T", hi) {
			hi = lo
		}
		c["value"] = []any{lo, hi}
	default:
		c["value"] = one()
	}
	if slices.Contains(textual, op) && field != "content" && g.IntN(2) == 0 {
		options := object{"case_sensitive": true}
		if op == "matches" {
			options["exact_match"] = true
		}
		c["options"] = options
	}
	return c
}

// operand is a value that the condition takes, mostly one that some span has.
func (g *generator) operand(field, op string, s *trace.Span, c object) any {
	switch field {
	case "trace_id":
		return s.TraceID.String()
	case "span_id":
		return s.SpanID.String()
	case "parent_id":
		if s.IsRoot() {
			return nil
		}
		return s.ParentID.String()
	case "root":
		return pick(g, s.IsRoot(), true, false)
	case "trace_type":
		return pick(g, "invocation", "annotation", "unknown")
	case "span_type":
		return s.EffectiveType().String()
	case "span_kind":
		return s.Kind.String()
	case "status_code":
		return s.Status.String()
	case "span_name", "status_message", "session_id", "user_id", "agent_id":
		text := pick(g, s.Name, s.StatusMessage, s.SessionID, s.UserID, g.word())
		return g.part(op, text)
	case "start_time", "end_time", "created_at", "updated_at", "deleted_at":
		at := time.Unix(0, pick(g, s.Start, s.End)).UTC()
		if slices.Contains(textual, op) {
			return g.part(op, at.Format(filter.TimeLayout))
		}
		return pick[any](g, at.Format(time.RFC3339Nano), at.UnixMicro(), at.Format("2006-01-02"))
	case "created_by_id", "updated_by_id", "deleted_by_id":
		return pick[any](g, uuid.UUID{1}.String(), users[0], nil)
	case "content":
		return pick(g, "paris", "\"in Spring\" -zz", "user or long", "é日本", "E", g.token())
	case "attributes":
		key, _ := c["key"].(string)
		v, ok := jsonvalue.Lookup(s.Attributes, jsonvalue.SplitPath(key))
		return g.attributeOperand(op, v, ok)
	case "resource":
		return g.attributeOperand(op, pick[any](g, "checkout", "h1", "cart", 1), true)
	case "scope":
		return g.attributeOperand(op, pick[any](g, "lib", "1.0"), true)
	default:
		return g.listOperand(field, op, c)
	}
}

func (g *generator) token() string {
	if w := strings.TrimSpace(g.word()); w != "" {
		return "\"" + strings.ReplaceAll(w, `"`, "") + "\""
	}
	return "a"
}

// part cuts a text so that the operator may hold for it.
func (g *generator) part(op, text string) any {
	r := []rune(text)
	if len(r) == 0 || !slices.Contains(textual, op) {
		return text
	}
	i, j := g.IntN(len(r)), len(r)
	switch op {
	case "startswith":
		return string(r[:i+1])
	case "endswith":
		return string(r[i:])
	case "like":
		return strings.NewReplacer(`\`, `\\`, "%", `\%`).Replace(string(r[:i])) + pick(g, "%", "_%", "_")
	case "contains", "matches":
		if g.IntN(3) == 0 {
			return text
		}
		return string(r[i:j])
	default:
		return text
	}
}

func (g *generator) attributeOperand(op string, v any, ok bool) any {
	if !ok || g.IntN(5) == 0 {
		v = g.scalar()
	}
	text, isText := v.(string)
	_, isInt := v.(int64)
	f, isFloat := v.(float64)
	switch {
	case slices.Contains(textual, op):
		if !isText {
			text = g.word()
		}
		return g.part(op, text)
	case op == "eq" || op == "neq":
		if isText || isInt || isFloat {
			return v
		}
		return pick[any](g, true, 1, "a")
	case slices.Contains(numeric, op):
		if isText {
			return text
		}
		if isInt || isFloat {
			return v
		}
		return pick[any](g, 0, 1.5, f)
	case slices.Contains(membership, op):
		if m, ok := v.(map[string]any); ok && g.IntN(2) == 0 {
			return m
		}
		return pick(g, "a", "b", "k.v", "0", "q")
	default:
		if list, isList := v.([]any); isList && len(list) > 0 && g.IntN(2) == 0 {
			return list[g.IntN(len(list))]
		}
		return v
	}
}

func (g *generator) listOperand(field, op string, c object) any {
	has := slices.Contains(membership, op)
	switch field {
	case "links":
		if has {
			c["key"] = "attributes.key"
			return pick(g, "invocation", "x y", "no")
		}
		id := hex.EncodeToString(traceIDOf(uint64(g.IntN(5))))
		span := hex.EncodeToString(idOf(uint64(g.IntN(5)) + 1))
		return pick(g, object{"trace_id": id}, object{"span_id": span}, object{"trace_id": id, "span_id": span}, object{"trace_id": id, "attributes": object{"key": "invocation"}})
	case "references":
		if has {
			c["key"] = "attributes.key"
			return pick(g, "application", "evaluator_revision", "no")
		}
		return pick(g, object{"id": pick(g, users...)}, object{"slug": "my-app"}, object{"version": "1"}, object{"slug": "my-app", "attributes": object{"key": "application"}}, object{"id": users[0], "slug": "other"}, object{"attributes": object{"key": "evaluator_revision"}})
	case "events":
		if has {
			c["key"] = "attributes.exception.type"
			return pick(g, "E", "F", "G")
		}
		return pick(g, object{"name": "exception"}, object{"name": "log", "attributes": object{"exception.type": "E"}}, object{"attributes": object{"n": 1}})
	default:
		some := g.corpus[g.IntN(len(g.corpus))].Hashes
		id := users[0]
		if len(some) > 0 {
			id = some[0].ID.String()
		}
		if has {
			c["key"] = pick(g, "id", "attributes.key")
			if c["key"] == "id" {
				return id
			}
			return "indirect"
		}
		return pick[any](g, id, object{"id": id}, object{"attributes": object{"key": "indirect"}})
	}
}
