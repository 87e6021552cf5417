package jsonvalue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	tree := map[string]any{"a": map[string]any{"b.c": []any{"x", nil}, "0": "zero"}, "": "empty"}
	tests := []struct {
		path string
		want any
		ok   bool
	}{
		{`a.b\.c.0`, "x", true},
		{`a.b\.c.1`, nil, true},
		{`a.b\.c.2`, nil, false},
		{`a.b\.c.00`, nil, false},
		{`a.b.c.0`, nil, false},
		{"a.0", "zero", true},
		{"", "empty", true},
		{"a.0.x", nil, false},
	}
	for _, tt := range tests {
		got, ok := jsonvalue.Lookup(tree, jsonvalue.SplitPath(tt.path))
		require.Equal(t, tt.ok, ok, tt.path)
		require.Equal(t, tt.want, got, tt.path)
	}
}

func FuzzPath(f *testing.F) {
	f.Add("a", `b.c\`, "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		require.Equal(t, []string{a, b, c}, jsonvalue.SplitPath(jsonvalue.JoinPath(a, b, c)))
	})
}
