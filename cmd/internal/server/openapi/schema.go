package openapi

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// direction is which way a body goes. What a reply always has is required; of a
// request it is what the handler asks for.
type direction uint8

const (
	ofRequest direction = iota + 1
	ofResponse
)

// schemas makes JSON Schemas of Go types, those with a name as components.
type schemas struct {
	components object
	// names are those of the components so far.
	names map[component]string
	taken map[string]bool
	// described are the names of the components that described themselves, by the name they chose.
	described map[string]string
}

type component struct {
	t reflect.Type
	d direction
}

func newSchemas() *schemas {
	return &schemas{components: object{}, names: map[component]string{}, taken: map[string]bool{"Error": true}, described: map[string]string{}}
}

// described is a body that says itself what it looks like: one that is read
// member by member and has no Go type of its shape. Values within its schema
// may be described in their turn, or Go structs.
type described interface{ JSONSchema() map[string]any }

func (s *schemas) of(v any, d direction) object {
	self, ok := v.(described)
	if !ok {
		return s.schema(reflect.TypeOf(v), d)
	}
	if named, ok := v.(interface{ SchemaName() string }); ok && named.SchemaName() != "" {
		return s.component(named.SchemaName(), self, d)
	}
	out, _ := s.expand(self.JSONSchema(), d).(object)
	return out
}

// component refers to what describes itself under a name of its own choice,
// which says what it is: the same name twice is the same thing.
func (s *schemas) component(given string, self described, d direction) object {
	name, known := s.described[given]
	if !known {
		name = given
		for s.taken[name] { // a Go type's
			name += "_"
		}
		s.taken[name], s.described[given] = true, name
		s.components[name] = object{} // it may hold itself
		s.components[name] = s.expand(self.JSONSchema(), d)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// expand replaces what is described, and Go values, by their schemas.
func (s *schemas) expand(v any, d direction) any {
	switch v := v.(type) {
	case described:
		return s.of(v, d)
	case object:
		out := make(object, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = s.expand(v[k], d)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.expand(v[i], d)
		}
		return out
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct {
		return s.of(v, d)
	}
	return v
}

func (s *schemas) schema(t reflect.Type, d direction) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[uuid.UUID]():
		return object{"type": "string", "format": "uuid"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[json.Number]():
		return object{"type": "number"}
	}
	if t.Kind() == reflect.Pointer {
		return s.schema(t.Elem(), d)
	}
	if inner, ok := optional(t); ok {
		return nullable(s.schema(inner, d))
	}
	if is[json.Marshaler](t) || is[json.Unmarshaler](t) {
		return object{}
	}
	if is[encoding.TextMarshaler](t) || is[encoding.TextUnmarshaler](t) {
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": s.schema(t.Elem(), d)}
	case reflect.Array:
		return object{"type": "array", "items": s.schema(t.Elem(), d), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem(), d)}
	case reflect.Struct:
		return s.named(t, d)
	default: // any
		return object{}
	}
}

func is[I any](t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[I]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

// optional gives what a request.Maybe holds.
func optional(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.Name(), "Maybe[") {
		return nil, false
	}
	f, ok := t.FieldByName("Value")
	return f.Type, ok
}

func nullable(schema object) object {
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

// named refers to the component of a struct, and makes it at the first time.
func (s *schemas) named(t reflect.Type, d direction) object {
	if t.Name() == "" {
		return s.members(t, d)
	}
	key := component{t, d}
	name, known := s.names[key]
	if !known {
		name = s.name(t, d)
		s.names[key], s.taken[name] = name, true
		s.components[name] = object{} // a type may hold itself
		s.components[name] = s.members(t, d)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// name is the type's own, with more of where it is from when that is taken.
func (s *schemas) name(t reflect.Type, d direction) string {
	own := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, strings.TrimSuffix(t.Name(), "View"))
	own = strings.ToUpper(own[:1]) + own[1:]
	candidates := []string{own}
	if d == ofRequest {
		candidates = append(candidates, own+"Input")
	} else {
		candidates = append(candidates, own+"Output")
	}
	packages := strings.Split(t.PkgPath(), "/")
	prefix := ""
	for _, name := range slices.Backward(packages) {
		prefix = strings.ToUpper(name[:1]) + name[1:] + prefix
		for _, c := range candidates[:2] {
			candidates = append(candidates, prefix+c)
		}
	}
	for _, c := range candidates {
		if !s.taken[c] {
			return c
		}
	}
	return own + "_"
}

func (s *schemas) members(t reflect.Type, d direction) object {
	properties, required := object{}, []string{}
	s.collect(t, d, properties, &required)
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if d == ofRequest { // unknown members are refused, see domain/request
		out["additionalProperties"] = isOpen(t)
	}
	return out
}

// isOpen reports whether a struct says, by a field of no name with the tag
// `request:"open"`, that its reader keeps members it does not know.
func isOpen(t reflect.Type) bool {
	f, ok := t.FieldByName("_")
	return ok && f.Tag.Get("request") == "open"
}

// withBounds adds the bounds that a field's tags name. The handler checks them.
func withBounds(schema object, f reflect.StructField) object {
	for _, bound := range [...]string{"minimum", "maximum"} {
		if n, err := strconv.Atoi(f.Tag.Get(bound)); err == nil {
			schema[bound] = n
		}
	}
	return schema
}

// collect takes the fields of a struct and of those embedded in it.
func (s *schemas) collect(t reflect.Type, d direction, properties object, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			s.collect(inner, d, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = withBounds(s.schema(f.Type, d), f)
		omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if d == ofRequest && f.Tag.Get("request") == "required" || d == ofResponse && !omitted && f.Type.Kind() != reflect.Pointer {
			*required = append(*required, name)
		}
	}
}
