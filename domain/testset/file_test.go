package testset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
)

// owner is the testset of all rows here.
func owner() uuid.UUID { return uuid.MustParse("0190f3a0-0000-7000-8000-000000000001") }

// named gives rows their ids.
func named(tb testing.TB, testcases []testset.Testcase) []testset.Testcase {
	tb.Helper()
	require.NoError(tb, testset.Name(owner(), testcases))
	return testcases
}

func written(tb testing.TB, format testset.Format, testcases []testset.Testcase) string {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, testset.Write(&b, format, testcases, false))
	return b.String()
}

// requireSame compares testcases and the ids that follow from them.
func requireSame(tb testing.TB, want, got []testset.Testcase, text string) {
	tb.Helper()
	require.Len(tb, got, len(want), text)
	for i := range want {
		require.Empty(tb, cmp.Diff(want[i], got[i]), text)
	}
}

// vocabulary makes values in which every character that a file cares about is likely.
type vocabulary struct{ r *rand.Rand }

func (v vocabulary) text() string {
	parts := []string{"", "a", "é", "世", ",", `"`, "\n", "\r", "\r\n", "\t", " ", "=1+1", "-5", "@x", "'", "null", "1", "{}", "\ufeff", "\u2028", "<b>", "__types__", ";"}
	var b strings.Builder
	for range v.r.IntN(5) {
		b.WriteString(parts[v.r.IntN(len(parts))])
	}
	return b.String()
}

func (v vocabulary) value(depth int) any {
	switch v.r.IntN(9) {
	case 0:
		return nil
	case 1:
		return v.r.IntN(2) == 0
	case 2:
		return json.Number([]string{"0", "-1", "1.0", "1e3", "12345678901234567890", "0.1"}[v.r.IntN(6)])
	case 3:
		if depth > 2 {
			return "deep"
		}
		list := make([]any, v.r.IntN(3))
		for i := range list {
			list[i] = v.value(depth + 1)
		}
		return list
	case 4:
		if depth > 2 {
			return "deep"
		}
		return map[string]any(v.document(depth + 1))
	default:
		return v.text()
	}
}

func (v vocabulary) document(depth int) entity.Document {
	d := entity.Document{}
	for range v.r.IntN(4) {
		d[v.text()] = v.value(depth)
	}
	return d
}

func (v vocabulary) testcase(columns []string) testset.Testcase {
	t := testset.Testcase{Data: entity.Document{}}
	for _, name := range columns {
		if v.r.IntN(4) > 0 {
			t.Data[name] = v.value(0)
		}
	}
	if v.r.IntN(3) == 0 {
		t.Tags = v.document(0)
	}
	if v.r.IntN(3) == 0 {
		t.Meta = v.document(0)
	}
	if v.r.IntN(3) == 0 {
		t.Flags = entity.Document{v.text(): v.r.IntN(2) == 0}
	}
	return t
}

// Whatever a testset holds, its files read back as the same testcases, with the same ids.
func TestFilesReadBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		v := vocabulary{rand.New(rand.NewPCG(seed, 1))}
		columns := []string{"testcase_dedup_id"}
		for range v.r.IntN(5) {
			if name := v.text(); name != "" && !strings.HasPrefix(name, "__") {
				columns = append(columns, name)
			}
		}
		testcases := make([]testset.Testcase, v.r.IntN(5))
		for i := range testcases {
			testcases[i] = v.testcase(columns)
		}
		named(t, testcases)
		for _, format := range []testset.Format{testset.CSV, testset.JSON} {
			text := written(t, format, testcases)
			got, err := testset.Read(format, "", []byte(text))
			require.NoError(t, err, "seed %d: %s", seed, text)
			requireSame(t, testcases, named(t, got), fmt.Sprint("seed ", seed, ": ", text))
			require.Equal(t, text, written(t, format, got), "seed %d", seed)
		}
	}
}

func TestReadCSV(t *testing.T) {
	t.Parallel()
	row := func(pairs ...string) entity.Document {
		d := entity.Document{}
		for i := 0; i < len(pairs); i += 2 {
			d[pairs[i]] = pairs[i+1]
		}
		return d
	}
	tests := []struct {
		name, text string
		want       []entity.Document
	}{
		{"header alone", "a,b\n", nil},
		{"rows", "a,b\n1,2\n3,4\n", []entity.Document{row("a", "1", "b", "2"), row("a", "3", "b", "4")}},
		{"no line end at the end", "a\n1", []entity.Document{row("a", "1")}},
		{"CR LF", "a,b\r\n1,2\r\n", []entity.Document{row("a", "1", "b", "2")}},
		{"CR alone", "a\r1\r2", []entity.Document{row("a", "1"), row("a", "2")}},
		{"a byte order mark", "\ufeffa\n1\n", []entity.Document{row("a", "1")}},
		{"quotes", "a,b\n\"x,\"\"y\"\"\",\"1\r\n2\"\n", []entity.Document{row("a", `x,"y"`, "b", "1\r\n2")}},
		{"blank lines", "a\n\n1\n\n\n", []entity.Document{row("a", "1")}},
		{"an empty cell alone", "a\n\"\"\n", []entity.Document{row("a", "")}},
		{"spaces stay", "a,b\n 1 , \n", []entity.Document{row("a", " 1 ", "b", " ")}},
		{"a formula stays", "a\n=HYPERLINK(1)\n", []entity.Document{row("a", "=HYPERLINK(1)")}},
		{"an id means nothing", "a,__id__\n1,x\n", []entity.Document{row("a", "1")}},
		{"types", "a,b,c,__types__\n1,null,,\"{\"\"json\"\":[\"\"a\"\",\"\"b\"\"],\"\"absent\"\":[\"\"c\"\",\"\"gone\"\"]}\"\n", []entity.Document{{"a": json.Number("1"), "b": nil}}},
		{"the other name", "__dedup_id__\nx\n", []entity.Document{row("testcase_dedup_id", "x")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := testset.Read(testset.CSV, "", []byte(tt.text))
			require.NoError(t, err)
			var data []entity.Document
			for _, e := range got {
				data = append(data, e.Data)
			}
			require.Empty(t, cmp.Diff(tt.want, data))
		})
	}
}

func TestLabelsInFiles(t *testing.T) {
	t.Parallel()
	want := testset.Testcase{Data: entity.Document{"a": "1"}, Tags: entity.Document{"k": "v"}, Flags: entity.Document{"hard": true}}
	for format, text := range map[testset.Format]string{
		testset.CSV:  "a,__tags__,__flags__,__meta__\n1,\"{\"\"k\"\":\"\"v\"\"}\",\"{\"\"hard\"\":true}\",\n",
		testset.JSON: `[{"a":"1","__tags__":{"k":"v"},"__flags__":{"hard":true},"__meta__":null}]`,
	} {
		got, err := testset.Read(format, "", []byte(text))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff([]testset.Testcase{want}, got))
	}
}

// An error in a file names its line.
func TestBadFilesNameTheLine(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("c,", testset.MaxColumns+10) + "c"
	distinct := make([]string, testset.MaxColumns+1)
	for i := range distinct {
		distinct[i] = "c" + strconv.Itoa(i)
	}
	long := "a\n" + strings.Repeat("1\n", testset.MaxTestcases+1)
	tests := []struct {
		name   string
		format testset.Format
		text   string
		line   int // zero means too large
	}{
		{"nothing", testset.CSV, "", 1},
		{"blank lines alone", testset.CSV, "\n\n", 1},
		{"a short row", testset.CSV, "a,b\n1,2\n3\n", 3},
		{"a long row", testset.CSV, "a,b\n1,2,3\n", 2},
		{"a long row after a cell of two lines", testset.CSV, "a,b\n\"1\n1\",2\n3\n", 4},
		{"a quote within", testset.CSV, "a\nx\"y\n", 2},
		{"something after a quote", testset.CSV, "a\n\"x\"y\n", 2},
		{"a quote that stays open", testset.CSV, "a\n1\n\"x\n\n", 3},
		{"a column without a name", testset.CSV, "a,,b\n", 1},
		{"a column twice", testset.CSV, "\na,a\n", 2},
		{"a column under both names", testset.CSV, "__dedup_id__,testcase_dedup_id\n", 1},
		{"a cell that is not JSON", testset.CSV, "a,__types__\nx,\"{\"\"json\"\":[\"\"a\"\"]}\"\n", 2},
		{"a cell that is not absent", testset.CSV, "a,__types__\nx,\"{\"\"absent\"\":[\"\"a\"\"]}\"\n", 2},
		{"types of another form", testset.CSV, "a,__types__\nx,[]\n", 2},
		{"types with another member", testset.CSV, "a,__types__\nx,\"{\"\"x\"\":1}\"\n", 2},
		{"tags that are no object", testset.CSV, "a,__tags__\nx,1\n", 2},
		{"not UTF-8", testset.CSV, "a\n1\n\xff\n", 3},
		{"NUL", testset.CSV, "a\n1\x00\n", 2},
		{"too many columns", testset.CSV, wide, 0},
		{"too many columns of different names", testset.CSV, strings.Join(distinct, ","), 0},
		{"too many rows", testset.CSV, long, 0},
		{"too many bytes", testset.CSV, "a\n" + strings.Repeat("x", testset.MaxFileBytes), 0},
		{"nothing of JSON", testset.JSON, "", 1},
		{"an object", testset.JSON, "\n{}", 2},
		{"a row that is no object", testset.JSON, "[{},\n{},\n7]", 3},
		{"broken", testset.JSON, "[\n{\"a\":1},\n{\"a\" 2}\n]", 3},
		{"cut off", testset.JSON, "[\n{\"a\":1},\n", 3},
		{"something behind", testset.JSON, "[]\n[]", 2},
		{"NUL in a string", testset.JSON, "[\n{\"a\":\"\\u0000\"}]", 2},
		{"a number beyond measure", testset.JSON, "[\n{\"a\":1e999999}]", 2},
		{"flags that are no booleans", testset.JSON, "[\n{\"__flags__\":{\"a\":1}}]", 2},
		{"types in JSON", testset.JSON, "[\n{\"__types__\":{}}]", 2},
		{"a column without a name", testset.JSON, "[\n{\"\":1}]", 2},
		{"too many rows of JSON", testset.JSON, "[" + strings.Repeat("{},", testset.MaxTestcases) + "{}]", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := testset.Read(tt.format, "", []byte(tt.text))
			failed, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok, "%v", err)
			if tt.line == 0 {
				require.Equal(t, domain.TooLarge, failed.Kind, "%v", err)
				return
			}
			require.Equal(t, domain.Invalid, failed.Kind, "%v", err)
			require.Equal(t, []any{"body", "file", tt.line}, failed.Fields[0].Loc, "%v", err)
			require.Contains(t, failed.Message, fmt.Sprintf("line %d: ", tt.line))
		})
	}
}

// A person may ask for a file in which no cell is a formula.
func TestNeutralCSV(t *testing.T) {
	t.Parallel()
	testcases := named(t, []testset.Testcase{{Data: entity.Document{"=a": "=1+1", "b": "+1", "c": "-1", "d": "@x", "e": "\tx", "f": "plain", "g": "a=1", "h": json.Number("-1")}}})
	var b bytes.Buffer
	require.NoError(t, testset.Write(&b, testset.CSV, testcases, true))
	require.True(t, strings.HasPrefix(b.String(), "'=a,b,c,d,e,f,g,h,"), b.String())
	require.Contains(t, b.String(), "\n'=1+1,'+1,'-1,'@x,'\tx,plain,a=1,'-1,")
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"": `"revision_1.csv"`, "golden": `"golden.csv"`, "golden.csv": `"golden.csv"`, "a\"; x=\r\nb": `"a__ x___b.csv"`, "../../etc/passwd": `"_.._etc_passwd.csv"`, "世": `"_.csv"`,
		strings.Repeat("x", 300): `"` + strings.Repeat("x", 128) + `.csv"`,
	} {
		require.Equal(t, want, testset.FileName(asked, "revision_1", testset.CSV), asked)
	}
}

// Whatever is read can be written, and reads back as the same.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,\"x\"\"y\"\n", "\ufeffa\r\n\"\"\r\n", "a,__types__,__tags__\n1,\"{\"\"json\"\":[\"\"a\"\"]}\",{}\n", `[{"a":1,"__tags__":{"k":null}},{"b":[{}]}]`, "[]", "__dedup_id__\nx",
	} {
		f.Add(true, seed)
		f.Add(false, seed)
	}
	f.Fuzz(func(t *testing.T, isJSON bool, text string) {
		format := testset.CSV
		if isJSON {
			format = testset.JSON
		}
		testcases, err := testset.Read(format, "", []byte(text))
		if err != nil {
			_, known := errors.AsType[*domain.Error](err)
			require.True(t, known, "%v", err)
			return
		}
		if testset.Name(owner(), testcases) != nil {
			return // what was written short may be too long as JSON
		}
		for _, other := range []testset.Format{testset.CSV, testset.JSON} {
			again := written(t, other, testcases)
			got, err := testset.Read(other, "", []byte(again))
			require.NoError(t, err, again)
			requireSame(t, testcases, named(t, got), again)
		}
	})
}

func BenchmarkFile(b *testing.B) {
	testcases := make([]testset.Testcase, 1000)
	for i := range testcases {
		testcases[i].Data = entity.Document{"question": strings.Repeat("what is the capital, then? ", 4), "n": json.Number(strconv.Itoa(i)), "answer": "Paris"}
	}
	named(b, testcases)
	for _, format := range []testset.Format{testset.CSV, testset.JSON} {
		text := []byte(written(b, format, testcases))
		b.Run("read/"+string(format), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, err := testset.Read(format, "", text)
				require.NoError(b, err)
			}
		})
	}
}

// The delimiter is found from the header, whatever the cells hold.
func TestReadDelimiters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in  string
		delimiter testset.Delimiter
		want      []string
	}{
		{"comma", "q,a\nWhat; is?,4\n", "", []string{"What; is?", "4"}},
		{"semicolon", "question;answer\nWhat is 2+2?;4,0\n", "", []string{"What is 2+2?", "4,0"}},
		{"tab", "q\ta\n1;2\t3\n", "", []string{"1;2", "3"}},
		{"bar behind a mark", "\ufeffq|a\n\"1|1\"|2\n", "", []string{"1|1", "2"}},
		{"a quoted header", "\"q;;;;\",a\n1,2\n", "", []string{"1", "2"}},
		{"given", "q,x;a\n1;2\n", ";", []string{"1", "2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, err := testset.Read(testset.CSV, tt.delimiter, []byte(tt.in))
			require.NoError(t, err)
			require.Len(t, rows, 1)
			var got []string
			for _, v := range rows[0].Data {
				got = append(got, v.(string))
			}
			require.ElementsMatch(t, tt.want, got)
		})
	}
}
