package entityschema

import "colonnade/domain/entity"

// Folder is the record of a folder as replies have it.
func Folder() Schema {
	return replySchema("Folder", recordMembers(), []member{{"kind", folderKind(), true}, {"path", text(), true}, {"parent_id", id(), false}})
}

// FolderWrite is the body that makes or edits a folder.
func FolderWrite(create bool) Schema {
	name, draft := "FolderEdit", For(entity.Folders()).draftMembers(create)
	if create {
		name, draft = "FolderCreate", needing(draft, "slug")
	}
	return wrap("folder", requestSchema(name, draft, []member{
		{"kind", folderKind(), false},
		{"parent_id", map[string]any{"type": "string", "format": "uuid", "description": "Null is the root."}, false},
		{"path", map[string]any{"readOnly": true}, false},
	}))
}

// FolderQuery is the body of a list of folders.
func FolderQuery() Schema {
	filter := requestSchema("FolderFilter", filterMembers(), []member{
		{"kind", folderKind(), false},
		{"parent_id", map[string]any{"type": "string", "format": "uuid", "description": "Null is the root."}, false},
		{"path", text(), false},
		{"prefix", map[string]any{"type": "string", "description": "A path: that folder and all below it."}, false},
	})
	return requestSchema("", []member{
		{"folder", filter, false},
		{"folder_refs", listOf(Reference()), false},
		{"windowing", requestSchema("ListWindow", windowMembers()), false},
	})
}

func folderKind() map[string]any { return oneOf(string(entity.FolderOfApplications)) }
