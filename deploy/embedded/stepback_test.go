//go:build embedded

package embedded_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
			has := 0
			for _, nice := range mergeThreads(t) {
				if nice == want {
					has++
				}
			}
			return has >= 2
		}, time.Minute, 50*time.Millisecond, want)
		require.Eventually(t, func() bool { return !slices.Contains(mergeThreads(t), "0") }, time.Minute, 50*time.Millisecond)
	}
}

// mergeThreads gives the nice values of merging threads of engines that this process started.
func mergeThreads(t *testing.T) (nice []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/task/*/stat")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // it ended
			continue
		}
		id, rest, _ := strings.Cut(string(text), ") ") // proc(5): pid (comm) state ppid … nice is the 19th
		fields := strings.Fields(rest)
		if strings.HasSuffix(id, "(MergeMutate") && fields[1] == strconv.Itoa(os.Getpid()) {
			nice = append(nice, fields[16])
		}
	}
	return nice
}
