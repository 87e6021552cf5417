package trace_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

func TestAppendJSON(t *testing.T) {
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
			require.Equal(t, tt.want, string(trace.AppendJSON(nil, tt.in)))
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
				got := trace.AppendString(nil, string(text))
				if string(append(want, '"')) != string(got) {
					t.Fatalf("%q is %s, not %s", text, got, want)
				}
				value, err := trace.ParseJSON(got)
				if err != nil || value != strings.ToValidUTF8(string(text), "\uFFFD") {
					t.Fatalf("%s reads as %q, %v", got, value, err)
				}
				raw := append([]byte{'"'}, text...)
				if _, err := trace.ParseJSON(append(raw, '"')); (err == nil) != json.Valid(append(raw, '"')) {
					t.Fatalf("%q: %v", raw, err)
				}
			}
		}
	}
}

func TestParseJSON(t *testing.T) {
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
		got, err := trace.ParseJSON([]byte(tt.in))
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, got, tt.in)
	}
}

func TestParseJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "{", "[1,]", `{"a"}`, `{"a":1,}`, "01", "-", "1.", "1e", "+1", "NaN", "tru", `"a`, `"\x"`, `"\u12"`, "\"\n\"", "1 2", "1e999",
		`{a:1}`, `"\`, strings.Repeat("[", trace.MaxDepth+2) + strings.Repeat("]", trace.MaxDepth+2),
	} {
		_, err := trace.ParseJSON([]byte(in))
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
		got, err := trace.ParseExact(in)
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
		_, err := trace.ParseExact(in)
		require.ErrorContains(t, err, want, in)
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,1.5,-0.0,1e300,"x\n\u00e9",null,true],"":{}}`))
	f.Add([]byte("\"\xff\\ud800\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := trace.ParseJSON(data)
		var std any
		if stdErr := json.Unmarshal(data, &std); err == nil {
			require.NoError(t, stdErr)
		}
		if err != nil {
			return
		}
		text := trace.AppendJSON(nil, v)
		require.True(t, json.Valid(text))
		again, err := trace.ParseJSON(text)
		require.NoError(t, err)
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatalf("value (-want +got):\n%s", diff)
		}
	})
}

// randomSpan makes any span that the form can hold.
func randomSpan(r *rand.Rand) trace.Span {
	s := trace.Span{
		Type: trace.Type(r.IntN(4)), Kind: trace.Kind(r.IntN(6)), Status: trace.Status(r.IntN(3)),
		Name: randomText(r), Start: int64(r.Uint64()), End: int64(r.Uint64()),
		StatusMessage: randomText(r), SessionID: randomText(r), UserID: randomText(r), AgentID: randomText(r),
		Attributes: randomObject(r, 3), CreatedAt: time.UnixMicro(r.Int64N(1e16)).UTC(),
	}
	for _, id := range [][]byte{s.TraceID[:], s.SpanID[:], s.ParentID[:]} {
		for i := range id {
			id[i] = byte(1 + r.IntN(255))
		}
	}
	if r.IntN(2) == 0 {
		s.ParentID = trace.SpanID{}
		s.UpdatedAt = s.CreatedAt.Add(time.Microsecond)
		s.CreatedBy = uuid.UUID{1, byte(r.Uint32())}
		s.Resource = randomObject(r, 2)
		s.Scope = &trace.Scope{Name: randomText(r), Attributes: randomObject(r, 1)}
	}
	if r.IntN(2) == 0 {
		s.SpanType = trace.SpanType(2 + r.IntN(11))
	}
	for range r.IntN(3) {
		s.References = append(s.References, trace.Reference{Key: "application", Reference: domain.Reference{ID: uuid.UUID{2}, Slug: randomText(r)}})
		s.Links = append(s.Links, trace.Link{TraceID: s.TraceID, Attributes: randomObject(r, 1)})
		s.Hashes = append(s.Hashes, trace.Hash{ID: uuid.UUID{3}, Attributes: map[string]any{"key": "indirect"}})
		s.Events = append(s.Events, trace.Event{Name: randomText(r), Time: int64(r.Uint64()), Attributes: randomObject(r, 1)})
	}
	return s
}

func randomText(r *rand.Rand) string {
	words := []string{"", "a", "é", "\"q\"", "a.b", `\`, "\n", "日本", "x\x00y", "long text with words"}
	return words[r.IntN(len(words))]
}

func randomObject(r *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range r.IntN(4) {
		object[randomText(r)] = randomValue(r, depth)
	}
	return object
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return int64(r.Uint64())
	case n == 3:
		return r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
	case n == 4:
		return float64(r.IntN(5))
	case n == 5 && depth > 0:
		return randomObject(r, depth-1)
	case n == 6 && depth > 0:
		array := []any{}
		for range r.IntN(3) {
			array = append(array, randomValue(r, depth-1))
		}
		return array
	default:
		return randomText(r)
	}
}

func FuzzSpanJSON(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		want := randomSpan(rand.New(rand.NewPCG(seed, 1)))
		text := trace.AppendSpan(nil, &want)
		require.True(t, json.Valid(text), string(text))
		got, err := trace.ParseSpan(text)
		require.NoError(t, err, string(text))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("span (-want +got):\n%s", diff)
		}
	})
}

func TestSpanForm(t *testing.T) {
	t.Parallel()
	s := trace.Span{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Type: trace.Invocation, Kind: trace.KindServer, Name: "root",
		Start: 1735732800000000001, End: 1735732801000000000, Attributes: map[string]any{"ag": map[string]any{}},
		Links: []trace.Link{{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{4}}}, CreatedAt: time.UnixMicro(1735732802000000),
	}
	require.JSONEq(t, `{"trace_id":"01000000000000000000000000000000","span_id":"0200000000000000","trace_type":"invocation","span_type":"task",
		"span_kind":"SPAN_KIND_SERVER","span_name":"root","start_time":"2025-01-01T12:00:00.000000001Z","end_time":"2025-01-01T12:00:01Z",
		"status_code":"STATUS_CODE_UNSET","attributes":{"ag":{}},"links":[{"trace_id":"03000000000000000000000000000000","span_id":"0400000000000000"}],
		"created_at":"2025-01-01T12:00:02Z"}`, string(trace.AppendSpan(nil, &s)))
}

func BenchmarkAppendJSON(b *testing.B) {
	doc := map[string]any{"prompt": []any{
		map[string]any{"role": "system", "content": strings.Repeat("You are an expert in geography. ", 20)},
		map[string]any{"role": "user", "content": "What is the capital of \"France\"?\n"},
	}, "temperature": 0.2, "max_tokens": int64(512), "stream": true, "stop": nil}
	buf := trace.AppendJSON(nil, doc)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = trace.AppendJSON(buf[:0], doc)
	}
}

func BenchmarkParseJSON(b *testing.B) {
	doc := []byte(`{"prompt":[{"role":"system","content":"You are an expert"},{"role":"user","content":"What is the capital of \"France\"?\n"}],"temperature":0.2,"max_tokens":512}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trace.ParseJSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}
