package compile

import (
	"strconv"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// linked gives the traces of which every match links to one; nil where the
// filter asks for no link, or leaves open to which trace.
func linked(e filter.Expr) []trace.TraceID {
	switch e := e.(type) {
	case filter.Link:
		if e.TraceID.IsZero() {
			return nil
		}
		return []trace.TraceID{e.TraceID}
	case filter.And:
		var best []trace.TraceID
		for _, child := range e {
			if found := linked(child); found != nil && (best == nil || len(found) < len(best)) {
				best = found
			}
		}
		return best
	case filter.Or:
		var all []trace.TraceID
		for _, child := range e {
			found := linked(child)
			if found == nil {
				return nil
			}
			all = append(all, found...)
		}
		return all
	default:
		return nil
	}
}

// Linking asks which spans link to these traces, at most limit rows. Its rows
// are trace_id and start Int64 (Unix microseconds) of the linking span. Rows of
// replaced versions are among them.
func Linking(project domain.ProjectID, to []trace.TraceID, limit int) Statement {
	w := new(writer)
	w.put("SELECT trace_id, toUnixTimestamp64Micro(start_time) FROM "+schema.Annotations+" WHERE project_id = ? AND ", project.String())
	ids("link_trace_id", to).write(w, nil)
	w.put(" LIMIT " + strconv.Itoa(limit))
	return w.statement()
}

// factColumns are what Annotations and Results select, in this order:
// link_trace_id, link_span_id, trace_type UInt8, start Int64 (Unix
// microseconds), tie UInt64, trace_id, span_id, version UInt64; created,
// updated Int64 (Unix microseconds), created_by_id UUID; status_code UInt8;
// origin, kind, channel String; evaluator_key String, evaluator_id UUID,
// evaluator_slug, evaluator_revision String; application_id UUID,
// application_slug, application_revision, testset_revision, testcase String;
// numbers, strings, bools Map; outputs String; whole UInt8.
const factColumns = "link_trace_id, link_span_id, toUInt8(trace_type), toUnixTimestamp64Micro(start_time), tie, trace_id, span_id, version, " +
	"toUnixTimestamp64Micro(created_at), toUnixTimestamp64Micro(updated_at), created_by_id, toUInt8(status_code), toString(origin), toString(kind), toString(channel), " +
	"evaluator_key, evaluator_id, evaluator_slug, evaluator_revision, application_id, application_slug, application_revision, testset_revision, testcase, " +
	"numbers, strings, bools, outputs, toUInt8(whole)"

// Target is what is annotated: a trace, or one span of it.
type Target struct {
	Trace trace.TraceID
	// Span is zero for any.
	Span trace.SpanID
}

// Annotations asks for all annotations of these targets, in the order of
// target, evaluator and time; there is one target at least. Evaluators are keys
// (schema.EvaluatorKey); none means any. Versions of one annotation are
// neighbours.
func Annotations(project domain.ProjectID, of []Target, evaluators []string, limit int) Statement {
	w := new(writer)
	w.put("SELECT "+factColumns+" FROM "+schema.Annotations+" WHERE project_id = ? AND ", project.String())
	traces := make([]trace.TraceID, 0, len(of))
	whole := make([]trace.TraceID, 0, len(of))
	var parts []node
	for _, t := range of {
		traces = append(traces, t.Trace)
		if t.Span.IsZero() {
			whole = append(whole, t.Trace)
		} else {
			parts = append(parts, both(ids("link_trace_id", []trace.TraceID{t.Trace}), ids("link_span_id", []trace.SpanID{t.Span})))
		}
	}
	ids("link_trace_id", traces).write(w, nil)
	conditions := []node{sql("trace_type = 'annotation'")}
	if len(evaluators) > 0 {
		conditions = append(conditions, among("evaluator_key", evaluators))
	}
	if len(parts) > 0 {
		conditions = append(conditions, either(append(parts, ids("link_trace_id", whole))...))
	}
	for _, c := range conditions {
		w.put(" AND ")
		c.write(w, nil)
	}
	w.put(" ORDER BY project_id, link_trace_id, evaluator_key, start_time, tie, link_span_id LIMIT " + strconv.Itoa(limit))
	return w.statement()
}

// Results asks for results of an evaluator, in the order of what was judged and then of time.
type Results struct {
	Project domain.ProjectID
	// Evaluator is a key (schema.EvaluatorKey).
	Evaluator string
	// Application, Testset and Testcase are keys of revisions and of a test case
	// (schema.RevisionKey); empty means any.
	Application, Testset, Testcase string
	// Starts bounds the starts of the annotations.
	Starts Range
	Limit  int
}

// Statement is the query; versions of one result are neighbours.
func (r Results) Statement() Statement {
	w := new(writer)
	w.put("SELECT "+factColumns+" FROM "+schema.EvalResults+" WHERE project_id = ? AND evaluator_key = ?", r.Project.String(), r.Evaluator)
	for _, c := range []struct{ column, value string }{
		{"application_revision", r.Application}, {"testset_revision", r.Testset}, {"testcase", r.Testcase},
	} {
		if c.value != "" {
			w.put(" AND "+c.column+" = ?", c.value)
		}
	}
	w.put(" AND trace_type = 'annotation'")
	if n := timeRange("start_time", r.Starts.Low.Start, r.Starts.High.Start); n != constant(true) {
		w.put(" AND ")
		n.write(w, nil)
	}
	w.put(" ORDER BY project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, tie LIMIT " + strconv.Itoa(r.Limit))
	return w.statement()
}

// EvaluatorKeys asks under which keys an evaluator has results that is known by
// its id, by way of an index. Its rows are evaluator_key.
func EvaluatorKeys(project domain.ProjectID, id string) Statement {
	w := new(writer)
	w.put("SELECT DISTINCT evaluator_key FROM "+schema.EvalResults+" WHERE project_id = ? AND evaluator_id = ?", project.String(), id)
	return w.statement()
}

// OutputsOf asks for the outputs of spans by their keys; there is at least one.
// Its rows are trace_id, span_id, version UInt64, outputs String.
func OutputsOf(project domain.ProjectID, keys []Key) Statement {
	return byKeys(project, "trace_id, span_id, version, outputs", schema.SpanPayloads, "", keys)
}
