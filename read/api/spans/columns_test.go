package spans_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	d, m := open(t, nil)
	m.spans[0].End, m.spans[0].SessionID, m.spans[3].End = 2_500_001, "s", 4
	m.spans[0].Resource = map[string]any{"service.name": "planner"}
	m.spans[0].References = []trace.Reference{{Key: "application", Reference: domain.Reference{Slug: "travel"}}}
	m.spans[0].Attributes = map[string]any{
		"customer": map[string]any{"tier": "gold"},
		"ag": map[string]any{
			"meta":    map[string]any{"response": map[string]any{"model": "gpt-4.1"}},
			"metrics": map[string]any{"tokens": map[string]any{"incremental": map[string]any{"total": int64(3)}, "cumulative": map[string]any{"total": int64(7)}}, "costs": map[string]any{"cumulative": map[string]any{"total": 0.25}}},
			"data": map[string]any{
				"inputs": map[string]any{"prompt": []any{
					map[string]any{"role": "user", "content": "an earlier question, longer than the preview of thirty-two characters"},
					map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Where to"}, map[string]any{"type": "text", "text": "in May? It should be warm already"}}},
					map[string]any{"role": "system", "content": "short"},
				}},
				"outputs": map[string]any{"city": "Paris"},
			},
		},
	}
	for _, tt := range []struct{ name, path, selected, want string }{
		{
			"of traces", "/traces/query", `"span_name","spans","total.spans","matched","total.tokens","own.tokens","total.cost","total.errors","model","service","application","evaluator","attributes.customer.tier","preview.inputs","preview.outputs","duration_ms","start_time","parent_id","session_id","status_message"`,
			`{"count":2,"columns":{"span_name":["root","judge"],"spans":[3,1],"total.spans":[3,1],"matched":[3,1],"total.tokens":[7,null],"own.tokens":[3,null],"total.cost":[0.25,null],
			"total.errors":[null,null],"model":["gpt-4.1",null],"service":["planner",null],"application":["travel",null],"evaluator":[null,null],"attributes.customer.tier":["gold",null],
			"preview.inputs":["Where to in May? It should be wa",null],"preview.outputs":["{\"city\":\"Paris\"}",null],"duration_ms":[2.5,0],
			"start_time":["1970-01-01T00:00:00.000000001Z","1970-01-01T00:00:00.000000004Z"],"parent_id":[null,null],"session_id":["s",null],"status_message":[null,null]}}`,
		},
		{
			"of spans", "/spans/query", `"trace_id","span_id","parent_id","spans","matched"`,
			`{"count":4,"columns":{"trace_id":["` + idOfA + `","` + idOfA + `","` + idOfA + `","` + idOfB + `"],"span_id":["0100000000000000","0200000000000000","0300000000000000","0400000000000000"],
			"parent_id":[null,"0100000000000000","0100000000000000",null],"spans":[null,null,null,null],"matched":[null,null,null,null]}}`,
		},
	} {
		w := d.do(t, http.MethodPost, tt.path, `{"select":[`+tt.selected+`],"preview":32}`)
		require.NoError(t, d.err, tt.name)
		require.JSONEq(t, tt.want, w.Body.String(), tt.name)
	}
}

func TestColumnsAreChecked(t *testing.T) {
	t.Parallel()
	d, _ := open(t, nil)
	many := `"span_name"` + strings.Repeat(`,"span_name"`, 100)
	for _, body := range []string{
		`{"select":["score."]}`, `{"select":["own.seconds"]}`, `{"select":["attributes"]}`, `{"select":["name"]}`, `{"select":[` + many + `]}`,
		`{"select":["span_name"],"preview":31}`, `{"preview":4001}`, `{"select":["span_name"],"format":"opentelemetry"}`,
	} {
		for _, path := range []string{"/traces/query", "/spans/query"} {
			d.do(t, http.MethodPost, path, body)
			require.Contains(t, []domain.Kind{domain.Invalid, domain.Rejected}, domain.KindOf(d.err), body)
		}
	}
}
