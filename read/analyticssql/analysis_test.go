package analyticssql_test

import (
	"flag"
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
	"colonnade/read/analyticssql"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

var golden = flag.Bool("golden", false, "rewrite golden files")

// The statements of analytics: project, types, time and partition first in
// each of their parts, names and values as arguments.
func TestAnalyticsGolden(t *testing.T) {
	t.Parallel()
	const low, high = 1772582400000000, 1773187200000000
	analysis := func(filtering string, roots bool, axis analyticssql.Axis, gather analyticssql.Kind, paths ...string) analyticssql.Analysis {
		where, err := filterjson.Parse([]byte(filtering))
		require.NoError(t, err)
		condition, err := filtersql.Filter(where)
		require.NoError(t, err)
		rate := .5
		a := analyticssql.Analysis{
			Project: domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")), Condition: condition, Rate: sqltext.NewRate(&rate),
			Axis: axis, Low: low, High: high, Origin: low, Width: 3600e6, Roots: roots,
		}
		for _, p := range paths {
			a.Measures = append(a.Measures, analyticssql.Measure{Kind: gather, Keys: jsonvalue.SplitPath(p)})
		}
		return a
	}
	const session = `{"conditions":[{"field":"session_id","value":"s'1"}]}`
	const text = `{"conditions":[{"field":"content","operator":"contains","value":"Paris"}]}`
	activity := analyticssql.Activity{Project: domain.ProjectID{1}, Actor: order.Session, Low: low, High: high, Limit: 51}
	last := activity
	last.Last, last.Actor, last.Order = true, order.User, domain.Ascending
	second := activity
	second.Behind = &order.ActivityCursor{Actor: order.Session, Order: domain.Descending, Active: (low + high) / 2, SortHash: 7}
	grouped := analysis(`{}`, false, analyticssql.ByStart, analyticssql.Numbers, "ag.metrics.costs.incremental.total")
	grouped.GroupBy = []analyticssql.Group{{Column: "toString(model)"}, {Path: "ag.tags.t'1"}}
	actors := analyticssql.Actors{Project: domain.ProjectID{1}, Actor: order.Session, IDs: []string{"s'1", "s2"}, Range: order.Starts(low, high)}
	statements := []struct {
		name string
		sqltext.Statement
	}{
		{"volume", analysis(`{}`, true, analyticssql.ByStart, analyticssql.Numbers).Volume(1e6)},
		{"what a root sums", analysis(session, true, analyticssql.ByStart, analyticssql.Numbers, "ag.metrics.tokens.cumulative.total").Values(11)},
		{"what other spans sum", analysis(session, false, analyticssql.ByStart, analyticssql.Sum, "ag.metrics.errors.cumulative").Values(11)},
		{"columns and maps", analysis(`{}`, false, analyticssql.ByStart, analyticssql.Numbers, "ag.metrics.duration.cumulative", "ag.meta.score", "ag.meta.list.0").Values(11)},
		{"groups", grouped.Values(11)},
		{"times of sessions", actors.Times()},
		{"models of sessions", actors.Models()},
		{"words", analysis(`{}`, true, analyticssql.ByStart, analyticssql.Strings, "ag.type.trace", "ag.type.span", `top.a\.b`, "ag.meta.response.model").Values(11)},
		{"objects", analysis(`{}`, true, analyticssql.ByStart, analyticssql.Objects, "ag.type", "ag.metrics.tokens.incremental", "ag.metrics.tokens").Values(11)},
		{"elements", analysis(`{}`, true, analyticssql.ByStart, analyticssql.Elements, "ag.meta.tags").Values(11)},
		{"by creation, decided by documents", analysis(text, true, analyticssql.ByCreation, analyticssql.Booleans, "ag.flags.f").Values(11)},
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
