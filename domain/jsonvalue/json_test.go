package jsonvalue_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"null", nil, "null"},
		{"bool", true, "true"},
		{"the least integer", int64(math.MinInt64), "-9223372036854775808"},
		{"a whole float stays a float", 1.0, "1.0"},
		{"a negative zero", math.Copysign(0, -1), "-0.0"},
		{"a fraction", 0.1, "0.1"},
		{"small", 1e-7, "1e-07"},
		{"large", 1e21, "1e+21"},
		{"NaN never occurs", math.NaN(), "null"},
		{"a string", "<a & b> \"\\\n\r\t\b\f\x01é\u2028", `"<a & b> \"\\\n\r\t\b\f\u0001é` + "\u2028" + `"`},
		{"no UTF-8", "a\xffb", "\"a\uFFFDb\""},
		{"sorted keys", map[string]any{"b": []any{int64(1), "x"}, "a": map[string]any{}}, `{"a":{},"b":[1,"x"]}`},
		{"nothing", map[string]any(nil), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, string(jsonvalue.Append(nil, tt.in)))
		})
	}
}

// Every byte at every place among others: eight are looked at at a time.
func TestStringsByteByByte(t *testing.T) {
	t.Parallel()
	for length := range 26 {
		for at := range length {
			for c := range 256 {
				text := []byte(strings.Repeat("a\"b~ \x1f!z", 4)[:length])
				text[at] = byte(c)
				want := []byte{'"'}
				for _, r := range string(text) { // what is no UTF-8 is U+FFFD here, too
					switch {
					case r == '"' || r == '\\':
						want = append(want, '\\', byte(r))
					case r < ' ' && strings.ContainsRune("\b\f\n\r\t", r):
						want = append(want, '\\', "btnxfr"[r-'\b'])
					case r < ' ':
						want = fmt.Appendf(want, "\\u%04x", r)
					default:
						want = utf8.AppendRune(want, r)
					}
				}
				got := jsonvalue.AppendString(nil, string(text))
				if string(append(want, '"')) != string(got) {
					t.Fatalf("%q is %s, not %s", text, got, want)
				}
				value, err := jsonvalue.Parse(got)
				if err != nil || value != strings.ToValidUTF8(string(text), "\uFFFD") {
					t.Fatalf("%s reads as %q, %v", got, value, err)
				}
				raw := append([]byte{'"'}, text...)
				if _, err := jsonvalue.Parse(append(raw, '"')); (err == nil) != json.Valid(append(raw, '"')) {
					t.Fatalf("%q: %v", raw, err)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want any
	}{
		{" 1 ", int64(1)},
		{"-0", int64(0)},
		{"1.0", 1.0},
		{"1e2", 100.0},
		{"9223372036854775807", int64(math.MaxInt64)},
		{"9223372036854775808", 9223372036854775808.0},
		{`"\u00e9\ud83d\ude00\/\ud800x\ud800"`, "é😀/\uFFFDx\uFFFD"},
		{`"\ud800\u0041"`, "\uFFFDA"},
		{"\"a\xff\xfeb\"", "a\uFFFDb"},
		{`{"a":1,"a":[null,true,{}]}`, map[string]any{"a": []any{nil, true, map[string]any{}}}},
	}
	for _, tt := range tests {
		got, err := jsonvalue.Parse([]byte(tt.in))
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, got, tt.in)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "{", "[1,]", `{"a"}`, `{"a":1,}`, "01", "-", "1.", "1e", "+1", "NaN", "tru", `"a`, `"\x"`, `"\u12"`, "\"\n\"", "1 2", "1e999",
		`{a:1}`, `"\`, strings.Repeat("[", jsonvalue.MaxDepth+2) + strings.Repeat("]", jsonvalue.MaxDepth+2),
	} {
		_, err := jsonvalue.Parse([]byte(in))
		require.Equal(t, domain.Rejected, domain.KindOf(err), in)
	}
}

// TestParseExact shows what is kept as it was sent, and what is refused.
func TestParseExact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]any{
		`9223372036854775807`:         int64(math.MaxInt64),
		`9223372036854775808`:         9223372036854775808.0,
		`-9223372036854775808`:        int64(math.MinInt64),
		`100000000000000000000`:       1e20,
		`12345678901234567000`:        12345678901234567000.0,
		`0.1234567890123456789`:       0.1234567890123456789,
		`"\ud83d\ude00\ufffd \ufffd"`: "😀\uFFFD \uFFFD",
	} {
		got, err := jsonvalue.ParseExact(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for in, want := range map[string]string{
		`12345678901234567890`:         "send it as text",
		`{"a":[-9223372036854775809]}`: "send it as text",
		`"\ud800"`:                     "half a character",
		`["\ude00\ud83d"]`:             "half a character",
		`{"\ud83dx":1}`:                "half a character",
		"\"a\xff\xfe\"":                "text is not UTF-8",
		"{\"\xff\\n\":1}":              "text is not UTF-8",
	} {
		_, err := jsonvalue.ParseExact(in)
		require.ErrorContains(t, err, want, in)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,1.5,-0.0,1e300,"x\n\u00e9",null,true],"":{}}`))
	f.Add([]byte("\"\xff\\ud800\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jsonvalue.Parse(data)
		var std any
		if stdErr := json.Unmarshal(data, &std); err == nil {
			require.NoError(t, stdErr)
		}
		if err != nil {
			return
		}
		text := jsonvalue.Append(nil, v)
		require.True(t, json.Valid(text))
		again, err := jsonvalue.Parse(text)
		require.NoError(t, err)
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatalf("value (-want +got):\n%s", diff)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	doc := map[string]any{"prompt": []any{
		map[string]any{"role": "system", "content": strings.Repeat("You are an expert in geography. ", 20)},
		map[string]any{"role": "user", "content": "What is the capital of \"France\"?\n"},
	}, "temperature": 0.2, "max_tokens": int64(512), "stream": true, "stop": nil}
	buf := jsonvalue.Append(nil, doc)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = jsonvalue.Append(buf[:0], doc)
	}
}

func BenchmarkParse(b *testing.B) {
	doc := []byte(`{"prompt":[{"role":"system","content":"You are an expert"},{"role":"user","content":"What is the capital of \"France\"?\n"}],"temperature":0.2,"max_tokens":512}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonvalue.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}
