package normalize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnflatten shows what becomes of dotted keys. Source: contract §1.2.
func TestUnflatten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x.", 40)
	tests := []struct {
		name   string
		in     []attribute
		want   object // less ag
		parked object
	}{
		{"nesting", []attribute{{"a.b.c", 1}, {"a.d", "x"}, {"e", true}}, object{"a": object{"b": object{"c": int64(1)}, "d": "x"}, "e": true}, nil},
		{"numbers are positions", []attribute{{"a.0.x", 1}, {"a.1.x", 2}, {"b.0", "y"}}, object{"a": []any{object{"x": int64(1)}, object{"x": int64(2)}}, "b": []any{"y"}}, nil},
		{"in any order", []attribute{{"a.1", 2}, {"a.0", 1}}, object{"a": []any{int64(1), int64(2)}}, nil},
		{"holes", []attribute{{"a.2", 1}, {"b.1.x", 1}, {"c.1.0", 1}}, object{"a": []any{nil, nil, int64(1)}, "b": []any{object{}, object{"x": int64(1)}}, "c": []any{[]any{}, []any{int64(1)}}}, nil},
		{"too many holes", []attribute{{"a.999999999.x", 1}, {"b.100", 1}}, object{"a": object{"999999999": object{"x": int64(1)}}, "b": object{"100": int64(1)}}, nil},
		{"numbers among names", []attribute{{"a.0", 1}, {"a.b", 2}}, object{"a": object{"0": int64(1), "b": int64(2)}}, nil},
		{"a number with a leading zero is a name", []attribute{{"a.00", 1}}, object{"a": object{"00": int64(1)}}, nil},
		{"the root is no list", []attribute{{"0.a", 1}}, object{"0": object{"a": int64(1)}}, nil},
		{"empty segments", []attribute{{"", 1}, {"a..b", 2}, {".c", 3}}, object{"": int64(1), "a": object{"": object{"b": int64(2)}}}, object{".c": int64(3)}},
		{"a value above another", []attribute{{"a", 1}, {"a.b", 2}}, object{"a": int64(1)}, object{"a.b": int64(2)}},
		{"a value upon others", []attribute{{"a.b", 2}, {"a", 1}}, object{"a": object{"b": int64(2)}}, object{"a": int64(1)}},
		{"a key twice", []attribute{{"a", 1}, {"a", 2}}, object{"a": int64(2)}, object{"a": int64(1)}},
		{
			"objects join",
			[]attribute{{"a", object{"b": 1}}, {"a.c", 2}, {"d.e", 3}, {"d", object{"f": 4}}},
			object{"a": object{"b": int64(1), "c": int64(2)}, "d": object{"e": int64(3), "f": int64(4)}},
			nil,
		},
		{"but not what they both have", []attribute{{"a.b", 1}, {"a", object{"b": object{"x": 2}, "c": 3}}}, object{"a": object{"b": int64(1), "c": int64(3)}}, object{"a.b": object{"x": int64(2)}}},
		{"keys of objects are kept as they are", []attribute{{"a", object{"b.c": 1, "0": 2}}}, object{"a": object{"b.c": int64(1), "0": int64(2)}}, nil},
		{"lists do not join", []attribute{{"a", []any{1}}, {"a.1", 2}}, object{"a": []any{int64(1)}}, object{"a.1": int64(2)}},
		{"depth is bounded", []attribute{{long + "x", 1}}, deep(31, strings.Repeat("x.", 9)+"x"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := fitOne(t, newSpan(tt.in...)).Attributes
			ag, _ := got["ag"].(object)
			parked, _ := ag["unsupported"].(object)
			delete(got, "ag")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.parked, parked); diff != "" {
				t.Errorf("unsupported (-want +got):\n%s", diff)
			}
		})
	}
}

// deep nests a one in objects with the key "x", the innermost with a last key.
func deep(levels int, last string) object {
	o := object{last: int64(1)}
	for range levels {
		o = object{"x": o}
	}
	return o
}

// TestWide shows that many keys of one object are all found again.
func TestWide(t *testing.T) {
	t.Parallel()
	in := make([]attribute, 0, 600)
	want := object{}
	for i := range 300 {
		key := fmt.Sprintf("k%d", i)
		in = append(in, attribute{"a." + key + ".x", i})
		want[key] = object{"x": int64(i), "y": int64(i)}
	}
	for i := range 300 {
		in = append(in, attribute{fmt.Sprintf("a.k%d.y", i), i})
	}
	if diff := cmp.Diff(want, fitOne(t, newSpan(in...)).Attributes["a"]); diff != "" {
		t.Errorf("a (-want +got):\n%s", diff)
	}
}
