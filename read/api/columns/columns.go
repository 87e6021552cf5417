// Package columns computes the reply to a query of spans or traces that selects fields: a
// list of values for each field instead of whole spans. Source: deploy/docs/api.md, columns.
package columns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// The bounds of a selection.
const (
	maxSelected    = 100
	minPreview     = 32
	maxPreview     = 4000
	defaultPreview = 200
	maxPathBytes   = 1024
)

// Selection holds the fields that a query selects.
type Selection struct {
	names   []string
	columns []column
	// preview is the maximum length of a preview in characters.
	preview int
	// evaluators are those whose scores are selected.
	evaluators []string
}

// Evaluators returns the evaluators whose scores are selected, each once.
func (s *Selection) Evaluators() []string { return s.evaluators }

// scorePrefix begins the field of the score that an evaluator gave.
const scorePrefix = "score."

// column returns the value of one field of a row, nil where the row has none.
type column func(*row) any

// Row is a span of a list of spans, or a trace of a list of traces.
type Row struct {
	// Span is the span, or the first root of the trace.
	Span *trace.Span
	// Spans holds all spans of a trace, nil in a list of spans.
	Spans []trace.Span
	// Where is the filter of the query, nil for none.
	Where filter.Expr
	// Scores are those that evaluators gave to the row, by their names.
	Scores map[string]float64
}

type row struct {
	*Row
	preview int
}

// Parse returns the selection of a request's select and preview, nil if the request
// selects nothing. preview may be nil. The error is Invalid.
func Parse(names []string, preview *int) (*Selection, error) {
	length := defaultPreview
	if preview != nil {
		if length = *preview; length < minPreview || length > maxPreview {
			return nil, request.Invalid("value_error", fmt.Sprintf("Input should be between %d and %d", minPreview, maxPreview), length, "body", "preview")
		}
	}
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // a request without select is no error
	}
	if len(names) > maxSelected {
		return nil, request.Invalid("too_long", fmt.Sprintf("A query selects at most %d fields", maxSelected), len(names), "body", "select")
	}
	out := &Selection{preview: length}
	for i, name := range names {
		of := columnOf(name)
		if of == nil {
			return nil, request.Invalid("value_error", "Input is not a field that can be selected", name, "body", "select", i)
		}
		out.names, out.columns = append(out.names, name), append(out.columns, of)
		if evaluator, ok := strings.CutPrefix(name, scorePrefix); ok && !slices.Contains(out.evaluators, evaluator) {
			out.evaluators = append(out.evaluators, evaluator)
		}
	}
	return out, nil
}

// columnOf returns the column of a field, nil for an unknown field.
func columnOf(name string) column {
	if of, ok := spanColumns()[name]; ok {
		return func(r *row) any { return of(r.Span) }
	}
	switch name {
	case "total.spans", "spans":
		return func(r *row) any {
			if r.Spans == nil {
				return nil
			}
			return len(r.Spans)
		}
	case "matched":
		return (*row).matched
	case "preview.inputs":
		return func(r *row) any { return r.text(semconv.Inputs, "prompt", "user") }
	case "preview.outputs":
		return func(r *row) any { return r.text(semconv.Outputs, "completion", "assistant") }
	}
	if evaluator, ok := strings.CutPrefix(name, scorePrefix); ok && evaluator != "" && len(name) <= maxPathBytes {
		return func(r *row) any {
			if score, ok := r.Scores[evaluator]; ok {
				return score
			}
			return nil
		}
	}
	if kind, of, ok := strings.Cut(name, "."); ok && (kind == "own" || kind == "total") {
		sums := map[string]string{"own": "incremental", "total": "cumulative"}
		switch of {
		case "tokens":
			return attribute(semconv.Root, semconv.Metrics, "tokens", sums[kind], "total")
		case "cost":
			return attribute(semconv.Root, semconv.Metrics, "costs", sums[kind], "total")
		case "errors":
			return attribute(semconv.Root, semconv.Metrics, "errors", sums[kind])
		}
		return nil
	}
	if keys := jsonvalue.SplitPath(name); len(keys) > 1 && keys[0] == "attributes" && len(name) <= maxPathBytes {
		return attribute(keys[1:]...)
	}
	return nil
}

// spanColumns returns the fields that one span decides.
func spanColumns() map[string]func(*trace.Span) any {
	text := func(of func(*trace.Span) string) func(*trace.Span) any {
		return func(s *trace.Span) any {
			if text := of(s); text != "" {
				return text
			}
			return nil
		}
	}
	reference := func(key string) func(*trace.Span) any {
		return text(func(s *trace.Span) string {
			for _, r := range s.References {
				if r.Key == key && r.Slug != "" {
					return r.Slug
				}
			}
			return ""
		})
	}
	return map[string]func(*trace.Span) any{
		"trace_id": text(func(s *trace.Span) string { return s.TraceID.String() }),
		"span_id":  text(func(s *trace.Span) string { return s.SpanID.String() }),
		"parent_id": func(s *trace.Span) any {
			if s.ParentID.IsZero() {
				return nil
			}
			return s.ParentID.String()
		},
		"trace_type":     text(func(s *trace.Span) string { return s.Type.String() }),
		"span_type":      text(func(s *trace.Span) string { return s.EffectiveType().String() }),
		"span_kind":      text(func(s *trace.Span) string { return s.Kind.String() }),
		"span_name":      func(s *trace.Span) any { return s.Name },
		"start_time":     func(s *trace.Span) any { return time.Unix(0, s.Start).UTC() },
		"end_time":       func(s *trace.Span) any { return time.Unix(0, s.End).UTC() },
		"created_at":     func(s *trace.Span) any { return s.CreatedAt.UTC() },
		"duration_ms":    func(s *trace.Span) any { return float64(s.End-s.Start) / float64(time.Millisecond) },
		"status_code":    text(func(s *trace.Span) string { return s.Status.String() }),
		"status_message": text(func(s *trace.Span) string { return s.StatusMessage }),
		"session_id":     text(func(s *trace.Span) string { return s.SessionID }),
		"user_id":        text(func(s *trace.Span) string { return s.UserID }),
		"agent_id":       text(func(s *trace.Span) string { return s.AgentID }),
		"model":          text((*trace.Span).Model),
		"provider":       text((*trace.Span).Provider),
		"service":        text((*trace.Span).Service),
		"application":    reference("application"),
		"environment":    reference("environment"),
		"evaluator":      reference("evaluator"),
	}
}

// attribute returns the column of an attribute's value.
func attribute(keys ...string) column {
	return func(r *row) any {
		text := jsonvalue.LookupJSON(r.Span.Attributes, keys)
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	}
}

// matched counts the spans of a trace for which the filter holds.
func (r *row) matched() any {
	if r.Spans == nil {
		return nil
	}
	n := 0
	for i := range r.Spans {
		if r.Where == nil || filter.Match(r.Where, &r.Spans[i]) {
			n++
		}
	}
	return n
}

// text returns the preview of a payload, nil without the payload.
func (r *row) text(payload, key, role string) any {
	value, ok := jsonvalue.Lookup(r.Span.Attributes, []string{semconv.Root, semconv.Data, payload})
	if !ok || value == nil {
		return nil
	}
	return trace.Preview(value, key, role, r.preview)
}

// AppendJSON appends an object with a list for each field, in the order of rows.
func (s *Selection) AppendJSON(dst []byte, rows []Row) ([]byte, error) {
	out := make(map[string][]any, len(s.names))
	for i, name := range s.names {
		values := make([]any, len(rows))
		for k := range rows {
			values[k] = s.columns[i](&row{&rows[k], s.preview})
		}
		out[name] = values
	}
	text, err := json.Marshal(out)
	if err != nil {
		return dst, fmt.Errorf("columns: %w", err)
	}
	return append(dst, text...), nil
}
