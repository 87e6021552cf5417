//go:build embedded

package pgserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeNative is a package's folder as npm leaves it: without its links.
func fakeNative(t *testing.T) string {
	t.Helper()
	native := filepath.Join(t.TempDir(), "native")
	require.NoError(t, os.MkdirAll(filepath.Join(native, "lib"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(native, "lib", "libx.so.1.2"), []byte("x"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(native, "lib", "libx.a"), []byte("a"), 0o644))
	links := `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]`
	require.NoError(t, os.WriteFile(filepath.Join(native, "pg-symlinks.json"), []byte(links), 0o644))
	return native
}

func TestMakeUsableInPlace(t *testing.T) {
	t.Parallel()
	native, me := fakeNative(t), identity{uid: os.Geteuid(), gid: os.Getegid()}
	for range 2 {
		got, err := makeUsable(native, t.TempDir(), me)
		require.NoError(t, err)
		require.Equal(t, native, got)
		where, err := os.Readlink(filepath.Join(native, "lib", "libx.so.1"))
		require.NoError(t, err)
		require.Equal(t, "libx.so.1.2", where)
	}
}

// TestMakeUsableByCopy takes a package in a folder that the server's user may not enter.
func TestMakeUsableByCopy(t *testing.T) {
	t.Parallel()
	native, dir := fakeNative(t), t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(native), 0o700))
	other := identity{drop: true, uid: 4711, gid: 4711}
	for range 2 {
		got, err := makeUsable(native, dir, other)
		require.NoError(t, err)
		require.Equal(t, dir+".engine", got)
		text, err := os.ReadFile(filepath.Join(got, "lib", "libx.so.1"))
		require.NoError(t, err)
		require.Equal(t, "x", string(text))
		require.NoFileExists(t, filepath.Join(got, "lib", "libx.a"))
	}
}

func TestBinariesMustMatchTheData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600))
	_, err := chooseBinaries(t.Context(), Config{Dir: dir}, identity{})
	require.ErrorContains(t, err, "is of Postgres 9, and only these are here")
}
