package spans

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/write/cost"
	"colonnade/write/normalize"
	"colonnade/write/otlp/wire"
)

const (
	traceA = "0a000000000000000000000000000001"
	spanA  = "0a00000000000001"
	spanB  = "0b00000000000002"
)

// readSpans reads a body as the doors do.
func readSpans(t testing.TB, data []byte) (*spanReader, error) {
	t.Helper()
	b, err := readTraceBody(data, "trace", "traces", "spans", "count", "windowing")
	if err != nil {
		return nil, err
	}
	r := &spanReader{}
	r.body(&b)
	return r, nil
}

// outline says of spans where they stand.
func outlineText(spans []trace.Span) string {
	var parts []string
	for i := range spans {
		s := &spans[i]
		parts = append(parts, fmt.Sprintf("%s/%s<%s %s", s.TraceID.String()[:2], s.SpanID.String()[:2], s.ParentID.String()[:2], s.Name))
	}
	return strings.Join(parts, "; ")
}

// The shapes of contract §1.11 and §3.1, and all forms of ids.
func TestBodies(t *testing.T) {
	t.Parallel()
	node := func(id, more string) string {
		return `{"trace_id":"` + traceA + `","span_id":"` + id + `"` + more + `}`
	}
	tests := []struct{ name, in, want string }{
		{"a trace", `{"trace":{"trace_id":"` + traceA + `","spans":{"root":{"span_id":"` + spanA + `"}}}}`, "0a/0a<00 root"},
		{"traces in a list", `{"traces":[{"trace_id":"` + traceA + `","spans":{"root":` + node(spanA, "") + `}}]}`, "0a/0a<00 root"},
		{"traces by id", `{"count":1,"traces":{"` + traceA + `":{"spans":{"root":{"span_id":"` + spanA + `"}}}},"windowing":{"next":"x"}}`, "0a/0a<00 root"},
		{"ids as UUID and with 0x", `{"trace":{"trace_id":"0a000000-0000-0000-0000-000000000001","spans":{"root":{"trace_id":"0x` + traceA + `","span_id":"0x` + spanA + `"}}}}`, "0a/0a<00 root"},
		{"a flat list", `{"spans":[` + node(spanA, `,"span_name":"a"`) + `,` + node(spanB, `,"parent_id":"`+spanA+`"`) + `]}`, "0a/0a<00 a; 0a/0b<0a "},
		{"children", `{"spans":[` + node(spanA, `,"spans":{"b":{"span_id":"`+spanB+`"}}`) + `]}`, "0a/0a<00 ; 0a/0b<0a b"},
		{"children before the parent's id", `{"spans":[{"spans":{"b":{"span_id":"` + spanB + `"}},"span_id":"` + spanA + `","trace_id":"` + traceA + `"}]}`, "0a/0a<00 ; 0a/0b<0a b"},
		{"siblings of one name", `{"trace":{"trace_id":"` + traceA + `","spans":{"x":[{"span_id":"` + spanA + `"},{"span_id":"` + spanB + `"}]}}}`, "0a/0a<00 x; 0a/0b<00 x"},
		{"one key twice", `{"trace":{"trace_id":"` + traceA + `","spans":{"x":{"span_id":"` + spanA + `"},"x":{"span_id":"` + spanB + `"}}}}`, "0a/0a<00 x; 0a/0b<00 x"},
		{"its own name and parent", `{"trace":{"trace_id":"` + traceA + `","spans":{"x":{"span_name":"y","span_id":"` + spanA + `","spans":{"z":{"span_id":"` + spanB + `","parent_id":"` + spanB[:14] + `77"}}}}}}`, "0a/0a<00 y; 0a/0b<0b z"},
		{"a name with the sign for what is no text", `{"spans":{ "\uFFFD\ufffd":` + node(spanA, "") + `}}`, "0a/0a<00 \uFFFD\uFFFD"},
		{"nulls", `{"traces":null,"spans":[` + node(spanA, `,"parent_id":null,"attributes":null,"links":null,"spans":null,"start_time":null`) + `]}`, "0a/0a<00 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := readSpans(t, []byte(tt.in))
			require.NoError(t, err)
			require.Empty(t, r.refused)
			require.Equal(t, tt.want, outlineText(r.spans))
		})
	}
}

func TestBodiesThatAreNone(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nothing", ``, `missing [body]`},
		{"no JSON", `{"trace"`, `json_invalid [body 8]`},
		{"more than one value", `{} {}`, `json_invalid [body 4]`},
		{"a list", `[]`, `dict_type [body]`},
		{"an unknown member", `{"trees":[]}`, `extra_forbidden [body trees]`},
		{"a member twice", `{"spans":[],"spans":[]}`, `json_invalid [body spans]`},
		{"a name that is no text", "{\"spans\":[{\"a\xff\":1}]}", "string_unicode [body spans 0 a\uFFFD]"},
		{"a span's name that is no text", `{"trace":{"spans":{"x\ud800":{}}}}`, "string_unicode [body trace spans x\uFFFD]"},
		{"a trace of text", `{"trace":"x"}`, `dict_type [body trace]`},
		{"traces of text", `{"traces":"x"}`, `list_type [body traces]`},
		{"a trace that is a list", `{"traces":[[]]}`, `dict_type [body traces 0]`},
		{"a span that is a number", `{"spans":[1]}`, `dict_type [body spans 0]`},
		{"a list within a list", `{"spans":[[]]}`, `dict_type [body spans 0]`},
		{"a list within a named list", `{"traces":[{"spans":{"a":[[]]}}]}`, `dict_type [body traces 0 spans a 0]`},
		{"more of a trace", `{"trace":{"name":"x"}}`, `extra_forbidden [body trace name]`},
		{"spans without end", `{"spans":[` + strings.Repeat(`{"spans":[`, maxSpanDepth) + strings.Repeat(`]}`, maxSpanDepth) + `]}`, `json_invalid [body spans 0 spans 0 spans 0 spans]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := readSpans(t, []byte(tt.in))
			var e *domain.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, domain.Invalid, e.Kind)
			require.Equal(t, tt.want, fmt.Sprint(e.Fields[0].Type, " ", e.Fields[0].Loc))
		})
	}
}

// A bad span is refused alone, with the place of each mistake; its children stay.
func TestBadSpans(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, members, want string }{
		{"no ids", ``, "missing [trace_id]; missing [span_id]"},
		{"malformed ids", `"trace_id":"x","span_id":"y","parent_id":5`, "value_error [trace_id]; value_error [span_id]; string_type [parent_id]"},
		{"unknown words", `"span_kind":"KIND","status_code":"BAD","span_type":"x","trace_type":"y"`, "enum [span_kind]; enum [status_code]; enum [span_type]; enum [trace_type]"},
		{"no times", `"start_time":"yesterday","end_time":12345`, "datetime_parsing [start_time]; datetime_parsing [end_time]"},
		{"after 2262", `"start_time":9999999999,"end_time":9999999999999,"events":[{"name":"e","timestamp":"9999999999999999"}]`, "datetime_parsing [start_time]; datetime_parsing [end_time]; datetime_parsing [events 0 timestamp]"},
		{"bytes that are no text", "\"attributes\":{\"a\":\"x\xff\xfe\"},\"span_name\":\"\xff\"", "value_error [attributes]; value_error [span_name]"},
		{"half a character", `"attributes":{"a":["\ud800"]},"status_message":"\ude00\ud83d"`, "value_error [attributes]; value_error [status_message]"},
		{"an integer of too many digits", `"attributes":{"a":{"b":12345678901234567890}}`, "value_error [attributes]"},
		{"before 1970", `"start_time":"1969-12-31T23:59:59Z"`, "datetime_parsing [start_time]"},
		{"wrong types", `"span_name":1,"attributes":[],"resource":"x","links":{},"events":[1]`, "string_type [span_name]; dict_type [resource]; list_type [links]; dict_type [events 0]; dict_type [attributes]"},
		{"links", `"links":[{"trace_id":"x","span_id":"` + spanA + `"},{"trace_id":"` + traceA + `"}]`, "value_error [links 0 trace_id]; value_error [links 1 span_id]"},
		{"events", `"events":[{"name":1,"timestamp":"x","attributes":1}]`, "datetime_parsing [events 0 timestamp]; dict_type [events 0 attributes]; string_type [events 0 name]"},
		{"a reference without a key", `"references":[{"id":"x"}]`, "missing [references 0 attributes key]"},
		{"a number that is none", `"attributes":{"n":1e999}`, "value_error [attributes]"},
		{"a member twice", `"span_name":"a","span_name":"b"`, "json_invalid [span_name]"},
		{"values without end", `"attributes":{"a":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`, "value_error [attributes]"},
		{"another trace", `"trace_id":"0b000000000000000000000000000001"`, "value_error [trace_id]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			container := `"trace_id":"` + traceA + `",`
			members := tt.members
			if tt.name == "no ids" || tt.name == "malformed ids" {
				container = ""
			} else {
				members += `,"span_id":"` + spanA + `"`
			}
			if members != "" {
				members += ","
			}
			r, err := readSpans(t, []byte(`{"traces":[{`+container+`"spans":{"x":{`+members+`"spans":{"child":{"trace_id":"`+traceA+`","span_id":"`+spanB+`"}}}}}]}`))
			require.NoError(t, err)
			require.Len(t, r.refused, 1)
			var got []string
			for _, f := range r.refused[0].fields {
				require.NotEmpty(t, f.Msg)
				got = append(got, fmt.Sprint(f.Type, " ", f.Loc[5:]))
			}
			require.Equal(t, tt.want, strings.Join(got, "; "))
			require.NotEmpty(t, r.refused[0].Reason)
			if tt.name != "another trace" {
				require.Len(t, r.spans, 1, "its child")
			}
		})
	}
}

func normalizer(t testing.TB) *normalize.Normalizer {
	t.Helper()
	f, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(t, err)
	return f
}

// What stands beside the attributes is honoured as what stands in them.
func TestMembersBesideTheAttributes(t *testing.T) {
	t.Parallel()
	r, err := readSpans(t, []byte(`{"spans":[
		{"trace_id":"`+traceA+`","span_id":"`+spanA+`","span_type":"chat","trace_type":"annotation","session_id":"s","user_id":"u","agent_id":"g",
		 "start_time":1760000000,"end_time":"1760000001500","status_code":"STATUS_CODE_OK","span_kind":"SPAN_KIND_SERVER",
		 "references":[{"id":"0198a3b0-0000-7000-8000-000000000001","attributes":{"key":"testcase"}},{"slug":"x","attributes":{"key":"planet"}}],
		 "attributes":{"ag":{"data":{"outputs":"x"}},"ag.flags.is_custom":true,"a.b":1,"list.0":"x","list.1":"y"},"exception":{"type":"E"},"colour":"red","hashes":[{"id":"nonsense"}],"created_at":"never"},
		{"trace_id":"`+traceA+`","span_id":"`+spanB+`","parent_id":"`+spanA+`","session_id":"s","start_time":1760000000123456,"end_time":1760000000123456789}]}`))
	require.NoError(t, err)
	require.Empty(t, r.refused)
	spans, err := Normalize(normalizer(t), r.spans)
	require.NoError(t, err)
	root := spans[0]
	require.Equal(t, []any{trace.Chat, trace.Annotation, "s", "u", "g"}, []any{root.SpanType, root.Type, root.SessionID, root.UserID, root.AgentID})
	require.Equal(t, int64(1760000000_000000000), root.Start)
	require.Equal(t, int64(1760000001_500000000), root.End)
	require.Equal(t, []int64{1760000000_123456000, 1760000000_123456789}, []int64{spans[1].Start, spans[1].End})
	require.Len(t, root.References, 1)
	require.JSONEq(t, `{"a":{"b":1},"list":["x","y"],"ag":{"data":{"outputs":"x"},"exception":{"type":"E"},"flags":{"is_custom":true},"session":{"id":"s"},"user":{"id":"u"},
		"references":{"testcase":{"id":"0198a3b0-0000-7000-8000-000000000001"}},"type":{"span":"chat","trace":"annotation"},
		"metrics":{"costs":{},"duration":{"cumulative":1500.0},"errors":{},"tokens":{}},
		"unsupported":{"agent":{"id":"g"},"references":{"planet":{"slug":"x"}},"span":{"colour":"red"}}}}`, string(jsonvalue.Append(nil, root.Attributes)))
}

// The attributes go before what stands beside them.
func TestAttributesGoBefore(t *testing.T) {
	t.Parallel()
	r, err := readSpans(t, []byte(`{"spans":[{"trace_id":"`+traceA+`","span_id":"`+spanA+`","span_type":"chat","trace_type":"annotation","session_id":"s",
		"attributes":{"ag.type":{"trace":"invocation"},"ag":{"type":{"node":"tool"},"session":{"id":"t"}}}}]}`))
	require.NoError(t, err)
	spans, err := Normalize(normalizer(t), r.spans)
	require.NoError(t, err)
	require.Equal(t, []any{trace.Tool, trace.Invocation, "t"}, []any{spans[0].SpanType, spans[0].Type, spans[0].SessionID})
}

func TestRoots(t *testing.T) {
	t.Parallel()
	roots := func(in string) error {
		b, err := readTraceBody([]byte(in), "trace")
		require.NoError(t, err)
		if err := oneTrace(&b); err != nil {
			return err
		}
		r := &spanReader{}
		r.body(&b)
		return r.oneRoot(b.traces[0].spans)
	}
	id := func(span string) string { return `"trace_id":"` + traceA + `","span_id":"` + span + `"` }
	for in, want := range map[string]string{
		`{}`:                     "Missing trace",
		`{"trace":null}`:         "Missing trace",
		`{"trace":{}}`:           "Missing spans",
		`{"trace":{"spans":{}}}`: "Missing spans",
		`{"trace":{"spans":{"a":{` + id(spanA) + `,"parent_id":"` + spanA + `"}}}}`: "Missing root span",
		`{"trace":{"spans":{"a":{` + id(spanA) + `,"parent_id":"x"}}}}`:             "Invalid span_id.",
		`{"trace":{"spans":{"a":{` + id(spanA) + `},"b":{` + id(spanB) + `}}}}`:     "Too many root spans",
		`{"trace":{"spans":{"a":[{` + id(spanA) + `},{` + id(spanB) + `}]}}}`:       "Too many root spans",
		`{"trace":{"spans":{"a":{"spans":{"b":{}}}}}}`:                              "",
		`{"trace":{"spans":{"a":{},"b":{"parent_id":"` + spanA + `"}}}}`:            "",
	} {
		if err := roots(in); want == "" {
			require.NoError(t, err, in)
		} else {
			require.EqualError(t, err, want, in)
		}
	}
}

// A trace that nests very deep is read in one walk.
func TestDeepTraces(t *testing.T) {
	t.Parallel()
	const depth = maxSpanDepth - 1
	var text strings.Builder
	text.WriteString(`{"trace":{"trace_id":"` + traceA + `","spans":{`)
	for i := range depth {
		fmt.Fprintf(&text, `"s":{"span_id":"%016x","spans":{`, i+1)
	}
	text.WriteString(strings.Repeat(`}}`, depth) + `}}}`)
	r, err := readSpans(t, []byte(text.String()))
	require.NoError(t, err)
	require.Len(t, r.spans, depth)
	require.Equal(t, r.spans[depth-2].SpanID, r.spans[depth-1].ParentID)
}

// generator makes traces as clients send them.
type generator struct{ *rand.Rand }

func (g generator) value(depth int) any {
	switch g.IntN(9 + max(0, 3-depth)) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return int64(g.Uint64() >> g.IntN(64))
	case 3:
		return float64(g.IntN(100)) / 8
	case 4:
		return []any{}
	case 5:
		return map[string]any{}
	case 6, 7, 8:
		return []string{"", "text", "ä\u0000\"\\", `{"a":1}`, "@ag.type=json:[1]", "1.0"}[g.IntN(6)]
	case 9:
		return []any{g.value(depth + 1), g.value(depth + 1)}
	default:
		return map[string]any{g.key(): g.value(depth + 1), "k.l": g.value(depth + 1)}
	}
}

func (g generator) key() string {
	keys := strings.Fields(`a b.c b.c.d list.0 list.1 0 1.x service.name gen_ai.request.model gen_ai.usage.input_tokens ag ag.data ag.data.inputs ag.data.outputs ag.data.weird ag.data.parameters.p
		ag.type.node ag.type.span ag.type.trace ag.type.x ag.flags.f ag.tags.t ag.meta.m ag.meta.configuration ag.session.id ag.user.id ag.agent.id ag.selector.key ag.references.testcase.slug
		ag.references.planet ag.refs.application.slug ag.refs.variant.version ag.exception ag.unsupported ag.unsupported.data.x ag.foo ag.metrics.tokens.incremental.total ag.metrics.duration ag.metrics.costs.cumulative.total ag.metrics.foo`)
	return keys[g.IntN(len(keys))]
}

func (g generator) attributes(n int) map[string]any {
	out := map[string]any{}
	for range g.IntN(n + 1) {
		out[g.key()] = g.value(0)
	}
	return out
}

// trace makes the spans of one trace: children, orphans, several roots, equal names.
func (g generator) trace() []trace.Span {
	id := trace.TraceID{1, byte(g.IntN(256))}
	spans := make([]trace.Span, 1+g.IntN(6))
	for i := range spans {
		start := int64(1760000000_000000000 + g.IntN(5_000_000))
		s := trace.Span{
			TraceID: id, SpanID: trace.SpanID{2, byte(i + 1)}, Kind: trace.Kind(g.IntN(6)), Status: trace.Status(g.IntN(3)),
			Name: []string{"", "a", "b", "ö\n"}[g.IntN(4)], Start: start, End: start + int64(g.IntN(3_000_000)), Attributes: g.attributes(6),
		}
		if i > 0 && g.IntN(4) > 0 {
			s.ParentID = trace.SpanID{2, byte(g.IntN(len(spans) + 2))}
		}
		if g.IntN(3) == 0 {
			s.StatusMessage = "bad"
			s.Events = []trace.Event{{Name: "exception", Time: start, Attributes: map[string]any{"exception.type": "E"}}, {Time: start}}
		}
		if g.IntN(3) == 0 {
			s.Links = []trace.Link{{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}, Attributes: map[string]any{"key": "invocation"}}, {}}
		}
		if g.IntN(2) == 0 {
			s.Resource = map[string]any{"service.name": "shop", "n": g.value(0)}
			s.Scope = &trace.Scope{Name: "lib", Version: "1", Attributes: map[string]any{"x.y": g.value(2)}}
		}
		spans[i] = s
	}
	return spans
}

// roundTrip writes a trace as the queries return it, in each of their shapes,
// and reads it as the doors do: what is stored then is returned identically.
func roundTrip(t testing.TB, f *normalize.Normalizer, sent []trace.Span) {
	t.Helper()
	stored, err := Normalize(f, sent)
	require.NoError(t, err)
	returned := tracejson.AppendTrace(nil, stored[0].TraceID, trace.BuildTree(stored))
	flat := []byte(`{"count":1,"spans":[`)
	for i := range stored {
		if i > 0 {
			flat = append(flat, ',')
		}
		flat = tracejson.AppendSpan(flat, &stored[i])
	}
	flat = append(flat, "]}"...)
	for shape, text := range map[string][]byte{
		"trace":  slices.Concat([]byte(`{"count":1,"trace":`), returned, []byte("}")),
		"traces": slices.Concat([]byte(`{"count":1,"traces":[`), returned, []byte(`],"windowing":{"limit":1}}`)),
		"map":    slices.Concat([]byte(`{"count":1,"traces":{"`), []byte(stored[0].TraceID.String()), []byte(`":`), []byte(`{"spans":`), tracejson.AppendTree(nil, trace.BuildTree(stored)), []byte("}}}")),
		"flat":   flat,
	} {
		require.True(t, json.Valid(text))
		r, err := readSpans(t, text)
		require.NoError(t, err, "%s", text)
		require.Empty(t, r.refused, "%s: %s", shape, text)
		again, err := Normalize(f, r.spans)
		require.NoError(t, err)
		if got := tracejson.AppendTrace(nil, again[0].TraceID, trace.BuildTree(again)); string(got) != string(returned) {
			t.Fatalf("%s (-returned +returned again):\n%s", shape, cmp.Diff(string(returned), string(got)))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	f := normalizer(t)
	for seed := range uint64(400) {
		roundTrip(t, f, generator{rand.New(rand.NewPCG(seed, 7))}.trace())
	}
}

func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed)
	}
	fit := normalizer(f)
	f.Fuzz(func(t *testing.T, a, b uint64) { roundTrip(t, fit, generator{rand.New(rand.NewPCG(a, b))}.trace()) })
}

// FuzzTraceBody: whatever comes is read or refused with a location; what is
// read is taken by the rest of the road and comes back the same.
func FuzzTraceBody(f *testing.F) {
	f.Add([]byte(`{"trace":{"trace_id":"` + traceA + `","spans":{"a":{"span_id":"` + spanA + `","attributes":{"a.b":1},"spans":{"b":[{"span_id":"` + spanB + `"}]}}}}}`))
	f.Add([]byte(`{"traces":{"` + traceA + `":{"spans":{"a":{"span_id":"` + spanA + `","links":[{"trace_id":"` + traceA + `","span_id":"` + spanA + `"}],"events":[{"name":"e","timestamp":1760000000}]}}}}}`))
	f.Add([]byte(`{"spans":[{"trace_id":"` + traceA + `","span_id":"` + spanA + `","references":[{"slug":"x","attributes":{"key":"query"}}],"session_id":"s","scope":{"name":"x"},"x":1}]}`))
	f.Add([]byte(`{"count":0,"traces":[],"windowing":{}}`))
	fit := normalizer(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readSpans(t, data)
		if err != nil {
			var e *domain.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, domain.Invalid, e.Kind)
			require.NotEmpty(t, e.Fields)
			require.Equal(t, "body", e.Fields[0].Loc[0])
			return
		}
		for _, bad := range r.refused {
			require.NotEmpty(t, bad.fields)
		}
		byTrace := map[trace.TraceID][]trace.Span{}
		for i := range r.spans {
			s := &r.spans[i]
			if !slices.ContainsFunc(byTrace[s.TraceID], func(o trace.Span) bool { return o.SpanID == s.SpanID }) {
				byTrace[s.TraceID] = append(byTrace[s.TraceID], *s)
			}
		}
		for _, spans := range byTrace {
			for i := range spans {
				if spans[i].Start == 0 && spans[i].End == 0 {
					spans[i].Start, spans[i].End = 1, 1
				}
			}
			roundTrip(t, fit, spans)
		}
	})
}

func BenchmarkTraceBody(b *testing.B) {
	g := generator{rand.New(rand.NewPCG(1, 1))}
	text := []byte(`{"traces":[`)
	spans := 0
	for i := range 200 {
		t := g.trace()
		spans += len(t)
		if i > 0 {
			text = append(text, ',')
		}
		text = tracejson.AppendTrace(text, t[0].TraceID, trace.BuildTree(t))
	}
	text = append(text, "]}"...)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readSpans(b, text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(spans)*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}

// TestBodiesAreBounded: a body costs what it weighs, whatever its spans are.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	r, err := readSpans(t, []byte(`{"spans":[`+strings.Repeat(`{},`, 5000)+`{}]}`))
	require.NoError(t, err)
	require.Len(t, r.refused, wire.MaxRefused)
	require.Equal(t, 5001, len(r.refused)+r.more)
	_, err = readSpans(t, []byte(`{"spans":[`+strings.Repeat(`{},`, wire.MaxSpans)+`{}]}`))
	require.Equal(t, domain.TooLarge, domain.KindOf(err))
}
