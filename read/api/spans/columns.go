package spans

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
)

// Bounds of a query with select. Source: deploy/docs/api.md, columns.
const (
	maxSelected    = 100
	minPreview     = 32
	maxPreview     = 4000
	defaultPreview = 200
)

// selection is what a query with select returns of each row.
type selection struct {
	names   []string
	columns []column
}

// column returns the value of one field of a row, nil where the row has none.
type column func(*row) any

// row is a span of a list of spans, or a trace of a list of traces with its first root.
type row struct {
	span *trace.Span
	// spans holds all spans of a trace, nil in a list of spans.
	spans []trace.Span
	where filter.Expr
	// preview is the maximum length of a preview in characters.
	preview int
}

// selectFields checks select and preview. It returns nil if the query has no select.
func selectFields(names []string, preview *int) (*selection, int, error) {
	length := defaultPreview
	if preview != nil {
		if length = *preview; length < minPreview || length > maxPreview {
			return nil, 0, request.Invalid("value_error", fmt.Sprintf("Input should be between %d and %d", minPreview, maxPreview), length, "body", "preview")
		}
	}
	if len(names) == 0 {
		return nil, length, nil
	}
	if len(names) > maxSelected {
		return nil, 0, request.Invalid("too_long", fmt.Sprintf("A query selects at most %d fields", maxSelected), len(names), "body", "select")
	}
	out := &selection{}
	for i, name := range names {
		of := columnOf(name)
		if of == nil {
			return nil, 0, request.Invalid("value_error", "Input is not a field that can be selected", name, "body", "select", i)
		}
		out.names, out.columns = append(out.names, name), append(out.columns, of)
	}
	return out, length, nil
}

// columnOf returns the column of a field, nil for an unknown field.
func columnOf(name string) column {
	if of, ok := spanColumns()[name]; ok {
		return func(r *row) any { return of(r.span) }
	}
	switch name {
	case "total.spans", "spans":
		return func(r *row) any {
			if r.spans == nil {
				return nil
			}
			return len(r.spans)
		}
	case "matched":
		return (*row).matched
	case "preview.inputs":
		return func(r *row) any { return r.text(semconv.Inputs, "prompt", "user") }
	case "preview.outputs":
		return func(r *row) any { return r.text(semconv.Outputs, "completion", "assistant") }
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
		text := jsonvalue.LookupJSON(r.span.Attributes, keys)
		if text == "" {
			return nil
		}
		return json.RawMessage(text)
	}
}

// matched counts the spans of a trace for which the filter holds.
func (r *row) matched() any {
	if r.spans == nil {
		return nil
	}
	n := 0
	for i := range r.spans {
		if r.where == nil || filter.Match(r.where, &r.spans[i]) {
			n++
		}
	}
	return n
}

// text returns the preview of a payload: the last message of the role where the payload
// has messages below key, else the payload itself as text.
func (r *row) text(payload, key, role string) any {
	value, ok := jsonvalue.Lookup(r.span.Attributes, []string{semconv.Root, semconv.Data, payload})
	if !ok || value == nil {
		return nil
	}
	if object, ok := value.(map[string]any); ok {
		if text := lastMessage(object[key], role); text != "" {
			return cut(text, r.preview)
		}
		if text := lastMessage(object["messages"], role); text != "" {
			return cut(text, r.preview)
		}
	}
	if text, ok := value.(string); ok {
		return cut(text, r.preview)
	}
	return cut(string(jsonvalue.Append(nil, value)), r.preview)
}

// lastMessage returns the text of the last message of a role, or of the last message with
// text if none has that role; "" if messages is no list of messages with text.
func lastMessage(messages any, role string) string {
	list, _ := messages.([]any)
	last, ofRole := "", ""
	for _, m := range list {
		message, _ := m.(map[string]any)
		text := contentText(message["content"])
		if text == "" {
			continue
		}
		last = text
		if message["role"] == role {
			ofRole = text
		}
	}
	return cmp.Or(ofRole, last)
}

// contentText returns the text of a message's content, which is a string or a list of parts.
func contentText(content any) string {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		var parts []string
		for _, part := range content {
			if part, ok := part.(map[string]any); ok {
				if text, ok := part["text"].(string); ok {
					parts = append(parts, text)
				}
			}
		}
		return strings.Join(parts, " ")
	}
	return ""
}

// cut returns at most n characters of text.
func cut(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}

// columns writes the selected fields of rows, one list for each field.
func (w *writer) columns(q *plan, rows []row) error {
	out := make(map[string][]any, len(q.selected.names))
	for i, name := range q.selected.names {
		values := make([]any, len(rows))
		for k := range rows {
			values[k] = q.selected.columns[i](&rows[k])
		}
		out[name] = values
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("api: writing columns: %w", err)
	}
	w.open(len(rows), "columns")
	w.buf = append(w.buf, text...)
	return nil
}

// rowsOf returns a row for each span, or for each trace with its first root.
func rowsOf(q *plan, spans []trace.Span, traces [][]trace.Span) []row {
	var rows []row
	for i := range spans {
		rows = append(rows, row{span: unwrapped(&spans[i]), where: q.where, preview: q.preview})
	}
	for _, all := range traces {
		roots := tree(all)
		if len(roots) > 0 {
			rows = append(rows, row{span: roots[0].Span, spans: all, where: q.where, preview: q.preview})
		}
	}
	return rows
}

// columnsRequest is the body of a query of spans or traces.
type columnsRequest struct {
	queryRequest
	// Select names the fields to return; without it, whole spans are returned.
	Select []string `json:"select"`
	// Preview is the maximum length of previews in characters.
	Preview *int `json:"preview" minimum:"32" maximum:"4000"`
}

func (r *columnsRequest) decide(p *plan) (err error) {
	if p.selected, p.preview, err = selectFields(r.Select, r.Preview); err != nil {
		return err
	}
	if p.selected != nil && p.format == formatOpenTelemetry {
		return domain.E(domain.Rejected, "Give select or format, not both.")
	}
	return nil
}
