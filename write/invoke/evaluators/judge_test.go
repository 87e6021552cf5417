package evaluators

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/sandbox"
	"colonnade/write/invoke/template"
)

func TestMain(m *testing.M) {
	if handled, exit := sandbox.Child(os.Args[1:]); handled {
		os.Exit(exit)
	}
	os.Exit(m.Run())
}

// value reads JSON as requests are read.
func value(t testing.TB, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	v, err := jsonvalue.Parse([]byte(text))
	require.NoError(t, err, text)
	return v
}

func objectIn(t testing.TB, text string) map[string]any {
	t.Helper()
	v, _ := value(t, text).(map[string]any)
	return v
}

// judgment is one line of a table: JSON texts, for they are what callers send.
type judgment struct {
	name, key, parameters, inputs, outputs, want, refused string
}

func judgeAll(t *testing.T, i *Evaluators, table []judgment) {
	t.Helper()
	handlers := i.Handlers()
	for _, tt := range table {
		t.Run(tt.key+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			h, ok := handlers[tt.key+":v0"]
			require.True(t, ok)
			parameters := objectIn(t, tt.parameters)
			if parameters == nil {
				parameters = map[string]any{}
			}
			got, err := h(t.Context(), &handler.Call{Parameters: parameters, Inputs: objectIn(t, tt.inputs), Outputs: value(t, tt.outputs)})
			if tt.refused != "" {
				require.ErrorContains(t, err, tt.refused)
				require.NotEqual(t, handler.Unknown, handler.ProblemOf(err))
				return
			}
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(value(t, tt.want), got))
		})
	}
}

const (
	yes = `{"success":true}`
	no  = `{"success":false}`
)

func TestSimpleEvaluators(t *testing.T) {
	t.Parallel()
	const key = `{"correct_answer_key":"correct_answer"}`
	judgeAll(t, &Evaluators{now: time.Now}, []judgment{
		{"same text", "auto_exact_match", key, `{"correct_answer":"Paris"}`, `"Paris"`, yes, ""},
		{"other text", "auto_exact_match", key, `{"correct_answer":"Paris"}`, `"paris"`, no, ""},
		{"same object", "auto_exact_match", key, `{"correct_answer":{"a":1,"b":[2]}}`, `{"b":[2],"a":1.0}`, yes, ""},
		{"text is no object", "auto_exact_match", key, `{"correct_answer":"{}"}`, `{}`, no, ""},
		{"no outputs", "auto_exact_match", key, `{"correct_answer":"x"}`, ``, no, ""},
		{"the usual key", "auto_exact_match", `{}`, `{"correct_answer":"x"}`, `"x"`, yes, ""},
		{"key that is no text", "auto_exact_match", `{"correct_answer_key":7}`, `{}`, `"x"`, "", "'correct_answer_key'"},
		{"missing answer", "auto_exact_match", key, `{"a":1}`, `"x"`, "", "Missing input: 'correct_answer'"},
		{"missing inputs", "auto_exact_match", key, ``, `"x"`, "", "Invalid inputs"},

		{"matches", "auto_regex_test", `{"regex_pattern":"^P.*s$"}`, ``, `"Paris"`, yes, ""},
		{"should not match", "auto_regex_test", `{"regex_pattern":"x","regex_should_match":false}`, ``, `"Paris"`, yes, ""},
		{"case", "auto_regex_test", `{"regex_pattern":"PARIS","case_sensitive":false}`, ``, `"Paris"`, yes, ""},
		{"an object as JSON", "auto_regex_test", `{"regex_pattern":"\"a\":1"}`, ``, `{"a":1}`, yes, ""},
		{"no pattern", "auto_regex_test", `{}`, ``, `"x"`, "", "'regex_pattern'"},
		{"bad pattern", "auto_regex_test", `{"regex_pattern":"("}`, ``, `"x"`, "", "Invalid regular expression"},
		{"look-ahead", "auto_regex_test", `{"regex_pattern":"(?=x)"}`, ``, `"x"`, `{"success":true}`, ""},
		{"no pattern", "auto_regex_test", `{"regex_pattern":"(?=x"}`, ``, `"x"`, "", "Invalid regular expression"},
		{"a pattern that takes too long", "auto_regex_test", `{"regex_pattern":"^(?=(x+x+)+y)"}`, ``, `"` + strings.Repeat("x", 64) + `zy"`, "", "takes more than 100ms"},
		{"a pattern that unfolds", "auto_regex_test", `{"regex_pattern":"(` + strings.Repeat("ab?", 100) + `){1000}"}`, ``, `"x"`, "", "longer than 50000"},
		{"bad outputs", "auto_regex_test", `{"regex_pattern":"x"}`, ``, `5`, "", "Invalid outputs"},

		{"yes", "auto_starts_with", `{"prefix":"Pa"}`, ``, `"Paris"`, yes, ""},
		{"no", "auto_starts_with", `{"prefix":"pa"}`, ``, `"Paris"`, no, ""},
		{"case", "auto_starts_with", `{"prefix":"pa","case_sensitive":false}`, ``, `"Paris"`, yes, ""},
		{"no prefix", "auto_starts_with", `{}`, ``, `"Paris"`, "", "'prefix'"},
		{"no text", "auto_starts_with", `{"prefix":1}`, ``, `"Paris"`, "", "expected a string, got 1"},
		{"yes", "auto_ends_with", `{"suffix":"is"}`, ``, `"Paris"`, yes, ""},
		{"no", "auto_ends_with", `{"suffix":"IS"}`, ``, `"Paris"`, no, ""},
		{"yes", "auto_contains", `{"substring":"ari"}`, ``, `"Paris"`, yes, ""},
		{"no", "auto_contains", `{"substring":"xyz"}`, ``, `"Paris"`, no, ""},
		{"in an object", "auto_contains", `{"substring":"Paris"}`, ``, `{"city":"Paris"}`, yes, ""},
		{"one of", "auto_contains_any", `{"substrings":["x"," ari "]}`, ``, `"Paris"`, yes, ""},
		{"none of", "auto_contains_any", `{"substrings":["x","y"]}`, ``, `"Paris"`, no, ""},
		{"of nothing", "auto_contains_any", `{"substrings":[]}`, ``, `"Paris"`, no, ""},
		{"all of", "auto_contains_all", `{"substrings":["Pa","is"]}`, ``, `"Paris"`, yes, ""},
		{"not all of", "auto_contains_all", `{"substrings":["Pa","x"]}`, ``, `"Paris"`, no, ""},
		{"no list", "auto_contains_all", `{"substrings":"Pa"}`, ``, `"Paris"`, "", "a list of strings"},
		{"no texts", "auto_contains_all", `{"substrings":["Pa",1]}`, ``, `"Paris"`, "", "'substrings.1'"},
		{"JSON within text", "auto_contains_json", ``, ``, `"Here: {\"a\": [1]} ."`, yes, ""},
		{"an object", "auto_contains_json", ``, ``, `{"a":1}`, yes, ""},
		{"no JSON", "auto_contains_json", ``, ``, `"a } b { c"`, no, ""},
		{"broken JSON", "auto_contains_json", ``, ``, `"{a}"`, no, ""},

		{"by name", "field_match_test", `{"json_field":"city","correct_answer_key":"c"}`, `{"c":"Paris"}`, `"{\"city\":\"Paris\"}"`, yes, ""},
		{"by path", "field_match_test", `{"json_field":"a.0.b","correct_answer_key":"c"}`, `{"c":2}`, `{"a":[{"b":2}]}`, yes, ""},
		{"no such field", "field_match_test", `{"json_field":"city","correct_answer_key":"c"}`, `{"c":"Paris"}`, `{}`, no, ""},
		{"no JSON", "field_match_test", `{"json_field":"city","correct_answer_key":"c"}`, `{"c":"Paris"}`, `"Paris"`, no, ""},
		{"no field named", "field_match_test", key, `{"correct_answer":1}`, `{}`, "", "'json_field'"},

		{
			"some", "json_multi_field_match", `{"fields":["name","$.a.b","/l/0","gone"],"correct_answer_key":"c"}`,
			`{"c":"{\"name\":\"x\",\"a\":{\"b\":1},\"l\":[3]}"}`, `{"name":"x","a":{"b":2},"l":[3]}`,
			`{"name":1.0,"$.a.b":0.0,"/l/0":1.0,"gone":1.0,"aggregate_score":0.75}`, "",
		},
		{"an answer that is no JSON", "json_multi_field_match", `{"fields":["name"],"correct_answer_key":"c"}`, `{"c":{"name":"x"}}`, `"x"`, `{"name":0.0,"aggregate_score":0.0}`, ""},
		{"no fields", "json_multi_field_match", `{"fields":[],"correct_answer_key":"c"}`, `{"c":{}}`, `{}`, "", "'fields'"},
		{"expectation that is no JSON", "json_multi_field_match", `{"fields":["a"],"correct_answer_key":"c"}`, `{"c":"x"}`, `{}`, "", "Invalid input 'c'"},

		{"same", "auto_json_diff", key, `{"correct_answer":{"a":1,"b":{"c":[1,2]}}}`, `{"b":{"c":[1,2]},"a":1}`, `{"score":1.0,"success":true}`, ""},
		{"half", "auto_json_diff", key, `{"correct_answer":{"a":1,"b":2}}`, `{"a":1,"b":3}`, `{"score":0.5,"success":true}`, ""},
		{"half under a threshold", "auto_json_diff", `{"correct_answer_key":"correct_answer","threshold":0.6}`, `{"correct_answer":"{\"a\":1,\"b\":2}"}`, `{"a":1}`, `{"score":0.5,"success":false}`, ""},
		{"schema only", "auto_json_diff", `{"correct_answer_key":"correct_answer","compare_schema_only":true}`, `{"correct_answer":{"a":1,"b":"x"}}`, `{"a":2,"b":"y"}`, `{"score":1.0,"success":true}`, ""},
		{"names of both", "auto_json_diff", `{"correct_answer_key":"correct_answer","predict_keys":true}`, `{"correct_answer":{"a":1}}`, `{"a":1,"b":2}`, `{"score":0.5,"success":true}`, ""},
		{"case of names", "auto_json_diff", `{"correct_answer_key":"correct_answer","case_insensitive_keys":true}`, `{"correct_answer":{"A":1}}`, `{"a":1}`, `{"score":1.0,"success":true}`, ""},
		{"nothing expected", "auto_json_diff", key, `{"correct_answer":{}}`, `{"a":1}`, `{"score":0.0,"success":false}`, ""},
		{
			"a name that is in the way of many", "auto_json_diff", key,
			`{"correct_answer":{"` + strings.Repeat("n", 1<<20) + `":[1` + strings.Repeat(",1", 50_000) + `]}}`, `{"a":1}`, "", "too long to be compared leaf by leaf",
		},
		{"no JSON", "auto_json_diff", key, `{"correct_answer":{}}`, `"x"`, "", "Invalid outputs"},
		{"bad threshold", "auto_json_diff", `{"correct_answer_key":"correct_answer","threshold":2}`, `{"correct_answer":{}}`, `{}`, "", "threshold"},

		{"same", "auto_levenshtein_distance", key, `{"correct_answer":"Paris"}`, `"Paris"`, `{"score":1.0,"success":true}`, ""},
		{"kitten", "auto_levenshtein_distance", key, `{"correct_answer":"sitting"}`, `"kitten"`, `{"score":0.5714285714285714,"success":true}`, ""},
		{"nothing alike", "auto_levenshtein_distance", key, `{"correct_answer":"abc"}`, `"xyz"`, `{"score":0.0,"success":false}`, ""},
		{"both empty", "auto_levenshtein_distance", key, `{"correct_answer":""}`, `""`, `{"score":1.0,"success":true}`, ""},
		{"one empty", "auto_levenshtein_distance", key, `{"correct_answer":""}`, `"ab"`, `{"score":0.0,"success":false}`, ""},
		{"case", "auto_levenshtein_distance", `{"correct_answer_key":"correct_answer","case_sensitive":false}`, `{"correct_answer":"PARIS"}`, `"paris"`, `{"score":1.0,"success":true}`, ""},
		{"characters, not bytes", "auto_levenshtein_distance", key, `{"correct_answer":"été"}`, `"ete"`, `{"score":0.33333333333333337,"success":false}`, ""},

		{"same", "auto_similarity_match", key, `{"correct_answer":"Paris"}`, `"Paris"`, `{"score":1.0,"success":true}`, ""},
		{"shared blocks", "auto_similarity_match", key, `{"correct_answer":"bcde"}`, `"abcd"`, `{"score":0.75,"success":true}`, ""},
		{"own threshold", "auto_similarity_match", `{"correct_answer_key":"correct_answer","similarity_threshold":0.8}`, `{"correct_answer":"bcde"}`, `"abcd"`, `{"score":0.75,"success":false}`, ""},
		{"both empty", "auto_similarity_match", key, `{"correct_answer":""}`, `""`, `{"score":1.0,"success":true}`, ""},

		{"inputs", "echo", ``, `{"a":[1]}`, ``, `{"a":[1]}`, ""},
		{"nothing", "echo", ``, ``, ``, `{}`, ""},
		{"as given", "feedback", ``, ``, `{"approved":true}`, `{"approved":true}`, ""},
		{"nothing", "feedback", ``, ``, ``, "", "data.outputs"},
	})
}

func TestMock(t *testing.T) {
	t.Parallel()
	judgeAll(t, &Evaluators{now: time.Now}, []judgment{
		{"echo", "mock", `{"key":"echo"}`, `{"a":"b"}`, ``, `{"a":"b"}`, ""},
		{"echo of nothing", "mock", `{"key":"echo"}`, ``, ``, `{}`, ""},
		{"static", "mock", `{"key":"static","kwargs":{"output":{"answer":"world"}}}`, ``, ``, `{"answer":"world"}`, ""},
		{"pass", "mock", `{"key":"pass"}`, ``, ``, `{"score":1.0,"success":true}`, ""},
		{"fail", "mock", `{"key":"fail","kwargs":{}}`, ``, ``, `{"score":0.0,"success":false}`, ""},
		{"score", "mock", `{"key":"score","kwargs":{"score":0.8,"threshold":0.9}}`, ``, ``, `{"score":0.8,"success":false}`, ""},
		{"score at the usual threshold", "mock", `{"key":"score","kwargs":{"score":0.5}}`, ``, ``, `{"score":0.5,"success":true}`, ""},
		{"score that is none", "mock", `{"key":"score","kwargs":{"score":"x"}}`, ``, ``, "", "'kwargs.score'"},
		{"reflect on an answer", "mock", `{"key":"reflect"}`, ``, `{"input":"hello"}`, `{"score":1.0,"success":true}`, ""},
		{"reflect on a verdict", "mock", `{"key":"reflect"}`, ``, `{"score":1,"success":true}`, `{"score":0.0,"success":false}`, ""},
		{"reflect on nothing", "mock", `{"key":"reflect"}`, ``, ``, `{"score":0.0,"success":false}`, ""},
		{"error", "mock", `{"key":"error","kwargs":{"message":"boom"}}`, ``, ``, "", "boom"},
		{"error without words", "mock", `{"key":"error"}`, ``, ``, "", "mock error"},
		{"delay", "mock", `{"key":"delay","kwargs":{"seconds":0.001}}`, ``, ``, `{"score":1.0,"success":true}`, ""},
		{"delay then", "mock", `{"key":"delay","kwargs":{"seconds":0,"then":"fail"}}`, ``, ``, `{"score":0.0,"success":false}`, ""},
		{"delay then delay", "mock", `{"key":"delay","kwargs":{"seconds":0,"then":"delay"}}`, ``, ``, `{"score":1.0,"success":true}`, ""},
		{"delay too long", "mock", `{"key":"delay","kwargs":{"seconds":1e9}}`, ``, ``, "", "'kwargs.seconds'"},
		{"messages", "mock", `{"key":"messages","kwargs":{"text":"hi"}}`, ``, ``, `{"messages":[{"role":"assistant","content":"hi"}]}`, ""},
		{
			"events", "mock", `{"key":"events","kwargs":{"text":"a b","thought":"t","tool":"search"}}`, ``, ``,
			`[{"type":"thought_start","data":{}},{"type":"thought_delta","data":{"delta":"t"}},{"type":"thought_end","data":{}},
			  {"type":"tool_call","data":{"id":"call_1","name":"search","arguments":{}}},{"type":"tool_result","data":{"id":"call_1","name":"search","result":"ok"}},
			  {"type":"message_start","data":{"role":"assistant"}},{"type":"message_delta","data":{"delta":"a "}},{"type":"message_delta","data":{"delta":"b"}},
			  {"type":"message_end","data":{}},{"type":"done","data":{}}]`, "",
		},
		{"no key", "mock", `{}`, ``, ``, "", "Missing configuration parameter: 'key'"},
		{"unknown key", "mock", `{"key":"nothing"}`, ``, ``, "", "one of echo"},
		{"kwargs that are none", "mock", `{"key":"pass","kwargs":[]}`, ``, ``, "", "'kwargs'"},
	})
}

func TestMockStreams(t *testing.T) {
	t.Parallel()
	var got []any
	_, err := (&Evaluators{now: time.Now}).mock(t.Context(), &handler.Call{Parameters: objectIn(t, `{"key":"events"}`), Emit: func(delta any) error {
		got = append(got, delta.(map[string]any)["type"])
		return nil
	}})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]any{"message_start", "message_delta", "message_delta", "message_end", "done"}, got))
}

func TestMockDelayEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&Evaluators{now: time.Now}).mock(ctx, &handler.Call{Parameters: objectIn(t, `{"key":"delay","kwargs":{"seconds":60}}`)})
	require.ErrorIs(t, err, context.Canceled)
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const in, out = `{"want":"Paris","doc":{"a":1,"b":2}}`, `{"city":"Paris","json":"{\"a\":1,\"b\":3}","n":5}`
	table := []judgment{{"none", "match", `{"matchers":[]}`, in, out, `{"score":1.0,"success":true}`, ""}}
	for _, tt := range []struct {
		name, matcher string
		score         float64
		success       bool
	}{
		{"valid text", `"target":"$.outputs.city"`, 1, true},
		{"valid text that is none", `"target":"$.outputs.n"`, 0, false},
		{"valid json", `"target":"outputs.json","mode":"json","match":"valid"`, 1, true},
		{"exact", `"target":"$.outputs.city","match":"exact","reference":"$.inputs.want"`, 1, true},
		{"exact literal", `"target":"/outputs/city","match":"exact","reference":"paris","case_sensitive":false`, 1, true},
		{"exact number", `"target":"outputs.n","match":"exact","reference":5`, 1, true},
		{"starts with", `"target":"outputs.city","match":"starts_with","reference":"Pa"`, 1, true},
		{"ends with", `"target":"outputs.city","match":"ends_with","reference":"x"`, 0, false},
		{"contains", `"target":"outputs.city","match":"contains","reference":"ari"`, 1, true},
		{"contains all", `"target":"outputs.city","match":"contains","references":["ari","x"]`, 0, false},
		{"contains any", `"target":"outputs.city","match":"contains","references":["ari","x"],"contains":"any"`, 1, true},
		{"regex", `"target":"outputs.city","match":"regex","reference":"^p","case_sensitive":false`, 1, true},
		{"similarity", `"target":"outputs.city","match":"similarity","reference":"Par","threshold":0.7`, 0.75, true},
		{"levenshtein", `"target":"outputs.city","match":"similarity","similarity":"levenshtein","reference":"Pari"`, 0.8, false},
		{"diff", `"target":"outputs.json","match":"diff","reference":"$.inputs.doc","threshold":0.5`, 0.5, true},
		{"diff of the schema", `"target":"outputs.json","match":"diff","diff":"schema","reference":"$.inputs.doc"`, 1, true},
	} {
		table = append(table, judgment{
			tt.name, "match", `{"matchers":[{"key":"k",` + tt.matcher + `}]}`, in, out,
			fmt.Sprintf(`{"k":{"success":%t,"score":%s,"error":null},"score":%s,"success":%t}`, tt.success, handler.Shown(tt.score), handler.Shown(tt.score), tt.success && tt.score >= 1), "",
		})
	}
	const two = `{"key":"a","target":"outputs.city","match":"exact","reference":"Paris","weight":3},{"key":"b","target":"outputs.city","match":"exact","reference":"x"}`
	const verdicts = `"a":{"success":true,"score":1.0,"error":null},"b":{"success":false,"score":0.0,"error":null}`
	table = append(
		table,
		judgment{"weighted", "match", `{"matchers":[` + two + `],"threshold":0.7}`, in, out, `{` + verdicts + `,"score":0.75,"success":true}`, ""},
		judgment{"min and all", "match", `{"matchers":[` + two + `],"score":"min","success":"all"}`, in, out, `{` + verdicts + `,"score":0.0,"success":false}`, ""},
		judgment{"max and any", "match", `{"matchers":[` + two + `],"score":"max","success":"any"}`, in, out, `{` + verdicts + `,"score":1.0,"success":true}`, ""},
		judgment{
			"a tree", "match", `{"matchers":[{"key":"t","success":"any","matchers":[` + two + `]}]}`, in, out,
			`{"t":{` + verdicts + `,"success":true,"score":0.75,"error":null},"score":0.75,"success":false}`, "",
		},
		judgment{
			"a target that is nowhere", "match", `{"matchers":[{"key":"k","target":"$.outputs.x","match":"exact"}]}`, in, out,
			`{"k":{"success":false,"score":0.0,"error":"There is nothing at the target '$.outputs.x'."},"score":0.0,"success":false}`, "",
		},
		judgment{"no matchers", "match", `{}`, in, out, "", "'matchers'"},
		judgment{"matchers that are none", "match", `{"matchers":[1]}`, in, out, "", "a list of objects"},
		judgment{
			"unknown match", "match", `{"matchers":[{"key":"m","target":"outputs.city","match":"like"}]}`, in, out,
			`{"m":{"success":false,"score":0.0,"error":"There is no match 'like': it is one of valid, exact, starts_with, ends_with, contains, regex, similarity, diff."},"score":0.0,"success":false}`, "",
		},
		judgment{
			"no target", "match", `{"matchers":[{"key":"m","match":"valid"}]}`, in, out,
			`{"m":{"success":false,"score":0.0,"error":"The matcher has no target."},"score":0.0,"success":false}`, "",
		},
		judgment{"unknown similarity", "match", `{"matchers":[{"target":"outputs.city","match":"similarity","similarity":"x"}]}`, in, out, "", "'similarity'"},
		judgment{"unknown combination", "match", `{"matchers":[{"target":"outputs.city"}],"score":"median"}`, in, out, "", "'score'"},
	)
	judgeAll(t, &Evaluators{now: time.Now}, table)
}

func withSandbox(t testing.TB, change func(*sandbox.Config)) *Evaluators {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Timeout, cfg.CPU = 2*time.Minute, time.Minute
	if change != nil {
		change(&cfg)
	}
	s, err := sandbox.New(cfg, sandbox.Deps{Now: time.Now, Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return &Evaluators{sandbox: s}
}

func TestCode(t *testing.T) {
	t.Parallel()
	const in, out = `{"correct_answer":"Paris","n":2}`, `"Paris"`
	judgeAll(t, withSandbox(t, nil), []judgment{
		{"a score", "code", `{"code":"function evaluate(inputs, outputs) { return outputs === inputs.correct_answer ? 1 : 0 }"}`, in, out, `{"score":1.0,"success":true}`, ""},
		{"a score under a threshold", "code", `{"code":"const evaluate = () => 0.4","threshold":0.4}`, in, out, `{"score":0.4,"success":true}`, ""},
		{"a boolean", "code", `{"code":"function evaluate() { return false }","runtime":"javascript"}`, in, out, no, ""},
		{"an object", "code", `{"code":"function evaluate(i) { return {score: i.n / 4, why: 'so'} }"}`, in, out, `{"score":0.5,"why":"so"}`, ""},
		{"an application", "code", `{"code":"function main(inputs, parameters, {testcase}) { return inputs.n * parameters.factor }","factor":21}`, in, ``, `42`, ""},
		{"an exception", "code", `{"code":"function evaluate() { throw new Error('mine') }"}`, in, out, "", "Error: mine"},
		{"no verdict", "code", `{"code":"function evaluate() {}"}`, in, out, "", "must be a number"},
		{"no code", "code", `{}`, in, out, "", "There is no code"},
		{"Python without an interpreter", "code", `{"code":"def evaluate(*a): return 1","runtime":"python"}`, in, out, "", "no interpreter is configured"},
		{"the older call", "auto_custom_code_run", `{"code":"function evaluate(app, inputs, output, correct) { return output === correct }","correct_answer_key":"correct_answer"}`, in, out, yes, ""},
		{"the older call, version 2", "auto_custom_code_run", `{"version":"2","code":"function evaluate(inputs, outputs, trace) { return inputs.n / 2 }"}`, in, out, `{"score":1.0,"success":true}`, ""},
		{"the older call without an answer", "auto_custom_code_run", `{"code":"function evaluate() {}","correct_answer_key":"x"}`, in, out, "", "Missing input: 'x'"},
	})
}

func TestCodeOfARevision(t *testing.T) {
	t.Parallel()
	i := withSandbox(t, nil)
	got, err := i.code(t.Context(), &handler.Call{
		Revision:   handler.Revision{Runtime: "javascript", Script: "async function main(inputs) { return {hello: inputs.name} }"},
		Parameters: map[string]any{"code": "function main() { return 'not this' }"}, Inputs: map[string]any{"name": "x"},
	})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(map[string]any{"hello": "x"}, got))
	_, err = i.code(t.Context(), &handler.Call{Revision: handler.Revision{Runtime: "typescript", Script: "x"}, Parameters: map[string]any{}})
	require.ErrorContains(t, err, `does not run "typescript"`)
	require.Equal(t, handler.CodeFailed, handler.ProblemOf(err))
	require.Equal(t, domain.Rejected, domain.KindOf(err))
}

// TestSharedRatio holds our measure against numbers of Python's difflib.
func TestSharedRatio(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"abcd", "bcde", 0.75},
		{"private Thread currentThread;", "private volatile Thread currentThread;", 0.8656716417910447},
		{"qabxcd", "abycdf", 0.6666666666666666},
		{"Paris is the capital of France", "The capital of France is Paris", 0.6666666666666666},
		// Beyond 200 characters, popular ones do not begin a block.
		{strings.Repeat("a", 300), strings.Repeat("a", 300), 1},
		{"b" + strings.Repeat("a", 300), strings.Repeat("a", 300), 0},
		{"", "x", 0},
	} {
		got, err := sharedRatio(t.Context(), []rune(tt.a), []rune(tt.b))
		require.NoError(t, err)
		require.InDelta(t, tt.want, got, 1e-9, "%q %q", tt.a, tt.b)
	}
}

func TestEditDistanceIsAMetric(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []rune {
		out := make([]rune, random.IntN(12))
		for i := range out {
			out[i] = 'a' + rune(random.IntN(3))
		}
		return out
	}
	for range 500 {
		a, b, c := text(), text(), text()
		distance := func(x, y []rune) int {
			d, err := editDistance(t.Context(), x, y)
			require.NoError(t, err)
			return d
		}
		require.Equal(t, distance(a, b), distance(b, a))
		require.Equal(t, string(a) == string(b), distance(a, b) == 0)
		require.LessOrEqual(t, distance(a, c), distance(a, b)+distance(b, c))
		require.LessOrEqual(t, distance(a, b), max(len(a), len(b)))
	}
}

func TestComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab", 1<<19)
	c := &handler.Call{Parameters: objectIn(t, `{"correct_answer_key":"c"}`), Inputs: map[string]any{"c": "x" + long + "y"}, Outputs: "y" + strings.Repeat("ba", 1<<19) + "x"}
	_, err := (&Evaluators{now: time.Now}).levenshtein(t.Context(), c)
	require.ErrorContains(t, err, "too long")
	require.Equal(t, domain.TooLarge, domain.KindOf(err))

	words := make([]rune, 150_000)
	for i := range words {
		words[i] = rune(0x4e00 + i%101) // each a little rarer than a popular one
	}
	shuffled := append(words[1:len(words):len(words)], words[0])
	_, err = sharedRatio(t.Context(), words, shuffled)
	require.ErrorContains(t, err, "too long")

	_, err = (&Evaluators{now: time.Now}).regexTest(t.Context(), &handler.Call{Parameters: map[string]any{"regex_pattern": "(?:" + strings.Repeat("a?", 500) + "){20}y"}, Outputs: long})
	require.Equal(t, domain.TooLarge, domain.KindOf(err))

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sharedRatio(canceled, words[:1000], words[500:1500])
	require.ErrorIs(t, err, context.Canceled)
	_, err = editDistance(canceled, words[:1000], words[500:1500])
	require.ErrorIs(t, err, context.Canceled)
}

// A judgment ends with its time, however many parts it has.
func TestJudgmentsEndWithTheirTime(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	list := []any{"a", "b"}
	for key, parameters := range map[string]map[string]any{
		"match:v0":             {"matchers": []any{map[string]any{"target": "outputs", "match": "contains", "references": list}}},
		"auto_contains_any:v0": {"substrings": list}, "auto_contains_all:v0": {"substrings": list},
		"json_multi_field_match:v0": {"fields": list, "correct_answer_key": "c"},
	} {
		_, err := (&Evaluators{now: time.Now}).Handlers()[key](canceled, &handler.Call{Parameters: parameters, Inputs: map[string]any{"c": map[string]any{}}, Outputs: "text"})
		require.ErrorIs(t, err, context.Canceled, key)
	}
	m := &matching{ctx: canceled, paths: template.NewPaths(nil)}
	_, err := m.contains(map[string]any{"references": list}, "text", matchText)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkEvaluators(b *testing.B) {
	answer := strings.Repeat("The capital of France is Paris, on the river Seine. ", 20)
	handlers := (&Evaluators{now: time.Now}).Handlers()
	for _, bb := range []struct{ key, parameters string }{
		{"auto_exact_match", `{"correct_answer_key":"c"}`},
		{"auto_regex_test", `{"regex_pattern":"capital of (\\w+) is (\\w+)$"}`},
		{"auto_contains_all", `{"substrings":["Paris","Seine"]}`},
		{"auto_levenshtein_distance", `{"correct_answer_key":"c"}`},
		{"auto_similarity_match", `{"correct_answer_key":"c"}`},
	} {
		b.Run(bb.key, func(b *testing.B) {
			c := &handler.Call{Parameters: objectIn(b, bb.parameters), Outputs: answer, Inputs: map[string]any{"c": strings.ReplaceAll(answer, "Paris", "Lyon")}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := handlers[bb.key+":v0"](b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
