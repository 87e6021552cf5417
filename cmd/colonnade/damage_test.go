//go:build embedded

package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/server"
)

// TestDamagedLog inverts a byte of the embedded broker's log between two starts.
// What is written afterwards becomes visible, and the log and /status name the
// damage. (Every later write was acknowledged and never visible.)
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   func(size int) int
	}{
		{"200 bytes before the end", func(size int) int { return size - 200 }},
		{"in the middle", func(size int) int { return size / 2 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			env := []string{"COLONNADE_DATA_DIR=" + data}
			s := start(t, env, "serve", "--embedded")
			key := keptKey(t, data)
			sending := send(t, client.New(s.base, key), 1)
			sending.await(20)
			before := sending.ended()
			requireKept(t, client.New(s.base, key), before)
			waiting, err := command(t.Context(), t, env, "redrive", "--dry-run").CombinedOutput()
			require.NoError(t, err, string(waiting))
			require.Contains(t, string(waiting), "0 records waiting", "it authenticates with the secret of the data directory")
			require.NoError(t, s.stop())

			segment := filepath.Join(data, "kafka", "data", "partitions", "colonnade.spans.v1-0", "0.dat")
			raw, err := os.ReadFile(segment)
			require.NoError(t, err)
			raw[tt.at(len(raw))] ^= 0xff
			require.NoError(t, os.WriteFile(segment, raw, 0o600))

			s = start(t, env, "serve", "--embedded")
			sending = send(t, client.New(s.base, key), 2)
			sending.await(5)
			after := sending.ended()
			maps.Copy(before.spans, after.spans)
			requireKept(t, client.New(s.base, key), accepted{spans: before.spans, tokens: after.tokens})
			const problem = "the log of partition 0 of topic colonnade.spans.v1 is damaged"
			require.Contains(t, s.out.String(), problem)
			var ready server.Ready
			ask(t, client.New(s.base, ""), "/readyz", &ready)
			require.Equal(t, 1, ready.Problems)
			var state server.Readiness
			ask(t, client.New(s.base, key), "/status", &state)
			require.Len(t, state.Problems, 1)
			require.Contains(t, state.Problems[0], problem)
			require.NoError(t, s.stop())
		})
	}
}

// ask decodes the reply of a route.
func ask(t *testing.T, c *client.Client, path string, body any) {
	t.Helper()
	reply, err := c.Do(t.Context(), http.MethodGet, path, "", nil)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(reply.Body, body))
}
