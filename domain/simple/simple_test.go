package simple_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
)

var (
	traceID = trace.TraceID{1}
	spanID  = trace.SpanID{2}
)

func record() simple.Record {
	return simple.Record{
		TraceID: traceID, SpanID: spanID, Origin: simple.Human, Kind: simple.Eval, Channel: simple.Web,
		Tags: map[string]any{"k": "v"}, Meta: map[string]any{"n": 1.5},
		Data:       map[string]any{"outputs": map[string]any{"score": int64(1)}},
		References: map[string]domain.Reference{"evaluator": {Slug: "quality"}, simple.Selector: {Slug: "s"}},
		Links:      []simple.Link{{Name: "invocation", TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}, Attributes: map[string]any{"why": "x"}}},
	}
}

// Every origin, kind and channel reads as it was written, under every face.
func TestWordsAreKept(t *testing.T) {
	t.Parallel()
	for _, face := range []simple.Face{simple.Trace, simple.Annotation, simple.Invocation} {
		for _, origin := range []simple.Origin{simple.Custom, simple.Human, simple.Auto} {
			for _, kind := range []simple.Kind{simple.Adhoc, simple.Eval, simple.Play} {
				for _, channel := range []simple.Channel{simple.OTLP, simple.Web, simple.SDK, simple.API} {
					want := record()
					want.Origin, want.Kind, want.Channel = origin, kind, channel
					s := simple.New(face, &want, 5)
					got, ok := simple.Read(face, &s)
					require.True(t, ok)
					if face == simple.Invocation {
						want.Origin = simple.Custom // its origin is not stored
					}
					require.Empty(t, cmp.Diff(want, got))
				}
			}
		}
	}
}

// What the reference stores of the words is stored as it does. Source: contract §4.1.
func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		face simple.Face
		in   simple.Record
		want map[string]any
	}{
		{"the defaults", simple.Trace, simple.Record{Origin: simple.Custom, Kind: simple.Adhoc, Channel: simple.API}, map[string]any{"is_custom": true}},
		{"nothing to say", simple.Trace, simple.Record{Origin: simple.Auto, Kind: simple.Play, Channel: simple.OTLP}, nil},
		{"human eval web", simple.Trace, simple.Record{Origin: simple.Human, Kind: simple.Eval, Channel: simple.Web}, map[string]any{"is_feedback": true, "is_evaluation": true, "is_web": true}},
		{"an annotation", simple.Annotation, simple.Record{Origin: simple.Auto, Kind: simple.Adhoc, Channel: simple.SDK}, map[string]any{"is_evaluator": true, "is_sdk": true}},
		{"an invocation", simple.Invocation, simple.Record{Origin: simple.Human, Kind: simple.Adhoc, Channel: simple.SDK}, map[string]any{"is_sdk": true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := simple.New(tt.face, &tt.in, 1)
			flags, _ := jsonvalue.Lookup(s.Attributes, []string{"ag", "flags"})
			got, _ := flags.(map[string]any)
			require.Empty(t, cmp.Diff(tt.want, got))
			require.Equal(t, tt.face.Type(), s.Type)
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	r := record()
	s := simple.New(simple.Trace, &r, 1)
	require.Equal(t, "quality", s.Name)
	s = simple.New(simple.Invocation, &r, 1)
	require.Equal(t, "invocation", s.Name)
	s = simple.New(simple.Annotation, &simple.Record{}, 1)
	require.Equal(t, "annotation", s.Name)
}

// An edit of a span that says more leaves the rest of it alone.
func TestWriteKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := trace.Span{Attributes: map[string]any{
		"gen_ai": map[string]any{"system": "x"},
		"ag": map[string]any{
			"type": map[string]any{"trace": "annotation"}, "metrics": map[string]any{"duration": map[string]any{"cumulative": 3.5}},
			"flags": map[string]any{"is_evaluator": true, "is_custom": true}, "selector": map[string]any{"key": "k", "slug": "old"},
			"data": map[string]any{"outputs": "a"}, "tags": map[string]any{"t": "1"},
			"unsupported": map[string]any{"data": map[string]any{"score": int64(1)}, "foo": "bar"},
		},
	}, Links: []trace.Link{{TraceID: trace.TraceID{9}}}}
	r, ok := simple.Read(simple.Annotation, &s)
	require.True(t, ok)
	require.Equal(t, map[string]any{"outputs": "a", "score": int64(1)}, r.Data)
	r.Data, r.Tags, r.References = map[string]any{"outputs": "b"}, nil, nil
	r.Write(simple.Annotation, &s)
	want := map[string]any{
		"gen_ai": map[string]any{"system": "x"},
		"ag": map[string]any{
			"type": map[string]any{"trace": "annotation"}, "metrics": map[string]any{"duration": map[string]any{"cumulative": 3.5}},
			"flags": map[string]any{"is_evaluator": true, "is_custom": true}, "selector": map[string]any{"key": "k"},
			"data": map[string]any{"outputs": "b"}, "unsupported": map[string]any{"foo": "bar"},
		},
	}
	require.Empty(t, cmp.Diff(want, s.Attributes))
	require.Equal(t, []trace.Link{{TraceID: trace.TraceID{9}}}, s.Links)
}

func TestSpansThatAreNoRecords(t *testing.T) {
	t.Parallel()
	for _, attributes := range []map[string]any{nil, {}, {"ag": "x"}, {"ag": map[string]any{"data": map[string]any{}}}, {"ag": map[string]any{"data": "text"}}} {
		_, ok := simple.Read(simple.Trace, &trace.Span{Attributes: attributes})
		require.False(t, ok)
	}
}

// No link hides another, whatever the producer called them.
func TestLinksAreAllNamed(t *testing.T) {
	t.Parallel()
	key := map[string]any{"key": "key"}
	s := trace.Span{
		Attributes: map[string]any{"ag": map[string]any{"data": map[string]any{"outputs": "a"}}},
		Links:      []trace.Link{{TraceID: trace.TraceID{1}, Attributes: key}, {TraceID: trace.TraceID{2}, Attributes: key}, {TraceID: trace.TraceID{3}}, {TraceID: trace.TraceID{4}, Attributes: map[string]any{"a": "b"}}},
	}
	r, ok := simple.Read(simple.Trace, &s)
	require.True(t, ok)
	var names []string
	for _, l := range r.Links {
		names = append(names, l.Name)
	}
	require.Equal(t, []string{"key", "key_2", "link", "link_2"}, names)
}

func TestJSON(t *testing.T) {
	t.Parallel()
	r := record()
	r.CreatedAt, r.CreatedBy = time.Unix(0, 1000).UTC(), uuid.UUID{7}
	require.JSONEq(t, `{"trace_id":"01000000000000000000000000000000","span_id":"0200000000000000","created_at":"1970-01-01T00:00:00.000001Z",
		"created_by_id":"07000000-0000-0000-0000-000000000000","origin":"human","kind":"eval","channel":"web","tags":{"k":"v"},"meta":{"n":1.5},
		"data":{"outputs":{"score":1}},"references":{"evaluator":{"slug":"quality"},"selector":{"slug":"s"}},
		"links":{"invocation":{"trace_id":"03000000000000000000000000000000","span_id":"0400000000000000"}}}`, string(r.AppendJSON(nil)))
	r.List = true
	require.Contains(t, string(r.AppendJSON(nil)), `"links":[{"trace_id":"03000000000000000000000000000000","span_id":"0400000000000000"}]}`)
	empty := simple.Record{List: true}
	require.JSONEq(t, `{"trace_id":"00000000000000000000000000000000","span_id":"0000000000000000","origin":"","kind":"","channel":"","data":{},"references":{},"links":{}}`, string(empty.AppendJSON(nil)))
	var v simple.RecordView
	require.NoError(t, json.Unmarshal([]byte(`{"origin":"human"}`), &v))
	require.Error(t, json.Unmarshal([]byte(`{"origin":"robot"}`), &v))
}

// A query finds exactly the records that read as it asks.
func TestQueriesFindWhatReadersSee(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	for range 3000 {
		s := trace.Span{TraceID: traceID, SpanID: spanID, Type: trace.Type(1 + rng.IntN(2)), Attributes: map[string]any{}}
		flags, ours := map[string]any{}, map[string]any{}
		for _, f := range []string{"is_feedback", "is_custom", "is_evaluation", "is_sdk", "is_web"} {
			if rng.IntN(3) == 0 {
				flags[f] = rng.IntN(4) > 0
			}
		}
		if rng.IntN(2) == 0 {
			ours["kind"], ours["channel"] = pick("play", "x"), pick("otlp", "x")
		}
		s.Attributes["colonnade"] = ours
		s.Attributes["ag"] = map[string]any{"flags": flags, "data": map[string]any{"outputs": "x"}}
		face := simple.Face(1 + rng.IntN(3))
		q := simple.Query{Origin: simple.Origin(pick("", "custom", "human", "auto")), Kind: simple.Kind(pick("", "adhoc", "eval", "play")), Channel: simple.Channel(pick("", "otlp", "web", "sdk", "api"))}
		r, ok := simple.Read(face, &s)
		require.True(t, ok)
		want := (q.Origin == "" || q.Origin == r.Origin) && (q.Kind == "" || q.Kind == r.Kind) && (q.Channel == "" || q.Channel == r.Channel) &&
			(face == simple.Trace || s.Type == face.Type())
		e, err := q.Filter(face)
		require.NoError(t, err)
		require.Equal(t, want, filter.Match(e, &s), "%+v %v %v", q, flags, ours)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	id := uuid.UUID{5}
	stored := record()
	stored.References["evaluator_revision"] = domain.Reference{ID: id, Slug: "r", Version: "3"}
	s := simple.New(simple.Trace, &stored, 1)
	s.References = []trace.Reference{{Key: "evaluator", Reference: domain.Reference{Slug: "quality"}}, {Key: "evaluator_revision", Reference: stored.References["evaluator_revision"]}}
	refs := func(key string, r domain.Reference) simple.Query {
		return simple.Query{References: map[string]domain.Reference{key: r}}
	}
	link := stored.Links[0]
	other := simple.Link{TraceID: trace.TraceID{8}}
	tests := []struct {
		name string
		q    simple.Query
		want bool
	}{
		{"all", simple.Query{}, true},
		{"a tag", simple.Query{Tags: map[string]any{"k": "v"}}, true},
		{"another tag", simple.Query{Tags: map[string]any{"k": "w"}}, false},
		{"meta", simple.Query{Meta: map[string]any{"n": 1.5}}, true},
		{"two metas", simple.Query{Meta: map[string]any{"n": 1.5, "m": "x"}}, false},
		{"by slug", refs("evaluator", domain.Reference{Slug: "quality"}), true},
		{"by slug, although the id is unknown", refs("evaluator", domain.Reference{ID: id, Slug: "quality"}), true},
		{"by id", refs("evaluator_revision", domain.Reference{ID: id}), true},
		{"by id and version", refs("evaluator_revision", domain.Reference{ID: id, Version: "3"}), true},
		{"by another version", refs("evaluator_revision", domain.Reference{ID: id, Version: "4"}), false},
		{"by another key", refs("application", domain.Reference{Slug: "quality"}), false},
		{"by selector", refs(simple.Selector, domain.Reference{Slug: "s"}), true},
		{"by another selector", refs(simple.Selector, domain.Reference{Slug: "t"}), false},
		{"by link", simple.Query{Links: []simple.Link{link}}, true},
		{"by trace of a link", simple.Query{Links: []simple.Link{{TraceID: link.TraceID}}}, true},
		{"by each link", simple.Query{Links: []simple.Link{link, other}}, false},
		{"by any link", simple.Query{Links: []simple.Link{link, other}, AnyLink: true}, true},
		{"by itself", simple.Query{Own: []simple.Link{{TraceID: traceID, SpanID: spanID}}}, true},
		{"by its trace", simple.Query{Own: []simple.Link{other, {TraceID: traceID}}}, true},
		{"by another span of its trace", simple.Query{Own: []simple.Link{{TraceID: traceID, SpanID: trace.SpanID{7}}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := tt.q.Filter(simple.Trace)
			require.NoError(t, err)
			require.Equal(t, tt.want, filter.Match(e, &s))
		})
	}
}
