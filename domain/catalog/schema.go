package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"colonnade/domain"
	"colonnade/domain/pattern"
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

// expression is a regular expression of a schema.
type expression struct {
	source string
	// pattern is nil where our engine cannot read it.
	pattern *pattern.Pattern
	// steps is the budget of the validation that it belongs to.
	steps *steps
}

// String is the expression as it was written.
func (e expression) String() string { return e.source }

// MatchString lets pass what our engine cannot read: ECMA-262 has lookarounds
// and back-references, and a schema is not wrong for using them.
func (e expression) MatchString(s string) bool {
	if e.pattern == nil {
		return true
	}
	e.steps.spend((len(s) + 1) * e.pattern.Size())
	matched, ok := e.pattern.Match(s)
	if !ok {
		panic(stopped{errSteps()})
	}
	return matched
}

// expressions compiles those of one schema, all of which together are no longer
// than one may be.
type expressions struct {
	left  int
	steps *steps
}

func (e *expressions) compile(source string) (jsonschema.Regexp, error) {
	p, err := pattern.Compile(source)
	if errors.Is(err, pattern.ErrTooLong) || err == nil && p.Size() > e.left {
		e.left = -1 // reported after compilation: the library reports the location, not the reason
		return expression{source: source}, nil
	}
	if err != nil {
		return expression{source: source}, nil //nolint:nilerr // see MatchString
	}
	e.left -= p.Size()
	return expression{source, p, e.steps}, nil
}

// The bounds of a schema. The library follows its parts by recursion, as deep as they are
// times as deep as the value is: without bounds one schema ends the process for want of a
// stack. steps.go bounds what a validation costs.
const (
	// maxParts is how many objects and booleans a schema may be made of.
	maxParts = 4000
	// maxFields is the number of invalid values that are reported.
	maxFields = 100
)

var (
	errParts       = fmt.Errorf("a schema has at most %d parts", maxParts)
	errExpressions = errors.New("the regular expressions of a schema are too long")
)

// parts counts what could be a schema, as far as the bound.
func parts(v any) int {
	n := 0
	switch v := v.(type) {
	case bool:
		return 1
	case map[string]any:
		n = 1
		for _, member := range v {
			if n += parts(member); n > maxParts {
				return n
			}
		}
	case []any:
		for _, element := range v {
			if n += parts(element); n > maxParts {
				return n
			}
		}
	default:
	}
	return n
}

// compile reads a schema, whose patterns spend the steps of the validation.
func compile(schema any, b *steps) (*jsonschema.Schema, error) {
	if parts(schema) > maxParts {
		return nil, errParts
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	e := expressions{left: 2 * pattern.MaxSize, steps: b} // the library compiles each twice
	c.UseRegexpEngine(e.compile)
	var s *jsonschema.Schema
	err := b.guard(func() (err error) {
		if err = c.AddResource(schemaURL, schema); err == nil {
			s, err = c.Compile(schemaURL)
		}
		return err
	})
	switch {
	case b.over != nil:
		return nil, b.over
	case err != nil:
		return nil, plain(err)
	case e.left < 0:
		return nil, errExpressions
	default:
		return s, nil
	}
}

// usable returns an error that says why a schema cannot be used.
func usable(schema any) error {
	_, err := compile(schema, newSteps(nil))
	return err
}

// plain shortens the library's errors to a line that a caller can use.
func plain(err error) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			const few = 5
			fields := flatten(v, nil)
			words := make([]string, min(len(fields), few))
			for i := range words {
				words[i] = strings.TrimSpace(pathOf(fields[i].Loc) + " " + fields[i].Msg)
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

// reach calls f with every schema that leads from a value of the library's, once.
func reach(v reflect.Value, seen map[*jsonschema.Schema]bool, f func(*jsonschema.Schema)) {
	switch v.Kind() {
	case reflect.Pointer:
		switch v.Type() {
		case reflect.TypeFor[*jsonschema.Schema]():
			s := (*jsonschema.Schema)(v.UnsafePointer())
			if s == nil || seen[s] {
				return
			}
			seen[s] = true
			f(s)
			reach(v.Elem(), seen, f)
		case reflect.TypeFor[*jsonschema.DynamicRef]():
			reach(v.Elem(), seen, f)
		}
	case reflect.Interface:
		reach(v.Elem(), seen, f)
	case reflect.Struct:
		for _, field := range v.Fields() {
			reach(field, seen, f)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]*jsonschema.Schema]() {
			for i := range v.Len() {
				reach(v.Index(i), seen, f)
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			reach(entries.Value(), seen, f)
		}
	default:
	}
}

// Validate checks a value against a schema and returns the places where it does
// not fit, below loc, the first hundred of them; none means that it fits. Errors
// are Rejected for a schema that is none or has too much in it, TooLarge for
// a value that takes too many steps, and that of ctx when it ends. Source: contract §4.3.
func Validate(ctx context.Context, schema map[string]any, value any, loc ...any) ([]domain.Field, error) {
	b := newSteps(ctx.Err)
	s, err := compile(schema, b)
	if err != nil && b.over == nil {
		return nil, domain.E(domain.Rejected, "The schema cannot be used: %s.", err)
	}
	if err == nil {
		b.count(s)
		err = b.guard(func() error { return s.Validate(value) })
	}
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

// flatten gives the leaves of the library's tree of reasons, the first hundred:
// the places that a caller can mend. The library's own list has the whole way to
// each of all places as a text, which a long name on it makes more than memory holds.
func flatten(e *jsonschema.ValidationError, loc []any) []domain.Field {
	var fields []domain.Field
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(fields) == maxFields {
			return
		}
		if len(e.Causes) == 0 {
			fields = append(fields, domain.Field{Type: "value_error.json_schema", Loc: locate(e.InstanceLocation, loc), Msg: sentence(e)})
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(e)
	return fields
}

// sentence is the library's for one place; it may repeat all that a schema allows.
func sentence(leaf *jsonschema.ValidationError) string {
	const most = 1000
	text := leaf.BasicOutput().Error.String()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}

// locate adds names and places in lists to a location.
func locate(steps []string, loc []any) []any {
	out := append([]any{}, loc...)
	for _, p := range steps {
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
// the next result, and no member is required, since feedback comes in parts. Of
// a value with more parts than a schema may have it says the type alone.
func InferSchema(value any) map[string]any {
	schema := infer(value)
	if parts(schema) > maxParts {
		schema = map[string]any{"type": schema["type"]}
	}
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

// uniform reports whether one schema describes all elements: scalars of one type.
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
