package spans

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/otlp/wire"
)

// memberReader reads the members of one node and keeps every mistake.
type memberReader struct {
	node     *spanNode
	fields   []domain.Field
	identity map[string]string
}

func (m *memberReader) fail(kind, msg string, input any, keys ...any) {
	at := m.node.loc
	for _, k := range keys {
		at = at.At(k)
	}
	m.fields = append(m.fields, domain.Field{Type: kind, Loc: at.Path(), Msg: msg, Input: input})
}

// span reads the node. Its derived members (hashes, times and users of
// creation) are left: they are derived again.
func (m *memberReader) span(above parent) trace.Span {
	s := trace.Span{
		TraceID:       readWord(m, "trace_id", trace.ParseTraceID),
		SpanID:        readWord(m, "span_id", trace.ParseSpanID),
		ParentID:      readWord(m, "parent_id", trace.ParseSpanID),
		Kind:          readWord(m, "span_kind", enumWord(trace.ParseKind, trace.KindUnspecified, trace.KindConsumer)),
		Status:        readWord(m, "status_code", enumWord(trace.ParseStatus, trace.StatusUnset, trace.StatusError)),
		Name:          m.text("span_name"),
		StatusMessage: m.text("status_message"),
		Start:         m.nanos(m.node.members["start_time"], "start_time"),
		End:           m.nanos(m.node.members["end_time"], "end_time"),
		Resource:      m.object("resource"),
		Scope:         m.scope(),
		Links:         m.links(),
		Events:        m.events(),
	}
	m.identity = map[string]string{semconv.Session: m.text("session_id"), semconv.User: m.text("user_id"), semconv.Agent: m.text("agent_id")}
	m.place(&s, above)
	if s.Name == "" {
		s.Name = m.node.name
	}
	if s.Attributes = m.object("attributes"); s.Attributes == nil {
		s.Attributes = map[string]any{}
	}
	m.types(s.Attributes)
	m.references(s.Attributes)
	m.rest(s.Attributes)
	for name, tree := range map[string]map[string]any{"attributes": s.Attributes, "resource": s.Resource} {
		if tooDeep(tree, wire.MaxValueDepth) {
			m.fail("value_error", fmt.Sprintf("A value nests deeper than %d levels", wire.MaxValueDepth), nil, name)
		}
	}
	return s
}

// place completes the ids: a node without trace_id or parent_id has those of the
// trace and the span that it is nested in.
func (m *memberReader) place(s *trace.Span, above parent) {
	given := m.node.members
	switch {
	case given["trace_id"] == nil && above.trace.IsZero() && above.fault == nil:
		m.fail("missing", "Field required", nil, "trace_id")
	case given["trace_id"] == nil:
		s.TraceID = above.trace
	case !above.trace.IsZero() && !s.TraceID.IsZero() && s.TraceID != above.trace:
		m.fail("value_error", "The span stands in another trace: "+above.trace.String(), given["trace_id"], "trace_id")
	}
	if given["span_id"] == nil {
		m.fail("missing", "Field required", nil, "span_id")
	}
	if given["parent_id"] == nil {
		s.ParentID = above.span
	}
}

// readWord reads a string member through its parser; an absent one is the zero value.
func readWord[T any](m *memberReader, key string, parse func(string) (T, error)) (zero T) {
	v := m.node.members[key]
	if v == nil {
		return zero
	}
	text, ok := v.(string)
	if !ok {
		m.fail("string_type", "Input should be a valid string", v, key)
		return zero
	}
	out, err := parse(text)
	if err != nil {
		kind := "value_error"
		if strings.HasPrefix(err.Error(), "Input") {
			kind = "enum"
		}
		m.fail(kind, err.Error(), v, key)
		return zero
	}
	return out
}

// enumWord adapts the parser of an enumeration; its error lists the words.
func enumWord[T interface {
	~uint8
	String() string
}](parse func(string) (T, bool), first, last T) func(string) (T, error) {
	return func(s string) (T, error) {
		v, ok := parse(s)
		if ok {
			return v, nil
		}
		var words []string
		for w := first; w <= last; w++ {
			words = append(words, "'"+w.String()+"'")
		}
		return v, fmt.Errorf("Input should be one of %s", strings.Join(words, ", ")) //nolint:staticcheck // a sentence for the caller
	}
}

func (m *memberReader) text(key string) string {
	return readWord(m, key, func(s string) (string, error) { return s, nil })
}

func (m *memberReader) object(key string) map[string]any {
	v := m.node.members[key]
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		m.fail("dict_type", api.WantObject, v, key)
	}
	return object
}

// nanos reads a time; an absent one is zero, which the fitting completes.
func (m *memberReader) nanos(v any, keys ...any) int64 {
	if v == nil {
		return 0
	}
	t, ok := trace.ParseTime(v)
	if nanos := t.UnixNano(); ok && t.Unix() >= 0 && time.Unix(0, nanos).Equal(t) {
		return nanos
	}
	m.fail("datetime_parsing", "Input should be an ISO-8601 time, or an integer of 10, 13, 16 or 19 digits, after 1970 and before 2262", v, keys...)
	return 0
}

func (m *memberReader) scope() *trace.Scope {
	object := m.object("scope")
	if object == nil {
		return nil
	}
	s := &trace.Scope{}
	for key, v := range object {
		text, isText := v.(string)
		attributes, isObject := v.(map[string]any)
		switch {
		case v == nil:
		case key == "name" && isText:
			s.Name = text
		case key == "version" && isText:
			s.Version = text
		case key == "attributes" && isObject:
			if s.Attributes = attributes; tooDeep(attributes, wire.MaxValueDepth) {
				m.fail("value_error", "A value nests too deep", nil, "scope", key)
			}
		default:
			m.fail("value_error", "A scope has a name, a version and attributes", v, "scope", key)
		}
	}
	return s
}

// list calls each with the objects of a list member.
func (m *memberReader) list(key string, each func(i int, object map[string]any)) {
	v := m.node.members[key]
	array, ok := v.([]any)
	if !ok && v != nil {
		m.fail("list_type", "Input should be a valid list", v, key)
	}
	for i, e := range array {
		object, ok := e.(map[string]any)
		if !ok {
			m.fail("dict_type", api.WantObject, e, key, i)
			continue
		}
		each(i, object)
	}
}

// attributesOf reads the attributes of a part; none and empty are the same.
func (m *memberReader) attributesOf(object map[string]any, key string, i int) map[string]any {
	v := object["attributes"]
	attributes, ok := v.(map[string]any)
	switch {
	case !ok && v != nil:
		m.fail("dict_type", api.WantObject, v, key, i, "attributes")
	case tooDeep(attributes, wire.MaxValueDepth):
		m.fail("value_error", "A value nests too deep", nil, key, i, "attributes")
	case len(attributes) > 0:
		return attributes
	}
	return nil
}

func (m *memberReader) links() []trace.Link {
	var links []trace.Link
	m.list("links", func(i int, object map[string]any) {
		l := trace.Link{Attributes: m.attributesOf(object, "links", i)}
		t, _ := object["trace_id"].(string)
		s, _ := object["span_id"].(string)
		var err error
		// A stored link may point nowhere; what was stored is taken again.
		if l.TraceID, err = trace.ParseTraceID(t); err != nil && !zeros(t, 32) {
			m.fail("value_error", "Invalid trace_id.", object["trace_id"], "links", i, "trace_id")
		}
		if l.SpanID, err = trace.ParseSpanID(s); err != nil && !zeros(s, 16) {
			m.fail("value_error", "Invalid span_id.", object["span_id"], "links", i, "span_id")
		}
		links = append(links, l)
	})
	return links
}

func zeros(s string, n int) bool { return len(s) == n && strings.Trim(s, "0") == "" }

func (m *memberReader) events() []trace.Event {
	var events []trace.Event
	m.list("events", func(i int, object map[string]any) {
		e := trace.Event{Time: m.nanos(object["timestamp"], "events", i, "timestamp"), Attributes: m.attributesOf(object, "events", i)}
		var ok bool
		if e.Name, ok = object["name"].(string); !ok && object["name"] != nil {
			m.fail("string_type", "Input should be a valid string", object["name"], "events", i, "name")
		}
		events = append(events, e)
	})
	return events
}

// types writes the types that stand beside the attributes into them, where
// they say none. A task is what a span is that declares nothing.
func (m *memberReader) types(attributes map[string]any) {
	span := readWord(m, "span_type", enumWord(trace.ParseSpanType, trace.Task, trace.UnknownSpan))
	whole := readWord(m, "trace_type", enumWord(trace.ParseType, trace.Invocation, trace.Unknown))
	if span != 0 && span != trace.Task && !says(attributes, semconv.Root, semconv.Type, semconv.TypeNode) {
		declare(attributes, span.String(), semconv.Root, semconv.Type, semconv.TypeSpan)
	}
	if whole == trace.Invocation || whole == trace.Annotation {
		declare(attributes, whole.String(), semconv.Root, semconv.Type, semconv.TypeTrace)
	}
}

// references writes the list of references into the attributes, where they say none under its key.
func (m *memberReader) references(attributes map[string]any) {
	m.list("references", func(i int, object map[string]any) {
		about, _ := object["attributes"].(map[string]any)
		key, _ := about["key"].(string)
		if key == "" {
			m.fail("missing", "Field required", nil, "references", i, "attributes", "key")
			return
		}
		reference := map[string]any{}
		for _, member := range []string{semconv.ID, semconv.Slug, semconv.Version} {
			if object[member] != nil {
				reference[member] = object[member]
			}
		}
		declare(attributes, reference, semconv.Root, semconv.References, key)
	})
}

// rest keeps what else a node holds: nothing is dropped that is not derived again.
func (m *memberReader) rest(attributes map[string]any) {
	unknown := map[string]any{}
	for key, v := range m.node.members {
		switch key {
		case "trace_id", "span_id", "parent_id", "span_kind", "span_name", "span_type", "trace_type", "status_code", "status_message",
			"start_time", "end_time", "session_id", "user_id", "agent_id", "attributes", "resource", "scope", "links", "events", "references",
			"hashes", "created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id":
		case semconv.Exception:
			if v != nil {
				declare(attributes, v, semconv.Root, semconv.Exception)
			}
		default:
			if v != nil {
				unknown[key] = v
			}
		}
	}
	if len(unknown) > 0 {
		declare(attributes, unknown, semconv.Root, semconv.Unsupported, "span")
	}
}

// declare adds an attribute under its dotted name, unless the tree has it.
func declare(attributes map[string]any, value any, keys ...string) {
	if !says(attributes, keys...) {
		attributes[strings.Join(keys, ".")] = value
	}
}

// says tells whether a tree, part of whose keys may be dotted, has a value at
// keys; a null is none.
func says(attributes map[string]any, keys ...string) bool { return valueAt(attributes, keys) != nil }

func textAt(attributes map[string]any, keys ...string) string {
	text, _ := valueAt(attributes, keys).(string)
	return text
}

func valueAt(attributes map[string]any, keys []string) any {
	for n := len(keys); n > 0; n-- {
		v, ok := attributes[strings.Join(keys[:n], ".")]
		if !ok {
			continue
		}
		if n == len(keys) {
			return v
		}
		if below, ok := v.(map[string]any); ok {
			if found, _ := jsonvalue.Lookup(below, keys[n:]); found != nil {
				return found
			}
		}
	}
	return nil
}

// tooDeep tells whether a value nests more than left levels.
func tooDeep(v any, left int) bool {
	deep := func(e any) bool { return tooDeep(e, left-1) }
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && left == 0 {
			return true
		}
		for _, e := range v {
			if deep(e) {
				return true
			}
		}
	case []any:
		return len(v) > 0 && left == 0 || slices.ContainsFunc(v, deep)
	}
	return false
}
