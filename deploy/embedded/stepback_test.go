//go:build embedded

package embedded_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
)

// Merges run when nobody else wants the processors, whoever started the engine, or
// step back as far as the configuration says.
func TestMergesStepBack(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]embedded.Config{
		"19": {},
		"13": {ClickHouseMergeNice: 13},
	} {
		c.Dir, c.Only = stackDir(t), []string{embedded.ClickHouse}
		s := start(t, c)
		conn := open(t, s.ClickHouse)
		require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE merged (n UInt64) ENGINE = MergeTree ORDER BY n"))
		require.Eventually(t, func() bool {
			nice := mergeThreads(t, c.Dir)
			return len(nice) >= 2 && !slices.ContainsFunc(nice, func(n string) bool { return n != want })
		}, 30*time.Second, 50*time.Millisecond, want)
	}
}

// mergeThreads gives the nice values of merging threads of the engine that has its data there.
func mergeThreads(t *testing.T, dir string) (nice []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/task/*/stat")
	require.NoError(t, err)
	engines := map[string]bool{} // by process
	for _, file := range files {
		process := strings.Split(file, "/")[2]
		if _, is := engines[process]; !is {
			engines[process] = holds(t, process, dir)
		}
		if !engines[process] {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil { // it ended
			continue
		}
		id, rest, _ := strings.Cut(string(text), ") ") // proc(5): pid (comm) state ppid … nice is the 19th
		if strings.HasSuffix(id, "(MergeMutate") {
			nice = append(nice, strings.Fields(rest)[16])
		}
	}
	return nice
}

// holds tells whether a process has a file open below a directory.
func holds(t *testing.T, process, dir string) bool {
	t.Helper()
	links, err := filepath.Glob("/proc/" + process + "/fd/*")
	require.NoError(t, err)
	return slices.ContainsFunc(links, func(link string) bool {
		file, err := os.Readlink(link)
		return err == nil && strings.HasPrefix(file, dir+"/")
	})
}
