//go:build embedded

package supervise_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"colonnade/deploy/embedded/internal/supervise"
)

type config struct{ Word string }

// TestMain is also the children's main: each test's child is a word on the command line.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "child-steady":
		os.Exit(supervise.Serve(steady))
	case "child-refuses":
		os.Exit(supervise.Serve(func(context.Context, config, func(supervise.Ready)) error { return errors.New("one clear sentence") }))
	case "child-crashes":
		os.Exit(supervise.Serve(func(_ context.Context, _ config, ready func(supervise.Ready)) error {
			ready(supervise.Ready{})
			return errors.New("crashed")
		}))
	case "child-panics":
		os.Exit(supervise.Serve(func(context.Context, config, func(supervise.Ready)) error { panic("before the first word") }))
	default:
		goleak.VerifyTestMain(m)
	}
}

// steady answers as a healthy child and ends when its input ends.
func steady(ctx context.Context, c config, ready func(supervise.Ready)) error {
	ready(supervise.Ready{Version: c.Word})
	<-ctx.Done()
	return os.WriteFile("../stopped", []byte(c.Word), 0o600)
}

func spec(t *testing.T, name string) supervise.Spec {
	t.Helper()
	return supervise.Spec{Name: name, Dir: t.TempDir(), Config: config{Word: "configured"}, Log: slog.New(slog.DiscardHandler)}
}

func TestStopInOrder(t *testing.T) {
	t.Parallel()
	s := spec(t, "child-steady")
	p, err := supervise.Start(t.Context(), s)
	require.NoError(t, err)
	require.NotZero(t, p.PID())
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Err())
	require.Zero(t, p.PID())
	word, err := os.ReadFile(filepath.Join(s.Dir, "stopped"))
	require.NoError(t, err)
	require.Equal(t, "configured", string(word))
}

func TestRestart(t *testing.T) {
	t.Parallel()
	p, err := supervise.Start(t.Context(), spec(t, "child-steady"))
	require.NoError(t, err)
	for range 3 {
		old := p.PID()
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		require.Eventually(t, func() bool { return p.PID() != 0 && p.PID() != old }, 2*time.Minute, time.Millisecond)
	}
	require.NoError(t, p.Stop(t.Context()))
}

func TestRefusalIsTheError(t *testing.T) {
	t.Parallel()
	_, err := supervise.Start(t.Context(), spec(t, "child-refuses"))
	require.EqualError(t, err, "one clear sentence")
	_, err = supervise.Start(t.Context(), spec(t, "child-panics"))
	require.ErrorContains(t, err, "exit status 2")
}

func TestGivenUp(t *testing.T) {
	t.Parallel()
	p, err := supervise.Start(t.Context(), spec(t, "child-crashes"))
	require.NoError(t, err)
	select {
	case <-p.Done():
	case <-time.After(3 * time.Minute):
		t.Fatal("it is still being restarted")
	}
	require.ErrorContains(t, p.Err(), "child-crashes died 8 times in a row")
	require.ErrorContains(t, p.Err(), "crashed", "the error has the end of the log")
	require.NoError(t, p.Stop(t.Context()))
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := supervise.Lock(t.Context(), path, 0)
	require.NoError(t, err)
	_, err = supervise.Lock(t.Context(), path, 20*time.Millisecond)
	require.ErrorIs(t, err, supervise.ErrLocked)
	got := make(chan error, 1)
	go func() {
		second, err := supervise.Lock(t.Context(), path, time.Minute)
		got <- errors.Join(err, second.Close())
	}()
	require.NoError(t, first.Close())
	require.NoError(t, <-got)
}
