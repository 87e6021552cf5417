//go:build embedded

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/load"
	"colonnade/domain"
)

// TestInterface walks interface.md over the wire, against one running service.
func TestInterface(t *testing.T) {
	t.Parallel()
	// The readers of load never pause, which a project may not for long.
	s := start(t, append(onServices(t), "COLONNADE_PROJECTS_LIMITS_READS_PER_SECOND=0"), "serve")
	t.Run("§4.1 spans go in and come out", s.spansGoInAndComeOut)
	t.Run("§4.1 every encoding of OTLP", s.everyEncoding)
	t.Run("§4.1 official exporters", s.officialExporters)
	t.Run("§4.1 the SDK of another language", s.anotherLanguage)
	t.Run("§4.2 an empty body is refused", s.emptyBody)
	t.Run("§4.2 pages by cursor", s.pagesByCursor)
	t.Run("§5 who may call", s.whoMayCall)
	t.Run("§5 projects do not see each other", s.projectsAreApart)
	t.Run("§2.8 a bad span is refused alone", s.badSpanAlone)
	t.Run("contract §10 accounts", s.accounts)
	t.Run("contract §1.1 every spelling of paths", s.spellings)
	t.Run("keys", s.keys)
	t.Run("retention", s.retention)
	t.Run("demo", s.demoRuns)
	t.Run("load", s.loadRuns)
}

type spansReply struct {
	Count     int              `json:"count"`
	Spans     []map[string]any `json:"spans"`
	Windowing struct {
		Next string `json:"next"`
	} `json:"windowing"`
}

func jsonSpan(traceID, spanID, name string) string {
	now := time.Now().UnixNano()
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":%q,"kind":2,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"ag.data.inputs","value":{"stringValue":"{\"q\":\"ä\"}"}}]}`,
		traceID, spanID, name, now-1_000_001, now)
}

func jsonBody(spans ...string) []byte {
	return []byte(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`)
}

func (s *service) spansGoInAndComeOut(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	reply, err := c.Do(t.Context(), http.MethodPost, "/api/otlp/v1/traces", "application/json", jsonBody(jsonSpan(traceID, "b7ad6b7169203331", "hello")))
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, reply.Status)
	require.JSONEq(t, `{"count":1,"links":[{"trace_id":"`+traceID+`","span_id":"b7ad6b7169203331"}]}`, string(reply.Body))
	token := reply.Header.Get(domain.TokenHeader)
	require.Regexp(t, "^[A-Za-z0-9_-]{40,}$", token, "it tells a client nothing")

	// The token makes each query see the write.
	var spans spansReply
	query(t, c, "/spans/query", map[string]any{}, token, &spans)
	require.Equal(t, 1, spans.Count)
	require.Equal(t, "hello", spans.Spans[0]["span_name"])
	require.Equal(t, "SPAN_KIND_SERVER", spans.Spans[0]["span_kind"])
	require.Equal(t, map[string]any{"q": "ä"}, dig(spans.Spans[0], "attributes", "ag", "data", "inputs"))

	var traces struct {
		Count  int `json:"count"`
		Traces []struct {
			TraceID string                    `json:"trace_id"`
			Spans   map[string]map[string]any `json:"spans"`
		} `json:"traces"`
	}
	query(t, c, "/traces/query", map[string]any{}, token, &traces)
	require.Equal(t, traceID, traces.Traces[0].TraceID)
	require.Contains(t, traces.Traces[0].Spans, "hello")

	for path, member := range map[string]string{
		"/traces/" + traceID: "trace", "/traces/?trace_id=" + traceID: "traces", "/spans/?trace_id=" + traceID: "spans",
		"/spans/" + traceID + "/b7ad6b7169203331": "span",
	} {
		reply, err := c.Do(t.Context(), http.MethodGet, path, "", nil)
		require.NoError(t, err, path)
		require.Contains(t, string(reply.Body), `"hello"`, path)
		require.Contains(t, string(reply.Body), `"`+member+`":`, path)
	}
}

// query asks until the token's writes are visible: one wait is bounded, and the machine may be busy.
func query(t *testing.T, c *client.Client, path string, body any, token string, out any) {
	t.Helper()
	require.Eventually(t, func() bool {
		pending, err := c.Query(t.Context(), path, body, token, out)
		return err == nil && pending == ""
	}, 2*time.Minute, time.Millisecond)
}

// dig follows keys into nested objects.
func dig(v any, keys ...string) any {
	for _, key := range keys {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[key]
	}
	return v
}

func (s *service) everyEncoding(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	g, err := load.NewGenerator(smallShape())
	require.NoError(t, err)
	plain, made := g.Append(nil, 0, time.Now())
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err = w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, path := range []string{"/otlp/v1/traces", "/v1/traces", "/api/otlp/v1/traces/", "/api/v1/traces"} {
		for _, body := range [][]byte{plain, zipped.Bytes()} {
			reply, err := c.Do(t.Context(), http.MethodPost, path, "application/x-protobuf", body)
			require.NoError(t, err, path)
			require.Contains(t, string(reply.Body), fmt.Sprintf(`"count":%d`, made.Spans))
		}
	}
	_, err = c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/x-protobuf", []byte("no spans"))
	requireStatus(t, http.StatusBadRequest, err)
	_, err = c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/x-protobuf", make([]byte, 11<<20))
	requireStatus(t, http.StatusRequestEntityTooLarge, err)
}

func smallShape() load.Shape {
	shape := load.DefaultShape()
	shape.Runs = 20
	return shape
}

func requireStatus(t *testing.T, want int, err error) {
	t.Helper()
	var status *client.StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, want, status.Status, status.Body)
}

func (s *service) officialExporters(t *testing.T) {
	t.Parallel()
	key := s.account(t)
	headers := map[string]string{"Authorization": "ApiKey " + key}
	overHTTP, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.base+"/api/otlp/v1/traces"),
		otlptracehttp.WithHeaders(headers), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	require.NoError(t, err)
	overGRPC, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpoint(s.grpc), otlptracegrpc.WithInsecure(), otlptracegrpc.WithHeaders(headers))
	require.NoError(t, err)
	for name, exporter := range map[string]*otlptrace.Exporter{"http": overHTTP, "grpc": overGRPC} {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		_, span := provider.Tracer("test").Start(t.Context(), "over "+name)
		span.SetAttributes(attribute.String("ag.session.id", "exporters"))
		span.End()
		require.NoError(t, provider.Shutdown(t.Context()))
	}
	c := client.New(s.base, key)
	session := map[string]any{"filtering": map[string]any{"conditions": []any{map[string]any{"field": "session_id", "value": "exporters"}}}}
	var reply spansReply
	require.Eventually(t, func() bool {
		_, err := c.Query(t.Context(), "/spans/query", session, "", &reply)
		return err == nil && reply.Count == 2
	}, 2*time.Minute, 50*time.Millisecond)
}

func (s *service) emptyBody(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	for _, path := range []string{"/spans/query", "/traces/query"} {
		_, err := c.Do(t.Context(), http.MethodPost, path, "application/json", nil)
		requireStatus(t, http.StatusUnprocessableEntity, err)
		require.ErrorContains(t, err, `"loc":["body"]`)
		_, err = c.Do(t.Context(), http.MethodPost, path, "application/json", []byte(`{"filtring":{}}`))
		requireStatus(t, http.StatusUnprocessableEntity, err)
		require.ErrorContains(t, err, "filtring")
		_, err = c.Do(t.Context(), http.MethodPost, path, "application/json", []byte(`{}`))
		require.NoError(t, err)
	}
	_, err := c.Do(t.Context(), http.MethodPost, "/spans/query", "application/json", []byte(`{"filtering":{"conditions":[{"field":"nonsense","value":1}]}}`))
	requireStatus(t, http.StatusBadRequest, err)
	_, err = c.Do(t.Context(), http.MethodPost, "/spans/query", "application/json", []byte(`{"filtering":{"conditions":[{"field":"span_name","operator":"near","value":"x"}]}}`))
	requireStatus(t, http.StatusUnprocessableEntity, err)
}

func (s *service) pagesByCursor(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	spans := make([]string, 25)
	for i := range spans {
		spans[i] = jsonSpan("0af7651916cd43dd8448eb211c80319c", fmt.Sprintf("%016x", i+1), "step")
	}
	reply, err := c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/json", jsonBody(spans...))
	require.NoError(t, err)
	token := reply.Header.Get(domain.TokenHeader)
	for _, order := range []string{"ascending", "descending"} {
		seen := map[any]bool{}
		window := map[string]any{"limit": 7, "order": order}
		for pages := 1; ; pages++ {
			var page spansReply
			query(t, c, "/spans/query", map[string]any{"windowing": window}, token, &page)
			for _, span := range page.Spans {
				require.False(t, seen[span["span_id"]], "each span once")
				seen[span["span_id"]] = true
			}
			if page.Windowing.Next == "" {
				require.Equal(t, 4, pages)
				break
			}
			window["next"] = page.Windowing.Next
		}
		require.Len(t, seen, 25)
	}
}

func (s *service) whoMayCall(t *testing.T) {
	t.Parallel()
	key := s.account(t)
	for _, credential := range []string{"x", "AbCdEfGh." + strings.Repeat("0", 64), key[:len(key)-1] + "g", ""} {
		_, err := client.New(s.base, credential).Do(t.Context(), http.MethodPost, "/spans/query", "application/json", []byte(`{}`))
		requireStatus(t, http.StatusUnauthorized, err)
		require.ErrorContains(t, err, `{"detail":{"message":"Unauthorized"}}`)
	}
	viewer, err := client.New(s.base, key).Do(t.Context(), http.MethodPost, "/keys/", "application/json", []byte(`{"role":"viewer"}`))
	require.NoError(t, err)
	var viewerKey string
	require.NoError(t, json.Unmarshal(viewer.Body, &viewerKey))
	c := client.New(s.base, viewerKey)
	_, err = c.Do(t.Context(), http.MethodPost, "/spans/query", "application/json", []byte(`{}`))
	require.NoError(t, err)
	_, err = c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/json", jsonBody())
	requireStatus(t, http.StatusForbidden, err)
	require.ErrorContains(t, err, `{"detail":"You do not have access to perform this action. Please contact your organization admin."}`)
}

func (s *service) projectsAreApart(t *testing.T) {
	t.Parallel()
	const traceID, spanID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	clients := map[string]*client.Client{"ours": s.client(t), "theirs": s.client(t)}
	tokens := map[string]string{}
	for name, c := range clients {
		reply, err := c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/json", jsonBody(jsonSpan(traceID, spanID, name)))
		require.NoError(t, err)
		tokens[name] = reply.Header.Get(domain.TokenHeader)
	}
	other := map[string]string{"ours": "theirs", "theirs": "ours"}
	filtered := []byte(`{"filtering":{"conditions":[{"field":"trace_id","value":"` + traceID + `"}]}}`)
	for name, c := range clients {
		query(t, c, "/spans/query", map[string]any{}, tokens[name], &spansReply{})
		for _, call := range []struct {
			method, path string
			body         []byte
		}{
			{http.MethodPost, "/spans/query", []byte(`{}`)},
			{http.MethodPost, "/traces/query", []byte(`{}`)},
			{http.MethodPost, "/spans/query", filtered},
			{http.MethodPost, "/traces/query", filtered},
			{http.MethodPost, "/tracing/spans/query", filtered},
			{http.MethodPost, "/tracing/traces/query", filtered},
			{http.MethodGet, "/traces/" + traceID, nil},
			{http.MethodGet, "/tracing/traces/" + traceID, nil},
			{http.MethodGet, "/traces/?trace_id=" + traceID, nil},
			{http.MethodGet, "/spans/?trace_id=" + traceID, nil},
			{http.MethodGet, "/spans/?span_id=" + spanID, nil},
			{http.MethodGet, "/spans/" + traceID + "/" + spanID, nil},
		} {
			reply, err := c.Do(t.Context(), call.method, call.path, "application/json", call.body, domain.TokenHeader, tokens[name])
			require.NoError(t, err, call.path)
			require.Contains(t, string(reply.Body), `"`+name+`"`, call.path)
			require.NotContains(t, string(reply.Body), `"`+other[name]+`"`, call.path)
		}
	}
}

func (s *service) badSpanAlone(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	body := jsonBody(jsonSpan("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "good"), jsonSpan("4bf92f3577b34da6a3ce929d0e0e4736", "0000000000000000", "bad"))
	reply, err := c.Do(t.Context(), http.MethodPost, "/otlp/v1/traces", "application/json", body)
	require.NoError(t, err)
	var receipt struct {
		Count          int `json:"count"`
		PartialSuccess struct {
			Rejected json.Number `json:"rejectedSpans"`
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	require.NoError(t, json.Unmarshal(reply.Body, &receipt))
	require.Equal(t, 1, receipt.Count)
	require.Equal(t, "1", receipt.PartialSuccess.Rejected.String())
	require.Contains(t, receipt.PartialSuccess.Message, "bad")
}

func (s *service) accounts(t *testing.T) {
	t.Parallel()
	admin := client.NewAdmin(s.base, adminKey)
	body := []byte(`{"accounts":{"a":{"user":{"user":{"email":"` + email(t) + `"}},"options":{"create_api_keys":true,"return_api_keys":true,"seed_defaults":false}}}}`)
	reply, err := admin.Do(t.Context(), http.MethodPost, "/admin/simple/accounts/", "application/json", body)
	require.NoError(t, err)
	var made struct {
		Accounts map[string]struct {
			Projects map[string]map[string]any `json:"projects"`
			APIKeys  map[string]string         `json:"api_keys"`
		} `json:"accounts"`
	}
	require.NoError(t, json.Unmarshal(reply.Body, &made))
	key := made.Accounts["a"].APIKeys["key"]
	require.Regexp(t, `^[A-Za-z0-9]{8}\.[0-9a-f]{64}$`, key)
	_, err = admin.Do(t.Context(), http.MethodPost, "/admin/simple/accounts/", "application/json", body)
	requireStatus(t, http.StatusConflict, err)
	_, err = client.NewAdmin(s.base, "another").Do(t.Context(), http.MethodPost, "/admin/simple/accounts/", "application/json", body)
	requireStatus(t, http.StatusUnauthorized, err)

	current, err := client.New(s.base, key).Do(t.Context(), http.MethodGet, "/projects/current", "", nil)
	require.NoError(t, err)
	for _, project := range made.Accounts["a"].Projects {
		require.Contains(t, string(current.Body), project["id"])
	}
	reply, err = admin.Do(t.Context(), http.MethodDelete, "/admin/simple/accounts/", "application/json", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, reply.Status)
}

func (s *service) spellings(t *testing.T) {
	t.Parallel()
	c := s.client(t)
	for _, path := range []string{"/spans/query", "/spans/query/", "/api/spans/query", "/api/api/spans/query/", "/preview/spans/query"} {
		_, err := c.Do(t.Context(), http.MethodPost, path, "application/json", []byte(`{}`))
		require.NoError(t, err, path)
	}
	_, err := c.Do(t.Context(), http.MethodGet, "/traces/query", "", nil)
	requireStatus(t, http.StatusMethodNotAllowed, err)
	_, err = c.Do(t.Context(), http.MethodGet, "/nowhere", "", nil)
	requireStatus(t, http.StatusNotFound, err)
	reply, err := c.Do(t.Context(), http.MethodPost, "/tracing/spans/query", "application/json", nil)
	require.NoError(t, err)
	require.NotEmpty(t, reply.Header.Get("Deprecation"))
	for _, path := range []string{"/health", "/healthz", "/readyz", "/status"} {
		_, err := c.Do(t.Context(), http.MethodGet, path, "", nil)
		require.NoError(t, err, path)
	}
}

// say runs the program as a client of the service and returns what it printed.
func (s *service) say(t *testing.T, key string, args ...string) string {
	t.Helper()
	out, err := command(t.Context(), t, []string{"COLONNADE_HOST=" + s.base, "COLONNADE_API_KEY=" + key}, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

func (s *service) retention(t *testing.T) {
	t.Parallel()
	key := s.account(t)
	require.Equal(t, "Spans     are kept; the next night deletes 0\nPayloads  are kept; the next night deletes those of 0 spans\n", s.say(t, key, "retention"))
	require.Contains(t, s.say(t, key, "retention", "--days", "90"), "are kept for 90 days")
	require.Contains(t, s.say(t, key, "retention"), "Spans     are kept;", "it was only shown")
	s.say(t, key, "retention", "--days", "90", "--payload-days", "14", "--set")
	require.Equal(t, "Spans     are kept for 90 days; the next night deletes 0\nPayloads  are kept for 14 days; the next night deletes those of 0 spans\n", s.say(t, key, "retention"))
}

func (s *service) keys(t *testing.T) {
	t.Parallel()
	first := s.account(t)
	second := strings.TrimSpace(s.say(t, first, "key", "create", "--name", "ci", "--role", "editor"))
	list := s.say(t, first, "key", "list")
	require.Contains(t, list, second[:8])
	require.Contains(t, list, "editor")
	require.NotContains(t, list, second[9:], "a list shows no secrets")
	s.say(t, first, "key", "revoke", second[:8])
	require.Eventually(t, func() bool {
		_, err := client.New(s.base, second).Do(t.Context(), http.MethodGet, "/keys/", "", nil)
		return err != nil
	}, time.Minute, 20*time.Millisecond, "a revoked key is refused once it is no longer remembered")
}

func (s *service) demoRuns(t *testing.T) {
	t.Parallel()
	out := s.say(t, s.account(t), "demo", "--traces", "40", "--url", s.base+"/")
	require.Contains(t, out, "All of them can be queried")
	require.Contains(t, out, "support-agent")
	traceID := field(out, `/api/traces/([0-9a-f]{32})`)
	raw, err := hex.DecodeString(traceID)
	require.NoError(t, err)
	require.Len(t, raw, 16)
}

func (s *service) loadRuns(t *testing.T) {
	t.Parallel()
	out := s.say(t, s.account(t), "load", "--traces", "150", "--verify", "full", "--seed", "3", "--runs", "30")
	require.Contains(t, out, "were read back, checksum")
	require.Contains(t, out, "receipt to visible")
	require.Contains(t, s.say(t, s.account(t), "load", "--traces", "60", "--verify", "sample", "--rate", "2000", "--runs", "30"), "checksums equal")

	// Traces of two days, evenly: each of them has about half.
	key := s.account(t)
	s.say(t, key, "load", "--traces", "100", "--over", "48h", "--verify", "full", "--runs", "30")
	now := time.Now()
	roots := func(from, to time.Duration) int {
		query := map[string]any{
			"filtering": map[string]any{"conditions": []any{map[string]any{"field": "parent_id", "operator": "is", "value": nil}}},
			"windowing": map[string]any{"oldest": now.Add(-from), "newest": now.Add(-to), "limit": 100},
		}
		var reply struct {
			Count int `json:"count"`
		}
		_, err := client.New(s.base, key).Query(t.Context(), "/spans/query", query, "", &reply)
		require.NoError(t, err)
		return reply.Count
	}
	require.InDelta(t, 50, roots(49*time.Hour, 24*time.Hour), 3)
	require.InDelta(t, 50, roots(24*time.Hour, 0), 3)

	// Every read is asked, answered and timed while spans come in, of which a busy machine needs more until each was.
	for seconds := 12; ; seconds *= 2 {
		out = s.say(t, s.account(t), "load", "--duration", strconv.Itoa(seconds)+"s", "--rate", "1000", "--runs", "30", "--readers", "2")
		if seconds > 60 || !strings.Contains(out, "none timed") {
			break
		}
	}
	for _, read := range []string{
		"latest 50 spans", "50 spans at any moment", "50 roots at any moment", "latest 50 roots", "latest 50 errors", "latest 50 annotations",
		"latest 50 traces", "50 traces at any moment", "50 calls of a model at any moment", "50 low scores at any moment",
		"50 spans of an evaluator at any moment", "spans of a session", "50 spans with a word", "a trace of any moment", "a trace of the last seconds",
	} {
		require.Regexp(t, read+` +p50 [0-9.]+m?s, p99 [0-9.]+m?s, slowest [0-9.]+m?s, [1-9][0-9]* timed\n`, out)
	}
}
