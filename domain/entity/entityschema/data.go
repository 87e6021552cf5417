package entityschema

import "colonnade/domain/entity"

// dataReply is a revision's data as replies have it. Source: contract §5.2, §5.6, §5.8.
func (f Family) dataReply() Schema {
	members := f.dataMembers(referenceReply())
	if f.Kind == entity.Testset {
		members = testsetMembers(testcaseInRevision())
	}
	return Schema{Name: title(string(f.Kind)) + "Data", Schema: objectOf(false, [][]member{members})}
}

// dataRequest is a revision's data as it is committed.
func (f Family) dataRequest() Schema {
	return requestSchema(title(string(f.Kind))+"DataInput", f.dataMembers(Reference()))
}

func (f Family) dataMembers(reference Schema) []member {
	switch f.Kind {
	case entity.Workflow:
		return []member{
			{"uri", text(), false},
			{"url", text(), false},
			{"headers", mapOf(map[string]any{"anyOf": []any{text(), reference}}), false},
			{"runtime", oneOf("python", "typescript", "javascript"), false},
			{"script", text(), false},
			{"schemas", Schema{Schema: objectOf(true, [][]member{{{"parameters", free(), false}, {"inputs", free(), false}, {"outputs", free(), false}}})}, false},
			{"parameters", free(), false},
		}
	case entity.Environment:
		return []member{{"references", mapOf(mapOf(reference)), false}}
	case entity.Query:
		return []member{
			{"formatting", Schema{Schema: objectOf(true, [][]member{{{"focus", oneOf("trace", "span"), false}, {"format", oneOf("agenta", "opentelemetry"), false}}})}, false},
			{"filtering", free(), false},
			{"windowing", Schema{Schema: objectOf(true, [][]member{windowMembers(), {
				{"interval", whole(1), false},
				{"rate", map[string]any{"type": "number", "minimum": 0, "maximum": 1}, false},
			}})}, false},
			{"trace_ids", listOf(text()), false},
			{"traces", listOf(map[string]any{}), false},
		}
	default:
		return testsetMembers(testcaseInput())
	}
}

// deltaRequest is a change of a revision's data.
func (f Family) deltaRequest() Schema {
	if f.Kind == entity.Environment {
		return requestSchema("EnvironmentDelta", []member{{"set", mapOf(mapOf(Reference())), false}, {"remove", listOf(text()), false}})
	}
	document := documentDelta()
	if f.Kind == entity.Testset {
		return requestSchema("TestsetDelta", append(testsetDelta(), document...))
	}
	return requestSchema("Delta", document)
}

// documentDelta changes data of any form.
func documentDelta() []member {
	path := map[string]any{"description": "Dotted, a JSON Pointer, or a list of names."}
	operation := requestSchema("DeltaOperation", []member{
		{"op", oneOf("set", "add", "replace", "merge", "remove"), false},
		{"operation", oneOf("set", "add", "replace", "merge", "remove"), false},
		{"path", path, false},
		{"target", path, false},
		{"value", map[string]any{}, false},
	})
	return []member{{"set", free(), false}, {"remove", listOf(text()), false}, {"operations", listOf(operation), false}}
}

// windowMembers bound a list of records. Source: interface.md §2.11.
func windowMembers() []member {
	return []member{
		{"newest", moment(), false},
		{"oldest", moment(), false},
		{"next", id(), false},
		{"limit", whole(1), false},
		{"order", oneOf("ascending", "descending"), false},
	}
}
