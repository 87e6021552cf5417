package filtersql_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

var golden = flag.Bool("golden", false, "rewrite golden files")

// Each archive in testdata holds pairs of files: name.json is a filter,
// name.sql what becomes of it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			compareGolden(t, file, render)
		})
	}
}

// compareGolden compares what becomes of the filters of an archive.
func compareGolden(t *testing.T, file string, render func(*testing.T, []byte) string) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	var want, got txtar.Archive
	for _, f := range archive.Files {
		name, isFilter := strings.CutSuffix(f.Name, ".json")
		if !isFilter {
			want.Files = append(want.Files, f)
			continue
		}
		got.Files = append(got.Files, txtar.File{Name: name + ".sql", Data: []byte(render(t, f.Data))})
	}
	if *golden {
		out := txtar.Archive{Comment: archive.Comment}
		next := 0
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".json") {
				out.Files = append(out.Files, f, got.Files[next])
				next++
			}
		}
		require.NoError(t, os.WriteFile(file, txtar.Format(&out), 0o600))
		return
	}
	if diff := cmp.Diff(string(txtar.Format(&want)), string(txtar.Format(&got))); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

func render(t *testing.T, data []byte) string {
	t.Helper()
	e, err := filterjson.Parse(data)
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	c, err := filtersql.Filter(e)
	require.NoError(t, err)
	r := order.Starts(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC).UnixMicro()).
		Intersect(order.Starts(c.Min, c.Max))
	if len(c.Types) == 0 {
		return "nothing\n"
	}
	types := c.Types
	c.Types = c.Types[:1] // the others differ in the type alone
	scan := statements.Scan{Project: domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")), Condition: c, Range: r, Limit: 51}
	var b strings.Builder
	fmt.Fprintf(&b, "exact=%t needle=%t sums=%t types=%v traces=%d\n", c.Exact, c.Selective(), c.ReadsCumulative, types, len(c.TraceIDs))
	writeStatement(&b, scan.Keys())
	if rows := c.WithoutPayloads(); rows != nil {
		require.True(t, statements.Scan{Project: scan.Project, Condition: rows, Range: r, Limit: 51}.Plain())
		b.WriteString("among all:\n")
		writeStatement(&b, scan.Verify([]statements.Version{{Partition: 3, Version: 4821 << 20, Start: r.Low.Start}, {Version: 4822 << 20, Start: r.High.Start}}))
	}
	if c.Rechecks {
		scan.SkipRecheck = true
		b.WriteString("loose:\n")
		writeStatement(&b, scan.Keys())
	}
	return b.String()
}

func writeStatement(b *strings.Builder, s sqltext.Statement) {
	text := s.SQL
	for _, cut := range []string{" FROM spans WHERE ", " AND "} {
		text = strings.ReplaceAll(text, cut, "\n "+strings.TrimLeft(cut, " "))
	}
	fmt.Fprintf(b, "%s\n", text)
	for _, a := range s.Args {
		fmt.Fprintf(b, "%T %v\n", a, a)
	}
}

// TestGoldenOffsetBlocks compares the lookups of offset blocks: none where a match may have none of the texts.
func TestGoldenOffsetBlocks(t *testing.T) {
	t.Parallel()
	compareGolden(t, "testdata/ngrams/sections.txtar", func(t *testing.T, data []byte) string {
		t.Helper()
		e, err := filterjson.Parse(data)
		require.NoError(t, err)
		c, err := filtersql.Filter(e)
		require.NoError(t, err)
		if !c.HasPhrases() {
			return "anywhere\n"
		}
		day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
		s := statements.OffsetBlocks{
			Project: domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")), Condition: c, Limit: 100,
			Range: order.Starts(day.UnixMicro(), day.AddDate(0, 0, 1).UnixMicro()),
		}.Statement()
		require.Len(t, s.Args, 2, "the project, twice; numbers are ours")
		require.Equal(t, 16, s.RowsPerThread)
		return strings.NewReplacer(" PREWHERE ", "\n PREWHERE ", " AND ", "\n AND ", " OR ", "\n OR ").Replace(s.SQL) + "\n"
	})
}
