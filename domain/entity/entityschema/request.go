package entityschema

import (
	"colonnade/domain"
	"colonnade/domain/entity"
)

// draftMembers are what every new or edited record may say of itself.
func (f Family) draftMembers(create bool) []member {
	echoed := f.Echoed()
	members := append(make([]member, 0, 7+len(echoed)),
		member{"id", id(), !create},
		member{"slug", map[string]any{"type": "string", "pattern": entity.SlugPattern}, false},
		member{"name", text(), false},
		member{"description", text(), false},
		member{"flags", mapOf(map[string]any{"type": []string{"boolean", "null"}}), false},
		member{"tags", free(), false},
		member{"meta", free(), false},
	)
	for _, name := range echoed {
		members = append(members, member{name, map[string]any{"readOnly": true}, false})
	}
	return members
}

func needing(members []member, name string) []member {
	out := append([]member(nil), members...)
	for i := range out {
		if out[i].name == name {
			out[i].required = true
		}
	}
	return out
}

// parentInputs are the names under which the id of an ancestor may be sent.
func (f Family) parentInputs(level string) []member {
	names := f.ParentNames(level)
	out := make([]member, 0, len(names))
	for _, prefix := range names {
		out = append(out, member{prefix + "_id", id(), false})
	}
	return out
}

// wrap puts a record under its member's name, under which it must be there.
func wrap(name string, record Schema, more ...member) Schema {
	return requestSchema("", []member{{name, record, true}}, more)
}

// Write is the body that makes or edits a record of a level.
func (f Family) Write(l entity.Level, create bool) Schema {
	name := title(f.Member(l)) + "Edit"
	draft := f.draftMembers(create)
	if create {
		name = title(f.Member(l)) + "Create"
		draft = needing(draft, "slug")
	}
	groups := [][]member{draft}
	switch l {
	case entity.LevelVariant:
		groups = append(groups, f.parentInputs(""))
	case entity.LevelRevision:
		groups = append(groups, f.parentInputs(""), f.parentInputs("_variant"), []member{{"message", text(), false}, {"data", map[string]any{"readOnly": true}, false}})
		return wrap(f.Member(l), requestSchema(name, groups...), f.viewMembers()...)
	default:
		groups = append(groups, []member{{"folder_id", id(), false}})
	}
	return wrap(f.Member(l), requestSchema(name, groups...))
}

// Commit is the body of a commit: of {application_revision}, whose other
// name is application_revision_commit.
func (f Family) Commit() Schema {
	name := f.Member(entity.LevelRevision)
	record := requestSchema(title(name)+"Commit", f.draftMembers(true), f.parentInputs(""), f.parentInputs("_variant"), []member{
		{"message", text(), false},
		{"data", f.dataRequest(), false},
		{"delta", f.deltaRequest(), false},
		{"base_revision_id", id(), false},
	})
	return requestSchema("", []member{{name, record, false}, {name + "_commit", record, false}}, f.viewMembers())
}

// SimpleWrite is the body that makes or edits a simple record.
func (f Family) SimpleWrite(create bool) Schema {
	name, draft := "Simple"+title(f.Name)+"Edit", f.draftMembers(create)
	if create {
		name, draft = "Simple"+title(f.Name)+"Create", needing(draft, "slug")
	}
	return wrap(f.Name, requestSchema(name, draft, []member{
		{"folder_id", id(), false},
		{"message", text(), false},
		{"data", f.dataRequest(), false},
		{"variant_id", map[string]any{"readOnly": true}, false},
	}))
}

// Fork is the body of a fork.
func (f Family) Fork() Schema {
	variant, revision := f.Member(entity.LevelVariant), f.Member(entity.LevelRevision)
	refs := []member{{variant + "_ref", Reference(), false}, {revision + "_ref", Reference(), false}}
	return wrap(variant, requestSchema(title(variant)+"Fork", f.draftMembers(true), f.parentInputs(""), refs), refs...)
}

func (f Family) refMembers() []member {
	out := make([]member, 0, int(entity.LevelRevision))
	for _, l := range [...]entity.Level{entity.LevelArtifact, entity.LevelVariant, entity.LevelRevision} {
		out = append(out, member{f.Member(l) + "_ref", Reference(), false})
	}
	return out
}

// retrievalMembers lead to a revision, directly or through an environment.
func (f Family) retrievalMembers() [][]member {
	groups := [][]member{f.refMembers(), {{"key", text(), false}}}
	if f.Kind != entity.Environment {
		groups = append(groups, For(entity.Environments()).refMembers())
	}
	return groups
}

func resolutionMembers() []member {
	return []member{
		{"max_depth", whole(1), false},
		{"max_embeds", whole(1), false},
		{"error_policy", oneOf(string(entity.FailOnError), string(entity.PlaceholderOnError), string(entity.KeepOnError)), false},
	}
}

// Retrieve is the body of retrieve. Source: contract §5.3.
func (f Family) Retrieve() Schema {
	groups := append(f.retrievalMembers(), []member{{"resolve", boolean(), false}}, resolutionMembers(), f.viewMembers())
	if f.Kind == entity.Testset {
		groups = append(groups, []member{{"windowing", windowOfRows(), false}})
	}
	if f.Kind == entity.Query {
		groups = append(groups, []member{
			{"include_trace_ids", boolean(), false}, {"include_traces", boolean(), false}, {"windowing", requestSchema("ListWindow", windowMembers()), false},
		})
	}
	return requestSchema("", groups...)
}

// Deploy is the body of deploy. Source: contract §5.4.
func (f Family) Deploy() Schema {
	return requestSchema("", append(f.retrievalMembers(), []member{{"message", text(), false}})...)
}

// Resolve is the body of resolve: references, or a revision that was not committed.
func (f Family) Resolve() Schema {
	return requestSchema("", append(f.retrievalMembers(), resolutionMembers(), []member{
		{f.Member(entity.LevelRevision), free(), false},
		{"resolve", map[string]any{"readOnly": true}, false},
		{"include_archived", map[string]any{"readOnly": true}, false},
	})...)
}

// Retrieved is the reply of retrieve.
func (f Family) Retrieved() Schema {
	info := replySchema("RetrievalInfo", []member{
		{"references", mapOf(referenceReply()), true},
		{"selector", Schema{Schema: objectOf(false, [][]member{{{"key", text(), true}}})}, false},
	})
	members := []member{
		{"count", whole(0), true},
		{f.Member(entity.LevelRevision), f.Record(entity.LevelRevision), false},
		{"retrieval_info", info, false},
		{"resolution_info", entity.ResolutionInfo{}, false},
	}
	if f.Kind == entity.Query {
		members = append(members, member{"windowing", domain.Window{}, false})
	}
	return replySchema("", members)
}

// Resolved is the reply of resolve. A revision that was sent comes back as it was, resolved.
func (f Family) Resolved() Schema {
	return replySchema("", []member{{"count", whole(0), true}, {f.Member(entity.LevelRevision), free(), false}, {"resolution_info", entity.ResolutionInfo{}, false}})
}

// Log is the body of log; the record may also stand under the family's other names.
func (f Family) Log() Schema {
	names := []string{f.Name + "_id", "artifact_id", f.Name + "_variant_id", "variant_id", f.Name + "_revision_id", "revision_id"}
	if f.Kind == entity.Workflow && f.Name != string(entity.Workflow) {
		names = append(names, "workflow_id", "workflow_variant_id", "workflow_revision_id")
	}
	ids := make([]member, len(names))
	for i, name := range names {
		ids[i] = member{name, id(), false}
	}
	record := requestSchema(title(f.Name)+"Log", ids, []member{{"depth", whole(1), false}, {"include_archived", boolean(), false}})
	return requestSchema("", []member{
		{f.Members(entity.LevelRevision), record, false}, {f.Name, record, false}, {f.Member(entity.LevelRevision), record, false}, {f.Name + "_revisions_log", record, false},
	}, f.viewMembers())
}

// Query is the body of a list of one level. Source: interface.md §2.11.
func (f Family) Query(l entity.Level) Schema {
	groups := [][]member{
		{{f.Member(l), f.filterSchema(l), false}, {"include_archived", boolean(), false}, {"windowing", requestSchema("ListWindow", windowMembers()), false}},
	}
	for level := entity.LevelArtifact; level <= l; level++ {
		name := f.Member(level)
		group := []member{{name + "_refs", listOf(Reference()), false}}
		if level < l {
			group = append(group,
				member{name + "_id", id(), false}, member{name + "_slug", text(), false},
				member{name + "_ids", listOf(id()), false}, member{name + "_slugs", listOf(text()), false})
		}
		groups = append(groups, group)
	}
	if l == entity.LevelRevision {
		groups = append(groups, f.viewMembers())
	}
	return requestSchema("", groups...)
}

// filterMembers are what records of every kind are chosen by.
func filterMembers() []member {
	return []member{
		{"name", text(), false},
		{"description", text(), false},
		{"slug", text(), false},
		{"slugs", listOf(text()), false},
		{"flags", free(), false},
		{"tags", free(), false},
		{"meta", free(), false},
	}
}

func (f Family) filterSchema(l entity.Level) Schema {
	members := filterMembers()
	switch l {
	case entity.LevelRevision:
		members = append(members,
			member{"message", text(), false}, member{"author", id(), false}, member{"authors", listOf(id()), false},
			member{"date", moment(), false}, member{"dates", listOf(moment()), false})
	case entity.LevelArtifact:
		members = append(members, member{"folder_id", id(), false})
	default:
	}
	return requestSchema(title(f.Member(l))+"Filter", members)
}
