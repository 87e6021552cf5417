package request_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/request"
)

func fieldsOf(t *testing.T, err error) []domain.Field {
	t.Helper()
	e, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, domain.Invalid, e.Kind)
	return e.Fields
}

func TestReadsEveryForm(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	o, err := request.ParseObject([]byte(`{"s":"x","b":true,"i":3,"id":"` + id.String() + `","at":"2026-01-02T03:04:05.678Z","day":"2026-01-02",
		"m":{"n":1.50},"list":[1,"a"],"words":["a","b"],"ids":["` + id.String() + `"],"o":{"e":"two"},"os":[{"s":"1"},{"s":"2"}],"nil":null}`))
	require.NoError(t, err)
	require.Equal(t, "x", o.String("s"))
	require.Equal(t, "x", *o.StringPtr("s"))
	require.Nil(t, o.StringPtr("absent"))
	require.True(t, o.True("b"))
	require.Equal(t, 3, *o.Int("i", 1))
	require.Equal(t, id, o.UUID("id"))
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), o.Time("at"))
	require.Equal(t, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), o.Time("day"))
	require.Equal(t, map[string]any{"n": json.Number("1.50")}, o.Map("m"))
	require.Len(t, o.List("list"), 2)
	require.Equal(t, []string{"a", "b"}, o.Strings("words"))
	require.Equal(t, []uuid.UUID{id}, o.UUIDs("ids"))
	require.Equal(t, "two", o.Object("o").Enum("e", "one", "two"))
	require.Len(t, o.Objects("os"), 2)
	require.True(t, o.Present("nil"))
	require.False(t, o.Has("nil"))
	o.Ignore("nil")
	o.FailUnknown()
	require.NoError(t, o.Err())
}

func TestAbsentBranchReadsAsEmpty(t *testing.T) {
	t.Parallel()
	o, err := request.ParseObject([]byte(`{}`))
	require.NoError(t, err)
	none := o.Object("nothing")
	require.Nil(t, none)
	require.Empty(t, none.String("s"))
	require.Nil(t, none.Map("m"))
	require.False(t, none.Has("x"))
	require.Nil(t, none.Names())
	none.FailUnknown()
	require.NoError(t, none.Err())
}

func TestReportsEveryProblemWithItsLocation(t *testing.T) {
	t.Parallel()
	o, err := request.ParseObject([]byte(`{"a":{"s":1,"ids":["x"],"e":"three","i":0,"t":"soon","l":{},"os":[1]},"zz":1,"yy":2}`))
	require.NoError(t, err)
	a := o.Object("a")
	a.String("s")
	a.UUIDs("ids")
	a.Enum("e", "one", "two")
	a.Int("i", 1)
	a.Time("t")
	a.List("l")
	a.Objects("os")
	a.Require("slug")
	a.FailUnknown()
	o.FailUnknown()
	want := []string{
		"string_type body a s", "uuid_parsing body a ids 0", "enum body a e", "greater_than_equal body a i", "datetime_parsing body a t",
		"list_type body a l", "dict_type body a os 0", "missing body a slug", "extra_forbidden body yy", "extra_forbidden body zz",
	}
	got := make([]string, 0, len(want))
	for _, f := range fieldsOf(t, o.Err()) {
		loc := make([]string, len(f.Loc))
		for i, l := range f.Loc {
			b, err := json.Marshal(l)
			require.NoError(t, err)
			loc[i] = strings.Trim(string(b), `"`)
		}
		got = append(got, f.Type+" "+strings.Join(loc, " "))
	}
	require.Empty(t, cmp.Diff(want, got), "(-want +got)")
}

func TestParseObjectRejects(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nothing", "", "missing"},
		{"blanks", " \n", "missing"},
		{"broken", "{", "json_invalid"},
		{"two values", "{} {}", "json_invalid"},
		{"a list", "[]", "model_attributes_type"},
		{"null", "null", "model_attributes_type"},
		{"NUL in a value", `{"a":["\u0000"]}`, "string_unicode"},
		{"NUL in a key", `{"\u0000":1}`, "string_unicode"},
		{"too deep", `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "recursion_loop"},
		{"too large a number", `{"a":1e999}`, "finite_number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := request.ParseObject([]byte(tt.in))
			require.Equal(t, tt.want, fieldsOf(t, err)[0].Type)
		})
	}
}

func FuzzParseObject(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := request.ParseObject(in)
		if err != nil {
			require.NotEmpty(t, fieldsOf(t, err))
			return
		}
		o.FailUnknown()
		if len(o.Names()) > 0 {
			require.Error(t, o.Err())
		}
	})
}

// A member that was asked for and is null is absent; one that nobody asked for is a mistake, null or not.
func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	o, err := request.ParseObject([]byte(`{"asked":null,"second":null,"third":1,"unknown":null}`))
	require.NoError(t, err)
	require.False(t, o.Has("asked"))
	require.Equal(t, "third", o.OneOf("first", "second", "third"))
	require.NotNil(t, o.Int("third", 0))
	o.FailUnknown()
	e, ok := errors.AsType[*domain.Error](o.Err())
	require.True(t, ok)
	require.Len(t, e.Fields, 1)
	require.Equal(t, []any{"body", "unknown"}, e.Fields[0].Loc)
}

// A body may hold millions of mistakes; the reply has the first ones.
func TestMistakesAreBounded(t *testing.T) {
	t.Parallel()
	o, err := request.ParseObject([]byte(`{"list":[0` + strings.Repeat(",0", 1000) + `]}`))
	require.NoError(t, err)
	o.Strings("list")
	require.Len(t, fieldsOf(t, o.Err()), 32)
}
