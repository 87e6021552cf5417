package normalize_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"colonnade/domain/trace"
)

// agOf is the ag of a span fitted from attributes, less its metrics.
func agOf(t *testing.T, attributes ...attribute) object {
	t.Helper()
	ag, _ := fitOne(t, newSpan(attributes...)).Attributes["ag"].(object)
	delete(ag, "metrics")
	return ag
}

// TestUnsupported is the table of contract §1.5, row by row.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	const uuid = "01890a5d-ac96-774b-bcce-b302099a8057"
	tests := []struct {
		name string
		in   []attribute
		want object // ag less metrics and an empty type
	}{
		{
			"unknown members",
			[]attribute{{"ag.foo.bar", 1}, {"ag.node.name", "n"}, {"ag.agent.id", "a"}},
			object{"unsupported": object{"foo": object{"bar": int64(1)}, "node": object{"name": "n"}, "agent": object{"id": "a"}}},
		},
		{
			"unknown data",
			[]attribute{{"ag.data.weird", "z"}, {"ag.data.multimedia.image.url", "u"}},
			object{"data": object{}, "unsupported": object{"data": object{"weird": "z", "multimedia": object{"image": object{"url": "u"}}}}},
		},
		{
			"documents that are no objects",
			[]attribute{{"ag.data.inputs", "x"}, {"ag.data.parameters", "@ag.type=json:[1,2]"}, {"ag.data.internals", 7}},
			object{"data": object{}, "unsupported": object{"data": object{"inputs": "x", "parameters": []any{int64(1), int64(2)}, "internals": int64(7)}}},
		},
		{
			"a document as JSON text",
			[]attribute{{"ag.data.inputs", ` {"a":[1.5,{"b":null}]}`}},
			object{"data": object{"inputs": object{"a": []any{1.5, object{"b": nil}}}}},
		},
		{"outputs of any kind", []attribute{{"ag.data.outputs", "@ag.type=json:[1]"}}, object{"data": object{"outputs": []any{int64(1)}}}},
		{"a default output is unwrapped", []attribute{{"ag.data.outputs", `@ag.type=json:{"__default__":"x"}`}}, object{"data": object{"outputs": "x"}}},
		{"data that is no object", []attribute{{"ag.data", "x"}}, object{"unsupported": object{"data": "x"}}},
		{"a null is nothing", []attribute{{"ag.data.inputs", "@ag.type=none:"}, {"ag.flags", "@ag.type=none:"}}, object{"data": object{}}},
		{"a float tag parks all tags", []attribute{{"ag.tags.a", "x"}, {"ag.tags.b", 1.5}}, object{"unsupported": object{"tags": object{"a": "x", "b": 1.5}}}},
		{"nested labels", []attribute{{"ag.flags.a.b", true}, {"ag.flags.c", 2}}, object{"flags": object{"a": object{"b": true}, "c": int64(2)}}},
		{"a list is no label", []attribute{{"ag.flags.a.0", true}}, object{"unsupported": object{"flags": object{"a": []any{true}}}}},
		{"meta that is no object", []attribute{{"ag.meta", 1}}, object{"unsupported": object{"meta": int64(1)}}},
		{"exception that is no object", []attribute{{"ag.exception", "boom"}}, object{"unsupported": object{"exception": "boom"}}},
		{"exception", []attribute{{"ag.exception.type", "E"}}, object{"exception": object{"type": "E"}}},
		{"selector", []attribute{{"ag.selector.key", "k"}}, object{"selector": object{"key": "k"}}},
		{"a selector of other things", []attribute{{"ag.selector.key", 1}}, object{"unsupported": object{"selector": object{"key": int64(1)}}}},
		{"a session id that is no string", []attribute{{"ag.session.id", 7}, {"ag.user.id", "u"}}, object{"user": object{"id": "u"}, "unsupported": object{"session": object{"id": int64(7)}}}},
		{"more about a user", []attribute{{"ag.user.id", "u"}, {"ag.user.name", "n"}}, object{"user": object{"id": "u"}, "unsupported": object{"user": object{"name": "n"}}}},
		{"a session that is no object", []attribute{{"ag.session", "s"}}, object{"unsupported": object{"session": "s"}}},
		{
			"a reference id that is no UUID parks all references",
			[]attribute{{"ag.refs.application.id", "x"}, {"ag.refs.workflow.slug", "w"}},
			object{"unsupported": object{"references": object{"application": object{"id": "x"}, "workflow": object{"slug": "w"}}}},
		},
		{
			"so does a version that is a number",
			[]attribute{{"ag.references.application_revision.version", 3}},
			object{"unsupported": object{"references": object{"application_revision": object{"version": int64(3)}}}},
		},
		{"and a reference that is no object", []attribute{{"ag.references.application", "x"}}, object{"unsupported": object{"references": object{"application": "x"}}}},
		{
			"an unknown reference is parked alone",
			[]attribute{{"ag.references.planet.slug", "mars"}, {"ag.references.application.id", "01890A5DAC96774BBCCEB302099A8057"}},
			object{"references": object{"application": object{"id": uuid}}, "unsupported": object{"references": object{"planet": object{"slug": "mars"}}}},
		},
		{
			"and so is a slug that is none",
			[]attribute{{"ag.references.application.slug", "not a slug"}, {"ag.references.application.version", "1"}},
			object{"references": object{"application": object{"version": "1"}}, "unsupported": object{"references": object{"application": object{"slug": "not a slug"}}}},
		},
		{
			"outdated reference keys",
			[]attribute{{"ag.refs.variant.id", uuid}, {"ag.refs.environment.version", "2"}, {"ag.refs.environment.slug", "prod"}},
			object{"references": object{"application_variant": object{"id": uuid}, "environment_revision": object{"version": "2"}, "environment": object{"slug": "prod"}}},
		},
		{
			"a reference under both names",
			[]attribute{{"ag.references.application.slug", "a"}, {"ag.refs.application.slug", "b"}},
			object{"references": object{"application": object{"slug": "b"}}, "unsupported": object{"ag.refs.application.slug": "a"}},
		},
		{
			"the same in an object",
			[]attribute{{"ag", object{"references": object{"application": object{"slug": "a"}}, "refs": object{"application": object{"slug": "b"}, "variant": object{"version": "1"}}}}},
			object{"references": object{"application": object{"slug": "a"}, "application_revision": object{"version": "1"}}, "unsupported": object{"refs": object{"application": object{"slug": "b"}}}},
		},
		{
			"unknown types",
			[]attribute{{"ag.type.node", "magic"}, {"ag.type.trace", "x"}, {"ag.type.tree", "y"}},
			object{"unsupported": object{"type": object{"node": "magic", "trace": "x", "tree": "y"}}},
		},
		{"node wins over span", []attribute{{"ag.type.span", "tool"}, {"ag.type.node", "CHAT"}}, object{"type": object{"span": "chat"}}},
		{"unless node is unknown", []attribute{{"ag.type.span", "tool"}, {"ag.type.node", "magic"}}, object{"type": object{"span": "tool"}, "unsupported": object{"type": object{"node": "magic"}}}},
		{"an unknown trace type is to be inferred", []attribute{{"ag.type.trace", "unknown"}}, object{}},
		{"ag that is no object", []attribute{{"ag", "x"}, {"ag.data.outputs", 1}}, object{"data": object{"outputs": int64(1)}, "unsupported": object{"_invalid": "x"}}},
		{"unsupported that is no object", []attribute{{"ag.unsupported", "x"}}, object{"unsupported": object{"_unsupported": "x"}}},
		{
			"unsupported of an earlier fit",
			[]attribute{{"ag.unsupported.foo.a", 1}, {"ag.foo.b", 2}, {"ag.foo.a", 3}},
			object{"unsupported": object{"foo": object{"a": int64(1), "a_": int64(3), "b": int64(2)}}},
		},
		{"configuration becomes parameters", []attribute{{"ag.meta.configuration.model", "m"}}, object{"data": object{"parameters": object{"model": "m"}}}},
		{
			"unless there are some",
			[]attribute{{"ag.meta.configuration.model", "m"}, {"ag.meta.x", 1}, {"ag.data.parameters.a", 1}},
			object{"data": object{"parameters": object{"a": int64(1)}}, "meta": object{"x": int64(1)}, "unsupported": object{"meta": object{"configuration": object{"model": "m"}}}},
		},
		{"text that only looks like a literal", []attribute{{"ag.data.outputs", "@ag.type=json:{oops"}}, object{"data": object{"outputs": "@ag.type=json:{oops"}}},
		{"a literal within a literal", []attribute{{"ag.data.outputs", `@ag.type=json:"@ag.type=json:1"`}}, object{"data": object{"outputs": int64(1)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := agOf(t, tt.in...)
			if types, _ := got["type"].(object); len(types) == 0 {
				delete(got, "type")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ag (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	duration := object{"cumulative": 1500.0}
	tests := []struct {
		name              string
		in                []attribute
		metrics, unfitted object
	}{
		{"unknown names", []attribute{{"ag.metrics.foo.bar", 1}}, object{}, object{"foo": object{"bar": int64(1)}}},
		{"unknown views", []attribute{{"ag.metrics.tokens.weekly", 1}}, object{}, object{"tokens": object{"weekly": int64(1)}}},
		{"a vector that is a number", []attribute{{"ag.metrics.tokens.incremental", 1}}, object{}, object{"tokens": object{"incremental": int64(1)}}},
		{
			"a number that is none",
			[]attribute{{"ag.metrics.costs.incremental.total", "1"}, {"ag.metrics.costs.incremental.prompt", 2}},
			object{"costs": object{"incremental": object{"prompt": int64(2)}}},
			object{"costs": object{"incremental": object{"total": "1"}}},
		},
		{"a metric that is no object", []attribute{{"ag.metrics.errors", 3}}, object{}, object{"errors": int64(3)}},
		{"duration as an object", []attribute{{"ag.metrics.errors.incremental.total", 3}}, object{"errors": object{"incremental": int64(3)}}, nil},
		{"or as a count", []attribute{{"ag.metrics.errors.incremental.count", 3}}, object{"errors": object{"incremental": int64(3)}}, nil},
		{
			"or as a value, with more beside it",
			[]attribute{{"ag.metrics.errors.incremental.value", 3}, {"ag.metrics.errors.incremental.x", 1}},
			object{"errors": object{"incremental": int64(3)}},
			object{"errors": object{"incremental": object{"x": int64(1)}}},
		},
		{
			"the client's own duration",
			[]attribute{{"ag.metrics.acc.duration.total", 9}, {"ag.metrics.unit.tokens.total", 1}},
			object{"tokens": object{"incremental": object{"total": int64(1)}}},
			nil,
		},
		{
			"two names for one metric",
			[]attribute{{"ag.metrics.unit.tokens.total", 1}, {"ag.metrics.tokens.incremental.total", 2}, {"ag.metrics.unit.tokens.prompt", 3}},
			object{"tokens": object{"incremental": object{"total": int64(3), "prompt": int64(3)}}},
			nil,
		},
		{
			"two names in objects",
			[]attribute{{"ag", object{"metrics": object{"unit": object{"tokens": object{"total": 1, "prompt": 3}, "x": 4}, "acc": object{"costs": object{"total": 5}}, "tokens": object{"incremental": object{"total": 2}}}}}},
			object{"tokens": object{"incremental": object{"total": int64(3), "prompt": int64(3)}}, "costs": object{"cumulative": object{"total": int64(5)}}},
			object{"unit": object{"tokens": object{"total": int64(1)}, "x": int64(4)}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := object{"duration": duration, "errors": object{}, "tokens": object{}, "costs": object{}}
			maps.Copy(want, tt.metrics)
			ag, _ := fitOne(t, newSpan(tt.in...)).Attributes["ag"].(object)
			if diff := cmp.Diff(want, ag["metrics"]); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			unsupported, _ := ag["unsupported"].(object)
			unfitted, _ := unsupported["metrics"].(object)
			if diff := cmp.Diff(tt.unfitted, unfitted); diff != "" {
				t.Errorf("unsupported (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferenceList(t *testing.T) {
	t.Parallel()
	span := fitOne(t, newSpan(attribute{"ag.refs.variant.slug", "v"}, attribute{"ag.refs.application.slug", "a"}, attribute{"ag.refs.application.version", "3"}))
	got := make([]string, 0, len(span.References))
	for _, r := range span.References {
		got = append(got, r.Key+" "+r.Slug+" "+r.Version)
	}
	if diff := cmp.Diff([]string{"application a 3", "application_variant v "}, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// TestClientWins shows that translations give way to what the client sent itself.
func TestClientWins(t *testing.T) {
	t.Parallel()
	span := fitOne(t, newSpan(
		attribute{"gen_ai.operation.name", "chat"},
		attribute{"gen_ai.usage.input_tokens", 3},
		attribute{"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"theirs"}]}]`},
		attribute{"ag.type.span", "agent"},
		attribute{"ag.metrics.unit.tokens.prompt", 9},
		attribute{"ag.data.inputs", `@ag.type=json:{"question":"ours"}`},
	))
	ag, _ := span.Attributes["ag"].(object)
	want := object{
		"type": object{"span": "agent"},
		"data": object{"inputs": object{"question": "ours"}},
		"metrics": object{
			"duration": object{"cumulative": 1500.0}, "errors": object{}, "costs": object{},
			"tokens": object{"incremental": object{"prompt": int64(9), "total": int64(9)}},
		},
	}
	if diff := cmp.Diff(want, ag); diff != "" {
		t.Errorf("ag (-want +got):\n%s", diff)
	}
	if span.SpanType != trace.Agent {
		t.Errorf("span type %s", span.SpanType)
	}
}
