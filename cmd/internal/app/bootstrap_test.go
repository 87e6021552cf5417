package app

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
)

// A first start that was cut off may leave a file without a secret in it; the
// next one makes it, and keeps it.
func TestASecretThatWasCutOffIsMadeAnew(t *testing.T) {
	t.Parallel()
	p := &process{cfg: config.Loaded{Config: config.Default()}}
	p.Embedded = true
	p.cfg.DataDir = t.TempDir()
	for _, name := range []string{"ticket-secret", "encryption-key"} {
		require.NoError(t, os.WriteFile(p.cfg.DataPath(name), nil, 0o600))
	}
	for range 2 {
		secret, err := p.ticketSecret()
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(secret), 32)
		key, err := p.encryptionKey()
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(key), 32)
		for name, want := range map[string]string{"ticket-secret": string(secret), "encryption-key": key} {
			raw, err := os.ReadFile(p.cfg.DataPath(name))
			require.NoError(t, err)
			require.Equal(t, want, string(raw))
			info, err := os.Stat(p.cfg.DataPath(name))
			require.NoError(t, err)
			require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		}
	}
	left, err := os.ReadDir(p.cfg.DataDir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
