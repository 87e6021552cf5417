package entity

import (
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// FolderKind is the kind of artifacts in a folder.
type FolderKind string

// FolderOfApplications is the only kind.
const FolderOfApplications FolderKind = "applications"

// MaxFolderDepth is the greatest depth of nested folders.
const MaxFolderDepth = 32

// Folder is a node of the tree in which members organize artifacts. Its Record has no Kind.
type Folder struct {
	Record
	Of FolderKind
	// ParentID is the parent folder; nil means the root.
	ParentID *uuid.UUID
	// Path has the slugs from the root to the folder, joined by slashes.
	Path string
}

// Targets are the addresses that a row in the order of schema.FolderColumns is scanned into.
func (f *Folder) Targets() []any {
	targets := f.targets()
	targets[1] = &f.Of
	return append(targets, &f.ParentID, &f.Path)
}

// Folders returns the names of folders on the wire; no other part of a family applies to them.
func Folders() Family { return Family{Name: "folder", Plural: "folders"} }

// Below returns the path of a folder of this slug in f; nil is the root. A path that is too deep
// is Rejected.
func (f *Folder) Below(slug string) (string, error) {
	if f == nil {
		return slug, nil
	}
	path := f.Path + "/" + slug
	return path, CheckDepth(path)
}

// CheckDepth rejects a path that is too deep.
func CheckDepth(path string) error {
	if strings.Count(path, "/") >= MaxFolderDepth {
		return domain.E(domain.Rejected, "Folders lie at most %d deep.", MaxFolderDepth)
	}
	return nil
}

// Holds reports whether another folder is f or somewhere below it.
func (f *Folder) Holds(other *Folder) bool {
	return other != nil && (other.ID == f.ID || strings.HasPrefix(other.Path, f.Path+"/"))
}

// JSON returns the wire form.
func (f *Folder) JSON() map[string]any {
	m := f.json()
	m["kind"], m["path"] = f.Of, f.Path
	put(m, "parent_id", f.ParentID)
	return m
}
