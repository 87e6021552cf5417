//go:build embedded

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/client"
)

// nodeSDK gives the folder of a program that is instrumented with the
// OpenTelemetry SDK for Node.js. The packages that its lock file pins by their
// hashes are fetched once.
func nodeSDK(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "node"))
	require.NoError(t, err)
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	require.NoError(t, err)
	stamp := filepath.Join(dir, "node_modules", ".fetched")
	fetched, err := os.Stat(stamp)
	if err == nil && !fetched.ModTime().Before(lock.ModTime()) {
		return dir
	}
	require.True(t, err == nil || errors.Is(err, fs.ErrNotExist), err)
	ranToItsEnd(t, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	require.NoError(t, os.WriteFile(stamp, nil, 0o600))
	return dir
}

// ranToItsEnd runs a program to its end and gives what it printed, on both ways out.
func ranToItsEnd(t *testing.T, dir, name string, args ...string) (out, complaints string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s %s: %s%s", name, strings.Join(args, " "), &stdout, &stderr)
	return stdout.String(), stderr.String()
}

// A program in another language, instrumented with that language's own SDK:
// its spans come through each of its exporters and are found by what the GenAI
// conventions say of them.
func (s *service) anotherLanguage(t *testing.T) {
	t.Parallel()
	key := s.account(t)
	c := client.New(s.base, key)
	out, complaints := ranToItsEnd(t, nodeSDK(t), "node", "program.mjs", s.base, "http://"+s.grpc, "ApiKey "+key)
	require.Empty(t, complaints, "the exporters are content")
	var traces map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &traces), out)
	require.Len(t, traces, 3)
	for name, id := range traces {
		condition := func(field, key string, value any) map[string]any {
			return map[string]any{"field": field, "key": key, "operator": "is", "value": value}
		}
		find := func(conditions ...any) []map[string]any {
			var reply spansReply
			body := map[string]any{"filtering": map[string]any{"conditions": append(conditions, map[string]any{"field": "session_id", "value": "node " + name})}}
			_, err := c.Query(t.Context(), "/spans/query", body, "", &reply)
			require.NoError(t, err)
			return reply.Spans
		}
		// The exporter keeps no token, so wait for the root, which ends last and comes in the same request.
		require.Eventually(t, func() bool { return len(find()) == 1 }, 2*time.Minute, 50*time.Millisecond, name)
		root := find()[0]
		require.Equal(t, id, root["trace_id"])
		require.Equal(t, "invoke_agent weather", root["span_name"])
		require.Equal(t, "agent", root["span_type"])
		require.EqualValues(t, 1500, dig(root, "attributes", "ag", "metrics", "tokens", "cumulative", "total"))
		require.EqualValues(t, 1, dig(root, "attributes", "ag", "metrics", "errors", "cumulative"))
		require.InDelta(t, 1000*0.15e-6+500*0.6e-6, dig(root, "attributes", "ag", "metrics", "costs", "cumulative", "total"), 1e-12)

		byID := map[string]any{"field": "trace_id", "value": id}
		var chats spansReply
		_, err := c.Query(t.Context(), "/spans/query", map[string]any{"filtering": map[string]any{"conditions": []any{
			condition("attributes", "gen_ai.request.model", "gpt-4o-mini"), map[string]any{"field": "span_type", "value": "chat"}, byID,
		}}}, "", &chats)
		require.NoError(t, err)
		require.Equal(t, 1, chats.Count, name)
		chat := chats.Spans[0]
		require.Equal(t, root["span_id"], chat["parent_id"])
		require.Equal(t, "SPAN_KIND_CLIENT", chat["span_kind"])
		require.InDelta(t, 0.5, dig(chat, "attributes", "gen_ai", "request", "temperature"), 0)
		inputs, err := json.Marshal(dig(chat, "attributes", "ag", "data", "inputs"))
		require.NoError(t, err)
		require.Contains(t, string(inputs), "Schneit es in Zürich? ❄")

		var failed spansReply
		_, err = c.Query(t.Context(), "/spans/query", map[string]any{"filtering": map[string]any{"conditions": []any{
			map[string]any{"field": "status_code", "value": "STATUS_CODE_ERROR"}, byID,
		}}}, "", &failed)
		require.NoError(t, err)
		require.Equal(t, 1, failed.Count, name)
		require.Equal(t, "execute_tool forecast", failed.Spans[0]["span_name"])
		events, err := json.Marshal(failed.Spans[0]["events"])
		require.NoError(t, err)
		require.Contains(t, string(events), `"RangeError"`)
		require.Contains(t, string(events), "no forecast for Zürich")

		reply, err := c.Do(t.Context(), http.MethodGet, "/traces/"+id, "", nil)
		require.NoError(t, err)
		require.Contains(t, string(reply.Body), `"node-`+name+`"`, "the resource")
		require.Contains(t, string(reply.Body), `"weather"`, "the scope")
	}
}
