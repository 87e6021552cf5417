package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"colonnade/domain"
)

// schemaURL names a schema within its compiler; nothing is fetched from it.
const schemaURL = "urn:colonnade:schema"

// closed refuses to fetch: a reference out of a schema must not make us read
// a file or call a server.
type closed struct{}

// Load refuses every address.
func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s cannot be followed: schemas must be whole", url)
}

// pattern is a regular expression of a schema.
type pattern struct {
	source string
	re     *regexp.Regexp
}

// String is the expression as it was written.
func (p pattern) String() string { return p.source }

// MatchString lets pass what our engine cannot read: ECMA-262 has lookarounds
// and back-references, and a schema is not wrong for using them.
func (p pattern) MatchString(s string) bool { return p.re == nil || p.re.MatchString(s) }

func compile(schema any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	c.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) {
		re, err := regexp.Compile(source)
		if err != nil {
			re = nil
		}
		return pattern{source: source, re: re}, nil
	})
	if err := c.AddResource(schemaURL, schema); err != nil {
		return nil, plain(err)
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil, plain(err)
	}
	return s, nil
}

// plain shortens the library's errors to a line that a caller can use.
func plain(err error) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			fields := flatten(v, nil)
			words := make([]string, len(fields))
			for i, f := range fields {
				words[i] = strings.TrimSpace(pathOf(f.Loc) + " " + f.Msg)
			}
			return errors.New(strings.Join(words, "; "))
		}
	}
	text, _, _ := strings.Cut(strings.ReplaceAll(err.Error(), schemaURL, ""), "\n")
	return errors.New(text)
}

func pathOf(loc []any) string {
	if len(loc) == 0 {
		return ""
	}
	words := make([]string, len(loc))
	for i, l := range loc {
		words[i] = fmt.Sprint(l)
	}
	return "at " + strings.Join(words, ".") + ":"
}

// Validate checks a value against a schema and gives the places where it does
// not fit, below loc; none means that it fits. The error is a schema that is
// none. Source: contract §4.3.
func Validate(schema map[string]any, value any, loc ...any) ([]domain.Field, error) {
	s, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("catalog: compiling a schema: %w", err)
	}
	err = s.Validate(value)
	if err == nil {
		return nil, nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil, fmt.Errorf("catalog: validating: %w", err)
	}
	fields := flatten(invalid, loc)
	for i := range fields {
		fields[i].Input = at(value, fields[i].Loc[len(loc):])
	}
	return fields, nil
}

// flatten gives the leaves of the library's tree of reasons: the places that a caller can mend.
func flatten(e *jsonschema.ValidationError, loc []any) []domain.Field {
	unit := e.BasicOutput()
	var fields []domain.Field
	for _, u := range unit.Errors {
		if u.Error != nil {
			fields = append(fields, domain.Field{Type: "value_error.json_schema", Loc: locate(u.InstanceLocation, loc), Msg: u.Error.String()})
		}
	}
	if len(fields) == 0 {
		fields = append(fields, domain.Field{Type: "value_error.json_schema", Loc: locate(unit.InstanceLocation, loc), Msg: e.Error()})
	}
	return fields
}

// locate turns a JSON Pointer into a location.
func locate(pointer string, loc []any) []any {
	out := append([]any{}, loc...)
	for p := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if p == "" {
			continue
		}
		p = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		if n, err := strconv.Atoi(p); err == nil {
			out = append(out, n)
			continue
		}
		out = append(out, p)
	}
	return out
}

func at(value any, path []any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[fmt.Sprint(step)]
		case []any:
			i, ok := step.(int)
			if !ok || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// InferSchema describes a value, for an evaluator that is made from its first
// result. It is lenient on purpose: a whole number may become a fraction in
// the next result, and no member is required, since feedback comes in parts.
func InferSchema(value any) map[string]any {
	schema := infer(value)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return schema
}

func infer(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		properties := map[string]any{}
		for name, member := range v {
			properties[name] = infer(member)
		}
		return map[string]any{"type": "object", "properties": properties}
	case []any:
		schema := map[string]any{"type": "array"}
		if len(v) > 0 && uniform(v) {
			schema["items"] = infer(v[0])
		}
		return schema
	case string:
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case json.Number, float64, int64, int:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{}
	}
}

// uniform tells whether one schema describes all elements: scalars of one type.
func uniform(list []any) bool {
	kind := func(v any) any { return infer(v)["type"] }
	first := kind(list[0])
	if first == "object" || first == "array" || first == nil {
		return false
	}
	for _, v := range list[1:] {
		if kind(v) != first {
			return false
		}
	}
	return true
}
