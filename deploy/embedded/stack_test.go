//go:build embedded

package embedded_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

func TestStartTwice(t *testing.T) {
	dir, err := os.MkdirTemp("", "colonnade-stack-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	defer os.RemoveAll(dir)
	for range 3 {
		began := time.Now()
		s, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Progress: func(l string) { t.Log(time.Since(began), l) }})
		require.NoError(t, err)
		t.Log(time.Since(began), s.Kafka, s.ClickHouse, s.Postgres)
		began = time.Now()
		require.NoError(t, s.Close(t.Context()))
		t.Log("stop", time.Since(began))
	}
}
