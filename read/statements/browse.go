package statements

import (
	"strconv"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/order"
	"colonnade/read/sqltext"
)

// AnnotationCounts returns the lookup of how many annotations each span of a trace has.
// Its rows are link_span_id, zero bytes for annotations of the trace, and the count UInt64.
func AnnotationCounts(project domain.ProjectID, id trace.TraceID) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT link_span_id, uniqExact(trace_id, span_id) FROM "+schema.AnnotationIndex+" FINAL WHERE project_id = ? AND trace_type = 'annotation' AND ", project.String())
	sqltext.IDs("link_trace_id", []trace.TraceID{id}).Write(w, nil)
	w.Put(" GROUP BY link_span_id")
	return w.Statement()
}

// Scores chooses the scores that evaluators gave to traces.
type Scores struct {
	Project    domain.ProjectID
	Traces     []trace.TraceID
	Evaluators []string
	// Spans asks for the means of each span instead of the whole trace.
	Spans bool
}

// outputOf returns the value of a map of outputs whose key is a name in any case, and
// whether there is one.
func outputOf(column, name string) (has, value string) {
	is := "k -> lower(k) = '" + name + "', mapKeys(" + column + ")"
	return "arrayExists(" + is + ")", column + "[arrayFirst(" + is + ")]"
}

// Means returns the statement of the mean scores: of the outputs named score, else of success
// as a number. Its rows are link_trace_id, the span FixedString(8), zero bytes unless Spans
// is set, the key of the evaluator and the mean Float64.
func (s Scores) Means() sqltext.Statement {
	w := new(sqltext.Writer)
	span := "toFixedString('', 8)"
	if s.Spans {
		span = "link_span_id"
	}
	hasScore, score := outputOf("numbers", "score")
	hasSuccess, success := outputOf("bools", "success")
	w.Put("SELECT link_trace_id, annotated, toString(evaluator_key), avg(score) FROM (SELECT DISTINCT trace_id, span_id, link_trace_id, "+span+" AS annotated, evaluator_key, multiIf("+
		hasScore+", "+score+", "+hasSuccess+", toFloat64("+success+"), nan) AS score FROM "+schema.AnnotationIndex+" FINAL WHERE project_id = ? AND trace_type = 'annotation' AND ", s.Project.String())
	sqltext.IDs("link_trace_id", s.Traces).Write(w, nil)
	w.Put(" AND ")
	sqltext.Among("evaluator_key", s.Evaluators).Write(w, nil)
	w.Put(") WHERE NOT isNaN(score) GROUP BY link_trace_id, annotated, evaluator_key")
	return w.Statement()
}

// AttributePaths returns the statement of the attribute paths that begin with a prefix,
// in their order. Its rows are path String, type Int8, sample String and seen_at, one
// for each type of a path.
func AttributePaths(project domain.ProjectID, prefix string, limit int) sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT path, type, argMax(sample, seen_at), max(seen_at) FROM "+schema.AttributeKeys+" WHERE project_id = ? AND startsWith(path, ?) GROUP BY path, type ORDER BY path, type LIMIT "+strconv.Itoa(limit), project.String(), prefix)
	return w.Statement()
}

// Rejected chooses rejected spans.
type Rejected struct {
	Project domain.ProjectID
	// Low and High bound the time of the refusal in Unix microseconds, both inclusive.
	Low, High int64
	// Stage and Reason choose one of each; empty chooses all.
	Stage, Reason string
	// Behind is the position after which a page begins; nil for the first page.
	Behind *order.Position
	Limit  int
}

// rejectedHash orders the refusals of one microsecond.
const rejectedHash = "cityHash64(source, stage, reason, trace_id, span_id, span_name, stream_partition, stream_offset, raw)"

func (r Rejected) where(w *sqltext.Writer) {
	w.Put(" WHERE project_id = ?", r.Project.String())
	if n := sqltext.TimeRange("rejected_at", r.Low, r.High); n != sqltext.Constant(true) {
		w.Put(" AND ")
		n.Write(w, nil)
	}
	if r.Stage != "" {
		w.Put(" AND stage = ?", r.Stage)
	}
	if r.Reason != "" {
		w.Put(" AND reason = ?", r.Reason)
	}
}

// Page returns the statement of a page, the latest first. Its rows are rejected_at, the
// hash UInt64 that orders equal times, source, stage, reason, trace_id, span_id,
// span_name and raw.
func (r Rejected) Page() sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT rejected_at, " + rejectedHash + " AS sort_hash, source, stage, reason, trace_id, span_id, span_name, raw FROM " + schema.RejectedSpans)
	if r.Behind != nil {
		r.High = min(r.High, r.Behind.Start)
	}
	r.where(w)
	if b := r.Behind; b != nil {
		w.Put(" AND (rejected_at != " + sqltext.TimeLiteral(b.Start) + " OR sort_hash < " + strconv.FormatUint(b.SortHash, 10) + ")")
	}
	w.Put(" ORDER BY rejected_at DESC, sort_hash DESC LIMIT " + strconv.Itoa(r.Limit))
	return w.Statement()
}

// Summary returns the statement of the counts by stage and reason, the most frequent
// first. Its rows are stage, reason, count UInt64 and the time of the last refusal.
func (r Rejected) Summary() sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT stage, reason, count() AS refusals, max(rejected_at) FROM " + schema.RejectedSpans)
	r.where(w)
	w.Put(" GROUP BY stage, reason ORDER BY refusals DESC, stage, reason LIMIT " + strconv.Itoa(r.Limit))
	return w.Statement()
}

// TextColumn returns the column of spans that holds a field of text, as a String; ok is
// false for other fields.
func TextColumn(field string) (column string, ok bool) {
	switch field {
	case "span_name", "status_message", "session_id", "user_id", "agent_id":
		return field, true
	case "model", "provider", "service", "span_type", "span_kind", "status_code", "trace_type":
		return "toString(" + field + ")", true
	case "application", "evaluator", "environment":
		return "toString(" + field + "_slug)", true
	default:
		return "", false
	}
}

// AttributeText returns the value of an attribute as text, empty where the maps hold none:
// without a value, and for objects, lists and texts of more than 512 bytes.
func AttributeText(path string) sqltext.Node {
	switch column, isNumber := schema.NumberColumn(path); {
	case isNumber:
		return sqltext.Expr("if(isNaN(" + column + "), '', toString(" + column + "))")
	case path == schema.TraceTypePath:
		return sqltext.Expr("toString(trace_type)")
	case path == schema.SpanTypePath:
		return sqltext.Expr("if(span_type_declared, toString(span_type), '')")
	}
	return sqltext.Expr("multiIf(mapContains(attributes_string, ?), attributes_string[?], mapContains(attributes_number, ?), toString(attributes_number[?]), mapContains(attributes_bool, ?), if(attributes_bool[?], 'true', 'false'), '')", path, path, path, path, path, path)
}

// Values chooses the values of a column or an attribute.
type Values struct {
	Project domain.ProjectID
	// Column is a column that TextColumn returned.
	Column string
	// Path is the dotted path of an attribute; it stands in place of Column.
	Path string
	// Prefix is how values begin.
	Prefix string
	Range  order.Range
	Limit  int
}

// Frequent returns the statement of the most frequent values. Its rows are the value as
// String and the number of spans UInt64.
func (v Values) Frequent() sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT value, count() AS spans FROM (SELECT ")
	if v.Path == "" {
		w.Put(v.Column)
	} else {
		AttributeText(v.Path).Write(w, nil)
	}
	w.Put(" AS value FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+sqltext.AnyTraceType, v.Project.String())
	w.AndStarts(v.Range)
	w.Put(") WHERE value != ''")
	if v.Prefix != "" {
		w.Put(" AND startsWith(value, ?)", v.Prefix)
	}
	w.Put(" GROUP BY value ORDER BY spans DESC, value LIMIT " + strconv.Itoa(v.Limit))
	return w.Statement()
}

// Unpriced chooses the models whose calls have tokens and no cost.
type Unpriced struct {
	Project domain.ProjectID
	Range   order.Range
	Limit   int
}

// Models returns the statement of these models, the most frequent first. Its rows are the
// model, the provider, the number of spans UInt64, their tokens Float64 and the start of
// the last one. Source: deploy/docs/api.md, prices.
func (u Unpriced) Models() sqltext.Statement {
	w := new(sqltext.Writer)
	w.Put("SELECT model, provider, count() AS spans, sum(ifNotFinite(tokens_total, ifNotFinite(tokens_prompt, 0) + ifNotFinite(tokens_completion, 0))), max(start_time) FROM "+schema.Spans+" FINAL WHERE project_id = ? AND "+sqltext.AnyTraceType, u.Project.String())
	w.AndStarts(u.Range)
	w.Put(" AND span_type IN ('llm', 'chat', 'completion', 'embedding', 'query', 'rerank') AND model != '' AND isNaN(costs_total)" +
		" AND NOT (isNaN(tokens_prompt) AND isNaN(tokens_completion)) GROUP BY model, provider ORDER BY spans DESC, model, provider LIMIT " + strconv.Itoa(u.Limit))
	return w.Statement()
}
