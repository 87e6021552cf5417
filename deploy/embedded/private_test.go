//go:build embedded

package embedded_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
)

// strangerCommand makes this test binary open all paths of its input, and
// print those that it may.
const strangerCommand = "open-all"

func openAll() int {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		file, err := os.Open(lines.Text())
		if err != nil {
			continue
		}
		if _, err := file.Readdirnames(1); err == nil || file.Chdir() != nil { // a folder can be read, or it is a file
			fmt.Println(lines.Text())
		}
		_ = file.Close()
	}
	return 0
}

// TestStrangersReadNothing: no other user of the machine can read what the
// engines keep, in a new data directory nor in one that was open before. (All of
// it was open to everybody.)
func TestStrangersReadNothing(t *testing.T) {
	dir := stackDir(t)
	s := start(t, embedded.Config{Dir: dir})
	write(t, s, "first")
	requirePrivate(t, dir)
	requireOwnUsers(t, s)
	require.NoError(t, s.Close(t.Context()))

	for _, path := range below(t, dir) { // as an earlier version left it
		relative, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		engine := strings.HasPrefix(relative, "kafka") || strings.HasPrefix(relative, "clickhouse") || relative == "postgres"
		if info, err := os.Lstat(path); err == nil && engine && !strings.HasSuffix(relative, ".port") && info.Mode()&fs.ModeSymlink == 0 {
			require.NoError(t, os.Chmod(path, info.Mode().Perm()|0o055))
		}
	}
	s = start(t, embedded.Config{Dir: dir})
	write(t, s, "second")
	require.Equal(t, []string{"first", "second"}, read(t, s))
	requirePrivate(t, dir)
	require.NoError(t, s.Close(t.Context()))
}

func below(t *testing.T, dir string) (paths []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir && !os.IsNotExist(err) { // engines remove files meanwhile
			paths = append(paths, path)
		}
		return nil
	}))
	require.NotEmpty(t, paths)
	return paths
}

// requirePrivate checks every mode, and, where this is root, that another user can open nothing.
func requirePrivate(t *testing.T, dir string) {
	t.Helper()
	for _, path := range below(t, dir) {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&fs.ModeSymlink == 0 {
			require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %s", path, info.Mode())
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", strangerCommand)
	cmd.Dir, cmd.Stdin = "/", strings.NewReader(dir+"\n"+strings.Join(below(t, dir), "\n"))
	var opened, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &opened, &failed
	if os.Geteuid() != 0 {
		return // nobody can be another user
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	require.NoError(t, cmd.Run(), failed.String())
	require.Empty(t, opened.String())
}

// requireOwnUsers checks that root gives each engine a user of its own.
func requireOwnUsers(t *testing.T, s *embedded.Stack) {
	t.Helper()
	users := map[string]bool{}
	for _, engine := range []string{embedded.Kafka, embedded.ClickHouse, embedded.Postgres} {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID(engine)))
		require.NoError(t, err)
		users[regexp.MustCompile(`Uid:\t(\d+)\t`).FindStringSubmatch(string(status))[1]] = true
	}
	if os.Geteuid() == 0 {
		require.Len(t, users, 3)
		require.NotContains(t, users, "0")
	}
}
