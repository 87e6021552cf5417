package entity

import (
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
)

// FolderKind says what a folder holds.
type FolderKind string

// FolderOfApplications is the only kind. Source: contract §5.8.
const FolderOfApplications FolderKind = "applications"

// MaxFolderDepth bounds how deep folders lie in folders.
const MaxFolderDepth = 32

// Folder is a place in the tree in which people keep artifacts. Its Record has
// no kind of the lineage. Source: contract §5.8.
type Folder struct {
	Record
	Of FolderKind
	// ParentID is the folder that it lies in; nil means the root.
	ParentID *uuid.UUID
	// Path is the slugs from the root down, joined by slashes.
	Path string
}

// Targets are the addresses that a row in the order of schema.FolderColumns is scanned into.
func (f *Folder) Targets() []any {
	targets := f.targets()
	targets[1] = &f.Of
	return append(targets, &f.ParentID, &f.Path)
}

// Folders names the members of folders on the wire; nothing else of a family is theirs.
func Folders() Family { return Family{Name: "folder", Plural: "folders"} }

// Below is the path of a folder of this slug in another one; nil is the root.
// One that lies too deep is Rejected.
func (f *Folder) Below(slug string) (string, error) {
	if f == nil {
		return slug, nil
	}
	path := f.Path + "/" + slug
	return path, CheckDepth(path)
}

// CheckDepth refuses a path that leads too deep.
func CheckDepth(path string) error {
	if strings.Count(path, "/") >= MaxFolderDepth {
		return domain.E(domain.Rejected, "Folders lie at most %d deep.", MaxFolderDepth)
	}
	return nil
}

// Holds tells whether another folder is this one or lies somewhere in it.
func (f *Folder) Holds(other *Folder) bool {
	return other != nil && (other.ID == f.ID || strings.HasPrefix(other.Path, f.Path+"/"))
}

// JSON is the wire form.
func (f *Folder) JSON() map[string]any {
	m := f.json()
	m["kind"], m["path"] = f.Of, f.Path
	put(m, "parent_id", f.ParentID)
	return m
}
