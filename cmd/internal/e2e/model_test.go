//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// provider is an OpenAI-compatible service of the test's own. What it does
// depends on the model that it is asked for.
type provider struct {
	t   testing.TB
	url string

	mu    sync.Mutex
	asked []map[string]any
	keys  []string
	// heads are the headers of the requests.
	heads []http.Header
	// slow gets a value when a request to the model "slow" has come in, gone when its client has left.
	slow, gone chan struct{}
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{t: t, slow: make(chan struct{}, 16), gone: make(chan struct{}, 16)} // as many as a test asks
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.url = server.URL + "/v1"
	return p
}

// settings make it the default provider.
func (p *provider) settings() []string {
	return []string{"OPENAI_BASE_URL=" + p.url, "OPENAI_API_KEY=sk-environment"}
}

func (p *provider) requests() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]map[string]any{}, p.asked...)
}

func (p *provider) lastKey() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.keys) == 0 {
		return ""
	}
	return p.keys[len(p.keys)-1]
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, body)
	p.keys = append(p.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	p.heads = append(p.heads, r.Header.Clone())
	p.mu.Unlock()
	model, _ := body["model"].(string)
	switch {
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		p.embeddings(w, body)
	case model == "denied":
		refuse(w, http.StatusUnauthorized, "Incorrect API key provided: "+p.lastKey())
	case model == "forbidden":
		refuse(w, http.StatusForbidden, "Your project may not use this model")
	case model == "limited":
		w.Header().Set("Retry-After", "7")
		refuse(w, http.StatusTooManyRequests, "Rate limit reached for requests")
	case model == "broken":
		refuse(w, http.StatusInternalServerError, "The server had an error")
	case model == "long":
		refuse(w, http.StatusBadRequest, "This model's maximum context length is 8 tokens")
	case model == "slow":
		p.slow <- struct{}{}
		<-r.Context().Done()
		p.gone <- struct{}{}
	case model == "cut":
		p.cut(w)
	case body["stream"] == true:
		p.stream(w, model)
	case model == "tools":
		_, _ = fmt.Fprint(w, completion(model, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}`, "tool_calls"))
	case model == "number":
		_, _ = fmt.Fprint(w, completion(model, `{"role":"assistant","content":"0.75","refusal":null}`, "stop"))
	default:
		_, _ = fmt.Fprint(w, completion(model, `{"role":"assistant","content":"Paris","refusal":null}`, "stop"))
	}
}

func refuse(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": words, "type": "t", "code": "c"}})
	_, _ = w.Write(text)
}

func completion(model, message, finish string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"` + model + `","choices":[{"index":0,"message":` + message +
		`,"finish_reason":"` + finish + `"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}`
}

func (p *provider) chunk(w http.ResponseWriter, model, delta, finish string) {
	end := "null"
	if finish != "" {
		end = `"` + finish + `"`
	}
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", model, delta, end)
	w.(http.Flusher).Flush()
}

func (p *provider) stream(w http.ResponseWriter, model string) {
	w.Header().Set("Content-Type", "text/event-stream")
	p.chunk(w, model, `{"role":"assistant","content":""}`, "")
	if model == "tools" {
		p.chunk(w, model, `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"ci"}}]}`, "")
		p.chunk(w, model, `{"tool_calls":[{"index":0,"function":{"arguments":"ty\":\"Paris\"}"}}]}`, "")
		p.chunk(w, model, `{}`, "tool_calls")
	} else {
		for _, piece := range []string{"Pa", "r", "is"} {
			p.chunk(w, model, `{"content":"`+piece+`"}`, "")
		}
		p.chunk(w, model, `{}`, "stop")
	}
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-2\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\n", model)
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// cut ends the connection in the middle of a stream.
func (p *provider) cut(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	p.chunk(w, "cut", `{"role":"assistant","content":"Pa"}`, "")
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func (p *provider) embeddings(w http.ResponseWriter, body map[string]any) {
	inputs, _ := body["input"].([]any)
	var data []string
	for n, input := range inputs {
		text, _ := input.(string)
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,%d]}`, n, strings.Count(text, "a"), strings.Count(text, "b")))
	}
	_, _ = fmt.Fprintf(w, `{"object":"list","model":"text-embedding-3-small","data":[%s],"usage":{"prompt_tokens":3,"total_tokens":3}}`, strings.Join(data, ","))
}

// prompted is a body that asks for a completion.
func prompted(model, more string) string {
	return `{"data":{"inputs":{"country":"France"},"parameters":{"prompt":{"messages":[{"role":"user","content":"What is the capital of {{country}}?"}],
		"template_format":"curly","llm_config":{"model":"` + model + `"}` + more + `}}}}`
}

// traceOf gives the spans of a trace by their names, and the workflow's under
// "root", when its write is visible.
func (s *service) traceOf(r reply) map[string]any {
	s.t.Helper()
	id, _ := r.Body["trace_id"].(string)
	token := r.Header.Get("Colonnade-Token")
	require.NotEmpty(s.t, token, r.Text)
	return s.traceBy(id, token)
}

func (s *service) traceBy(id, token string) map[string]any {
	s.t.Helper()
	got := s.as("ours owner", http.MethodPost, "/spans/query", `{"filtering":{"conditions":[{"field":"trace_id","operator":"is","value":"`+id+`"}]}}`, "Colonnade-Token", token)
	require.Equal(s.t, http.StatusOK, got.Code, got.Text)
	require.Empty(s.t, got.Header.Get("Colonnade-Token-Pending"))
	spans, _ := got.Body["spans"].([]any)
	byName := map[string]any{}
	for _, span := range spans {
		m := span.(map[string]any)
		byName[m["span_name"].(string)] = m
		if m["span_type"] == "workflow" {
			byName["root"] = m
		}
	}
	require.NotEmpty(s.t, byName, got.Text)
	return byName
}

// at digs into JSON along keys.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
