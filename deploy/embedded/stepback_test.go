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

	"colonnade/deploy/embedded/embeddedtest"
)

// Merges run when nobody else wants the processors, whoever started the engine.
func TestMergesStepBack(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE merged (n UInt64) ENGINE = MergeTree ORDER BY n"))
	require.Eventually(t, func() bool {
		nice := mergeThreads(t)
		return len(nice) >= 2 && !slices.ContainsFunc(nice, func(n string) bool { return n != "19" })
	}, 30*time.Second, 50*time.Millisecond)
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
