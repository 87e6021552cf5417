package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

func TestLinkedTraces(t *testing.T) {
	t.Parallel()
	one, two := trace.TraceID{1}, trace.TraceID{2}
	link := func(id trace.TraceID) filter.Expr { return filter.Link{TraceID: id} }
	other := filter.Expr(filter.StatusCode{In: []trace.Status{trace.StatusError}})
	tests := []struct {
		name string
		in   filter.Expr
		want []trace.TraceID
	}{
		{"nothing", nil, nil},
		{"a link", link(one), []trace.TraceID{one}},
		{"any link", filter.Link{}, nil},
		{"of a span alone", filter.Link{SpanID: trace.SpanID{1}}, nil},
		{"one of two", filter.Or{link(one), link(two)}, []trace.TraceID{one, two}},
		{"or something else", filter.Or{link(one), other}, nil},
		{"and something else", filter.And{other, link(one)}, []trace.TraceID{one}},
		{"the shorter of two", filter.And{filter.Or{link(one), link(two)}, link(two)}, []trace.TraceID{two}},
		{"not", filter.Not{Expr: link(one)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := compile.Filter(tt.in)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(tt.want, c.Linked))
		})
	}
}

// Every statement begins with the project and is bounded; names of callers are arguments.
func TestAnnotationStatements(t *testing.T) {
	t.Parallel()
	project := domain.ProjectID{15: 1}
	const facts = "link_trace_id, link_span_id, toUInt8(trace_type), toUnixTimestamp64Micro(start_time), tie, trace_id, span_id, version, toUnixTimestamp64Micro(created_at), toUnixTimestamp64Micro(updated_at), created_by_id, toUInt8(status_code), toString(origin), toString(kind), toString(channel), " +
		"evaluator_key, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, application_revision, testset_revision, testcase, numbers, strings, bools, outputs, toUInt8(whole)"
	const one, two = `'\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`, `'\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00'`
	starts := compile.Everything()
	starts.Low.Start = 5
	tests := []struct {
		name string
		in   compile.Statement
		want compile.Statement
	}{
		{
			"of a trace", compile.Annotations(project, []compile.Target{{Trace: trace.TraceID{1}}}, nil, 10),
			compile.Statement{
				SQL:  "SELECT " + facts + " FROM annotations WHERE project_id = ? AND link_trace_id = " + one + " AND trace_type = 'annotation' ORDER BY project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id LIMIT 10",
				Args: []any{project.String()},
			},
		},
		{
			"of spans by evaluators", compile.Annotations(project, []compile.Target{{Trace: trace.TraceID{1}, Span: trace.SpanID{3}}, {Trace: trace.TraceID{2}}}, []string{"a' OR 1", "b"}, 10),
			compile.Statement{
				SQL:  "SELECT " + facts + " FROM annotations WHERE project_id = ? AND link_trace_id IN (" + one + ", " + two + ") AND trace_type = 'annotation' AND evaluator_key IN (?, ?) AND ((link_trace_id = " + one + ` AND link_span_id = '\x03\x00\x00\x00\x00\x00\x00\x00') OR link_trace_id = ` + two + ") ORDER BY project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id LIMIT 10",
				Args: []any{project.String(), "a' OR 1", "b"},
			},
		},
		{
			"results", compile.Results{Project: project, Evaluator: "quality", Application: "rev'", Starts: starts, Limit: 7}.Statement(),
			compile.Statement{
				SQL:  "SELECT " + facts + " FROM eval_results WHERE project_id = ? AND evaluator_key = ? AND application_revision = ? AND trace_type = 'annotation' AND start_time >= fromUnixTimestamp64Micro(?, 'UTC') ORDER BY project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie LIMIT 7",
				Args: []any{project.String(), "quality", "rev'", int64(5)},
			},
		},
		{
			"linking", compile.Linking(project, []trace.TraceID{{1}}, 3),
			compile.Statement{SQL: "SELECT trace_id, toUnixTimestamp64Micro(start_time) FROM annotations WHERE project_id = ? AND link_trace_id = " + one + " LIMIT 3", Args: []any{project.String()}},
		},
		{
			"keys", compile.EvaluatorKeys(project, "x"),
			compile.Statement{SQL: "SELECT DISTINCT evaluator_key FROM eval_results WHERE project_id = ? AND evaluator_id = ?", Args: []any{project.String(), "x"}},
		},
		{
			"outputs", compile.OutputsOf(project, []compile.Key{{Type: trace.Annotation, Position: compile.Position{Start: 1700000000000000, Tie: 4}}}),
			compile.Statement{
				SQL:  "SELECT trace_id, span_id, version, outputs FROM span_payloads WHERE project_id = ? AND start_time = fromUnixTimestamp64Micro(?, 'UTC') AND ((week >= ? AND week <= ?) OR week = '1970-01-01') AND (trace_type, start_time, tie) IN (('annotation', '2023-11-14 22:13:20.000000', 4))",
				Args: []any{project.String(), int64(1700000000000000), "2023-11-13", "2023-11-13"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(tt.want, tt.in))
		})
	}
}
