package migrations

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/migrations/schema"
)

func TestReaderScriptGolden(t *testing.T) {
	t.Parallel()
	got := ReaderScript(Deployment{Database: "colonnade", Cluster: "main"}, ReaderLimits{Timeout: 15 * time.Second, MemoryBytes: 1 << 30})
	const path = "testdata/reader.sql"
	if *golden {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got), "run with -golden to rewrite")
}

// The user of the read side may read every table that the code of the read side names,
// and not the others.
func TestReaderReadsWhatTheReadSideNames(t *testing.T) {
	t.Parallel()
	declared, err := os.ReadFile("schema/schema.go")
	require.NoError(t, err)
	tables := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += "([a-z_0-9]+)"`).FindAllStringSubmatch(strings.SplitAfterN(string(declared), ")\n", 3)[1], -1) {
		tables[m[1]] = m[2]
	}
	require.Equal(t, schema.Spans, tables["Spans"])
	require.Equal(t, schema.SinkHistory, tables["SinkHistory"])
	named := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../read", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`schema\.(\w+)\b`).FindAllStringSubmatch(string(text), -1) {
			if table := tables[m[1]]; table != "" {
				named[table] = true
			}
		}
		return err
	}))
	require.NotEmpty(t, named)
	for table := range named {
		require.Contains(t, readerTables(), table)
	}
	require.False(t, slices.Contains(readerTables(), schema.Tombstones))
}
