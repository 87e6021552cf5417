package tracetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"colonnade/domain/trace"
	"colonnade/domain/trace/tracetest"
)

type leaves []string

func (l *leaves) Str(p, v string)         { *l = append(*l, p+"=s:"+v) }
func (l *leaves) Num(p string, v float64) { *l = append(*l, fmt.Sprintf("%s=n:%v", p, v)) }
func (l *leaves) Bool(p string, v bool)   { *l = append(*l, fmt.Sprintf("%s=b:%v", p, v)) }
func (l *leaves) Long(p string)           { *l = append(*l, p+"=long") }
func flatten(m map[string]any) (l leaves) { tracetest.Flatten(m, &l); return l }

func TestFlatten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", trace.MaxInlineBytes+1)
	tests := []struct {
		name string
		in   map[string]any
		want leaves
	}{
		{"nothing", nil, nil},
		{"scalars in key order", map[string]any{"b": true, "a": "x", "c": int64(1), "d": 1.5}, leaves{"a=s:x", "b=b:true", "c=n:1", "d=n:1.5"}},
		{"nesting", map[string]any{"a": map[string]any{"b": map[string]any{"c": "x"}}}, leaves{"a.b.c=s:x"}},
		{"dots and backslashes in keys", map[string]any{"a.b": "x", `c\`: "y"}, leaves{`a\.b=s:x`, `c\\=s:y`}},
		{"empty keys", map[string]any{"": map[string]any{"": "x"}}, leaves{".=s:x"}},
		{"scalar array", map[string]any{"a": []any{"x", int64(2), nil}}, leaves{"a.0=s:x", "a.1=n:2", "a.2=long"}},
		{"array of objects", map[string]any{"a": []any{map[string]any{"b": "x"}}}, leaves{"a=long"}},
		{"what a map cannot hold", map[string]any{"a": long, "b": nil, "c": map[string]any{}, "d": []any{}, "e": int64(1<<53 + 1)}, leaves{"a=long", "b=long", "c=long", "d=long", "e=long"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, flatten(tt.in)); diff != "" {
				t.Errorf("leaves (-want +got):\n%s", diff)
			}
		})
	}
}
