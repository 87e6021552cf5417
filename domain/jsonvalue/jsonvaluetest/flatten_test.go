package jsonvaluetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
)

type flattened []string

func (f *flattened) String(p, v string)         { *f = append(*f, p+"=s:"+v) }
func (f *flattened) Number(p string, v float64) { *f = append(*f, fmt.Sprintf("%s=n:%v", p, v)) }
func (f *flattened) Bool(p string, v bool)      { *f = append(*f, fmt.Sprintf("%s=b:%v", p, v)) }
func (f *flattened) Unindexed(p string)         { *f = append(*f, p+"=unindexed") }

func flatten(m map[string]any) (f flattened) { jsonvaluetest.Flatten(m, &f); return f }

func TestFlatten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", jsonvalue.MaxIndexedBytes+1)
	tests := []struct {
		name string
		in   map[string]any
		want flattened
	}{
		{"nothing", nil, nil},
		{"scalars in key order", map[string]any{"b": true, "a": "x", "c": int64(1), "d": 1.5}, flattened{"a=s:x", "b=b:true", "c=n:1", "d=n:1.5"}},
		{"nesting", map[string]any{"a": map[string]any{"b": map[string]any{"c": "x"}}}, flattened{"a.b.c=s:x"}},
		{"dots and backslashes in keys", map[string]any{"a.b": "x", `c\`: "y"}, flattened{`a\.b=s:x`, `c\\=s:y`}},
		{"empty keys", map[string]any{"": map[string]any{"": "x"}}, flattened{".=s:x"}},
		{"scalar array", map[string]any{"a": []any{"x", int64(2), nil}}, flattened{"a.0=s:x", "a.1=n:2", "a.2=unindexed"}},
		{"array of objects", map[string]any{"a": []any{map[string]any{"b": "x"}}}, flattened{"a=unindexed"}},
		{"values that no map holds", map[string]any{"a": long, "b": nil, "c": map[string]any{}, "d": []any{}, "e": int64(1<<53 + 1)}, flattened{"a=unindexed", "b=unindexed", "c=unindexed", "d=unindexed", "e=unindexed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, flatten(tt.in)); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}
