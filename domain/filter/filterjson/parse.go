package filterjson

import (
	"fmt"
	"slices"
	"strings"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/jsonvalue"
)

// The bounds of a filter; a larger one is Rejected. They bound the work of a query, not its
// meaning: "in" takes long lists.
const (
	// MaxDepth is the greatest depth of nested groups.
	MaxDepth = 32
	// MaxConditions is the greatest number of conditions of a whole filter.
	MaxConditions = 256
	// MaxValues is the greatest length of one list of values.
	MaxValues = 4096
	// MaxTextBytes is the greatest length of one string.
	MaxTextBytes = 16 << 10
	// maxPathBytes bounds the paths of a whole filter: each member of a value has one, which
	// repeats the names above it, and so has each list of which a number in the path may be an
	// index. Without it, a key of a few thousand numbers or a few members below a long name would
	// become a query of gigabytes.
	maxPathBytes = 1 << 20
)

// Parse parses a filter. An empty text, null and {} are a nil Expr, which holds for every span.
// loc is the location of the filter in the body, for errors: Parse(data, "body", "filtering").
//
// A wrong form and an unknown operator are Invalid, with a location; an unknown field, and an
// operator or value that a field does not take, are Rejected with a sentence that names it.
// Source: deploy/docs/api.md, Filters.
func Parse(data []byte, loc ...any) (filter.Expr, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no filter is a filter that holds everywhere
	}
	v, err := jsonvalue.Parse(data)
	if err != nil {
		return nil, err
	}
	return ParseValue(v, loc...)
}

// ParseValue is Parse for a value of jsonvalue.Parse.
func ParseValue(v any, loc ...any) (filter.Expr, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // no filter is a filter that holds everywhere
	}
	p := parser{}
	e, err := p.group(v, loc, 1)
	if err != nil {
		return nil, err
	}
	if and, ok := e.(filter.And); ok && len(and) == 0 {
		return nil, nil //nolint:nilnil // {} holds everywhere
	}
	return e, nil
}

type parser struct {
	conditions int
	// paths is the number of their bytes so far.
	paths int
}

// invalid returns the error of a wrong form at a location.
func invalid(kind, msg string, input any, loc []any, more ...any) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{
		Type: kind, Loc: slices.Concat(loc, more), Msg: msg, Input: input,
	}}}
}

func rejected(format string, args ...any) error {
	return domain.E(domain.Rejected, format, args...)
}

func (p *parser) group(v any, loc []any, depth int) (filter.Expr, error) {
	if depth > MaxDepth {
		return nil, rejected("A filter nests at most %d groups.", MaxDepth)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("model_attributes_type", "Input should be an object with operator and conditions", v, loc)
	}
	if err := onlyKeys(object, loc, "operator", "conditions"); err != nil {
		return nil, err
	}
	op, err := operator(object, "and", loc)
	if err != nil {
		return nil, err
	}
	var list []any
	if given := object["conditions"]; given != nil {
		if list, ok = given.([]any); !ok {
			return nil, invalid("list_type", "Input should be a valid list", given, loc, "conditions")
		}
	}
	children := make([]filter.Expr, 0, len(list))
	for i, c := range list {
		child, err := p.child(c, slices.Concat(loc, []any{"conditions", i}), depth)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return combine(op, children, loc)
}

// child parses a group or a condition: a condition has a field.
func (p *parser) child(v any, loc []any, depth int) (filter.Expr, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("model_attributes_type", "Input should be a condition or a group of conditions", v, loc)
	}
	_, isGroup := object["conditions"]
	if _, isCondition := object["field"]; isCondition || !isGroup && len(object) > 0 && !isLogical(object["operator"]) {
		if p.conditions++; p.conditions > MaxConditions {
			return nil, rejected("A filter has at most %d conditions.", MaxConditions)
		}
		key, _ := object["key"].(string)
		if p.walk(object["value"], len(key), 1+indices(strings.Split(key, ".")...)); p.paths > maxPathBytes {
			return nil, rejected("The keys of a filter, and the names in its values with those above them, come to more than %d KiB.", maxPathBytes>>10)
		}
		return parseCondition(object, loc)
	}
	return p.group(object, loc, depth+1)
}

// walk adds up the paths of a value below a path of this length that is used so many times. It
// ends when the sum exceeds the bound.
func (p *parser) walk(v any, path, times int) {
	if p.paths > maxPathBytes {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			p.walk(member, path+1+len(name), times+indices(name))
		}
	case []any:
		p.paths += path * times
		for _, element := range v {
			if object, ok := element.(map[string]any); ok {
				p.walk(object, path, times)
			}
		}
	default:
		p.paths += path * times
	}
}

// indices returns the number of names that may be indices of a list.
func indices(names ...string) (n int) {
	for _, name := range names {
		if name != "" && strings.Trim(name, "0123456789") == "" {
			n++
		}
	}
	return n
}

// combine returns the node of a logical operator. A group without conditions restricts nothing,
// whether its operator is "and" or "or"; its negation has no useful meaning and is rejected.
func combine(op string, children []filter.Expr, loc []any) (filter.Expr, error) {
	switch {
	case !isLogical(op):
		return nil, invalid("enum", fmt.Sprintf("Operator %q does not combine conditions: use and, or, not, nand or nor", op), op, loc, "operator")
	case op == "not" && len(children) != 1:
		return nil, rejected("Operator not takes exactly one condition.")
	case len(children) == 0 && op != "and" && op != "or":
		return nil, rejected("Operator %s takes at least one condition.", op)
	case op == "not":
		return negate(children[0]), nil
	case op == "nand":
		return negate(all(children)), nil
	case op == "nor":
		return negate(anyOf(children)), nil
	case op == "or" && len(children) > 0:
		return anyOf(children), nil
	default:
		return all(children), nil
	}
}

// all, anyOf and negate return And, Or and Not without needless nodes.
func all(children []filter.Expr) filter.Expr {
	if len(children) == 1 {
		return children[0]
	}
	return filter.And(children)
}

func anyOf(children []filter.Expr) filter.Expr {
	if len(children) == 1 {
		return children[0]
	}
	return filter.Or(children)
}

func negate(e filter.Expr) filter.Expr {
	if n, ok := e.(filter.Not); ok {
		return n.Expr
	}
	return filter.Not{Expr: e}
}

func isLogical(op any) bool {
	switch op {
	case "and", "or", "not", "nand", "nor":
		return true
	default:
		return false
	}
}

func operator(object map[string]any, missing string, loc []any) (string, error) {
	switch op := object["operator"].(type) {
	case nil:
		return missing, nil
	case string:
		if isLogical(op) || groupOf(op) != 0 {
			return op, nil
		}
		return "", invalid("enum", "Unknown operator: "+shorten(op), op, loc, "operator")
	default:
		return "", invalid("string_type", "Input should be a valid string", op, loc, "operator")
	}
}

func onlyKeys(object map[string]any, loc []any, known ...string) error {
	for k, v := range object {
		if !slices.Contains(known, k) {
			return invalid("extra_forbidden", "Extra inputs are not permitted", v, loc, k)
		}
	}
	return nil
}

// shorten shortens a caller's text for a message.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// group is a set of operators. Source: deploy/docs/api.md, Filters.
type group uint8

const (
	comparison group = 1 << iota
	numeric
	textual
	dict
	list
	existence
)

func groupOf(op string) group {
	switch op {
	case "is", "is_not":
		return comparison
	case "eq", "neq", "gt", "lt", "gte", "lte", "btwn":
		return numeric
	case "startswith", "endswith", "contains", "matches", "like":
		return textual
	case "has", "has_not":
		return dict
	case "in", "not_in":
		return list
	case "exists", "not_exists":
		return existence
	default:
		return 0
	}
}

// positive returns the positive operator of op, and whether op is the negative one.
func positive(op string) (string, bool) {
	switch op {
	case "is_not":
		return "is", true
	case "neq":
		return "eq", true
	case "has_not":
		return "has", true
	case "not_in":
		return "in", true
	case "not_exists":
		return "exists", true
	default:
		return op, false
	}
}
