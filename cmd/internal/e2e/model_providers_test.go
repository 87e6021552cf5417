//go:build embedded

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// stream calls over a real connection and gives the events of the reply.
func (s *service) stream(accept, path, body string) (*streamed, []map[string]any) {
	s.t.Helper()
	server := httptest.NewServer(s.Server.Handler())
	defer server.Close()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "ApiKey "+s.keys["ours owner"])
	r.Header.Set("Accept", accept)
	resp, err := server.Client().Do(r)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, resp.Body.Close()) }()
	var events []map[string]any
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := strings.TrimPrefix(lines.Text(), "data: ")
		if line == "" {
			continue
		}
		var event map[string]any
		require.NoError(s.t, json.Unmarshal([]byte(line), &event), line)
		events = append(events, event)
	}
	require.NoError(s.t, lines.Err())
	return &streamed{resp.StatusCode, resp.Header, resp.Trailer}, events
}

// streamed is what frames a stream that was read to its end.
type streamed struct {
	StatusCode      int
	Header, Trailer http.Header
}

const runCompletion = "/services/completion/v0/invoke"

// Contract §6: streams by Accept, and 406 for what there is not.
func TestInvokeStreams(t *testing.T) {
	t.Parallel()
	s := newService(t, newProvider(t).settings()...)
	for accept, media := range map[string]string{
		"text/event-stream": "text/event-stream", "application/x-ndjson": "application/x-ndjson", "application/jsonl": "application/jsonl",
		"text/html, text/event-stream;q=0.5": "text/event-stream",
	} {
		resp, events := s.with(t).stream(accept, runCompletion, prompted("gpt-4o-mini", ""))
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, media, resp.Header.Get("Content-Type"))
		require.Len(t, events, 4)
		for n, piece := range []string{"Pa", "r", "is"} {
			require.Equal(t, map[string]any{"delta": piece}, events[n])
		}
		last := events[3]
		require.Equal(t, "Paris", last["outputs"])
		require.Equal(t, resp.Header.Get("x-ag-trace-id"), last["trace_id"])
		token, _ := last["token"].(string)
		require.NotEmpty(t, token)
		require.NotEmpty(t, resp.Trailer.Get("Colonnade-Token"))
		token += "," + resp.Trailer.Get("Colonnade-Token")
		spans := s.traceBy(last["trace_id"].(string), token)
		require.Equal(t, "Paris", at(spans["completion"], "attributes", "ag", "data", "outputs"))
		require.InDelta(t, 15.0, at(spans["chat gpt-4o-mini"], "attributes", "ag", "metrics", "tokens", "incremental", "total"), 0)
	}

	_, events := s.stream("text/event-stream", runCompletion, prompted("tools", ""))
	require.Len(t, events, 3)
	call := map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "weather", "arguments": `{"city":"Paris"}`}}
	require.Equal(t, []any{call}, events[2]["outputs"])

	// The model's connection breaks off: the stream says so, and so does the trace.
	resp, events := s.stream("text/event-stream", runCompletion, prompted("cut", ""))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, map[string]any{"delta": "Pa"}, events[0])
	last := events[len(events)-1]
	require.InDelta(t, 500.0, at(last, "status", "code"), 0)
	require.Contains(t, at(last, "status", "type"), "#v0:workflows:prompt-completion-error")
	spans := s.traceBy(last["trace_id"].(string), last["token"].(string))
	require.Equal(t, "STATUS_CODE_ERROR", at(spans["completion"], "status_code"))
	require.Equal(t, "STATUS_CODE_ERROR", at(spans["chat cut"], "status_code"))
	require.Equal(t, "Pa", at(spans["chat cut"], "attributes", "ag", "data", "outputs", "completion").([]any)[0].(map[string]any)["content"])

	// What fails before the first piece is an error like any other.
	resp, events = s.stream("text/event-stream", runCompletion, prompted("limited", ""))
	require.Equal(t, http.StatusFailedDependency, resp.StatusCode)
	require.InDelta(t, 424.0, at(events[0], "status", "code"), 0)

	refused := s.as("ours owner", http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""), "Accept", "text/html")
	require.Equal(t, http.StatusNotAcceptable, refused.Code)
	require.Equal(t, "text/html", refused.at("requested"))
	require.Contains(t, refused.at("supported"), "text/event-stream")
	require.NotEmpty(t, refused.at("detail"))
	require.Equal(t, "STATUS_CODE_ERROR", at(s.traceOf(refused)["completion"], "status_code"))
}

// Contract §6: what a provider refuses is a 424 in its words, other failures of
// models are a 500, mistakes of the request a 400; all leave a trace.
func TestInvokeFailures(t *testing.T) {
	t.Parallel()
	s := newService(t, append(newProvider(t).settings(), "COLONNADE_INVOKE_MODELS_PROVIDERS=openai=https://example.invalid/v1,nokey=https://example.invalid/v1")...)
	prompt := func(more string) string {
		return `{"data":{"inputs":{"country":"France"},"parameters":{"prompt":{"messages":[{"role":"user","content":"{{country}}"}],"llm_config":{"model":"gpt-4o-mini"}` + more + `}}}}`
	}
	for name, tt := range map[string]struct {
		body          string
		code          int
		problem, says string
	}{
		"denied":     {prompted("denied", ""), 424, "v0:workflows:prompt-completion-error", "Incorrect API key provided: ***"},
		"forbidden":  {prompted("forbidden", ""), 424, "v0:workflows:prompt-completion-error", "Your project may not use this model"},
		"limited":    {prompted("limited", ""), 424, "v0:workflows:prompt-completion-error", "Rate limit reached for requests"},
		"broken":     {prompted("broken", ""), 500, "v0:workflows:prompt-completion-error", "The server had an error"},
		"long":       {prompted("long", ""), 500, "v0:workflows:prompt-completion-error", "maximum context length"},
		"no prompt":  {`{"data":{"parameters":{}}}`, 400, "v0:schemas:missing-parameter", "prompt"},
		"no model":   {`{"data":{"parameters":{"prompt":{"messages":[],"llm_config":{}}}}}`, 400, "v0:schemas:missing-parameter", "model"},
		"no key":     {prompted("nokey/model", ""), 400, "v0:schemas:invalid-secrets", "NOKEY_API_KEY"},
		"input keys": {prompt(`,"input_keys":["country","city"]`), 400, "v0:schemas:invalid-inputs", "city"},
		"format":     {prompt(`,"template_format":"perl"`), 400, "v0:schemas:invalid-parameter", "perl"},
		"unreplaced": {strings.Replace(prompt(""), "{{country}}", "{{planet}}", 1), 400, "v0:workflows:prompt-formatting-error", "Unreplaced variables in curly template: ['planet']"},
		"references": {`{"references":{"application":{"slug":"nothing"}}}`, 404, "v1:sdk:unknown-workflow-invoke-error", "no application revision"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			got := s.do(http.MethodPost, runCompletion, tt.body)
			require.Equal(t, tt.code, got.Code, got.Text)
			require.EqualValues(t, tt.code, got.at("status", "code"))
			require.Equal(t, "https://agenta.ai/docs/misc/errors#"+tt.problem, got.at("status", "type"))
			require.Contains(t, got.at("status", "message"), tt.says)
			require.NotContains(t, got.Text, "sk-environment")
			root := s.traceOf(got)["root"]
			require.Equal(t, "STATUS_CODE_ERROR", at(root, "status_code"))
			require.Equal(t, got.at("status", "message"), at(root, "attributes", "ag", "exception", "message"))
			require.Equal(t, tt.problem, at(root, "attributes", "ag", "exception", "type"))
		})
	}
	require.Equal(t, "7", s.do(http.MethodPost, runCompletion, prompted("limited", "")).Header.Get("Retry-After"))
	require.Equal(t, http.StatusNotFound, s.do(http.MethodPost, "/services/nothing/v0/invoke", `{}`).Code)
	require.Equal(t, http.StatusBadRequest, s.do(http.MethodPost, "/services/invoke", `{}`).Code)
	require.Equal(t, http.StatusBadRequest, s.do(http.MethodPost, runCompletion, `{"unknown":1}`).Code, "an unknown member is ignored, and nothing says what to run")
	require.Equal(t, http.StatusUnprocessableEntity, s.do(http.MethodPost, runCompletion, `{"session_id":"a b"}`).Code)
	require.Equal(t, http.StatusForbidden, s.as("ours viewer", http.MethodPost, runCompletion, `{}`).Code)
}

// Tools, response format, other models, retries: what a prompt may ask for.
func TestInvokePrompts(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, p.settings()...)
	tools := `[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]`

	got := s.ok(http.StatusOK, http.MethodPost, runCompletion, strings.Replace(prompted("tools", ""), `"llm_config":{`, `"llm_config":{"tools":`+tools+`,"tool_choice":"auto","response_format":{"type":"json_object"},`, 1))
	require.Equal(t, "weather", at(got.at("outputs").([]any)[0], "function", "name"))
	asked := p.requests()
	sent := asked[len(asked)-1]
	require.JSONEq(t, tools, asJSON(t, sent["tools"]))
	require.Equal(t, "auto", sent["tool_choice"])
	require.Equal(t, map[string]any{"type": "json_object"}, sent["response_format"])

	// The first model is limited, the second denied, the third answers.
	got = s.ok(http.StatusOK, http.MethodPost, runCompletion, prompted("limited", `,"fallback_configs":[{"model":"denied"},{"model":"gpt-4o-mini"}]`))
	require.Equal(t, "Paris", got.at("outputs"))
	spans := s.traceOf(got)
	require.Equal(t, "STATUS_CODE_ERROR", at(spans["chat limited"], "status_code"))
	require.Equal(t, "STATUS_CODE_ERROR", at(spans["chat denied"], "status_code"))
	require.Equal(t, "STATUS_CODE_OK", at(spans["completion"], "status_code"))

	before := len(p.requests())
	s.ok(http.StatusInternalServerError, http.MethodPost, runCompletion, prompted("broken", `,"retry_policy":"availability","retry_config":{"max_retries":2,"base_delay":1}`))
	require.Len(t, p.requests(), before+3)

	chat := `{"data":{"inputs":{"context":"maps","messages":[{"role":"user","content":"Capital of {{France}}?"}]},"parameters":{"prompt":{"messages":[{"role":"system","content":"Use {{context}}"}],"llm_config":{"model":"gpt-4o-mini"}}}}}`
	got = s.ok(http.StatusOK, http.MethodPost, "/services/chat/v0/invoke", chat)
	require.Equal(t, map[string]any{"role": "assistant", "content": "Paris"}, got.at("outputs"))
	asked = p.requests()
	require.Empty(t, cmp.Diff([]any{map[string]any{"role": "system", "content": "Use maps"}, map[string]any{"role": "user", "content": "Capital of {{France}}?"}}, asked[len(asked)-1]["messages"]))

	got = s.ok(http.StatusOK, http.MethodPost, "/services/llm/v0/invoke", `{"data":{"inputs":{"q":"?"},"outputs":"x","parameters":{"llms":[{"model":"limited"},{"model":"number"}],"messages":[{"role":"user","content":"{{q}} {{outputs}}"}],"response":{"format":"json"}}}}`)
	require.InDelta(t, 0.75, got.at("outputs"), 0)
	judge := `{"data":{"inputs":{"correct_answer":"Paris"},"outputs":"Lyon","parameters":{"prompt_template":[{"role":"user","content":"{{outputs}} or {{correct_answer}}?"}],"model":"number","response_type":"text","correct_answer_key":"correct_answer"}}}`
	got = s.ok(http.StatusOK, http.MethodPost, "/services/auto_ai_critique/v0/invoke", judge)
	require.Equal(t, map[string]any{"score": 0.75, "success": true}, got.at("outputs"))
	asked = p.requests()
	require.Contains(t, asJSON(t, asked[len(asked)-1]), "Lyon or Paris?")
	got = s.ok(http.StatusOK, http.MethodPost, "/services/auto_semantic_similarity/v0/invoke", `{"data":{"inputs":{"correct_answer":"aab"},"outputs":"aabaab"}}`)
	require.InDelta(t, 1.0, got.at("outputs", "score"), 1e-9)
	require.Equal(t, "embedding", at(s.traceOf(got)["embeddings text-embedding-3-small"], "span_type"))
	got = s.ok(http.StatusOK, http.MethodPost, "/services/match/v0/invoke",
		`{"data":{"outputs":{"text":"aabaab"},"parameters":{"matchers":[{"key":"near","target":"outputs.text","match":"similarity","similarity":"cosine","reference":"aab"}]}}}`)
	require.InDelta(t, 1.0, got.at("outputs", "near", "score"), 1e-9)
}

// The caller's trace continues, and a session goes on.
func TestInvokeContinuesTraceAndSession(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, p.settings()...)
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	got := s.as("ours owner", http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""), "traceparent", "00-"+id+"-"+parent+"-01", "x-ag-session-id", "visit:1")
	require.Equal(t, http.StatusOK, got.Code, got.Text)
	require.Equal(t, id, got.at("trace_id"))
	require.Equal(t, "visit:1", got.at("session_id"))
	require.Equal(t, "00-"+id+"-"+got.at("span_id").(string)+"-01", got.Header.Get("traceparent"))
	root := s.traceOf(got)["completion"]
	require.Equal(t, parent, at(root, "parent_id"))
	require.Equal(t, "visit:1", at(root, "attributes", "ag", "session", "id"))

	// Links make an annotation.
	linked := s.ok(http.StatusOK, http.MethodPost, "/services/auto_exact_match/v0/invoke",
		`{"data":{"inputs":{"correct_answer":"Paris"},"outputs":"Paris","parameters":{"correct_answer_key":"correct_answer"}},"links":{"invocation":{"trace_id":"`+id+`","span_id":"`+got.at("span_id").(string)+`"}},"references":{"evaluator":{"slug":"exact"}}}`)
	require.Equal(t, true, linked.at("outputs", "success"))
	root = s.traceOf(linked)["exact"]
	require.Equal(t, "annotation", at(root, "trace_type"))
	require.Equal(t, id, at(root, "links").([]any)[0].(map[string]any)["trace_id"])

	seen := s.ok(http.StatusOK, http.MethodPost, "/services/completion/v0/inspect", `{"data":{"parameters":{"prompt":{}}}}`)
	require.Equal(t, "svc:builtin:completion:v0", seen.at("revision", "data", "uri"))
	require.NotEmpty(t, seen.at("revision", "data", "schemas", "outputs"))
	require.Equal(t, map[string]any{"prompt": map[string]any{}}, seen.at("revision", "data", "parameters"))
}

// A client that disconnects cancels the call of the model, and the trace records it. A project with too many calls gets 429.
func TestInvokeStopsAndBounds(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, append(p.settings(), "COLONNADE_INVOKE_SLOTS_COUNT=1", "COLONNADE_INVOKE_SLOTS_WAIT_TIMEOUT=50ms")...)
	server := httptest.NewServer(s.Server.Handler())
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1) // the one answer
	const id = "1af7651916cd43dd8448eb211c80319c"
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+runCompletion, strings.NewReader(prompted("slow", "")))
		if err == nil {
			r.Header.Set("Authorization", "ApiKey "+s.keys["ours owner"])
			r.Header.Set("Traceparent", "00-"+id+"-b7ad6b7169203331-01")
			var resp *http.Response
			if resp, err = server.Client().Do(r); err == nil {
				err = resp.Body.Close()
			}
		}
		left <- err
	}()
	<-p.slow
	refused := s.do(http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""))
	require.Equal(t, http.StatusTooManyRequests, refused.Code, refused.Text)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	<-p.gone
	require.Eventually(t, func() bool {
		got := s.do(http.MethodPost, "/spans/query", `{"filtering":{"conditions":[{"field":"trace_id","operator":"is","value":"`+id+`"}]}}`)
		return got.at("count") == 2.0
	}, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return s.do(http.MethodPost, runCompletion, prompted("gpt-4o-mini", "")).Code == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "the place is free again")
	root := s.traceBy(id, "")["root"]
	require.Equal(t, "STATUS_CODE_ERROR", at(root, "status_code"))
	require.Equal(t, "The caller left before the invocation was done.", at(root, "attributes", "ag", "exception", "message"))

	// A model that takes too long is given up.
	slow := newService(t, append(p.settings(), "COLONNADE_INVOKE_MODELS_TIMEOUT=50ms")...)
	got := slow.do(http.MethodPost, runCompletion, prompted("slow", ""))
	require.Equal(t, http.StatusInternalServerError, got.Code, got.Text)
	require.Contains(t, got.at("status", "message"), "took too long")
}

// A project's own key goes before that of the deployment. Developers list it with an API key,
// so that applications elsewhere call the models with it.
func TestSecretsOfProjects(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := newService(t, append(p.settings(), "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32), "COLONNADE_SECRETS_CACHE_TTL=0s")...)
	s.ok(http.StatusOK, http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""))
	require.Equal(t, "sk-environment", p.lastKey())
	stored := s.ok(http.StatusOK, http.MethodPut, "/secrets/openai", `{"secret":{"value":"sk-project","description":"ours"}}`)
	require.Equal(t, "openai", stored.at("secret", "name"))
	s.ok(http.StatusOK, http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""))
	require.Equal(t, "sk-project", p.lastKey())
	got := s.ok(http.StatusOK, http.MethodPost, runCompletion, strings.Replace(prompted("gpt-4o-mini", ""), `{"data"`, `{"secrets":{"openai":"sk-request"},"data"`, 1))
	require.Equal(t, "sk-request", p.lastKey())
	require.NotContains(t, asJSON(t, s.traceOf(got)), "sk-request")

	listed := s.ok(http.StatusOK, http.MethodGet, "/secrets/", "")
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(listed.Text), &list), "a bare list: %s", listed.Text)
	require.Len(t, list, 1)
	require.Equal(t, "provider_key", list[0]["kind"])
	require.Equal(t, map[string]any{"kind": "openai", "provider": map[string]any{"key": "sk-project"}}, list[0]["data"])
	require.NotContains(t, stored.Text, "sk-project")
	require.Equal(t, http.StatusForbidden, s.as("ours annotator", http.MethodGet, "/secrets/", "").Code)
	var encrypted []byte
	require.NoError(t, s.Stores.Postgres.QueryRow(t.Context(), `SELECT encrypted FROM secrets`).Scan(&encrypted))
	require.NotContains(t, string(encrypted), "sk-project")
	require.JSONEq(t, "[]", s.as("theirs owner", http.MethodGet, "/secrets/", "").Text)
	require.Equal(t, http.StatusForbidden, s.as("ours annotator", http.MethodPut, "/secrets/openai", `{"secret":{"value":"x"}}`).Code)
	bad := s.do(http.MethodPut, "/secrets/openai", `{"secret":{"value":"sk-project","oops":"sk-project"}}`)
	require.Equal(t, http.StatusUnprocessableEntity, bad.Code)
	require.NotContains(t, bad.Text, "sk-project")
	require.InDelta(t, 1.0, s.ok(http.StatusOK, http.MethodDelete, "/secrets/openai", "").at("count"), 0)
	s.ok(http.StatusOK, http.MethodPost, runCompletion, prompted("gpt-4o-mini", ""))
	require.Equal(t, "sk-environment", p.lastKey())
}

// The secrets of a project in the form of the reference's clients: by id, with a kind and data.
func TestSecretsInTheFormOfTheReference(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	for _, action := range []string{"view_secret", "view_secrets", "edit_secret"} {
		s.ok(http.StatusOK, http.MethodGet, "/access/permissions/check?action="+action+"&resource_type=local_secrets", "")
	}
	made := s.ok(http.StatusOK, http.MethodPost, "/secrets/", `{"header":{"name":"Our key"},"secret":{"kind":"provider_key","data":{"kind":"groq","provider":{"key":"gsk-1"}}}}`)
	require.NotContains(t, made.Text, "gsk-1")
	require.Equal(t, "groq", made.at("slug"))
	id, _ := made.at("id").(string)
	for _, named := range []string{id, "groq"} {
		got := s.ok(http.StatusOK, http.MethodGet, "/secrets/"+named, "")
		require.Equal(t, id, got.at("id"))
		require.Equal(t, "gsk-1", got.at("data", "provider", "key"))
		require.Equal(t, "Our key", got.at("header", "description"))
		require.NotNil(t, got.at("lifecycle", "created_at"))
	}
	require.Equal(t, http.StatusNotFound, s.as("theirs owner", http.MethodGet, "/secrets/"+id, "").Code)
	s.ok(http.StatusOK, http.MethodPut, "/secrets/"+id, `{"secret":{"kind":"provider_key","data":{"kind":"groq","provider":{"key":"gsk-2"}}}}`)
	require.Equal(t, "gsk-2", s.ok(http.StatusOK, http.MethodGet, "/secrets/groq", "").at("data", "provider", "key"))
	s.ok(http.StatusBadRequest, http.MethodPut, "/secrets/"+id, `{"secret":{"kind":"provider_key","data":{"kind":"openai","provider":{"key":"x"}}}}`)

	s.ok(http.StatusOK, http.MethodPut, "/secrets/hook", `{"secret":{"value":"signs"}}`)
	s.ok(http.StatusOK, http.MethodPost, "/secrets/", `{"header":{"name":"token-of-a-header"},"secret":{"kind":"custom_secret","data":{"secret":{"format":"text","content":"hidden-text"}}}}`)
	listed := s.ok(http.StatusOK, http.MethodGet, "/secrets/", "").Text
	require.NotContains(t, listed, "signs")
	require.NotContains(t, listed, "hidden-text")
	require.Contains(t, listed, `"kind":"webhook_provider"`)
	require.Contains(t, listed, `"kind":"custom_secret"`)
	refused := s.ok(http.StatusBadRequest, http.MethodPost, "/secrets/", `{"header":{"name":"x"},"secret":{"kind":"custom_provider","data":{"kind":"azure","provider":{"url":"https://a.b"},"models":[]}}}`)
	require.Contains(t, refused.Text, "custom_provider")
	s.ok(http.StatusUnprocessableEntity, http.MethodPost, "/secrets/", `{"header":{"name":"x"},"secret":{"kind":"provider_key","data":{"kind":"openai"}}}`)

	require.InDelta(t, 1, s.ok(http.StatusOK, http.MethodDelete, "/secrets/"+id, "").at("count"), 0)
	s.ok(http.StatusNotFound, http.MethodGet, "/secrets/"+id, "")
}
