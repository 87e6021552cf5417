//go:build embedded

package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// The whole way of interface.md §1: create from a template, commit, deploy,
// retrieve by environment, invoke at data.url, and find the trace by the
// reply's token, with references to exactly what ran.
func TestApplicationFromTemplateToTrace(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, append(p.settings(), "COLONNADE_PUBLIC_URL=http://colonnade.test")...)
	const jsonType = "application/json"

	template := s.ok(http.StatusOK, http.MethodGet, "/applications/catalog/templates/completion", "")
	uri, _ := template.at("template", "data", "uri").(string)
	made := s.ok(http.StatusOK, http.MethodPost, "/simple/applications/",
		`{"application":{"slug":"capitals","name":"Capitals","flags":{"is_application":true},"data":{"uri":"`+uri+`","parameters":{"prompt":{"messages":[{"role":"user","content":"?"}],"llm_config":{"model":"gpt-4o-mini"}}}}}}`)
	variant, _ := made.at("application", "variant_id").(string)
	committed := s.ok(http.StatusOK, http.MethodPost, "/applications/revisions/commit", `{"application_revision_commit":{"application_variant_id":"`+variant+`","message":"ask",
		"data":{"uri":"`+uri+`","parameters":{"prompt":{"messages":[{"role":"system","content":"You are an expert in geography"},{"role":"user","content":"What is the capital of {{country}}?"}],
		"template_format":"mustache","llm_config":{"model":"gpt-4o-mini","temperature":0.5}}}}}}`)
	revision := committed.at("application_revision", "id")
	s.ok(http.StatusOK, http.MethodPost, "/simple/environments/", `{"environment":{"slug":"production"}}`)
	s.ok(http.StatusOK, http.MethodPost, "/applications/revisions/deploy", `{"application_variant_ref":{"id":"`+variant+`"},"environment_ref":{"slug":"production"}}`)
	retrieved := s.ok(http.StatusOK, http.MethodPost, "/applications/revisions/retrieve", `{"environment_ref":{"slug":"production"},"key":"capitals.revision"}`)
	require.Equal(t, revision, retrieved.at("application_revision", "id"))
	address, _ := retrieved.at("application_revision", "data", "url").(string)
	path, ok := strings.CutPrefix(address, "http://colonnade.test")
	require.True(t, ok, address)

	// Resolution by references: the request brings no parameters.
	invoked := s.ok(http.StatusOK, http.MethodPost, path+"/invoke",
		`{"data":{"inputs":{"country":"France"}},"references":{"application":{"slug":"capitals"},"environment":{"slug":"production"}},"tags":{"team":"maps"}}`)
	require.Contains(t, invoked.Header.Get("Content-Type"), jsonType)
	require.Equal(t, "Paris", invoked.at("outputs"))
	require.Equal(t, "Paris", invoked.at("data", "outputs"))
	require.Equal(t, map[string]any{"code": 200.0, "message": "Success"}, invoked.at("status"))
	require.Regexp(t, "^[0-9a-f]{32}$", invoked.at("trace_id"))
	require.Regexp(t, "^[0-9a-f]{16}$", invoked.at("span_id"))
	require.Regexp(t, "^[0-9a-f]{32}$", invoked.at("session_id"))
	require.Equal(t, invoked.at("trace_id"), invoked.Header.Get("x-ag-trace-id"))
	require.Contains(t, invoked.Header.Get("traceparent"), invoked.at("trace_id"))

	asked := p.requests()
	require.Len(t, asked, 1)
	require.Empty(t, cmp.Diff(map[string]any{"model": "gpt-4o-mini", "temperature": 0.5, "messages": []any{
		map[string]any{"role": "system", "content": "You are an expert in geography"},
		map[string]any{"role": "user", "content": "What is the capital of France?"},
	}}, asked[0]))

	spans := s.traceOf(invoked)
	root := spans["capitals"]
	require.NotNil(t, root)
	require.Equal(t, "workflow", at(root, "span_type"))
	require.Equal(t, "invocation", at(root, "trace_type"))
	require.Equal(t, "STATUS_CODE_OK", at(root, "status_code"))
	require.Equal(t, invoked.at("session_id"), at(root, "session_id"))
	ag := at(root, "attributes", "ag")
	require.Equal(t, map[string]any{"country": "France"}, at(ag, "data", "inputs"))
	require.Equal(t, "Paris", at(ag, "data", "outputs"))
	require.InDelta(t, 0.5, at(ag, "data", "parameters", "prompt", "llm_config", "temperature"), 0)
	require.Equal(t, map[string]any{"team": "maps"}, at(ag, "tags"))
	require.Equal(t, revision, at(ag, "references", "application_revision", "id"))
	require.Equal(t, committed.at("application_revision", "version"), at(ag, "references", "application_revision", "version"))
	require.Equal(t, variant, at(ag, "references", "application_variant", "id"))
	require.Equal(t, "capitals", at(ag, "references", "application", "slug"))
	require.Equal(t, "production", at(ag, "references", "environment", "slug"))
	require.NotEmpty(t, at(ag, "references", "environment_revision", "id"))

	child := spans["chat gpt-4o-mini"]
	require.NotNil(t, child)
	require.Equal(t, invoked.at("span_id"), at(child, "parent_id"))
	require.Equal(t, "chat", at(child, "span_type"))
	require.Equal(t, "gpt-4o-mini", at(child, "attributes", "gen_ai", "request", "model"))
	require.Equal(t, map[string]any{"prompt": 10.0, "completion": 5.0, "total": 15.0, "cache_read": 4.0}, at(child, "attributes", "ag", "metrics", "tokens", "incremental"))
	require.Positive(t, at(child, "attributes", "ag", "metrics", "costs", "incremental", "total"))
	require.Equal(t, "Paris", at(child, "attributes", "ag", "data", "outputs", "completion").([]any)[0].(map[string]any)["content"])
	require.NotNil(t, at(root, "attributes", "ag", "metrics"))

	// The same with the parameters that were retrieved, as interface.md §4.4 has it.
	again := s.ok(http.StatusOK, http.MethodPost, "/services/invoke", `{"data":{"inputs":{"country":"France"},"parameters":`+
		asJSON(t, retrieved.at("application_revision", "data", "parameters"))+`},"references":{"application_revision":{"id":"`+revision.(string)+`"}}}`)
	require.Equal(t, "capitals", at(s.traceOf(again)["capitals"], "attributes", "ag", "references", "application", "slug"))
}
