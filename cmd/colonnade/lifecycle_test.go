//go:build embedded

package main

import (
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/client"
	"colonnade/cmd/internal/load"
	"colonnade/domain/trace"
)

func TestFirstStartKeepsAKeyInItsFile(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	env := []string{"COLONNADE_DATA_DIR=" + data}
	s := start(t, env, "serve", "--embedded")
	key := keptKey(t, data)
	require.Regexp(t, `^[A-Za-z0-9]{8}\.[0-9a-f]{64}$`, key)
	require.NotContains(t, s.out.String(), key, "the output is no terminal")
	require.Contains(t, s.out.String(), "api-key")
	require.Contains(t, s.out.String(), "curl ")
	info, err := os.Stat(filepath.Join(data, "api-key"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	_, err = client.New(s.base, key).Do(t.Context(), http.MethodPost, "/traces/query", "application/json", []byte(`{}`))
	require.NoError(t, err)

	second := launch(t, env, "serve", "--embedded")
	require.Error(t, <-second.done)
	second.done <- nil
	require.Contains(t, second.out.String(), "in use by another process")

	require.NoError(t, s.stop())
	require.Contains(t, s.out.String(), "Draining")
	again := start(t, env, "serve", "--embedded")
	require.NotContains(t, again.out.String(), key)
	require.Contains(t, again.out.String(), "api-key")
	require.Empty(t, again.say(t, key, "key", "revoke", key[:8]))
	require.NoError(t, again.stop())

	// A key that was revoked stays so, and a new one is there for the asking.
	revoked := start(t, env, "serve", "--embedded")
	require.Contains(t, revoked.out.String(), "was revoked: remove the file and start again for a new one")
	require.NoError(t, revoked.stop())
	require.NoError(t, os.Remove(filepath.Join(data, "api-key")))
	renewed := start(t, env, "serve", "--embedded")
	another := keptKey(t, data)
	_, err = client.New(renewed.base, another).Do(t.Context(), http.MethodPost, "/traces/query", "application/json", []byte(`{}`))
	require.NoError(t, err)
	_, err = client.New(renewed.base, key).Do(t.Context(), http.MethodPost, "/traces/query", "application/json", []byte(`{}`))
	requireStatus(t, http.StatusUnauthorized, err)
	require.NoError(t, renewed.stop())
}

// accepted is what the service has promised to keep.
type accepted struct {
	spans  map[trace.TraceID]int
	tokens []string
}

// sender sends in the background until it is stopped or the service is gone.
type sender struct {
	receipts chan struct{} // one for each request that was taken
	stop     chan struct{}
	result   chan accepted
}

func send(t *testing.T, c *client.Client, seed uint64) *sender {
	t.Helper()
	shape := smallShape()
	shape.Seed = seed
	g, err := load.NewGenerator(shape)
	require.NoError(t, err)
	s := &sender{receipts: make(chan struct{}), stop: make(chan struct{}), result: make(chan accepted, 1)}
	go func() { s.result <- s.run(t, c, g) }()
	return s
}

// await returns after n more receipts.
func (s *sender) await(n int) {
	for range n {
		<-s.receipts
	}
}

// ended gives what was promised.
func (s *sender) ended() accepted {
	close(s.stop)
	return <-s.result
}

func (s *sender) run(t *testing.T, c *client.Client, g *load.Generator) (a accepted) {
	t.Helper()
	a.spans = map[trace.TraceID]int{}
	var tokens client.Tokens
	defer func() { a.tokens = tokens.All() }()
	for index := uint64(0); ; {
		var body []byte
		made := map[trace.TraceID]int{}
		for range 10 {
			var one load.Trace
			body, one = g.Append(body, index, time.Now())
			made[one.ID] = one.Spans
			index++
		}
		carried := tokens.Carry()
		receipt, err := c.Send(t.Context(), body, carried)
		if err != nil {
			tokens.Add(carried)
			close(s.receipts)
			return a // cut off: whether it was taken is unknown, so nothing is promised
		}
		maps.Copy(a.spans, made)
		tokens.Add(receipt.Token)
		select {
		case s.receipts <- struct{}{}:
		case <-s.stop:
			return a
		default:
		}
	}
}

// requireKept reads everything back: each promised span is there, and none twice.
func requireKept(t *testing.T, c *client.Client, a accepted) {
	t.Helper()
	require.NotEmpty(t, a.spans)
	found := map[string]map[string]bool{}
	window := map[string]any{"limit": 1000}
	tokens := append([]string{}, a.tokens...)
	for deadline := time.Now().Add(time.Minute); ; {
		var page spansReply
		token := ""
		if len(tokens) > 0 {
			token = tokens[0]
		}
		pending, err := c.Query(t.Context(), "/spans/query", map[string]any{"windowing": window}, token, &page)
		require.NoError(t, err)
		if pending != "" {
			require.True(t, time.Now().Before(deadline), "what was sent does not become visible")
			continue
		}
		if len(tokens) > 1 {
			tokens = tokens[1:]
			continue
		}
		tokens = nil
		for _, span := range page.Spans {
			id, _ := span["trace_id"].(string)
			if found[id] == nil {
				found[id] = map[string]bool{}
			}
			spanID, _ := span["span_id"].(string)
			require.False(t, found[id][spanID], "span %s of %s came twice", spanID, id)
			found[id][spanID] = true
		}
		if page.Windowing.Next == "" {
			break
		}
		window["next"] = page.Windowing.Next
	}
	for id, spans := range a.spans {
		require.Len(t, found[id.String()], spans, "trace %s", id)
	}
}

func TestKillKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	env := []string{"COLONNADE_DATA_DIR=" + data}
	key := ""
	var all []accepted
	for round := range 3 {
		s := start(t, env, "serve", "--embedded")
		if round == 0 {
			key = keptKey(t, data)
		}
		c := client.New(s.base, key)
		sending := send(t, c, uint64(round+1))
		sending.await(1 + 7*round)
		s.kill()
		all = append(all, sending.ended())
	}
	s := start(t, env, "serve", "--embedded")
	merged := accepted{spans: map[trace.TraceID]int{}}
	for _, a := range all {
		maps.Copy(merged.spans, a.spans)
		merged.tokens = append(merged.tokens, a.tokens...)
	}
	requireKept(t, client.New(s.base, key), merged)
	require.NoError(t, s.stop())
}

func TestCtrlCDrains(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	env := []string{"COLONNADE_DATA_DIR=" + data}
	s := start(t, env, "serve", "--embedded")
	key := keptKey(t, data)
	sending := send(t, client.New(s.base, key), 1)
	sending.await(5)
	require.NoError(t, s.stop())
	promised := sending.ended()
	again := start(t, env, "serve", "--embedded")
	requireKept(t, client.New(again.base, key), promised)
	require.NoError(t, again.stop())
}

// Addresses that are set to nothing, as scripts do, are not set.
func TestCtrlCEndsAStartInOrder(t *testing.T) {
	t.Parallel()
	s := launch(t, []string{
		"COLONNADE_DATA_DIR=" + filepath.Join(t.TempDir(), "data"), "COLONNADE_KAFKA_BROKERS=", "COLONNADE_CLICKHOUSE_URL=", "COLONNADE_POSTGRES_URL=",
	}, "serve", "--embedded")
	s.await("Starting Kafka, ClickHouse and Postgres")
	require.NoError(t, s.stop())
	require.Contains(t, s.out.String(), "Stopped before it was ready.")
	require.NotContains(t, s.out.String(), "Colonnade is ready")
}

func TestRolesAsProcesses(t *testing.T) {
	t.Parallel()
	env := onServices(t)
	out, err := command(t.Context(), t, env, "migrate").CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = command(t.Context(), t, env, "migrate").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "migration applied", "a second run applies nothing")

	write, read := start(t, env, "write"), start(t, env, "serve", "--roles", "read")
	sinks := []*service{start(t, env, "sink"), start(t, env, "sink")}
	key := write.account(t)
	_, err = client.New(write.base, key).Do(t.Context(), http.MethodPost, "/spans/query", "application/json", []byte(`{}`))
	requireStatus(t, http.StatusNotFound, err)

	// The process that reads shows live what others take in and store.
	tail := launch(t, nil, "tail", "--url", read.base, "--key", key)
	tail.await("Following.")
	sending := send(t, client.New(write.base, key), 5)
	sending.await(5)
	tail.await("  chat  ")
	require.NoError(t, sinks[0].stop(), "the other sink takes over")
	sending.await(5)
	requireKept(t, client.New(read.base, key), sending.ended())
	for _, s := range []*service{sinks[1], read, write} {
		_, err := client.New(s.base, "").Do(t.Context(), http.MethodGet, "/readyz", "", nil)
		require.NoError(t, err)
		require.NoError(t, s.stop())
	}
	tail.await("The service stops.")
	require.NoError(t, <-tail.done)
	tail.done <- nil
}

func TestMistakesAtTheStartAreOneSentence(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) }) // after the parallel subtests
	data := "COLONNADE_DATA_DIR=" + filepath.Join(t.TempDir(), "data")
	tests := []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"taken HTTP port", []string{data, "COLONNADE_HTTP_ADDR=" + taken.Addr().String()}, []string{"serve", "--embedded"}, "is taken by another process: stop it, or choose another address with COLONNADE_HTTP_ADDR"},
		{"taken gRPC port", []string{data, "COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR=" + taken.Addr().String()}, []string{"serve", "--embedded"}, "choose another address with COLONNADE_GRPC_ADDR"},
		{"no engines", []string{data, "COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR=", "COLONNADE_SQL_ADDR=", "COLONNADE_ENGINES_DIR=/nowhere"}, []string{"serve", "--embedded"}, "make engines"},
		{"no stores", []string{"COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR="}, []string{"serve"}, "set COLONNADE_CLICKHOUSE_URL, COLONNADE_KAFKA_BROKERS, COLONNADE_POSTGRES_URL, or run colonnade serve --embedded"},
		{"both kinds of stores", []string{"COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR=", "COLONNADE_POSTGRES_URL=postgres://x/y"}, []string{"serve", "--embedded"}, "brings its own stores"},
		{"an unknown role", nil, []string{"serve", "--roles", "write,drink"}, `unknown role "drink"`},
		{"a bad setting", []string{"COLONNADE_OTLP_SUCCESS_STATUS=204"}, []string{"serve"}, "200 or 202"},
		{"no key", []string{data}, []string{"demo"}, "there is no API key"},
		{"a role of a new account", []string{"COLONNADE_AUTH_KEY=k"}, []string{"key", "create", "--email", "a@example.com", "--role", "viewer"}, "the key of a new account is its owner's: give --email without --role, --purpose and --name"},
		{"a word that is no key's", []string{"COLONNADE_API_KEY=k"}, []string{"key", "revoke", "../keys?x"}, "is no prefix of a key: it has 8 letters and digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t.Context(), t, tt.env, tt.args...)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), string(out))
			require.Contains(t, string(out), tt.want)
			require.NotContains(t, string(out), "goroutine")
			require.LessOrEqual(t, strings.Count(strings.TrimSpace(string(out)), "\n"), 1, "one sentence, not a page:\n%s", out)
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"serve", "write", "sink", "read", "migrate", "key", "key create", "key list", "key revoke", "config", "tail", "demo", "load", "redrive", "version"} {
		out, err := command(t.Context(), t, nil, append(strings.Fields(args), "--help")...).CombinedOutput()
		require.NoError(t, err)
		require.Contains(t, string(out), "Examples:", args)
	}
	out, err := command(t.Context(), t, nil, "sevre").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "serve")
	out, err = command(t.Context(), t, []string{"COLONNADE_AUTH_KEY=hunter2"}, "config").CombinedOutput()
	require.NoError(t, err)
	require.NotContains(t, string(out), "hunter2")
	require.Contains(t, string(out), "COLONNADE_HTTP_ADDR")
	out, err = command(t.Context(), t, nil, "version").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "colonnade ")
}

func TestARoleWithoutStoresListensAndSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s := launch(t, []string{
		"COLONNADE_KAFKA_BROKERS=127.0.0.1:1", "COLONNADE_CLICKHOUSE_URL=clickhouse://127.0.0.1:1/none", "COLONNADE_POSTGRES_URL=postgres://127.0.0.1:1/none",
	}, "write")
	s.await("is not ready: it waits for clickhouse, kafka, postgres.")
	require.NoError(t, s.stop())
	require.NotContains(t, s.out.String(), "is ready")
	require.NotContains(t, s.out.String(), "msg=ready")
}

func TestALoadOfNobodyFailsAtOnce(t *testing.T) {
	t.Parallel()
	out, err := command(t.Context(), t, nil, "load", "--url", "http://127.0.0.1:1", "--key", "x").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "connection refused")
	require.NotContains(t, string(out), "seed", "nothing was made that nobody takes")
}
