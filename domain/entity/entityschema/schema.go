package entityschema

import (
	"strings"

	"colonnade/domain/entity"
)

// Schema describes the JSON of one body. Values within it may be Schemas or Go values,
// whose types describe them.
type Schema struct {
	// Name is the name of the component; a Schema without a name is written in place.
	Name   string
	Schema map[string]any
}

// Family returns the bodies of one entity.Family.
type Family struct{ entity.Family }

// For returns the bodies of f.
func For(f entity.Family) Family { return Family{f} }

// SchemaName returns the name of the component.
func (s Schema) SchemaName() string { return s.Name }

// JSONSchema returns the schema itself.
func (s Schema) JSONSchema() map[string]any { return s.Schema }

// member is one member of an object.
type member struct {
	name     string
	schema   any
	required bool
}

// replySchema describes an object that is sent: what it always has is required.
func replySchema(name string, members ...[]member) Schema {
	return Schema{Name: name, Schema: objectOf(false, members)}
}

// requestSchema describes an object that is read: nothing else may be in it, and
// null is as good as absent. Source: contract §0 row 9.
func requestSchema(name string, members ...[]member) Schema {
	return Schema{Name: name, Schema: objectOf(true, members)}
}

func objectOf(request bool, groups [][]member) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, group := range groups {
		for _, m := range group {
			if m.required {
				required = append(required, m.name)
			}
			schema := m.schema
			if request && !m.required {
				schema = orNull(schema)
			}
			properties[m.name] = schema
		}
	}
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	if request {
		out["additionalProperties"] = false
	}
	return out
}

func orNull(schema any) any {
	m, ok := schema.(map[string]any)
	if typ, simple := m["type"].(string); ok && simple && m["enum"] == nil {
		out := map[string]any{"type": []string{typ, "null"}}
		for k, v := range m {
			if k != "type" {
				out[k] = v
			}
		}
		return out
	}
	if ok && len(m) == 0 || ok && m["readOnly"] != nil {
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

func text() map[string]any    { return map[string]any{"type": "string"} }
func id() map[string]any      { return map[string]any{"type": "string", "format": "uuid"} }
func moment() map[string]any  { return map[string]any{"type": "string", "format": "date-time"} }
func boolean() map[string]any { return map[string]any{"type": "boolean"} }
func whole(minimum int) map[string]any {
	return map[string]any{"type": "integer", "minimum": minimum}
}
func free() map[string]any { return map[string]any{"type": "object"} }
func listOf(items any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

func mapOf(values any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": values}
}

func oneOf(values ...string) map[string]any { return map[string]any{"type": "string", "enum": values} }

// title turns a name on the wire into one of the document: application_variant, ApplicationVariant.
func title(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Reference is {id?, slug?, version?} as it is read. Source: interface.md §2.6.
func Reference() Schema {
	return requestSchema("ReferenceInput", []member{{"id", id(), false}, {"slug", text(), false}, {"version", text(), false}})
}

func referenceReply() Schema {
	return replySchema("Reference", []member{{"id", id(), false}, {"slug", text(), false}, {"version", text(), false}})
}

// recordMembers are those of every record. Source: contract §5.1.
func recordMembers() []member {
	return []member{
		{"id", id(), true},
		{"slug", text(), true},
		{"name", text(), false},
		{"description", text(), false},
		{"flags", mapOf(boolean()), false},
		{"tags", free(), false},
		{"meta", free(), false},
		{"created_at", moment(), true},
		{"updated_at", moment(), false},
		{"deleted_at", moment(), false},
		{"created_by_id", id(), true},
		{"updated_by_id", id(), false},
		{"deleted_by_id", id(), false},
	}
}

// parentMembers name the ancestor of one level under all of its names.
func (f Family) parentMembers(level string) []member {
	names := f.ParentNames(level)
	out := make([]member, 0, 2*len(names))
	for _, prefix := range names {
		out = append(out, member{prefix + "_id", id(), true}, member{prefix + "_slug", text(), true})
	}
	return out
}

func (f Family) artifactMembers() [][]member {
	return [][]member{recordMembers(), {{"folder_id", id(), false}}}
}

func (f Family) revisionMembers() [][]member {
	return [][]member{
		recordMembers(), f.parentMembers(""), f.parentMembers("_variant"),
		{{"version", text(), true}, {"author", id(), true}, {"date", moment(), true}, {"message", text(), false}, {"data", f.dataReply(), false}},
	}
}

// Record is the record of a level as replies have it.
func (f Family) Record(l entity.Level) Schema {
	name := title(f.Member(l))
	switch l {
	case entity.LevelVariant:
		return replySchema(name, recordMembers(), f.parentMembers(""))
	case entity.LevelRevision:
		return replySchema(name, f.revisionMembers()...)
	default:
		return replySchema(name, f.artifactMembers()...)
	}
}

// Simple is the flat record of an artifact and its latest revision.
func (f Family) Simple() Schema {
	return replySchema("Simple"+title(f.Name), append(f.artifactMembers(), []member{
		{"variant_id", id(), false},
		{"revision_id", id(), false},
		{"variant_slug", text(), false},
		{"revision_slug", text(), false},
		{"version", text(), false},
		{"data", f.dataReply(), false},
	})...)
}

// One is a reply with one record, or with none: {count, <member>?}.
func One(name string, record any) Schema {
	return replySchema("", []member{{"count", whole(0), true}, {name, record, false}})
}

// List is a page: {count, <members>, windowing?}. window describes a window of replies.
func List(members string, record, window any) Schema {
	return replySchema("", []member{{"count", whole(0), true}, {members, listOf(record), true}, {"windowing", window, false}})
}
