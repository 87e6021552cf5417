package simpletraces

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/api/spans"
	"colonnade/write/cost"
	"colonnade/write/normalize"
)

const (
	traceA = "0a000000000000000000000000000001"
	spanA  = "0a00000000000001"
)

func TestCreations(t *testing.T) {
	t.Parallel()
	link := `{"trace_id":"` + traceA + `","span_id":"` + spanA + `"}`
	at := simple.Link{TraceID: trace.TraceID{0: 10, 15: 1}, SpanID: trace.SpanID{0: 10, 7: 1}}
	named := func(l simple.Link, name string, attributes map[string]any) simple.Link {
		l.Name, l.Attributes = name, attributes
		return l
	}
	tests := []struct {
		name, links string
		want        []simple.Link
		list        bool
	}{
		{"none", `{}`, nil, false},
		{"an empty list", `[]`, nil, true},
		{"a map", `{"invocation":` + link + `}`, []simple.Link{named(at, "invocation", nil)}, false},
		{"in the order of names", `{"b":` + link + `,"a":` + link + `}`, []simple.Link{named(at, "a", nil), named(at, "b", nil)}, false},
		{"a list", `[` + link + `,` + link + `]`, []simple.Link{named(at, "key", nil), named(at, "key_2", nil)}, true},
		{"attributes", `{"x":{"trace_id":"0x` + traceA + `","span_id":"` + spanA + `","attributes":{"why":"y"}}}`, []simple.Link{named(at, "x", map[string]any{"why": "y"})}, false},
		{"a list that names", `[{"trace_id":"` + traceA + `","span_id":"` + spanA + `","attributes":{"key":"z"}}]`, []simple.Link{named(at, "z", map[string]any{"key": "z"})}, true},
		{"what is no link", `{"a":null,"b":{},"c":{"trace_id":"` + traceA + `"},"d":{"trace_id":null,"span_id":"` + spanA + `"}}`, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readCreation(simple.Trace, []byte(`{"trace":{"data":{"outputs":1},"references":{"testcase":{},"query":null},"links":`+tt.links+`}}`))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, got.Links))
			require.Equal(t, tt.list, got.List)
			require.Empty(t, got.References, "a reference that names nothing is none")
			require.Equal(t, []any{simple.Custom, simple.Adhoc, simple.API}, []any{got.Origin, got.Kind, got.Channel})
		})
	}
}

// A list of links is as long as a body has room for.
func TestManyLinksWithoutANameAreNumbered(t *testing.T) {
	t.Parallel()
	const n = 20_000
	link := `{"trace_id":"` + traceA + `","span_id":"` + spanA + `"}`
	links, list, err := api.ReadLinks([]byte("["+strings.Repeat(link+",", n-1)+link+"]"), api.Body("links"))
	require.NoError(t, err)
	require.True(t, list)
	require.Equal(t, "key", links[0].Name)
	require.Equal(t, "key_20000", links[n-1].Name)
	span := trace.Span{}
	(&simple.Record{Links: links}).WriteLinks(&span)
	for i := range span.Links {
		span.Links[i].Attributes = nil
	}
	span.Attributes = map[string]any{"ag": map[string]any{"data": map[string]any{"outputs": 1}}}
	read, ok := simple.Read(simple.Trace, &span)
	require.True(t, ok)
	require.Equal(t, "link_20000", read.Links[n-1].Name)
}

// FuzzSimpleBody: whatever comes is read or refused with a location, and what
// is read is a record that reads back as it was written.
func FuzzSimpleBody(f *testing.F) {
	f.Add([]byte(`{"trace":{"origin":"human","data":{"outputs":{"a":1}},"tags":{"t":true},"meta":{"m":[1.5]},"references":{"evaluator":{"slug":"x"},"selector":{"id":"0198a3b0-0000-7000-8000-000000000001"}},"links":[{"trace_id":"`+traceA+`","span_id":"`+spanA+`"}]}}`), uint8(1))
	f.Add([]byte(`{"annotation":{"kind":"play","data":{"score":1,"inputs":[1]},"references":{},"links":{}}}`), uint8(2))
	f.Add([]byte(`{"invocation":{"data":{"outputs":"x"},"references":{"application":{"slug":"x"}},"links":null}}`), uint8(3))
	f.Add([]byte(`{"trace":{"tags":null,"data":{"outputs":2},"trace_id":"`+traceA+`"}}`), uint8(1))
	fit, err := normalize.New(cost.DefaultConfig(), prometheus.NewRegistry())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		face := simple.Face(1 + n%3)
		refused := func(err error) {
			require.Contains(t, []domain.Kind{domain.Invalid, domain.Rejected}, domain.KindOf(err), "%v", err)
		}
		if change, err := readEdit(face, data); err != nil {
			refused(err)
		} else {
			r := simple.Record{TraceID: change.TraceID, SpanID: change.SpanID, Data: map[string]any{"outputs": 1}}
			require.NoError(t, change.apply(&r))
			require.NotEmpty(t, r.Data)
		}
		r, err := readCreation(face, data)
		if err != nil {
			refused(err)
			return
		}
		r.TraceID, r.SpanID = trace.TraceID{1}, trace.SpanID{2}
		span := simple.New(face, &r, 1)
		s := simples{deps: Deps{Deps: spans.Deps{Normalizer: fit}}, face: face}
		shown, err := s.shown(&span)
		if err != nil {
			refused(err)
			return
		}
		require.Equal(t, r.TraceID, shown.TraceID)
		require.Empty(t, cmp.Diff(r.References, shown.References))
		// What is shown is what the next writing of it shows.
		again := simple.New(face, &shown, 1)
		twice, err := s.shown(&again)
		require.NoError(t, err)
		require.Equal(t, string(shown.AppendJSON(nil)), string(twice.AppendJSON(nil)))
	})
}
