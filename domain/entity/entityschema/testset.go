package entityschema

import "colonnade/domain/entity"

// testsetMembers are the data of a testset's revision. Source: contract §5.8.
func testsetMembers(testcase any) []member {
	return []member{{"testcase_ids", listOf(id()), false}, {"testcases", listOf(testcase), false}}
}

// labelMembers are what a testcase says beside its data.
func labelMembers() []member {
	return []member{
		{"flags", mapOf(map[string]any{"type": []string{"boolean", "null"}}), false},
		{"tags", free(), false},
		{"meta", free(), false},
	}
}

// testcaseInput is a testcase as it is committed: its id follows from the rest.
func testcaseInput() Schema { return testcaseRequest("TestcaseInput", "data") }

// testcaseReplacement is one that replaces the testcase of its id.
func testcaseReplacement() Schema { return testcaseRequest("TestcaseReplacement", "id") }

func testcaseRequest(name, required string) Schema {
	echoed := []string{"slug", "set_id", "testset_id", "created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id"}
	members := make([]member, 0, len(echoed)+2)
	members = append(members, member{"id", id(), false}, member{"data", free(), false})
	for _, name := range echoed {
		members = append(members, member{name, map[string]any{"readOnly": true}, false})
	}
	return requestSchema(name, needing(members, required), labelMembers())
}

// Testcase is a testcase as replies have it.
func Testcase() Schema {
	return replySchema("Testcase", append(testcaseMembers(true), member{"set_id", id(), true}))
}

// testcaseInRevision has no more than documents how a testcase looks: a
// revision of before holds what was sent.
func testcaseInRevision() Schema {
	s := replySchema("TestcaseInRevision", testcaseMembers(false))
	s.Schema["additionalProperties"] = map[string]any{}
	return s
}

func testcaseMembers(required bool) []member {
	return append([]member{
		{"id", id(), required},
		{"testset_id", id(), required},
		{"data", free(), required},
		{"created_at", moment(), required},
		{"created_by_id", id(), required},
	}, labelMembers()...)
}

// testsetDelta changes columns in all rows, then rows.
func testsetDelta() []member {
	pair := map[string]any{"type": "array", "items": text(), "minItems": 2, "maxItems": 2, "description": "The old and the new name."}
	columns := requestSchema("TestsetColumnsDelta", []member{{"add", listOf(text()), false}, {"remove", listOf(text()), false}, {"replace", listOf(pair), false}})
	rows := requestSchema("TestsetRowsDelta", []member{{"add", listOf(testcaseInput()), false}, {"remove", listOf(id()), false}, {"replace", listOf(testcaseReplacement()), false}})
	return []member{{"rows", rows, false}, {"columns", columns, false}}
}

// viewMembers say how much of a testset's revision is shown; other families show all.
func (f Family) viewMembers() []member {
	if f.Kind != entity.Testset {
		return nil
	}
	return []member{{"include_testcases", boolean(), false}, {"include_testcase_ids", boolean(), false}}
}

// windowOfRows bounds the rows of one revision.
func windowOfRows() Schema {
	return requestSchema("RowWindow", []member{
		{"next", id(), false},
		{"limit", whole(1), false},
		{"order", oneOf("ascending", "descending"), false},
	})
}

// TestcaseQuery is the body of a list of testcases.
func TestcaseQuery() Schema {
	f := For(entity.Testsets())
	return requestSchema("", []member{
		{"testcase", requestSchema("TestcaseFilter", []member{{"flags", free(), false}, {"tags", free(), false}, {"meta", free(), false}}), false},
		{"testcase_ids", listOf(id()), false},
		{"testcase_refs", listOf(Reference()), false},
		{"testset_id", id(), false},
		{"testset_slug", text(), false},
		{"testset_ids", listOf(id()), false},
		{"testset_slugs", listOf(text()), false},
		{"testset_refs", listOf(Reference()), false},
		{"testset_variant_id", id(), false},
		{"testset_revision_id", id(), false},
		{"include_archived", boolean(), false},
		{"windowing", requestSchema("ListWindow", windowMembers()), false},
	}, f.refMembers())
}
