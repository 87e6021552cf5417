//go:build embedded

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations/migrationstest"
)

// A client without a key opens more connections than the process may have
// files, and sends nothing on them. HTTP, health, writes and queries go on.
func TestIdleConnectionsSilenceNothing(t *testing.T) {
	t.Parallel()
	s := &service{t: t, out: newOutput(), done: make(chan error, 1)}
	env := append(embeddedtest.KafkaSettings(t),
		"COLONNADE_HTTP_ADDR=127.0.0.1:0", "COLONNADE_GRPC_ADDR=127.0.0.1:0", "COLONNADE_SQL_ADDR=", "COLONNADE_AUTH_KEY="+adminKey, "COLONNADE_DATA_DIR="+t.TempDir(),
		"COLONNADE_KAFKA_TOPIC="+embeddedtest.Topic(t),
		"COLONNADE_CLICKHOUSE_URL="+migrationstest.Database(t), "COLONNADE_POSTGRES_URL="+embeddedtest.PostgresDatabase(t),
	)
	program := command(context.WithoutCancel(t.Context()), t, env, "serve")
	// Both limits are set: the Go runtime raises the soft one to the hard one.
	s.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", append([]string{"-c", `ulimit -n 700 && exec "$0" "$@"`, program.Path}, program.Args[1:]...)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = program.Dir, program.Env, s.out, s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		<-s.done
		if t.Failed() {
			t.Logf("serve wrote:\n%s", s.out)
		}
	})
	s.await("Colonnade is ready")
	s.base, s.grpc = field(s.out.String(), `API +(http://\S+)`), field(s.out.String(), `OTLP/gRPC +(\S+)`)
	key := field(s.call(http.MethodPost, "/admin/simple/accounts/", "Access "+adminKey, `{"accounts":{"a":{"user":{"email":"a@b.c"}}}}`), `"key":"([^"]+)"`)

	admitted := 0
	for range 900 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.grpc)
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := conn.Read(make([]byte, 1)); err == nil { // the server's settings: it holds the connection
			admitted++
		}
	}
	require.Greater(t, admitted, 100)
	require.Less(t, admitted, 700)

	s.call(http.MethodGet, "/healthz", "", "")
	s.call(http.MethodGet, "/readyz", "", "")
	s.call(http.MethodPost, "/traces/", "ApiKey "+key, `{"trace":{"spans":[{"trace_id":"`+strings.Repeat("1", 32)+`","span_id":"`+strings.Repeat("1", 16)+`","span_name":"x"}]}}`)
	require.Contains(t, s.call(http.MethodPost, "/traces/query", "ApiKey "+key, `{}`), `"count":1`)
	require.Contains(t, s.out.String(), "the listener is near its limit of connections")
}

// call sends a request on a connection of its own and returns the body of a 2xx.
func (s *service) call(method, path, authorization, body string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Close = true
	r.Header.Set("Authorization", authorization)
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	require.NoError(s.t, err)
	require.Less(s.t, reply.StatusCode, 300, "%s %s: %s", method, path, text)
	return string(text)
}
