package filterjson_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
)

const (
	idA = "0102030405060708090a0b0c0d0e0f10"
	idS = "0102030405060708"
	idU = "01890a5d-ac96-774b-bcce-b302099a8057"
)

func attr(path string, t filter.Test) filter.Expr {
	return filter.Attribute{Of: filter.Attributes, Path: path, Test: t}
}

func TestParse(t *testing.T) {
	t.Parallel()
	traceID, err := trace.ParseTraceID(idA)
	require.NoError(t, err)
	spanID, err := trace.ParseSpanID(idS)
	require.NoError(t, err)
	user := uuid.MustParse(idU)
	const noon = 1735732800000000
	name := func(test filter.StringTest) filter.Expr { return filter.Text{Field: filter.SpanName, Test: test} }
	start := func(lo, hi int64) filter.Expr { return filter.Time{Field: filter.StartTime, Min: lo, Max: hi} }
	tests := []struct {
		name, in string
		want     filter.Expr
	}{
		{"nothing", ``, nil},
		{"null", `null`, nil},
		{"empty", `{}`, nil},
		{"no conditions", `{"operator":"or","conditions":[]}`, nil},
		{"a trace in any form, once", `{"conditions":[{"field":"trace_id","operator":"in","value":["` + idA + `","0x` + idA + `"]}]}`, filter.TraceID{In: []trace.TraceID{traceID}}},
		{"is is the default", `{"conditions":[{"field":"span_id","value":"` + idS + `"}]}`, filter.SpanID{In: []trace.SpanID{spanID}}},
		{"roots", `{"conditions":[{"field":"parent_id","operator":"is","value":null}]}`, filter.ParentID{In: []trace.SpanID{{}}}},
		{"roots of what is stored", `{"conditions":[{"field":"root","value":true}]}`, filter.Root{}},
		{"not roots", `{"conditions":[{"field":"root","operator":"is","value":false}]}`, filter.Not{Expr: filter.Root{}}},
		{"not not roots", `{"conditions":[{"field":"root","operator":"is_not","value":false}]}`, filter.Root{}},
		{"roots, null dropped", `{"conditions":[{"field":"parent_id","operator":"is"}]}`, filter.ParentID{In: []trace.SpanID{{}}}},
		{"roots or children of one", `{"conditions":[{"field":"parent_id","operator":"in","value":[null,"` + idS + `"]}]}`, filter.ParentID{In: []trace.SpanID{{}, spanID}}},
		{"enums", `{"conditions":[{"field":"trace_type","value":"annotation"},{"field":"span_type","value":"LLM"},{"field":"span_kind","value":"SPAN_KIND_SERVER"},{"field":"status_code","operator":"not_in","value":["STATUS_CODE_OK"]}]}`, filter.And{
			filter.TraceType{In: []trace.Type{trace.Annotation}},
			filter.SpanType{In: []trace.SpanType{trace.LLM}},
			filter.SpanKind{In: []trace.Kind{trace.KindServer}},
			filter.Not{Expr: filter.StatusCode{In: []trace.Status{trace.StatusOK}}},
		}},
		{"nor of one", `{"operator":"nor","conditions":[{"field":"span_name","value":"x"}]}`, filter.Not{Expr: name(filter.OneOf{In: []string{"x"}})}},
		{"nand", `{"operator":"nand","conditions":[{"field":"span_name","value":"x"},{"field":"span_name","value":"y"}]}`, filter.Not{Expr: filter.And{name(filter.OneOf{In: []string{"x"}}), name(filter.OneOf{In: []string{"y"}})}}},
		{"not of not", `{"operator":"not","conditions":[{"field":"span_name","operator":"is_not","value":"x"}]}`, name(filter.OneOf{In: []string{"x"}})},
		{"a group in a group", `{"conditions":[{"operator":"or","conditions":[{"field":"span_name","operator":"exists"},{"operator":"and","conditions":[]}]}]}`, filter.Or{name(filter.Exists{}), filter.And{}}},
		{"text contains folds", `{"conditions":[{"field":"span_name","operator":"contains","value":"ABCé"}]}`, name(filter.Pattern{Form: filter.Substring, Value: "abcÉ", Fold: true})},
		{"text case sensitive", `{"conditions":[{"field":"span_name","operator":"startswith","value":"ABC","options":{"case_sensitive":true,"exact_match":false}}]}`, name(filter.Pattern{Form: filter.Prefix, Value: "ABC"})},
		{"matches exactly", `{"conditions":[{"field":"span_name","operator":"matches","value":"A","options":{"exact_match":true}}]}`, name(filter.Pattern{Form: filter.Whole, Value: "a", Fold: true})},
		{"like, made canonical", `{"conditions":[{"field":"span_name","operator":"like","value":"a\\%\\b%"}]}`, name(filter.Pattern{Form: filter.Like, Value: `a\%\\b%`, Fold: true})},
		{"text order", `{"conditions":[{"field":"span_name","operator":"btwn","value":["a","b"]}]}`, filter.And{name(filter.Lexical{Order: filter.GreaterEqual, Value: "a"}), name(filter.Lexical{Order: filter.LessEqual, Value: "b"})}},
		{"text null", `{"conditions":[{"field":"session_id","operator":"is_not","value":null}]}`, filter.Text{Field: filter.SessionID, Test: filter.Exists{}}},
		{"times", `{"conditions":[{"field":"start_time","operator":"lt","value":"2025-01-01T12:00:00.0000009Z"},{"field":"start_time","operator":"gte","value":1735732800},{"field":"start_time","operator":"btwn","value":["2025-01-01T13:00:00+01:00","1735732800000"]},{"field":"start_time","operator":"in","value":[1735732800000000,1735732800000000001]}]}`, filter.And{
			start(math.MinInt64, noon-1), start(noon, math.MaxInt64), start(noon, noon), filter.Or{start(noon, noon), start(noon, noon)},
		}},
		{"times beyond all spans", `{"conditions":[{"field":"start_time","operator":"btwn","value":["0001-01-01T00:00:00Z","9999-12-31T23:59:59.999999Z"]},{"field":"created_at","operator":"lt","value":"20260101t000000z"}]}`, filter.And{
			filter.Time{Field: filter.StartTime, Min: time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Max: time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()},
			filter.Time{Field: filter.CreatedAt, Min: math.MinInt64, Max: 1767225600000000 - 1},
		}},
		{"the least whole number", `{"conditions":[{"field":"attributes","key":"a","value":-9223372036854775808.0},{"field":"attributes","key":"a","value":9223372036854775808.0}]}`, filter.And{
			filter.Attribute{Of: filter.Attributes, Path: "a", Test: filter.Equal{Value: int64(math.MinInt64)}}, filter.Attribute{Of: filter.Attributes, Path: "a", Test: filter.Equal{Value: math.Ldexp(1, 63)}},
		}},
		{"time as text", `{"conditions":[{"field":"created_at","operator":"startswith","value":"2025-01"}]}`, filter.TimeText{Field: filter.CreatedAt, Test: filter.Pattern{Form: filter.Prefix, Value: "2025-01", Fold: true}}},
		{"never updated", `{"conditions":[{"field":"updated_at","operator":"not_exists"}]}`, filter.Not{Expr: filter.Time{Field: filter.UpdatedAt, Min: math.MinInt64, Max: math.MaxInt64}}},
		{"deleted", `{"conditions":[{"field":"deleted_at","operator":"exists"},{"field":"deleted_at","operator":"not_exists"}]}`, filter.And{filter.Or{}, filter.Not{Expr: filter.Or{}}}},
		{"user", `{"conditions":[{"field":"created_by_id","value":"` + idU + `"},{"field":"updated_by_id","operator":"exists"}]}`, filter.And{
			filter.User{Field: filter.CreatedByID, In: []uuid.UUID{user}}, filter.Not{Expr: filter.User{Field: filter.UpdatedByID, In: []uuid.UUID{uuid.Nil}}},
		}},
		{"attribute equality", `{"conditions":[{"field":"attributes","key":"ag.x","value":1.0}]}`, attr("ag.x", filter.Equal{Value: int64(1)})},
		{"attribute containment", `{"conditions":[{"field":"attributes","key":"ag.x","operator":"is_not","value":{"a":[1.0]}}]}`, filter.Not{Expr: attr("ag.x", filter.Contains{Value: map[string]any{"a": []any{int64(1)}}})}},
		{"attribute numbers", `{"conditions":[{"field":"attributes","key":"ag.x","operator":"btwn","value":[1,2.5]}]}`, filter.And{attr("ag.x", filter.Number{Order: filter.GreaterEqual, Value: 1}), attr("ag.x", filter.Number{Order: filter.LessEqual, Value: 2.5})}},
		{"attribute text order", `{"conditions":[{"field":"attributes","key":"ag.x","operator":"gt","value":"2025"}]}`, attr("ag.x", filter.Lexical{Order: filter.Greater, Value: "2025"})},
		{"attribute members", `{"conditions":[{"field":"attributes","key":"ag.x","operator":"in","value":["a",1],"options":{"all":true}}]}`, attr("ag.x", filter.Member{Values: []any{"a", int64(1)}, All: true})},
		{"attribute has a member", `{"conditions":[{"field":"attributes","key":"ag.x","operator":"has","value":"a.b"}]}`, attr(`ag.x.a\.b`, filter.Exists{})},
		{"a key's needless escapes go", `{"conditions":[{"field":"attributes","key":"a\\g\\.x","operator":"exists"}]}`, attr(`ag\.x`, filter.Exists{})},
		{"resource", `{"conditions":[{"field":"resource","key":"service.name","value":"x"}]}`, filter.Attribute{Of: filter.Resource, Path: "service.name", Test: filter.Equal{Value: "x"}}},
		{"a reference is split", `{"conditions":[{"field":"references","operator":"in","value":[{"id":"` + idU + `","slug":"s","version":"1","attributes":{"key":"application"}}]}]}`, filter.Or{
			filter.Reference{Key: "application", ID: user}, filter.Reference{Key: "application", Slug: "s"}, filter.Reference{Key: "application", Version: "1"},
		}},
		{"a reference's key", `{"conditions":[{"field":"references","operator":"has","key":"attributes.key","value":"evaluator"}]}`, filter.Reference{Key: "evaluator"}},
		{"all links", `{"conditions":[{"field":"links","operator":"in","value":[{"trace_id":"` + idA + `"},{"span_id":"` + idS + `"}],"options":{"all":true}}]}`, filter.And{filter.Link{TraceID: traceID}, filter.Link{SpanID: spanID}}},
		{"an event's attribute, flat or nested", `{"conditions":[{"field":"events","operator":"has","key":"attributes.exception.type","value":"E"}]}`, filter.Or{
			filter.Event{Attributes: map[string]any{"exception.type": "E"}}, filter.Event{Attributes: map[string]any{"exception": map[string]any{"type": "E"}}},
		}},
		{"hashes", `{"conditions":[{"field":"hashes","operator":"in","value":["` + idU + `",{"attributes":{"key":"indirect"}}]},{"field":"hashes","operator":"has","key":"id","value":"` + idU + `"}]}`, filter.And{
			filter.Or{filter.Hash{ID: user}, filter.Hash{Attributes: map[string]any{"key": "indirect"}}}, filter.Hash{ID: user},
		}},
		{"content", `{"conditions":[{"field":"content","operator":"contains","value":"Paris \"Big\\\\ City\" or -rain OR sun"}]}`, filter.Or{
			filter.And{filter.Content{Phrase: "paris"}, filter.Content{Phrase: `big\\\\ city`}}, filter.Not{Expr: filter.Content{Phrase: "rain"}}, filter.Content{Phrase: "sun"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := filterjson.Parse([]byte(tt.in), "body", "filtering")
			require.NoError(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"conditions":[`, filterjson.MaxDepth+1) + strings.Repeat(`]}`, filterjson.MaxDepth+1)
	many := `{"conditions":[` + strings.Repeat(`{"field":"span_name","operator":"exists"},`, filterjson.MaxConditions) + `{"field":"span_name","operator":"exists"}]}`
	tests := []struct {
		name, in string
		kind     domain.Kind
		says     string
	}{
		{"no JSON", `{`, domain.Rejected, "JSON"},
		{"no object", `[]`, domain.Invalid, "object"},
		{"an unknown key", `{"condition":[]}`, domain.Invalid, "Extra"},
		{"conditions of a wrong type", `{"conditions":{}}`, domain.Invalid, "list"},
		{"a key of many places", `{"conditions":[{"field":"attributes","key":"a` + strings.Repeat(".0", 4000) + `","value":1}]}`, domain.Rejected, "1024 KiB"},
		{"members below a long name", `{"conditions":[{"field":"attributes","key":"a","value":{"` + strings.Repeat("n", 100_000) + `":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}}}]}`, domain.Rejected, "1024 KiB"},
		{"no field", `{"conditions":[{"operator":"is"}]}`, domain.Invalid, "Field required"},
		{"an unknown field", `{"conditions":[{"field":"colour","value":1}]}`, domain.Rejected, "colour"},
		{"an unknown operator", `{"conditions":[{"field":"span_name","operator":"==","value":"x"}]}`, domain.Invalid, "=="},
		{"an unknown logical operator", `{"operator":"xor","conditions":[]}`, domain.Invalid, "xor"},
		{"a comparison as logical operator", `{"operator":"is","conditions":[]}`, domain.Invalid, "combine"},
		{"not of two", `{"operator":"not","conditions":[{"field":"span_name","operator":"exists"},{"field":"span_name","operator":"exists"}]}`, domain.Rejected, "exactly one"},
		{"nor of none", `{"operator":"nor"}`, domain.Rejected, "at least one"},
		{"an operator the field does not take", `{"conditions":[{"field":"trace_id","operator":"contains","value":"x"}]}`, domain.Rejected, "trace_id does not take operator contains"},
		{"a root of null", `{"conditions":[{"field":"root"}]}`, domain.Rejected, "root does not take the value null"},
		{"a root in text", `{"conditions":[{"field":"root","value":"true"}]}`, domain.Rejected, "it takes true or false"},
		{"a list of roots", `{"conditions":[{"field":"root","operator":"in","value":[true]}]}`, domain.Rejected, "root does not take operator in"},
		{"is on content", `{"conditions":[{"field":"content","value":"x"}]}`, domain.Rejected, "content does not take operator is"},
		{"a bad id", `{"conditions":[{"field":"trace_id","value":"x"}]}`, domain.Rejected, "trace_id"},
		{"a null id", `{"conditions":[{"field":"trace_id","value":null}]}`, domain.Rejected, "trace_id"},
		{"a bad word", `{"conditions":[{"field":"trace_type","value":"evaluation"}]}`, domain.Rejected, "evaluation"},
		{"a list for is", `{"conditions":[{"field":"span_type","value":["llm"]}]}`, domain.Rejected, "span_type"},
		{"an empty list", `{"conditions":[{"field":"span_type","operator":"in","value":[]}]}`, domain.Rejected, "empty"},
		{"no list for in", `{"conditions":[{"field":"span_type","operator":"in","value":"llm"}]}`, domain.Rejected, "list"},
		{"a number for a name", `{"conditions":[{"field":"span_name","operator":"contains","value":1}]}`, domain.Rejected, "string"},
		{"a bad time", `{"conditions":[{"field":"start_time","operator":"gt","value":"yesterday"}]}`, domain.Rejected, "yesterday"},
		{"attributes without key", `{"conditions":[{"field":"attributes","value":1}]}`, domain.Rejected, "needs a key"},
		{"a key that says nothing", `{"conditions":[{"field":"span_name","key":"x","value":"1"}]}`, domain.Rejected, "no key"},
		{"btwn of mixed types", `{"conditions":[{"field":"attributes","key":"a","operator":"btwn","value":[1,"2"]}]}`, domain.Rejected, "one type"},
		{"btwn of one", `{"conditions":[{"field":"attributes","key":"a","operator":"btwn","value":[1]}]}`, domain.Rejected, "[low, high]"},
		{"like with a lone backslash", `{"conditions":[{"field":"span_name","operator":"like","value":"a\\"}]}`, domain.Rejected, "backslash"},
		{"an option that says nothing", `{"conditions":[{"field":"span_name","operator":"in","value":["a"],"options":{"all":true}}]}`, domain.Rejected, "all"},
		{"an unknown option", `{"conditions":[{"field":"span_name","value":"a","options":{"fuzzy":true}}]}`, domain.Invalid, "Extra"},
		{"a link of a wrong id", `{"conditions":[{"field":"links","operator":"in","value":[{"trace_id":"x"}]}]}`, domain.Rejected, "trace_id"},
		{"no words", `{"conditions":[{"field":"content","operator":"contains","value":" or "}]}`, domain.Rejected, "no word"},
		{"too deep", deep, domain.Rejected, "nests"},
		{"too many", many, domain.Rejected, "at most"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := filterjson.Parse([]byte(tt.in), "body", "filtering")
			require.Equal(t, tt.kind, domain.KindOf(err), "%v", err)
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestParseLocatesTheUnknownOperator(t *testing.T) {
	t.Parallel()
	_, err := filterjson.Parse([]byte(`{"conditions":[{"conditions":[{"field":"span_name","operator":"~"}]}]}`), "body", "filtering")
	var e *domain.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{"body", "filtering", "conditions", 0, "conditions", 0, "operator"}, e.Fields[0].Loc)
}
