package wire_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/write/otlp/wire"
)

// randomValue is any canonical value, at most so deep.
func randomValue(r *rand.Rand, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return int64(r.Uint64())
	case 3:
		return math.Ldexp(r.Float64()-0.5, r.IntN(2000)-1000)
	case 4:
		return strings.Repeat(string([]rune("aé漢🙂\x00\"")[r.IntN(6)]), r.IntN(200))
	case 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	default:
		return randomObject(r, depth-1)
	}
}

func randomObject(r *rand.Rand, depth int) map[string]any {
	object := make(map[string]any)
	for range r.IntN(5) {
		object[string([]rune("abc.é\\ ")[r.IntN(7)])+string(rune('a'+r.IntN(3)))] = randomValue(r, depth)
	}
	return object
}

func randomSpan(r *rand.Rand) trace.Span {
	s := trace.Span{
		Name: "n", Kind: trace.Kind(r.IntN(6)), Status: trace.Status(r.IntN(3)), StatusMessage: "m",
		Start: r.Int64(), End: r.Int64(), Attributes: randomObject(r, 5),
		Events: []trace.Event{{Name: "e", Time: r.Int64(), Attributes: randomObject(r, 2)}},
		Links:  []trace.Link{{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Attributes: map[string]any{"key": "invocation"}}},
	}
	s.TraceID[15], s.SpanID[7], s.ParentID[0] = byte(1+r.IntN(3)), byte(1+r.IntN(200)), byte(r.IntN(2))
	if r.IntN(2) == 0 {
		s.Resource = map[string]any{"service": map[string]any{"name": "shop"}}
		s.Scope = &trace.Scope{Name: "lib", Version: "2", Attributes: map[string]any{"x": int64(1)}}
	}
	return s
}

// object is what decoding an attribute list means when no key is repeated.
func object(attributes []wire.Attribute) map[string]any {
	m := make(map[string]any)
	for _, a := range attributes {
		m[a.Key] = a.Value
	}
	return m
}

// decoded reads a body as the sink does and gives the spans as they were canonical.
func decoded(t *testing.T, body string) []trace.Span {
	t.Helper()
	var spans []trace.Span
	require.NoError(t, wire.Walk(body, func(resource, scope, span string) error {
		var in wire.Span
		if err := in.Decode(span); err != nil {
			return err
		}
		s := trace.Span{
			Name: in.Name, Kind: trace.Kind(in.Kind), Status: trace.Status(in.StatusCode), StatusMessage: in.StatusMessage,
			Start: int64(in.Start), End: int64(in.End), Attributes: object(in.Attributes),
		}
		copy(s.TraceID[:], in.TraceID)
		copy(s.SpanID[:], in.SpanID)
		copy(s.ParentID[:], in.ParentID)
		for _, e := range in.Events {
			s.Events = append(s.Events, trace.Event{Name: e.Name, Time: int64(e.Time), Attributes: e.Attributes})
		}
		for _, l := range in.Links {
			s.Links = append(s.Links, trace.Link{TraceID: trace.TraceID([]byte(l.TraceID)), SpanID: trace.SpanID([]byte(l.SpanID)), Attributes: l.Attributes})
		}
		if resource != "" {
			list, err := wire.AppendResource(nil, resource)
			if err != nil {
				return err
			}
			s.Resource = object(list)
		}
		if scope != "" {
			var in wire.Scope
			if err := in.Decode(scope); err != nil {
				return err
			}
			s.Scope = &trace.Scope{Name: in.Name, Version: in.Version, Attributes: object(in.Attributes)}
		}
		spans = append(spans, s)
		return nil
	}))
	return spans
}

// TestCanonicalSpansSurviveTheWire: canonical spans, as OTLP, through the scan
// and into records, decode to the same spans.
func TestCanonicalSpansSurviveTheWire(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := make(map[trace.TraceID][]trace.Span)
		var spans []trace.Span
		for range 1 + r.IntN(6) {
			s := randomSpan(r)
			spans = append(spans, s)
			for i := range s.Events { // no attributes read back as nil
				if len(s.Events[i].Attributes) == 0 {
					s.Events = []trace.Event{{Name: s.Events[i].Name, Time: s.Events[i].Time}}
				}
			}
			want[s.TraceID] = append(want[s.TraceID], s)
		}
		body, err := wire.AppendBody(nil, spans)
		require.NoError(t, err)
		require.NoError(t, proto.Unmarshal(body, new(tracepb.TracesData)))
		var b wire.Batch
		require.NoError(t, b.Scan(string(body)))
		require.Zero(t, b.Refused.Count)
		got := make(map[trace.TraceID][]trace.Span)
		for _, p := range b.Split(1<<20, 1<<20) {
			got[p.Trace] = append(got[p.Trace], decoded(t, string(b.Encode(make([]byte, p.MaxBytes), p)))...)
		}
		require.Empty(t, cmp.Diff(want, got), "seed %d", seed)
	}
}

func TestLargeNestedValuesArePaddedNotMoved(t *testing.T) {
	t.Parallel()
	var value any = strings.Repeat("x", 100<<10)
	for range 30 {
		value = map[string]any{"k": []any{value}}
	}
	span := trace.Span{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Attributes: map[string]any{"deep": value}}
	body, err := wire.AppendBody(nil, []trace.Span{span})
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(body, new(tracepb.TracesData)))
	require.Equal(t, span.Attributes, decoded(t, string(body))[0].Attributes)
}

func TestWhatIsNotCanonicalIsNotSent(t *testing.T) {
	t.Parallel()
	_, err := wire.AppendBody(nil, []trace.Span{{Attributes: map[string]any{"a": 1}}})
	require.EqualError(t, err, "wire: a int is no canonical value")
	_, err = wire.AppendBody(nil, []trace.Span{{Start: -1}})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
}
