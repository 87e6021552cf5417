package normalize_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace/tracejson"
	"colonnade/write/normalize"
)

// leafBytes adds up what a row holds of a span's leaves: each with its whole path.
type leafBytes int

func (n *leafBytes) String(path, value string)     { *n += leafBytes(len(path) + len(value)) }
func (n *leafBytes) Number(path string, _ float64) { *n += leafBytes(len(path) + 8) }
func (n *leafBytes) Bool(path string, _ bool)      { *n += leafBytes(len(path) + 1) }
func (n *leafBytes) Unindexed(path string)         { *n += leafBytes(len(path)) }

// repeated is one key so often, each time with another value.
func repeated(n int, key string, value func(i int) any) []attribute {
	in := make([]attribute, n)
	for i := range in {
		in[i] = attribute{key, value(i)}
	}
	return in
}

// hostile are spans whose fitting cost a power of their size once; n is how many parts they have.
func hostile(n int) map[string]*otlp.Span {
	long := strings.Repeat("k", n)
	members := func(value any) object {
		o := object{}
		for i := range n {
			o["m"+strconv.Itoa(i)] = value
		}
		return o
	}
	kvlist := func(key string, value func(i int) any) *otlp.Span {
		s := newSpan(attribute{key, object{}})
		s.Attributes[0].GetValue().GetKvlistValue().Values = keyValues(repeated(n, "k", value))
		return s
	}
	linked := newSpan()
	for i := range n {
		linked.Links = append(linked.Links, &otlp.Span_Link{TraceId: id(traceHex), SpanId: id(spanHex), Attributes: keyValues([]attribute{{"key", "k" + strconv.Itoa(i)}})})
	}
	badLinks, events := newSpan(), newSpan()
	for range n {
		badLinks.Links = append(badLinks.Links, &otlp.Span_Link{TraceId: []byte{1}})
		events.Events = append(events.Events, &otlp.Span_Event{})
	}
	underscores := repeated(n, "ag.unsupported.data", func(i int) any { return i })
	for i := range 100 {
		underscores = append(underscores, attribute{"ag.unsupported.data" + strings.Repeat("_", i), 1})
	}
	return map[string]*otlp.Span{
		"a key again and again":            newSpan(repeated(n, "k", func(i int) any { return i })...),
		"a key of ag again and again":      newSpan(repeated(n, "ag.session.id", func(i int) any { return i })...),
		"an object again and again":        newSpan(repeated(n, "k", func(i int) any { return object{"a": i} })...),
		"objects and others by turns":      newSpan(repeated(n, "k", func(i int) any { return []any{object{"a": i}, i}[i%2] })...),
		"lists again and again":            newSpan(repeated(n, "k", func(i int) any { return []any{i} })...),
		"a value above others":             newSpan(append([]attribute{{"k", 1}}, repeated(n, "k.a", func(i int) any { return i })...)...),
		"metrics again and again":          newSpan(repeated(n, "ag.metrics.unit.tokens.total", func(i int) any { return strconv.Itoa(i) })...),
		"places of what is parked":         newSpan(append(underscores, attribute{"ag.data.weird", 1})...),
		"a list of keys":                   kvlist("a", func(i int) any { return i }),
		"a list of keys that are objects":  kvlist("a", func(i int) any { return object{"a": i} }),
		"many members":                     newSpan(attribute{"k", members(1)}, attribute{"k", members(2)}, attribute{"k", members("x")}),
		"members below a long key":         newSpan(attribute{"k", object{long: members(1)}}),
		"members below a long key, twice":  newSpan(attribute{"k", object{long: members(1)}}, attribute{"k", object{long: members(2)}}),
		"references below a long key":      newSpan(attribute{"ag.refs", object{long: members(1)}}, attribute{"ag.references", object{long: members(2)}}),
		"a document's members below a key": newSpan(attribute{"ag.data.inputs", `@ag.type=json:{"` + long + `":` + string(jsonvalue.Append(nil, members(int64(1)))) + `}`}),
		"holes":                            newSpan(repeated(n/10, strings.Repeat("17.", 30)+"x", func(i int) any { return i })...),
		"holes in many lists":              newSpan(holes(n / 10)...),
		"links with keys":                  linked,
		"links without ids":                badLinks,
		"events":                           events,
		"a literal in a literal":           newSpan(attribute{"ag.data.outputs", nested(n / 200)}),
	}
}

func holes(n int) (in []attribute) {
	for i := range n {
		in = append(in, attribute{fmt.Sprintf("a%d.", i) + strings.Repeat("17.", 29) + "x", i})
	}
	return in
}

// nested is a literal in a literal as often as that, escaped so that it grows with the square.
func nested(levels int) string {
	text := "x"
	for range levels {
		text = `@ag.type=json:"` + strings.NewReplacer(`"`, `\u0022`, `\`, `\u005c`).Replace(text) + `"`
	}
	return text
}

// TestWhatASpanCostsIsInProportion fits spans of many sorts at two sizes: what
// becomes of one is a few times its size, or it is refused by name.
func TestWhatASpanCostsIsInProportion(t *testing.T) {
	t.Parallel()
	const often = 64
	for _, n := range []int{300, 20_000} {
		for name, span := range hostile(n) {
			t.Run(fmt.Sprintf("%s, %d", name, n), func(t *testing.T) {
				t.Parallel()
				sent := record(t, span)
				spans, refused, err := newNormalizer(t).Spans(normalize.Meta{ReceivedAt: received}, sent)
				require.NoError(t, err)
				for _, r := range refused {
					require.Regexp(t, "too long to keep them all|come to more than 32 times the span", r.Reason)
				}
				require.Equal(t, 1, len(refused)+len(spans))
				for i := range spans {
					var leaves leafBytes
					text := tracejson.AppendEvents(tracejson.AppendLinks(jsonvalue.Append(nil, spans[i].Attributes), spans[i].Links), spans[i].Events)
					require.Less(t, len(text), often*len(sent)+1<<10)
					open(t, spans[i].Attributes)
					jsonvaluetest.Flatten(spans[i].Attributes, &leaves)
					require.Less(t, int(leaves), often*len(sent)+64<<10)
				}
			})
		}
	}
}

// TestManyValuesOfOneKey shows what stands of them where, and that none is lost.
func TestManyValuesOfOneKey(t *testing.T) {
	t.Parallel()
	got := fitOne(t, newSpan(repeated(8, "k", func(i int) any { return i })...)).Attributes
	require.Equal(t, int64(7), got["k"])
	parked, _ := jsonvalue.Lookup(got, []string{"ag", "unsupported"})
	want := object{"k": int64(0), "k_": int64(1), "k__": int64(2), "k___": int64(3), "k_4": int64(4), "k_5": int64(5), "k_6": int64(6)}
	if diff := cmp.Diff(any(want), parked); diff != "" {
		t.Errorf("unsupported (-want +got):\n%s", diff)
	}
	require.Empty(t, lost(repeated(5000, "k", func(i int) any { return fmt.Sprintf("v%d", i) }),
		fitOne(t, newSpan(repeated(5000, "k", func(i int) any { return fmt.Sprintf("v%d", i) })...)).Attributes))
}
