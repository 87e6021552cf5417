//go:build embedded

package e2e_test

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/registry/accounts"
)

// onWire serves over TCP, which streams need, with the hub of live tails at
// work. stop ends both as the process does, and returns when they have ended.
func (s *service) onWire(t *testing.T) (base string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2) // one answer of each
	go func() { done <- s.Server.Run(ctx, listener) }()
	go func() { done <- s.Tail.Run(ctx) }()
	ended := false
	stop = func() {
		if !ended {
			ended = true
			cancel()
			require.NoError(t, <-done)
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// follower reads the events of a tail.
type follower struct {
	t    *testing.T
	scan *bufio.Scanner
	// heartbeats counts the comments.
	heartbeats int
}

// follow opens a tail; when it returns the tail sees everything that is sent later.
func follow(t *testing.T, client *http.Client, base, key, filtering string) *follower {
	t.Helper()
	f, status, header := tryFollow(t, client, base, key, filtering)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "text/event-stream; charset=utf-8", header.Get("Content-Type"))
	name, _ := f.next()
	require.Equal(t, "ready", name)
	return f
}

func tryFollow(t *testing.T, client *http.Client, base, key, filtering string) (f *follower, status int, header http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/spans/tail?filtering="+url.QueryEscape(filtering), nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "ApiKey "+key)
	res, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	f = &follower{t: t, scan: bufio.NewScanner(res.Body)}
	f.scan.Buffer(nil, 1<<20)
	return f, res.StatusCode, res.Header
}

// next gives the next event; no name at the end of the stream.
func (f *follower) next() (name, data string) {
	f.t.Helper()
	for f.scan.Scan() {
		switch line := f.scan.Text(); {
		case line == "" && name != "":
			return name, data
		case strings.HasPrefix(line, ":"):
			f.heartbeats++
		default:
			field, value, _ := strings.Cut(line, ": ")
			if field == "event" {
				name = value
			} else {
				data = value
			}
		}
	}
	return "", ""
}

// spans reads the names of the next n spans, and gives the last one.
func (f *follower) spans(n int) (names []string, last string) {
	f.t.Helper()
	for range n {
		event, data := f.next()
		require.Equal(f.t, "span", event, data)
		var s struct {
			Name string `json:"span_name"`
		}
		require.NoError(f.t, json.Unmarshal([]byte(data), &s))
		names, last = append(names, s.Name), data
	}
	return names, last
}

// traceOf is an OTLP/JSON body of one trace with spans of these names below its first.
func traceOf(id, padding string, names ...string) string {
	var spans []string
	for i, name := range names {
		parent := ""
		if i > 0 {
			parent = fmt.Sprintf(`"parentSpanId":"%016x",`, 1)
		}
		spans = append(spans, fmt.Sprintf(`{"traceId":"%s","spanId":"%016x",%s"name":"%s","kind":2,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[
			{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"%d"}},{"key":"padding","value":{"stringValue":"%s"}}]}`,
			id, i+1, parent, name, time.Now().UnixNano()+int64(i), time.Now().UnixNano()+int64(i)+5, 3+i, padding))
	}
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
}

func (s *service) send(t *testing.T, key, body string) {
	t.Helper()
	r := s.as(key, http.MethodPost, "/otlp/v1/traces", body, "Content-Type", "application/json")
	require.Equal(t, http.StatusAccepted, r.Code, r.Text)
}

// Live tail: what a filter chooses of one's own project, each span as queries
// return it and not before they find it; few at once; over when the key is
// revoked and when the service stops.
func TestLiveTail(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_TAIL_HEARTBEAT=100ms", "COLONNADE_TAIL_MAX_OPEN_PER_PROJECT=3")
	base, stop := s.onWire(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	account := s.accounts["ours"]
	removed, err := s.Accounts.CreateKey(t.Context(), accounts.KeyRequest{Project: account.Project.ID, User: account.User.ID, Role: domain.RoleViewer})
	require.NoError(t, err)

	all := follow(t, client, base, s.keys["ours viewer"], "")
	some := follow(t, client, base, removed.Reveal(), `{"conditions":[{"field":"attributes","key":"ag.metrics.tokens.cumulative.prompt","operator":"gt","value":3},{"field":"span_name","operator":"startswith","value":"root"}]}`)
	theirs := follow(t, client, base, s.keys["theirs owner"], `{}`)

	first, second, foreign := newTraceID(), newTraceID(), newTraceID()
	s.send(t, "theirs owner", traceOf(foreign, "", "foreign"))
	s.send(t, "ours owner", traceOf(first, "", "root 1", "child"))
	s.send(t, "ours owner", traceOf(second, "", "root 2"))
	seen := map[string]bool{}
	for range 3 {
		names, span := all.spans(1)
		seen[names[0]] = true
		var of struct {
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(span), &of))
		stored := s.as("ours viewer", http.MethodGet, "/spans/"+of.Trace+"/"+of.Span, "")
		require.Equal(t, http.StatusOK, stored.Code)
		var envelope struct{ Span json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(stored.Text), &envelope))
		require.JSONEq(t, string(envelope.Span), span, "as queries return it, and at once")
	}
	require.Equal(t, map[string]bool{"root 1": true, "child": true, "root 2": true}, seen)
	names, _ := some.spans(1)
	require.Equal(t, []string{"root 1"}, names, "the sums are those of the spans that came together")
	names, _ = theirs.spans(1)
	require.Equal(t, []string{"foreign"}, names)

	follow(t, client, base, s.keys["ours owner"], "")
	_, status, header := tryFollow(t, client, base, s.keys["ours owner"], "")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.NotEmpty(t, header.Get("Retry-After"))
	_, status, _ = tryFollow(t, client, base, s.keys["theirs owner"], `{"conditions":[{"field":"nothing","value":1}]}`)
	require.Equal(t, http.StatusBadRequest, status)
	_, status, _ = tryFollow(t, client, base, s.keys["theirs owner"], `{"conditions":`)
	require.Equal(t, http.StatusBadRequest, status)
	_, status, _ = tryFollow(t, client, base, "wrong.key", "")
	require.Equal(t, http.StatusUnauthorized, status)

	prefix, _, _ := strings.Cut(removed.Reveal(), ".")
	require.Equal(t, http.StatusOK, s.as("ours owner", http.MethodDelete, "/keys/"+prefix, "").Code)
	name, data := some.next()
	require.Equal(t, "end", name)
	require.JSONEq(t, `{"reason":"forbidden"}`, data)
	require.Positive(t, some.heartbeats, "a silent tail says that it is alive")

	stop()
	for _, f := range []*follower{all, theirs} {
		name, data := f.next()
		require.Equal(t, "end", name)
		require.JSONEq(t, `{"reason":"stopping"}`, data)
		name, _ = f.next()
		require.Empty(t, name)
		require.NoError(t, f.scan.Err(), "the stream ends in order")
	}
}

// A reader that does not keep up gets what fits and how many it did not get;
// another beside it gets everything.
func TestLiveTailOfASlowReader(t *testing.T) {
	t.Parallel()
	s := newService(t)
	base, _ := s.onWire(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	behind := follow(t, client, base, s.keys["ours viewer"], "")
	beside := follow(t, client, base, s.keys["ours viewer"], "")
	// More than the buffers of the tail and of both ends of the connection hold.
	const rounds, each = 16, 8
	padding := noise(128 << 10)
	for i := range rounds {
		names := make([]string, each)
		for k := range names {
			names[k] = fmt.Sprint("span ", i*each+k)
		}
		s.send(t, "ours owner", traceOf(newTraceID(), padding, names...))
		got, _ := beside.spans(each)
		require.Equal(t, names, got)
	}
	got, dropped := 0, 0
	for got+dropped < rounds*each {
		switch name, data := behind.next(); name {
		case "span":
			got++
		case "dropped":
			var m struct{ Count int }
			require.NoError(t, json.Unmarshal([]byte(data), &m))
			dropped += m.Count
		default:
			t.Fatal(name, data)
		}
	}
	require.Equal(t, rounds*each, got+dropped)
	require.Positive(t, dropped)
	require.Positive(t, got)
}

// noise is text that no codec makes small.
func noise(n int) string {
	raw := make([]byte, n/2)
	for i := range raw {
		raw[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(raw)
}
