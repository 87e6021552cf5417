package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

const (
	idA = "0102030405060708090a0b0c0d0e0f10"
	idS = "0102030405060708"
	idU = "01890a5d-ac96-774b-bcce-b302099a8057"
)

// sample is a span with something in every field but updated_by_id.
func sample(t *testing.T) *trace.Span {
	t.Helper()
	tid, err := trace.ParseTraceID(idA)
	require.NoError(t, err)
	sid, err := trace.ParseSpanID(idS)
	require.NoError(t, err)
	start := time.Date(2025, 1, 1, 12, 0, 0, 123456789, time.UTC)
	attributes, err := jsonvalue.ParseObject(`{"ag":{"type":{"trace":"invocation"},
		"data":{"inputs":{"country":"France","n":3},"outputs":"The capital\nis Paris.","internals":{"big":9007199254740993}},
		"exception":{"message":"Boom"},"flags":{"stream":false},"tags":{"env":"Prod_1","none":null},
		"metrics":{"tokens":{"incremental":{"total":15,"ratio":1.0}}},
		"meta":{"list":["a",1,{"k":"v","w":[1,2]}],"empty":{},"date":"2025-01-01T10:00:00Z","a.b":"dotted","ten":"10"}},
		"service":"x"}`)
	require.NoError(t, err)
	return &trace.Span{
		TraceID: tid, SpanID: sid, ParentID: trace.SpanID{9}, Root: true, Type: trace.Invocation, Kind: trace.KindServer, Status: trace.StatusError,
		Name: "Chat GPT", StatusMessage: "timed out", Identifiers: trace.Identifiers{SessionID: "s-1", AgentID: "agent"},
		Start: start.UnixNano(), End: start.Add(1500 * time.Millisecond).UnixNano(), Attributes: attributes,
		References: []trace.Reference{
			{Key: "application", Reference: domain.Reference{ID: uuid.MustParse(idU), Slug: "my-app"}},
			{Key: "application_revision", Reference: domain.Reference{Version: "3"}},
		},
		Links:     []trace.Link{{TraceID: tid, SpanID: sid, Attributes: map[string]any{"key": "invocation"}}},
		Hashes:    []trace.Hash{{ID: uuid.MustParse(idU), Attributes: map[string]any{"key": "indirect"}}},
		Events:    []trace.Event{{Name: "exception", Time: start.UnixNano(), Attributes: map[string]any{"exception.type": "ValueError", "n": int64(1)}}},
		Resource:  map[string]any{"service": map[string]any{"name": "shop"}},
		Scope:     &trace.Scope{Name: "lib", Version: "1.2"},
		CreatedAt: start.Add(time.Hour), CreatedBy: uuid.MustParse(idU),
	}
}

// Every line is a condition without its braces; each also holds or not the
// other way round under "not".
const holding = `
"field":"trace_id","value":"ID"
"field":"trace_id","operator":"is_not","value":"ffffffffffffffffffffffffffffffff"
"field":"trace_id","operator":"in","value":["ffffffffffffffffffffffffffffffff","ID"]
"field":"trace_id","operator":"not_in","value":["ffffffffffffffffffffffffffffffff"]
"field":"span_id","value":"SID"
"field":"span_id","operator":"in","value":["SID"]
"field":"parent_id","value":"0900000000000000"
"field":"parent_id","operator":"is_not","value":null
"field":"parent_id","operator":"in","value":[null,"0900000000000000"]
"field":"root","value":true
"field":"root","operator":"is_not","value":false
"field":"trace_type","value":"invocation"
"field":"trace_type","operator":"not_in","value":["annotation","unknown"]
"field":"span_type","value":"task"
"field":"span_kind","operator":"in","value":["SPAN_KIND_SERVER"]
"field":"status_code","operator":"is_not","value":"STATUS_CODE_OK"
"field":"span_name","value":"Chat GPT"
"field":"span_name","operator":"is_not","value":"chat gpt"
"field":"span_name","operator":"eq","value":"Chat GPT"
"field":"span_name","operator":"neq","value":"x"
"field":"span_name","operator":"gt","value":"Chat"
"field":"span_name","operator":"gte","value":"Chat GPT"
"field":"span_name","operator":"lt","value":"chat"
"field":"span_name","operator":"lte","value":"Chat GPT"
"field":"span_name","operator":"btwn","value":["Chat","Chat GPT"]
"field":"span_name","operator":"startswith","value":"chat"
"field":"span_name","operator":"startswith","value":""
"field":"span_name","operator":"endswith","value":"gpt"
"field":"span_name","operator":"contains","value":"AT G"
"field":"span_name","operator":"contains","value":"at G","options":{"case_sensitive":true}
"field":"span_name","operator":"matches","value":"at g"
"field":"span_name","operator":"matches","value":"chat gpt","options":{"exact_match":true}
"field":"span_name","operator":"like","value":"c%t g_t"
"field":"span_name","operator":"in","value":["a","Chat GPT"]
"field":"span_name","operator":"not_in","value":["a"]
"field":"status_message","operator":"contains","value":"timed"
"field":"status_message","operator":"exists"
"field":"session_id","value":"s-1"
"field":"agent_id","operator":"in","value":["agent"]
"field":"user_id","operator":"not_exists"
"field":"user_id","value":null
"field":"user_id","operator":"is_not","value":"x"
"field":"user_id","operator":"neq","value":"x"
"field":"user_id","operator":"not_in","value":["x"]
"field":"start_time","value":"2025-01-01T12:00:00.123456Z"
"field":"start_time","value":"2025-01-01T12:00:00.123456999Z"
"field":"start_time","operator":"is_not","value":"2025-01-01T12:00:00.123457Z"
"field":"start_time","operator":"eq","value":1735732800123456
"field":"start_time","operator":"gte","value":"2025-01-01T12:00:00.123456"
"field":"start_time","operator":"gt","value":"2025-01-01"
"field":"start_time","operator":"lt","value":1735732801
"field":"start_time","operator":"lte","value":"1735732800124"
"field":"start_time","operator":"btwn","value":["2025-01-01T12:00:00Z","2025-01-01T12:00:00.123456Z"]
"field":"start_time","operator":"in","value":["2025-01-01T12:00:00Z",1735732800123456000]
"field":"start_time","operator":"startswith","value":"2025-01-01T12:00:00.123456z"
"field":"start_time","operator":"exists"
"field":"end_time","operator":"gt","value":"2025-01-01T12:00:01Z"
"field":"created_at","operator":"btwn","value":["2025-01-01T13:00:00Z","2025-01-01T13:00:01Z"]
"field":"updated_at","operator":"not_exists"
"field":"updated_at","value":null
"field":"updated_at","operator":"neq","value":1735732801
"field":"deleted_at","operator":"not_exists"
"field":"deleted_at","value":null
"field":"deleted_at","operator":"is_not","value":1735732801
"field":"created_by_id","value":"UID"
"field":"created_by_id","operator":"exists"
"field":"created_by_id","operator":"in","value":["UID"]
"field":"updated_by_id","operator":"not_exists"
"field":"updated_by_id","value":null
"field":"updated_by_id","operator":"is_not","value":"UID"
"field":"deleted_by_id","operator":"not_exists"
"field":"deleted_by_id","operator":"not_in","value":["UID"]
"field":"attributes","key":"ag.data.inputs.country","value":"France"
"field":"attributes","key":"ag.data.inputs.country","operator":"is_not","value":"france"
"field":"attributes","key":"ag.data.inputs","value":{"country":"France"}
"field":"attributes","key":"ag.data.inputs","value":{}
"field":"attributes","key":"ag.data","value":{"inputs":{"n":3.0}}
"field":"attributes","key":"ag.nowhere","operator":"is_not","value":1
"field":"attributes","key":"ag.nowhere","operator":"neq","value":1
"field":"attributes","key":"ag.nowhere","operator":"not_in","value":[1]
"field":"attributes","key":"ag.nowhere","operator":"not_exists"
"field":"attributes","key":"ag.tags.none","value":null
"field":"attributes","key":"ag.tags.none","operator":"exists"
"field":"attributes","key":"ag.flags.stream","value":false
"field":"attributes","key":"ag.flags.stream","operator":"eq","value":false
"field":"attributes","key":"ag.data.internals.big","value":9007199254740993
"field":"attributes","key":"ag.data.internals.big","operator":"is_not","value":9007199254740992
"field":"attributes","key":"ag.metrics.tokens.incremental.ratio","value":1
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"gt","value":14.5
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"gte","value":15
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"lt","value":16
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"lte","value":15
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"btwn","value":[15,20]
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"eq","value":15.0
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"neq","value":"15"
"field":"attributes","key":"ag.meta.date","operator":"btwn","value":["2024","2025-02"]
"field":"attributes","key":"ag.meta.date","operator":"gt","value":"2025-01-01T09"
"field":"attributes","key":"ag.tags.env","operator":"startswith","value":"prod"
"field":"attributes","key":"ag.tags.env","operator":"endswith","value":"D_1"
"field":"attributes","key":"ag.tags.env","operator":"contains","value":"ROD"
"field":"attributes","key":"ag.tags.env","operator":"matches","value":"prod_1","options":{"exact_match":true}
"field":"attributes","key":"ag.tags.env","operator":"like","value":"prod\\_%"
"field":"attributes","key":"ag.tags.env","operator":"in","value":["Prod_1","x"]
"field":"attributes","key":"ag.meta.list","operator":"in","value":["a"]
"field":"attributes","key":"ag.meta.list","operator":"in","value":["a",1],"options":{"all":true}
"field":"attributes","key":"ag.meta.list","operator":"in","value":[{"k":"v"}]
"field":"attributes","key":"ag.meta.list","operator":"not_in","value":["a","b"],"options":{"all":true}
"field":"attributes","key":"ag.meta.list","value":[{"w":[2]},1,1]
"field":"attributes","key":"ag.meta.list","value":[]
"field":"attributes","key":"ag.meta.list.0","value":"a"
"field":"attributes","key":"ag.meta.list.2.w.1","operator":"gt","value":1
"field":"attributes","key":"ag.meta.a\\.b","value":"dotted"
"field":"attributes","key":"ag.data","operator":"has","value":"inputs"
"field":"attributes","key":"ag.data","operator":"has_not","value":"parameters"
"field":"attributes","key":"ag.data.inputs","operator":"has","value":{"n":3}
"field":"attributes","key":"ag.meta.empty","operator":"exists"
"field":"resource","key":"service.name","value":"shop"
"field":"resource","key":"service.version","operator":"not_exists"
"field":"scope","key":"name","operator":"startswith","value":"LI"
"field":"links","operator":"exists"
"field":"links","operator":"in","value":[{"trace_id":"ID","span_id":"SID"}]
"field":"links","operator":"in","value":[{"span_id":"0900000000000000"},{"attributes":{"key":"invocation"}}]
"field":"links","operator":"not_in","value":[{"span_id":"0900000000000000"}]
"field":"links","operator":"not_in","value":[{"trace_id":"ID"},{"span_id":"0900000000000000"}],"options":{"all":true}
"field":"links","operator":"has","key":"attributes.key","value":"invocation"
"field":"links","operator":"has_not","key":"attributes.key","value":"x"
"field":"references","operator":"exists"
"field":"references","operator":"in","value":[{"id":"UID"}]
"field":"references","operator":"in","value":[{"id":"11111111-1111-1111-1111-111111111111","slug":"my-app"}]
"field":"references","operator":"in","value":[{"slug":"my-app","attributes":{"key":"application"}},{"version":"3"}],"options":{"all":true}
"field":"references","operator":"not_in","value":[{"slug":"my-app","attributes":{"key":"evaluator"}}]
"field":"references","operator":"has","key":"attributes.key","value":"application_revision"
"field":"references","operator":"has","key":"slug","value":"my-app"
"field":"references","operator":"has_not","key":"attributes.other","value":"x"
"field":"events","operator":"exists"
"field":"events","operator":"in","value":[{"name":"exception","timestamp":"2025-01-01T12:00:00.123456Z"}]
"field":"events","operator":"in","value":[{"attributes":{"exception.type":"ValueError"}}]
"field":"events","operator":"not_in","value":[{"name":"log"}]
"field":"events","operator":"has","key":"attributes.exception.type","value":"ValueError"
"field":"events","operator":"has","key":"attributes.n","value":1.0
"field":"hashes","operator":"in","value":["UID"]
"field":"hashes","operator":"in","value":[{"id":"UID","attributes":{"key":"indirect"}}]
"field":"hashes","operator":"has","key":"id","value":"UID"
"field":"hashes","operator":"has_not","key":"attributes.key","value":"direct"
"field":"content","operator":"contains","value":"paris"
"field":"content","operator":"contains","value":"capital france valueerror boom"
"field":"content","operator":"contains","value":"\"capital\nis paris\""
"field":"content","operator":"contains","value":"london or \"is paris\""
"field":"content","operator":"contains","value":"paris -london"
`

// What no value that is missing, and no value of another type, matches.
const failing = `
"field":"parent_id","value":null
"field":"root","value":false
"field":"span_type","value":"unknown"
"field":"span_name","operator":"startswith","value":"chat","options":{"case_sensitive":true}
"field":"span_name","operator":"matches","value":"chat","options":{"exact_match":true}
"field":"span_name","operator":"like","value":"chat"
"field":"span_name","operator":"like","value":"chat\\_gpt"
"field":"user_id","operator":"startswith","value":""
"field":"user_id","operator":"lt","value":"z"
"field":"user_id","value":""
"field":"updated_at","operator":"lt","value":1735732801
"field":"updated_at","operator":"startswith","value":""
"field":"deleted_at","operator":"gt","value":"1970-01-01"
"field":"deleted_by_id","value":"UID"
"field":"updated_by_id","operator":"in","value":["UID"]
"field":"start_time","operator":"gt","value":"2025-01-01T12:00:00.123456Z"
"field":"start_time","operator":"lt","value":"2025-01-01T12:00:00.123456999Z"
"field":"attributes","key":"ag.nowhere","value":null
"field":"attributes","key":"ag.nowhere","operator":"lt","value":1
"field":"attributes","key":"ag.nowhere","operator":"contains","value":""
"field":"attributes","key":"ag.nowhere","operator":"in","value":[null]
"field":"attributes","key":"ag.tags.none","value":0
"field":"attributes","key":"ag.tags.none","operator":"lt","value":1
"field":"attributes","key":"ag.meta.ten","value":10
"field":"attributes","key":"ag.meta.ten","operator":"gt","value":9
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"contains","value":"15"
"field":"attributes","key":"ag.metrics.tokens.incremental.total","operator":"gt","value":"1"
"field":"attributes","key":"ag.data.inputs","value":{"country":"France","x":1}
"field":"attributes","key":"ag.data.inputs.country","value":["France"]
"field":"attributes","key":"ag.meta.list","value":"a"
"field":"attributes","key":"ag.meta.list","operator":"in","value":["a","b"],"options":{"all":true}
"field":"attributes","key":"ag.meta.a.b","operator":"exists"
"field":"attributes","key":"AG.data","operator":"exists"
"field":"resource","key":"ag.data","operator":"exists"
"field":"links","operator":"in","value":[{"trace_id":"ID","span_id":"0900000000000000"}]
"field":"references","operator":"in","value":[{"slug":"my-app","attributes":{"key":"evaluator"}}]
"field":"references","operator":"in","value":[{"id":"UID"},{"version":"4"}],"options":{"all":true}
"field":"references","operator":"has","key":"attributes.other","value":"x"
"field":"events","operator":"in","value":[{"name":"exception","attributes":{"n":2}}]
"field":"content","operator":"contains","value":"shop"
"field":"content","operator":"contains","value":"paris london"
"field":"content","operator":"contains","value":"-paris"
"field":"content","operator":"contains","value":"\"paris is\""
`

func TestMatch(t *testing.T) {
	t.Parallel()
	span := sample(t)
	fill := strings.NewReplacer("UID", idU, "SID", idS, "ID", idA)
	check := func(line string, want bool) {
		condition := "{" + fill.Replace(line) + "}"
		for _, tt := range []struct {
			filter string
			want   bool
		}{
			{`{"conditions":[` + condition + `]}`, want},
			{`{"operator":"not","conditions":[` + condition + `]}`, !want},
			{`{"operator":"nand","conditions":[` + condition + `,{"operator":"and"}]}`, !want},
			{`{"operator":"nor","conditions":[` + condition + `,` + condition + `]}`, !want},
			{`{"operator":"or","conditions":[` + condition + `,{"field":"span_name","value":"no"}]}`, want},
		} {
			e, err := filterjson.Parse([]byte(tt.filter))
			require.NoError(t, err, line)
			require.Equal(t, tt.want, filter.Match(e, span), tt.filter)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(holding)) {
		check(strings.TrimSpace(line), true)
	}
	for line := range strings.Lines(strings.TrimSpace(failing)) {
		check(strings.TrimSpace(line), false)
	}
}

func TestMatchNothing(t *testing.T) {
	t.Parallel()
	require.True(t, filter.Match(nil, &trace.Span{}))
	require.True(t, filter.Match(filter.And{}, &trace.Span{}))
	require.False(t, filter.Match(filter.Or{}, &trace.Span{}))
}

func TestLike(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"%%", "é\n", true},
		{"_", "é", true},
		{"_", "", false},
		{"__", "é", false},
		{"a%b%c", "aXbYbZc", true},
		{"a%b%c", "aXbYbZ", false},
		{"%ab", "aab", true},
		{`\%`, "%", true},
		{`\%`, "a", false},
		{`%\_%`, "a_b", true},
		{`%\_%`, "ab", false},
		{`\\%`, `\x`, true},
		{strings.Repeat("%a", 20) + "b", strings.Repeat("a", 5000), false},
	}
	for _, tt := range tests {
		got := filter.Passes(filter.Pattern{Form: filter.Like, Value: tt.pattern}, tt.text)
		require.Equal(t, tt.want, got, "%q like %q", tt.text, tt.pattern)
	}
}

func FuzzMatch(f *testing.F) {
	for line := range strings.Lines(strings.TrimSpace(holding + failing)) {
		if line = strings.TrimSpace(line); line != "" {
			f.Add([]byte(`{"operator":"nand","conditions":[{` + line + `},{"operator":"not","conditions":[{` + line + `}]}]}`))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := filterjson.Parse(data, "body")
		if err != nil {
			require.Contains(t, []domain.Kind{domain.Rejected, domain.Invalid}, domain.KindOf(err))
			return
		}
		span := sample(t)
		require.NotEqual(t, filter.Match(e, span), filter.Match(filter.Not{Expr: e}, span))
	})
}

func BenchmarkMatch(b *testing.B) {
	e, err := filterjson.Parse([]byte(`{"conditions":[{"field":"attributes","key":"ag.data.inputs.country","value":"France"},{"field":"content","operator":"contains","value":"nowhere"}]}`))
	require.NoError(b, err)
	span := &trace.Span{Attributes: map[string]any{"ag": map[string]any{"data": map[string]any{"inputs": map[string]any{"country": "France", "text": strings.Repeat("words ", 300)}}}}}
	b.ReportAllocs()
	for b.Loop() {
		filter.Match(e, span)
	}
}
