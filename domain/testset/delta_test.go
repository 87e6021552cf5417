package testset_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/domain/testset"
)

// base are three rows; the last two are equal.
func base(tb testing.TB) []testset.Testcase {
	tb.Helper()
	return named(tb, []testset.Testcase{
		{Data: entity.Document{"q": "one", "a": json.Number("1")}, Tags: entity.Document{"k": "v"}},
		{Data: entity.Document{"q": "two"}},
		{Data: entity.Document{"q": "two"}},
	})
}

func readDelta(tb testing.TB, text string) testset.Delta {
	tb.Helper()
	o, err := request.ParseObject([]byte(text))
	require.NoError(tb, err)
	d := testset.ReadDelta(o)
	require.NoError(tb, o.Err())
	return d
}

func TestDelta(t *testing.T) {
	t.Parallel()
	rows := base(t)
	one, two := rows[0].ID.String(), rows[1].ID.String()
	tests := []struct{ name, delta, want string }{
		{"a column for all", `{"columns":{"add":["n"]}}`, `[{"a":1,"n":"","q":"one"},{"n":"","q":"two"},{"n":"","q":"two"}]`},
		{"a column less, also where it is not", `{"columns":{"remove":["a"]}}`, `[{"q":"one"},{"q":"two"},{"q":"two"}]`},
		{"two names swapped", `{"columns":{"replace":[["q","a"],["a","q"]]}}`, `[{"a":"one","q":1},{"a":"two"},{"a":"two"}]`},
		{"a name that another column leaves", `{"columns":{"remove":["a"],"replace":[["q","a"]]}}`, `[{"a":"one"},{"a":"two"},{"a":"two"}]`},
		{"a name that a column leaves is added", `{"columns":{"replace":[["q","z"]],"add":["q"]}}`, `[{"a":1,"q":"","z":"one"},{"q":"","z":"two"},{"q":"","z":"two"}]`},
		{"rows at the end", `{"rows":{"add":[{"data":{"q":"new"}}]}}`, `[{"a":1,"q":"one"},{"q":"two"},{"q":"two"},{"q":"new"}]`},
		{"equal rows go together", `{"rows":{"remove":["` + two + `"]}}`, `[{"a":1,"q":"one"}]`},
		{"a row in its place", `{"rows":{"replace":[{"id":"` + one + `","data":{"q":"eins"}}]}}`, `[{"q":"eins"},{"q":"two"},{"q":"two"}]`},
		{"columns first, then rows", `{"columns":{"add":["n"]},"rows":{"replace":[{"id":"` + one + `","data":{"x":1}}]}}`, `[{"x":1},{"n":"","q":"two"},{"n":"","q":"two"}]`},
		{"a row whose labels change alone", `{"columns":{"add":["n"]},"rows":{"replace":[{"id":"` + one + `","tags":{}}]}}`, `[{"a":1,"n":"","q":"one"},{"n":"","q":"two"},{"n":"","q":"two"}]`},
		{"nothing", `{"rows":{},"columns":{}}`, `[{"a":1,"q":"one"},{"q":"two"},{"q":"two"}]`},
		{"as documents", `{"set":{"testcases":[{"data":{"q":"all"}}]}}`, `[{"q":"all"}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readDelta(t, tt.delta).Apply(rows)
			require.NoError(t, err)
			data := []entity.Document{}
			for _, e := range got.Testcases {
				data = append(data, e.Data)
			}
			text, err := json.Marshal(data)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text))
		})
	}
	t.Cleanup(func() { require.Empty(t, cmp.Diff(base(t), rows), "the rows that it was applied to stay as they were") })
}

// What a delta or a file makes is refused before it is in memory: a name is a
// member of every row, and a comma is an empty cell.
func TestWhatIsTooMuchIsNotMade(t *testing.T) {
	t.Parallel()
	rows := make([]testset.Testcase, testset.MaxTestcases)
	for i := range rows {
		rows[i].Data = entity.Document{"q": strconv.Itoa(i)}
	}
	rows = named(t, rows)
	names := make([]string, 100_000)
	for i := range names {
		names[i] = `"c` + strconv.Itoa(i) + `"`
	}
	long := strings.Repeat("n", 1<<20)
	for _, columns := range []string{
		`{"add":[` + strings.Join(names, ",") + `]}`, `{"add":[` + strings.Join(names[:999], ",") + `]}`, `{"replace":[["q","` + long + `"]]}`,
	} {
		got, err := readDelta(t, `{"columns":`+columns+`}`).Apply(rows)
		if err == nil {
			err = testset.Name(rows[0].ID, got.Testcases)
		}
		require.Equal(t, domain.TooLarge, domain.KindOf(err), "%v", err)
	}
	header := make([]string, testset.MaxColumns)
	for i := range header {
		header[i] = "c" + strconv.Itoa(i)
	}
	_, err := testset.Read(testset.CSV, "", []byte(strings.Join(header, ",")+"\n"+strings.Repeat(strings.Repeat(",", testset.MaxColumns-1)+"\n", testset.MaxTestcases)))
	require.Equal(t, domain.TooLarge, domain.KindOf(err), "%v", err)
	var none testset.Data
	none, err = readDelta(t, `{"columns":{"add":["`+long+`"]},"rows":{"remove":["`+rows[0].ID.String()+`"]}}`).Apply(rows[:1])
	require.NoError(t, err, "of no row it is nothing")
	require.Empty(t, none.Testcases)
}

func TestIDsFollowFromWhatIsSaid(t *testing.T) {
	t.Parallel()
	rows := base(t)
	require.Equal(t, rows[1].ID, rows[2].ID)
	require.NotEqual(t, rows[0].ID, rows[1].ID)
	require.EqualValues(t, 8, rows[0].ID.Version())
	labelled := named(t, []testset.Testcase{{Data: entity.Document{"q": "two"}, Meta: entity.Document{"k": "v"}}, {Data: entity.Document{"q": "two"}, Tags: entity.Document{}}})
	require.NotEqual(t, rows[1].ID, labelled[0].ID, "what stands beside the data counts")
	require.Equal(t, rows[1].ID, labelled[1].ID, "what is empty says nothing")
	other := []testset.Testcase{{Data: entity.Document{"q": "two"}}}
	require.NoError(t, testset.Name(rows[1].ID, other))
	require.NotEqual(t, rows[1].ID, other[0].ID, "another testset's row is another one")
}
