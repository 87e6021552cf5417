package filterjson

import (
	"slices"

	"github.com/google/uuid"

	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// condition is a condition of the wire whose form is checked.
type condition struct {
	field string
	// key is empty if the condition has none.
	key string
	op  string // positive
	// value is nil for null and for an absent value, because clients drop nulls.
	value         any
	caseSensitive bool
	exactMatch    bool
	all           bool
	loc           []any
}

// takes returns the groups of operators of a field, and whether it takes a key. An unknown field
// takes nothing. Source: deploy/docs/api.md, Filters.
func takes(field string) (groups group, key keyRule) {
	switch field {
	case "trace_id", "span_id", "parent_id", "trace_type", "span_type", "span_kind", "status_code":
		return comparison | list, noKey
	case "root":
		return comparison, noKey
	case "span_name", "status_message", "session_id", "user_id", "agent_id",
		"start_time", "end_time", "created_at", "updated_at", "deleted_at":
		return comparison | numeric | textual | list | existence, noKey
	case "created_by_id", "updated_by_id", "deleted_by_id":
		return comparison | list | existence, noKey
	case "attributes", "resource", "scope":
		return comparison | numeric | textual | list | existence | dict, needsKey
	case "links", "references", "events":
		return list | dict | existence, dictKey
	case "hashes":
		return list | dict, dictKey
	case "content":
		return textual, noKey
	default:
		return 0, noKey
	}
}

type keyRule uint8

const (
	noKey keyRule = iota
	needsKey
	dictKey // with has and has_not only
)

func parseCondition(object map[string]any, loc []any) (filter.Expr, error) {
	if err := onlyKeys(object, loc, "field", "key", "value", "operator", "options"); err != nil {
		return nil, err
	}
	c := condition{loc: loc}
	switch f := object["field"].(type) {
	case nil:
		return nil, invalid("missing", "Field required", object, loc, "field")
	case string:
		c.field = f
	default:
		return nil, invalid("string_type", "Input should be a valid string", f, loc, "field")
	}
	switch k := object["key"].(type) {
	case nil:
	case string:
		if c.key = k; len(k) > MaxTextBytes {
			return nil, rejected("A key is at most %d bytes.", MaxTextBytes)
		}
	default:
		return nil, invalid("string_type", "Input should be a valid string", k, loc, "key")
	}
	op, err := operator(object, "is", loc)
	if err != nil {
		return nil, err
	}
	var negative bool
	c.op, negative = positive(op)
	c.value = object["value"]
	groups, keys := takes(c.field)
	switch {
	case groups == 0:
		return nil, rejected("Unknown filter field: %s.", shorten(c.field))
	case groupOf(op)&groups == 0 || c.field == "content" && op != "contains":
		return nil, rejected("Field %s does not take operator %s.", c.field, op)
	case keys == needsKey && c.key == "":
		return nil, rejected("Field %s needs a key.", c.field)
	case keys == dictKey && c.op == "has" && c.key == "":
		return nil, rejected("Field %s needs a key with operator %s.", c.field, op)
	case c.key != "" && (keys == noKey || keys == dictKey && c.op != "has"):
		return nil, rejected("Field %s takes no key with operator %s.", c.field, op)
	}
	if err := c.options(object["options"]); err != nil {
		return nil, err
	}
	e, err := c.leaf()
	if err != nil {
		return nil, err
	}
	if negative {
		e = negate(e)
	}
	return e, nil
}

// options parses the options. An option that the operator does not take may only be false, which
// is how clients send defaults.
func (c *condition) options(v any) error {
	if v == nil {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return invalid("model_attributes_type", "Input should be an object", v, c.loc, "options")
	}
	if err := onlyKeys(object, slices.Concat(c.loc, []any{"options"}), "case_sensitive", "exact_match", "all"); err != nil {
		return err
	}
	for name, to := range map[string]*bool{"case_sensitive": &c.caseSensitive, "exact_match": &c.exactMatch, "all": &c.all} {
		switch b := object[name].(type) {
		case nil:
		case bool:
			*to = b
		default:
			return invalid("bool_type", "Input should be a valid boolean", b, c.loc, "options", name)
		}
	}
	switch {
	case c.caseSensitive && (groupOf(c.op) != textual || c.field == "content"):
		return rejected("Field %s takes no option case_sensitive with operator %s.", c.field, c.op)
	case c.exactMatch && c.op != "matches":
		return rejected("Option exact_match goes with operator matches only.")
	case c.all && !c.manyValued():
		return rejected("Field %s takes no option all with operator %s.", c.field, c.op)
	}
	return nil
}

// manyValued reports whether "all" has a meaning: the field may have many values.
func (c *condition) manyValued() bool {
	_, keys := takes(c.field)
	return c.op == "in" && keys != noKey
}

func (c *condition) leaf() (filter.Expr, error) {
	switch c.field {
	case "trace_id":
		in, err := values(c, trace.ParseTraceID)
		return filter.TraceID{In: in}, err
	case "span_id":
		in, err := values(c, trace.ParseSpanID)
		return filter.SpanID{In: in}, err
	case "parent_id":
		in, err := nullable(c, trace.ParseSpanID)
		return filter.ParentID{In: in}, err
	case "root":
		return c.root()
	case "trace_type":
		in, err := values(c, word(c, trace.ParseType))
		return filter.TraceType{In: in}, err
	case "span_type":
		in, err := values(c, word(c, trace.ParseSpanType))
		return filter.SpanType{In: in}, err
	case "span_kind":
		in, err := values(c, word(c, trace.ParseKind))
		return filter.SpanKind{In: in}, err
	case "status_code":
		in, err := values(c, word(c, trace.ParseStatus))
		return filter.StatusCode{In: in}, err
	case "span_name", "status_message", "session_id", "user_id", "agent_id":
		return c.text()
	case "start_time", "end_time", "created_at", "updated_at", "deleted_at":
		return c.time()
	case "created_by_id", "updated_by_id", "deleted_by_id":
		return c.user()
	case "attributes":
		return c.attribute(filter.Attributes)
	case "resource":
		return c.attribute(filter.Resource)
	case "scope":
		return c.attribute(filter.Scope)
	case "links", "references", "events", "hashes":
		return c.parts()
	case "content":
		return c.content()
	default:
		return nil, rejected("Unknown filter field: %s.", shorten(c.field))
	}
}

func (c *condition) root() (filter.Expr, error) {
	is, ok := c.value.(bool)
	switch {
	case !ok:
		return nil, c.bad(c.value, "it takes true or false")
	case is:
		return filter.Root{}, nil
	default:
		return negate(filter.Root{}), nil
	}
}

// bad returns the error of a value that the field or operator does not take.
func (c *condition) bad(v any, want string) error {
	return rejected("Field %s does not take the value %s with operator %s: %s.", c.field, show(v), c.op, want)
}

func show(v any) string { return shorten(string(jsonvalue.Append(nil, v))) }

// items returns the list of an "in", or the one value of an "is".
func (c *condition) items() ([]any, error) {
	if c.op != "in" {
		return []any{c.value}, nil
	}
	items, ok := c.value.([]any)
	switch {
	case !ok:
		return nil, c.bad(c.value, "it takes a list")
	case len(items) == 0:
		return nil, c.bad(c.value, "the list is empty")
	case len(items) > MaxValues:
		return nil, rejected("A list of values has at most %d.", MaxValues)
	}
	return items, nil
}

// values parses the strings of "is" and "in", each once, in their order.
func values[T comparable](c *condition, parse func(string) (T, error)) ([]T, error) {
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	return each(c, items, parse)
}

// nullable is values in which null stands for the zero value.
func nullable[T comparable](c *condition, parse func(string) (T, error)) ([]T, error) {
	items, err := c.items()
	if err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(slices.Clone(items), func(v any) bool { return v == nil })
	in, err := each(c, rest, parse)
	if len(rest) < len(items) {
		in = slices.Insert(in, 0, *new(T))
	}
	return in, err
}

func each[T comparable](c *condition, items []any, parse func(string) (T, error)) ([]T, error) {
	seen := make(map[T]bool, len(items))
	in := make([]T, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, c.bad(item, "it takes strings")
		}
		v, err := parse(s)
		if err != nil {
			return nil, c.bad(item, "it is not a valid "+c.field)
		}
		if !seen[v] {
			seen[v] = true
			in = append(in, v)
		}
	}
	return in, nil
}

// word returns the parser of an enum as a parser with an error.
func word[T any](c *condition, parse func(string) (T, bool)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, ok := parse(s)
		if !ok {
			return v, c.bad(s, "it is not one of its words")
		}
		return v, nil
	}
}

func (c *condition) user() (filter.Expr, error) {
	if c.op == "exists" {
		if c.field == "deleted_by_id" {
			return filter.Or{}, nil
		}
		return filter.Not{Expr: filter.User{Field: filter.Field(c.field), In: []uuid.UUID{uuid.Nil}}}, nil
	}
	in, err := nullable(c, uuid.Parse)
	if err != nil {
		return nil, err
	}
	if c.field == "deleted_by_id" { // spans are deleted, never archived: nobody is recorded on any
		if in[0] == uuid.Nil {
			return filter.And{}, nil
		}
		return filter.Or{}, nil
	}
	return filter.User{Field: filter.Field(c.field), In: in}, nil
}
