package jsonvalue_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
)

// canonicalized requires the text that ParseExact and Append make of it.
func canonicalized(t *testing.T, canonicalizer *jsonvalue.Canonicalizer, text string) {
	t.Helper()
	got, ok := canonicalizer.Canonicalize(text, jsonvalue.MaxDepth)
	value, err := jsonvalue.ParseExact(text)
	require.Equal(t, err == nil, ok, "%s: %v", text, err)
	if ok {
		require.Equal(t, string(jsonvalue.Append(nil, value)), string(got), text)
	} else {
		require.Empty(t, got)
	}
}

func TestCanonicalize(t *testing.T) {
	t.Parallel()
	canonicalizer := &jsonvalue.Canonicalizer{}
	for _, text := range []string{
		"null", "true", "false", "0", "-0", "7", "-1", "00", "-01", "10", "1.0", "1.50", "-0.0", "1e5", "1E-7", "1e21", "123456789012345678", "-123456789012345678",
		"1234567890123456789", "9223372036854775807", "9223372036854775808", "1e999", "-", "1.", "1e", "+1", "nul", "tru", " 1 ", "1 2", "",
		`""`, `"a"`, `"é日本"`, `"\n\t\r\b\f\"\\"`, `"\/"`, `"\u00e9"`, `"\u0007\u001F"`, `"\ud83d\ude00\ud800"`, `"\x"`, `"\`, `"a`, "\"\n\"", "\"\xff\xfe\"", "\"\xff\\n\xfe\"", `"\u12"`,
		"[]", "[ ]", "[1,[2 , 3],{}]", "[1,]", "[1 2]", "[", "[1",
		"{}", "{ }", `{"a":1,"b":2}`, `{"b":2,"a":1}`, `{ "role" : "user" , "content" : [ {"b":{"d":1,"c":2},"a":null} ] }`,
		`{"a":1,"a":2}`, `{"b":0,"a":1,"a":2,"b":3}`, `{"a":1,"\u0061":2}`, `{"\n":1,"A":2}`, `{"\\":1,"Z":2,"a":3}`, "{\"\xff\":1,\"\xfe\":2}", `{"":1}`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1`, `{a:1}`, `{"a":1]`, `{"a" 1}`, `{"\x":1}`,
		strings.Repeat("[", jsonvalue.MaxDepth+1) + strings.Repeat("]", jsonvalue.MaxDepth+1), strings.Repeat("[", jsonvalue.MaxDepth+2) + strings.Repeat("]", jsonvalue.MaxDepth+2),
	} {
		canonicalized(t, canonicalizer, text)
	}
}

func TestCanonicalizeBoundsDepth(t *testing.T) {
	t.Parallel()
	canonicalizer := &jsonvalue.Canonicalizer{}
	for text, depth := range map[string]int{"1": 0, "[]": 0, "[1]": 1, `{"a":[]}`: 1, `{"a":[1]}`: 2} {
		_, ok := canonicalizer.Canonicalize(text, depth)
		require.True(t, ok, text)
		_, ok = canonicalizer.Canonicalize(text, depth-1)
		require.False(t, ok, text)
	}
}

// Other writers order keys as they like, add spaces and escape more characters.
func TestCanonicalizeTextOfOtherWriters(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	canonicalizer := &jsonvalue.Canonicalizer{}
	for range 2000 {
		value := jsonvaluetest.Value(rng, 4)
		canonical := string(jsonvalue.Append(nil, value))
		got, ok := canonicalizer.Canonicalize(canonical, jsonvalue.MaxDepth)
		require.True(t, ok)
		require.Equal(t, canonical, string(got))
		indented, err := json.MarshalIndent(value, "", "\t") // escapes <, > and &, too
		require.NoError(t, err)
		canonicalized(t, canonicalizer, string(indented))
		canonicalized(t, canonicalizer, shuffled(rng, value))
		cut := canonical[:rng.IntN(len(canonical)+1)]
		canonicalized(t, canonicalizer, cut)
	}
}

// shuffled writes the JSON of a value with members in any order, some of them twice.
func shuffled(rng *rand.Rand, value any) string {
	switch v := value.(type) {
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, shuffled(rng, e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for k, e := range v {
			parts = append(parts, string(jsonvalue.AppendString(nil, k))+": "+shuffled(rng, e))
			if rng.IntN(4) == 0 {
				parts = append(parts, string(jsonvalue.AppendString(nil, k))+":"+shuffled(rng, jsonvaluetest.Value(rng, 1)))
			}
		}
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return string(jsonvalue.Append(nil, v))
	}
}

// A canonical text is not copied, and a large text does not hold its buffer.
func TestCanonicalizeSharesMemory(t *testing.T) {
	t.Parallel()
	canonicalizer := &jsonvalue.Canonicalizer{}
	const text = `{"a":[{"b":"\n"}],"c":1.5}`
	d, ok := canonicalizer.Canonicalize(text, 8)
	require.True(t, ok)
	require.Same(t, unsafe.StringData(text), unsafe.StringData(string(d)))
	large := `["` + strings.Repeat("x", 2<<20) + `", {"b":1, "a":2}]`
	canonicalized(t, canonicalizer, large)
	canonicalized(t, canonicalizer, text)
}

func FuzzCanonicalize(f *testing.F) {
	f.Add(`{"b":[1,1.5,-0.0,1e300,"x\n\u00e9",null,true],"a":{}, "b" : 2}`)
	f.Add("\"\xff\\ud800\"")
	canonicalizer := &jsonvalue.Canonicalizer{}
	f.Fuzz(func(t *testing.T, text string) { canonicalized(t, canonicalizer, text) })
}

func BenchmarkCanonicalize(b *testing.B) {
	text := strings.Repeat("You are an expert in geography. ", 20)
	for name, doc := range map[string]string{
		"canonical":        `{"prompt":[{"content":"` + text + `","role":"system"},{"content":"What is the capital of \"France\"?\n","role":"user"}],"stream":true}`,
		"of other writers": `{"stream": true, "prompt": [{"role": "system", "content": "` + text + `"}, {"role": "user", "content": "What is the capital of \"France\"?\n"}]}`,
	} {
		canonicalizer := &jsonvalue.Canonicalizer{}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := canonicalizer.Canonicalize(doc, jsonvalue.MaxDepth); !ok {
					b.Fatal()
				}
			}
		})
		b.Run(name+"/parsed and appended", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				value, err := jsonvalue.ParseExact(doc)
				if err != nil {
					b.Fatal(err)
				}
				dst = jsonvalue.Append(dst[:0], value)
			}
		})
	}
}
