package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/read/console"
)

// waiting returns a process whose Kafka answers after some refusals.
func waiting(t *testing.T, out, log *bytes.Buffer, refusals int) (*process, *Service) {
	t.Helper()
	asked := 0
	checks := []server.Check{
		{Name: "kafka", Probe: func(context.Context) error {
			if asked++; asked <= refusals {
				return errors.New("connection refused")
			}
			return nil
		}},
		{Name: "postgres", Probe: func(context.Context) error { return nil }},
	}
	p := &process{Options: Options{Out: out, Now: time.Now, Started: time.Now()}, cfg: config.Loaded{Config: config.Default()}, log: slog.New(slog.NewTextHandler(log, nil))}
	s, err := server.New(p.cfg.HTTP, server.Deps{
		Log: p.log, Registry: prometheus.NewRegistry(), Checks: checks, Now: time.Now, Allows: func(string, domain.Permission) bool { return false },
	})
	require.NoError(t, err)
	return p, &Service{Server: s}
}

func TestAnnouncementWaitsForReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		p, s := waiting(t, &out, &log, 3)
		p.announceWhenReady(t.Context(), s, firstKey{})
		require.Contains(t, out.String(), "but is not ready: it waits for kafka.")
		require.Regexp(t, `(?s)waits for kafka.*kafka +connection refused.*Colonnade is ready after 0\.6 s`, out.String(), "one poll for each refusal")
		require.Regexp(t, `(?s)level=WARN msg="listening and not ready".*waits_for.kafka="connection refused".*msg=ready`, log.String())
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("waits for")), "it is reported once")
	})
}

func TestAnnouncementOfReadyService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		p, s := waiting(t, &out, &log, 0)
		p.announceWhenReady(t.Context(), s, firstKey{})
		require.Contains(t, out.String(), "Colonnade is ready after 0.0 s.")
		require.NotContains(t, out.String(), "waits for")
	})
}

func TestNoAnnouncementWhenStoppedWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		p, s := waiting(t, &out, &log, 1<<30)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		p.announceWhenReady(ctx, s, firstKey{})
		require.Contains(t, out.String(), "waits for kafka")
		require.NotContains(t, out.String(), "is ready")
		require.NotContains(t, log.String(), "msg=ready")
	})
}

// The first key goes to a terminal only: another output may be a journal that many users read.
func TestFirstKeyIsPrintedAtATerminalOnly(t *testing.T) {
	t.Parallel()
	key, err := credential.NewKey(credential.Random())
	require.NoError(t, err)
	for _, terminal := range []bool{true, false} {
		var out, log bytes.Buffer
		p, s := waiting(t, &out, &log, 0)
		p.Terminal = terminal
		p.announceWhenReady(t.Context(), s, firstKey{key: key, path: "data/api-key", new: true})
		require.Equal(t, terminal, strings.Contains(out.String(), key.Reveal()))
		require.NotContains(t, log.String(), key.Reveal())
		require.Contains(t, out.String(), "data/api-key")
		require.Contains(t, out.String(), "$(cat 'data/api-key')")
	}
}

// The console comes first. Its link signs in, so a journal gets neither link nor key, and
// learns what makes one and where the key is.
func TestConsoleIsAnnounced(t *testing.T) {
	t.Parallel()
	key, err := credential.NewKey(credential.Random())
	require.NoError(t, err)
	built, err := console.FromFiles(fstest.MapFS{"index.html": {Data: []byte("__NONCE__ __BASE__")}, "assets/a.js": {}})
	require.NoError(t, err)
	var out, log bytes.Buffer
	p, s := waiting(t, &out, &log, 0)
	s.console = built
	p.announceWhenReady(t.Context(), s, firstKey{key: key, path: "data/api-key", new: true})
	require.Regexp(t, `(?s)is ready after.*\n\n  Console    colonnade open\n.*API key    in data/api-key`, out.String())
	require.NotContains(t, out.String(), "#open=")

	out.Reset()
	s.console, err = console.FromFiles(nil)
	require.NoError(t, err)
	p.announceWhenReady(t.Context(), s, firstKey{key: key, path: "data/api-key"})
	require.Contains(t, out.String(), "Console    not part of this build")
}
