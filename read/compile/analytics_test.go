package compile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/read/compile"
)

// The statements of analytics: project, types, time and partition first in
// each of their parts, names and values as arguments.
func TestAnalyticsGolden(t *testing.T) {
	t.Parallel()
	const low, high = 1772582400000000, 1773187200000000
	analysis := func(filtering string, roots bool, axis compile.Axis, gather compile.Gather, paths ...string) compile.Analysis {
		where, err := filterjson.Parse([]byte(filtering))
		require.NoError(t, err)
		condition, err := compile.Filter(where)
		require.NoError(t, err)
		rate := .5
		a := compile.Analysis{
			Project: domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")), Condition: condition, Rate: compile.NewRate(&rate),
			Axis: axis, Low: low, High: high, Origin: low, Width: 3600e6, Roots: roots,
		}
		for _, p := range paths {
			a.Measures = append(a.Measures, compile.Measure{Gather: gather, Keys: jsonvalue.SplitPath(p)})
		}
		return a
	}
	const session = `{"conditions":[{"field":"session_id","value":"s'1"}]}`
	const text = `{"conditions":[{"field":"content","operator":"contains","value":"Paris"}]}`
	activity := compile.Activity{Project: domain.ProjectID{1}, Actor: compile.Session, Low: low, High: high, Limit: 51}
	last := activity
	last.Last, last.Actor, last.Order = true, compile.User, domain.Ascending
	second := activity
	second.Behind = &compile.ActivityCursor{Actor: compile.Session, Order: domain.Descending, Active: (low + high) / 2, Tie: 7}
	statements := []struct {
		name string
		compile.Statement
	}{
		{"volume", analysis(`{}`, true, compile.ByStart, compile.Numbers).Volume(1e6)},
		{"what a root sums", analysis(session, true, compile.ByStart, compile.Numbers, "ag.metrics.tokens.cumulative.total").Values(11)},
		{"what other spans sum", analysis(session, false, compile.ByStart, compile.Sum, "ag.metrics.errors.cumulative").Values(11)},
		{"columns and maps", analysis(`{}`, false, compile.ByStart, compile.Numbers, "ag.metrics.duration.cumulative", "ag.meta.score", "ag.meta.list.0").Values(11)},
		{"words", analysis(`{}`, true, compile.ByStart, compile.Strings, "ag.type.trace", "ag.type.span", `top.a\.b`, "ag.meta.response.model").Values(11)},
		{"objects", analysis(`{}`, true, compile.ByStart, compile.Objects, "ag.type", "ag.metrics.tokens.incremental", "ag.metrics.tokens").Values(11)},
		{"elements", analysis(`{}`, true, compile.ByStart, compile.Elements, "ag.meta.tags").Values(11)},
		{"by creation, decided by documents", analysis(text, true, compile.ByCreation, compile.Booleans, "ag.flags.f").Values(11)},
		{"sessions by their first span", activity.Page()},
		{"sessions by their first span, behind a cursor", second.Page()},
		{"users by their last span", last.Page()},
	}
	var got strings.Builder
	for _, s := range statements {
		pretty := strings.NewReplacer(" FROM ", "\n FROM ", " AND ", "\n  AND ", ", toUInt8(", ",\n  toUInt8(", " LEFT ANY JOIN", "\n LEFT ANY JOIN", " GROUP BY", "\n GROUP BY").Replace(s.SQL)
		fmt.Fprintf(&got, "-- %s\n%s\n", s.name, pretty)
		for _, a := range s.Args {
			fmt.Fprintf(&got, "%T %v\n", a, a)
		}
		require.Len(t, s.Args, strings.Count(s.SQL, "?"), s.name)
		require.NotContains(t, s.SQL, "s'1")
	}
	const file = "testdata/analytics.sql"
	if *golden {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), got.String()), "run with -golden to rewrite")
}
