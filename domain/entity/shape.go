package entity

import "strings"

// Shape says what a JSON body looks like, for the API's document: bodies of
// lineages are read member by member under names that are data, so that no Go
// type has their form. Values within a schema may be Shapes or Go values in
// their turn.
type Shape struct {
	// Name is what the document calls it; a Shape without a name is spelled out where it stands.
	Name   string
	Schema map[string]any
}

// SchemaName names the component of the document.
func (s Shape) SchemaName() string { return s.Name }

// JSONSchema is the schema itself.
func (s Shape) JSONSchema() map[string]any { return s.Schema }

// member is one member of an object.
type member struct {
	name     string
	schema   any
	required bool
}

// replyShape describes an object that is sent: what it always has is required.
func replyShape(name string, members ...[]member) Shape {
	return Shape{Name: name, Schema: objectOf(false, members)}
}

// requestShape describes an object that is read: nothing else may be in it, and
// null is as good as absent. Source: contract §0 row 9.
func requestShape(name string, members ...[]member) Shape {
	return Shape{Name: name, Schema: objectOf(true, members)}
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
func whole(least int) map[string]any {
	return map[string]any{"type": "integer", "minimum": least}
}
func free() map[string]any { return map[string]any{"type": "object"} }
func listOf(items any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

func mapOf(values any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": values}
}

func oneOf(words ...string) map[string]any { return map[string]any{"type": "string", "enum": words} }

// title turns a name on the wire into one of the document: application_variant, ApplicationVariant.
func title(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// ReferenceShape is {id?, slug?, version?} as it is read. Source: interface.md §2.6.
func ReferenceShape() Shape {
	return requestShape("ReferenceInput", []member{{"id", id(), false}, {"slug", text(), false}, {"version", text(), false}})
}

func referenceReply() Shape {
	return replyShape("Reference", []member{{"id", id(), false}, {"slug", text(), false}, {"version", text(), false}})
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
	names := f.parentNames(level)
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

// RecordShape is the record of a level as replies have it.
func (f Family) RecordShape(l Level) Shape {
	name := title(f.Member(l))
	switch l {
	case LevelVariant:
		return replyShape(name, recordMembers(), f.parentMembers(""))
	case LevelRevision:
		return replyShape(name, f.revisionMembers()...)
	default:
		return replyShape(name, f.artifactMembers()...)
	}
}

// SimpleShape is the flat record of an artifact and its latest revision.
func (f Family) SimpleShape() Shape {
	return replyShape("Simple"+title(f.Name), append(f.artifactMembers(), []member{
		{"variant_id", id(), false},
		{"revision_id", id(), false},
		{"variant_slug", text(), false},
		{"revision_slug", text(), false},
		{"version", text(), false},
		{"data", f.dataReply(), false},
	})...)
}

// OneShape is a reply with one record, or with none: {count, <member>?}.
func OneShape(name string, record any) Shape {
	return replyShape("", []member{{"count", whole(0), true}, {name, record, false}})
}

// ListShape is a page: {count, <members>, windowing?}. window describes a window of replies.
func ListShape(members string, record, window any) Shape {
	return replyShape("", []member{{"count", whole(0), true}, {members, listOf(record), true}, {"windowing", window, false}})
}
