package entity

// dataReply is a revision's data as replies have it. Source: contract §5.2, §5.6, §5.8.
func (f Family) dataReply() Shape {
	members := f.dataMembers(referenceReply())
	if f.Kind == Testset {
		members = testsetMembers(testcaseInRevision())
	}
	return Shape{Name: title(string(f.Kind)) + "Data", Schema: objectOf(false, [][]member{members})}
}

// dataRequest is a revision's data as it is committed.
func (f Family) dataRequest() Shape {
	return requestShape(title(string(f.Kind))+"DataInput", f.dataMembers(ReferenceShape()))
}

func (f Family) dataMembers(reference Shape) []member {
	switch f.Kind {
	case Workflow:
		return []member{
			{"uri", text(), false},
			{"url", text(), false},
			{"headers", mapOf(map[string]any{"anyOf": []any{text(), reference}}), false},
			{"runtime", oneOf("python", "typescript", "javascript"), false},
			{"script", text(), false},
			{"schemas", Shape{Schema: objectOf(true, [][]member{{{"parameters", free(), false}, {"inputs", free(), false}, {"outputs", free(), false}}})}, false},
			{"parameters", free(), false},
		}
	case Environment:
		return []member{{"references", mapOf(mapOf(reference)), false}}
	case Query:
		return []member{
			{"formatting", Shape{Schema: objectOf(true, [][]member{{{"focus", oneOf("trace", "span"), false}, {"format", oneOf("agenta", "opentelemetry"), false}}})}, false},
			{"filtering", free(), false},
			{"windowing", Shape{Schema: objectOf(true, [][]member{windowMembers(), {
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
func (f Family) deltaRequest() Shape {
	if f.Kind == Environment {
		return requestShape("EnvironmentDelta", []member{{"set", mapOf(mapOf(ReferenceShape())), false}, {"remove", listOf(text()), false}})
	}
	document := documentDelta()
	if f.Kind == Testset {
		return requestShape("TestsetDelta", append(testsetDelta(), document...))
	}
	return requestShape("Delta", document)
}

// documentDelta changes data of any form.
func documentDelta() []member {
	path := map[string]any{"description": "Dotted, a JSON Pointer, or a list of names."}
	operation := requestShape("DeltaOperation", []member{
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
		{"limit", whole(0), false},
		{"order", oneOf("ascending", "descending"), false},
	}
}
