package normalize_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/normalize"
)

// keys are what the fuzzer builds attribute names of: every member of the
// schema, its relatives, and keys of each convention.
var keys = strings.Fields(`
	a b 0 1 7 a.b a.b.c a.0 a.1.x ag ag.x ag.data ag.data.inputs ag.data.inputs.prompt.0.role ag.data.outputs ag.data.outputs.x
	ag.data.parameters ag.data.internals ag.data.weird ag.type.node ag.type.span ag.type.trace ag.type.x ag.type ag.flags.a ag.flags ag.tags.b
	ag.meta.configuration ag.meta.configuration.a ag.meta.request.model ag.meta.response.model ag.meta ag.meta.agent_name ag.session.id ag.session ag.session.x
	ag.user.id ag.agent.id ag.selector.key ag.selector ag.refs.application.id ag.refs.application.slug ag.refs.variant.version ag.refs.variant ag.refs ag.references.application.slug
	ag.references.application ag.references.planet.slug ag.references.environment.version ag.refs.environment.version ag.exception ag.exception.type
	ag.unsupported ag.unsupported.a ag.unsupported.data.inputs ag.unsupported.foo_ ag.foo ag.foo.bar ag.metrics ag.metrics.unit ag.metrics.unit.tokens.prompt ag.metrics.unit.tokens ag.metrics.acc.tokens.total
	ag.metrics.unit.costs.total ag.metrics.tokens.incremental.prompt ag.metrics.tokens.incremental ag.metrics.tokens ag.metrics.errors.incremental ag.metrics.errors.incremental.total
	ag.metrics.acc.x ag.metrics.foo ag.metrics.costs.incremental.total ag.metrics.duration
	gen_ai.operation.name gen_ai.system gen_ai.usage.input_tokens gen_ai.prompt.0.role gen_ai.input.messages gen_ai.output.messages gen_ai.tool.name gen_ai.request.model
	pydantic_ai.all_messages final_result events agent_name tool_response openinference.span.kind llm.input_messages.0.message.role llm.token_count.prompt input.value output.value
	llm.tools.0.tool.json_schema metadata session.id llm.invocation_parameters embedding.model_name traceloop.entity.input traceloop.span.kind ai.prompt ai.response.text ai.response.toolCalls ai.operationId
`)

// script reads a span's attributes out of fuzzed bytes.
type script struct {
	data   []byte
	unique int
}

func (s *script) next() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

func (s *script) attributes() (in []attribute) {
	for len(s.data) > 0 && len(in) < 40 {
		key := keys[s.next()%len(keys)]
		if s.next()%8 == 0 {
			key += "." + keys[s.next()%len(keys)]
		}
		in = append(in, attribute{key, s.value(0)})
	}
	return in
}

// value gives mostly values that occur nowhere else, so that each can be found again.
func (s *script) value(depth int) any {
	s.unique++
	switch kind := s.next() % 16; {
	case kind < 5:
		return fmt.Sprintf("v%d", s.unique)
	case kind < 8:
		return int64(1_000_000 + s.unique)
	case kind == 8:
		return float64(s.unique) + 0.25
	case kind == 9:
		return s.next()%2 == 0
	case kind == 10 && depth < 3:
		return []any{s.value(depth + 1), s.value(depth + 1)}
	case kind == 11 && depth < 3:
		return object{keys[s.next()%9]: s.value(depth + 1), "k.l": s.value(depth + 1)}
	case kind == 12:
		return fmt.Sprintf(`{"j":"v%d"}`, s.unique)
	case kind == 13:
		return fmt.Sprintf(`@ag.type=json:{"role":"v%d","k":[null,{}]}`, s.unique)
	case kind == 14:
		return []string{"chat", "annotation", "unknown", "gpt-4o", "01890a5d-ac96-774b-bcce-b302099a8057", "@ag.type=none:", `[{"role":"user","parts":[{"type":"text","content":"x"}]}]`, "LLM"}[s.next()%8]
	default:
		return nil
	}
}

// found collects the leaves of a tree; text that says JSON counts as what it says.
func found(v any, leaves map[any]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			found(e, leaves)
		}
	case []any:
		for _, e := range v {
			found(e, leaves)
		}
	case string:
		leaves[v] = true
		text := strings.TrimPrefix(v, "@ag.type=json:")
		if inner, err := jsonvalue.Parse([]byte(text)); err == nil {
			if _, ok := inner.(string); !ok {
				found(inner, leaves)
			}
		}
	default:
		leaves[v] = true
	}
}

// lost gives the leaves of the client's values that are nowhere in the tree.
// Only values made unique are looked for; a metric that is measured here may
// be replaced.
func lost(in []attribute, out map[string]any) (missing []string) {
	have := map[any]bool{}
	found(out, have)
	for _, a := range in {
		if strings.Contains(a.key, "duration") || strings.Contains(a.key, "costs") {
			continue
		}
		want := map[any]bool{}
		found(a.value, want)
		for leaf := range want {
			text, isText := leaf.(string)
			n, isNumber := leaf.(int64)
			unique := isText && strings.HasPrefix(text, "v") || isNumber && n > 1_000_000
			if unique && !have[leaf] {
				missing = append(missing, fmt.Sprintf("%s: %v", a.key, leaf))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// FuzzFit shows that fitting loses nothing, and that a fitted span which a
// client sends again comes out the same.
func FuzzFit(f *testing.F) {
	normalizer := newNormalizer(f)
	all := make([]byte, 0, 3*len(keys))
	for i := range keys {
		all = append(all, byte(i), 1, byte(i%16))
	}
	for i := 0; i+30 <= len(all); i += 30 {
		f.Add(all[i : i+30])
	}
	// One key again and again: texts, objects, lists, and all by turns.
	for _, kinds := range [][]byte{{0}, {11}, {10}, {0, 11, 10, 5, 8}} {
		for _, key := range []string{"a", "ag.session.id", "ag.meta", "ag.foo", "ag.metrics.unit.tokens.prompt"} {
			var again []byte
			for i := range 24 {
				again = append(again, byte(slices.Index(keys, key)), 1, kinds[i%len(kinds)])
			}
			f.Add(again)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := script{data: data}
		in := s.attributes()
		sent := record(t, newSpan(in...))
		first := fitRecord(t, normalizer, sent)
		if diff := cmp.Diff(first, fitRecord(t, normalizer, sent)); diff != "" {
			t.Errorf("a replay differs (-first +replay):\n%s", diff)
		}
		require.Empty(t, lost(in, first.Attributes), "lost: %v", in)
		ag, ok := first.Attributes["ag"].(object)
		require.True(t, ok)
		metrics, ok := ag["metrics"].(object)
		require.True(t, ok)
		require.Len(t, metrics, 4)

		again := newSpan()
		for _, k := range slices.Sorted(maps.Keys(first.Attributes)) {
			again.Attributes = append(again.Attributes, keyValues([]attribute{{k, first.Attributes[k]}})...)
		}
		second := fitRecord(t, normalizer, record(t, again))
		if diff := cmp.Diff(first.Attributes, second.Attributes); diff != "" {
			t.Errorf("fitted again (-first +second):\n%s\nof %v", diff, in)
		}
		if first.SpanType != second.SpanType || first.Type != second.Type || first.SessionID != second.SessionID || first.AgentID != second.AgentID {
			t.Errorf("derived fields differ: %+v, %+v", first, second)
		}
		if diff := cmp.Diff(first.Hashes, second.Hashes); diff != "" {
			t.Errorf("hashes (-first +second):\n%s", diff)
		}
		text := jsonvalue.Append(nil, first.Attributes)
		back, err := jsonvalue.Parse(text)
		require.NoError(t, err)
		if diff := cmp.Diff(any(first.Attributes), back); diff != "" {
			t.Errorf("as JSON (-want +got):\n%s", diff)
		}
	})
}

func fitRecord(t *testing.T, normalizer *normalize.Normalizer, value []byte) trace.Span {
	t.Helper()
	spans, refused, err := normalizer.Spans(normalize.Meta{ReceivedAt: received}, value)
	require.NoError(t, err)
	require.Empty(t, refused)
	open(t, spans[0].Attributes)
	return spans[0]
}

// FuzzRecord shows that no bytes make the normalizer panic, and that what it keeps is whole.
func FuzzRecord(f *testing.F) {
	normalizer := newNormalizer(f)
	f.Add(record(f, newSpan(attribute{"ag.data.inputs", `@ag.type=json:{"a":1}`}, attribute{"f", math.Inf(1)})))
	f.Fuzz(func(t *testing.T, data []byte) {
		spans, refused, err := normalizer.Spans(normalize.Meta{ReceivedAt: received}, data)
		if err != nil {
			require.Empty(t, spans)
			return
		}
		for _, r := range refused {
			require.NotContains(t, r.Reason, "could not be fitted", "a defect of the normalizer")
		}
		for i := range spans {
			require.False(t, spans[i].TraceID.IsZero() || spans[i].SpanID.IsZero())
			require.NotEmpty(t, spans[i].Name)
			text := jsonvalue.Append(nil, spans[i].Attributes)
			_, err := jsonvalue.Parse(text)
			require.NoError(t, err)
		}
	})
}
