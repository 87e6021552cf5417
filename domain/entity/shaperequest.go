package entity

// Echoed are the members of a record that only the service sets: a client may
// send them back as it got them, and they mean nothing then.
func (f Family) Echoed() []string {
	return []string{
		"created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id", "version", "author", "date",
		"variant_slug", "revision_slug", "revision_id", "artifact_slug", f.Name + "_slug", f.Name + "_variant_slug", f.Name + "_revision_id",
		"workflow_slug", "workflow_variant_slug", "additional_context",
	}
}

// draftMembers are what every new or edited record may say of itself.
func (f Family) draftMembers(create bool) []member {
	echoed := f.Echoed()
	members := append(make([]member, 0, 7+len(echoed)),
		member{"id", id(), !create},
		member{"slug", map[string]any{"type": "string", "pattern": SlugPattern}, false},
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
	names := f.parentNames(level)
	out := make([]member, 0, len(names))
	for _, prefix := range names {
		out = append(out, member{prefix + "_id", id(), false})
	}
	return out
}

// wrap puts a record under its member's name, under which it must be there.
func wrap(name string, record Shape, more ...member) Shape {
	return requestShape("", []member{{name, record, true}}, more)
}

// WriteShape is the body that makes or edits a record of a level.
func (f Family) WriteShape(l Level, create bool) Shape {
	name := title(f.Member(l)) + "Edit"
	draft := f.draftMembers(create)
	if create {
		name = title(f.Member(l)) + "Create"
		draft = needing(draft, "slug")
	}
	groups := [][]member{draft}
	switch l {
	case LevelVariant:
		groups = append(groups, f.parentInputs(""))
	case LevelRevision:
		groups = append(groups, f.parentInputs(""), f.parentInputs("_variant"), []member{{"message", text(), false}, {"data", map[string]any{"readOnly": true}, false}})
		return wrap(f.Member(l), requestShape(name, groups...), f.viewMembers()...)
	default:
		groups = append(groups, []member{{"folder_id", id(), false}})
	}
	return wrap(f.Member(l), requestShape(name, groups...))
}

// CommitShape is the body of a commit: of {application_revision}, whose other
// name is application_revision_commit.
func (f Family) CommitShape() Shape {
	name := f.Member(LevelRevision)
	record := requestShape(title(name)+"Commit", f.draftMembers(true), f.parentInputs(""), f.parentInputs("_variant"), []member{
		{"message", text(), false},
		{"data", f.dataRequest(), false},
		{"delta", f.deltaRequest(), false},
		{"base_revision_id", id(), false},
	})
	return requestShape("", []member{{name, record, false}, {name + "_commit", record, false}}, f.viewMembers())
}

// SimpleWriteShape is the body that makes or edits a simple record.
func (f Family) SimpleWriteShape(create bool) Shape {
	name, draft := "Simple"+title(f.Name)+"Edit", f.draftMembers(create)
	if create {
		name, draft = "Simple"+title(f.Name)+"Create", needing(draft, "slug")
	}
	return wrap(f.Name, requestShape(name, draft, []member{
		{"folder_id", id(), false},
		{"message", text(), false},
		{"data", f.dataRequest(), false},
		{"variant_id", map[string]any{"readOnly": true}, false},
	}))
}

// ForkShape is the body of a fork.
func (f Family) ForkShape() Shape {
	variant, revision := f.Member(LevelVariant), f.Member(LevelRevision)
	refs := []member{{variant + "_ref", ReferenceShape(), false}, {revision + "_ref", ReferenceShape(), false}}
	return wrap(variant, requestShape(title(variant)+"Fork", f.draftMembers(true), f.parentInputs(""), refs), refs...)
}

func (f Family) refMembers() []member {
	out := make([]member, 0, int(LevelRevision))
	for _, l := range [...]Level{LevelArtifact, LevelVariant, LevelRevision} {
		out = append(out, member{f.Member(l) + "_ref", ReferenceShape(), false})
	}
	return out
}

// retrievalMembers lead to a revision, directly or through an environment.
func (f Family) retrievalMembers() [][]member {
	groups := [][]member{f.refMembers(), {{"key", text(), false}}}
	if f.Kind != Environment {
		groups = append(groups, Environments().refMembers())
	}
	return groups
}

func resolutionMembers() []member {
	return []member{
		{"max_depth", whole(1), false},
		{"max_embeds", whole(1), false},
		{"error_policy", oneOf(string(FailOnError), string(PlaceholderOnError), string(KeepOnError)), false},
	}
}

// RetrieveShape is the body of retrieve. Source: contract §5.3.
func (f Family) RetrieveShape() Shape {
	groups := append(f.retrievalMembers(), []member{{"resolve", boolean(), false}}, resolutionMembers(), f.viewMembers())
	if f.Kind == Testset {
		groups = append(groups, []member{{"windowing", windowOfRows(), false}})
	}
	return requestShape("", groups...)
}

// DeployShape is the body of deploy. Source: contract §5.4.
func (f Family) DeployShape() Shape {
	return requestShape("", append(f.retrievalMembers(), []member{{"message", text(), false}})...)
}

// ResolveShape is the body of resolve: references, or a revision that was not committed.
func (f Family) ResolveShape() Shape {
	return requestShape("", append(f.retrievalMembers(), resolutionMembers(), []member{
		{f.Member(LevelRevision), free(), false},
		{"resolve", map[string]any{"readOnly": true}, false},
		{"include_archived", map[string]any{"readOnly": true}, false},
	})...)
}

// RetrievedShape is the reply of retrieve.
func (f Family) RetrievedShape() Shape {
	info := replyShape("RetrievalInfo", []member{
		{"references", mapOf(referenceReply()), true},
		{"selector", Shape{Schema: objectOf(false, [][]member{{{"key", text(), true}}})}, false},
	})
	return replyShape("", []member{
		{"count", whole(0), true},
		{f.Member(LevelRevision), f.RecordShape(LevelRevision), false},
		{"retrieval_info", info, false},
		{"resolution_info", ResolutionInfo{}, false},
	})
}

// ResolvedShape is the reply of resolve. A revision that was sent comes back as it was, resolved.
func (f Family) ResolvedShape() Shape {
	return replyShape("", []member{{"count", whole(0), true}, {f.Member(LevelRevision), free(), false}, {"resolution_info", ResolutionInfo{}, false}})
}

// LogShape is the body of log; the record may also stand under the family's other names.
func (f Family) LogShape() Shape {
	names := []string{f.Name + "_id", "artifact_id", f.Name + "_variant_id", "variant_id", f.Name + "_revision_id", "revision_id"}
	if f.Kind == Workflow && f.Name != string(Workflow) {
		names = append(names, "workflow_id", "workflow_variant_id", "workflow_revision_id")
	}
	ids := make([]member, len(names))
	for i, name := range names {
		ids[i] = member{name, id(), false}
	}
	record := requestShape(title(f.Name)+"Log", ids, []member{{"depth", whole(1), false}, {"include_archived", boolean(), false}})
	return requestShape("", []member{
		{f.Members(LevelRevision), record, false}, {f.Name, record, false}, {f.Member(LevelRevision), record, false}, {f.Name + "_revisions_log", record, false},
	}, f.viewMembers())
}

// QueryShape is the body of a list of one level. Source: interface.md §2.11.
func (f Family) QueryShape(l Level) Shape {
	groups := [][]member{
		{{f.Member(l), f.filterShape(l), false}, {"include_archived", boolean(), false}, {"windowing", requestShape("ListWindow", windowMembers()), false}},
	}
	for level := LevelArtifact; level <= l; level++ {
		name := f.Member(level)
		group := []member{{name + "_refs", listOf(ReferenceShape()), false}}
		if level < l {
			group = append(group,
				member{name + "_id", id(), false}, member{name + "_slug", text(), false},
				member{name + "_ids", listOf(id()), false}, member{name + "_slugs", listOf(text()), false})
		}
		groups = append(groups, group)
	}
	if l == LevelRevision {
		groups = append(groups, f.viewMembers())
	}
	return requestShape("", groups...)
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

func (f Family) filterShape(l Level) Shape {
	members := filterMembers()
	switch l {
	case LevelRevision:
		members = append(members,
			member{"message", text(), false}, member{"author", id(), false}, member{"authors", listOf(id()), false},
			member{"date", moment(), false}, member{"dates", listOf(moment()), false})
	case LevelArtifact:
		members = append(members, member{"folder_id", id(), false})
	default:
	}
	return requestShape(title(f.Member(l))+"Filter", members)
}
