package entity

import (
	"maps"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The JSON forms below are those of contract §5.1 and §5.2: nulls are
// omitted, parents are repeated under the family's names, under workflow_*
// for its kind, and under artifact_* and variant_*.

func (r *Record) json() map[string]any {
	m := map[string]any{"id": r.ID, "slug": r.Slug, "created_at": r.CreatedAt.UTC(), "created_by_id": r.CreatedByID}
	put(m, "name", r.Name)
	put(m, "description", r.Description)
	putDocument(m, "flags", r.Flags)
	putDocument(m, "tags", r.Tags)
	putDocument(m, "meta", r.Meta)
	putTime(m, "updated_at", r.UpdatedAt)
	putTime(m, "deleted_at", r.DeletedAt)
	put(m, "updated_by_id", r.UpdatedByID)
	put(m, "deleted_by_id", r.DeletedByID)
	return m
}

func put[T any](m map[string]any, name string, value *T) {
	if value != nil {
		m[name] = *value
	}
}

func putTime(m map[string]any, name string, value *time.Time) {
	if value != nil {
		m[name] = value.UTC()
	}
}

func putDocument(m map[string]any, name string, value Document) {
	if value != nil {
		m[name] = value
	}
}

// parents repeats the ids and slugs of a record's ancestors under every name
// that clients know.
func (f Family) parents(m map[string]any, id uuid.UUID, slug, level string) {
	for _, p := range f.ParentNames(level) {
		m[p+"_id"], m[p+"_slug"] = id, slug
	}
}

// ParentNames returns the prefixes of the members that name the ancestor of one level: "" is the artifact, "_variant" the variant.
func (f Family) ParentNames(level string) []string {
	names := []string{f.Name + level}
	if f.Kind == Workflow && f.Name != string(Workflow) {
		names = append(names, string(Workflow)+level)
	}
	if level == "" {
		return append(names, "artifact")
	}
	return append(names, level[1:])
}

// ArtifactJSON is the wire form of an artifact.
func (f Family) ArtifactJSON(a *Artifact) map[string]any {
	m := a.json()
	put(m, "folder_id", a.FolderID)
	return m
}

// VariantJSON is the wire form of a variant.
func (f Family) VariantJSON(v *Variant) map[string]any {
	m := v.json()
	f.parents(m, v.ArtifactID, v.ArtifactSlug, "")
	return m
}

// RevisionJSON is the wire form of a revision.
func (f Family) RevisionJSON(r *Revision) map[string]any {
	m := r.json()
	f.parents(m, r.ArtifactID, r.ArtifactSlug, "")
	f.parents(m, r.VariantID, r.VariantSlug, "_variant")
	m["version"] = strconv.Itoa(r.Version)
	m["author"] = r.AuthorID
	m["date"] = r.Date.UTC()
	put(m, "message", r.Message)
	putDocument(m, "data", r.Data)
	return m
}

// SimpleJSON is an artifact merged with its latest revision in one flat
// record. A nil revision means that there is none. Source: contract §5.5.
func (f Family) SimpleJSON(a *Artifact, r *Revision) map[string]any {
	m := f.ArtifactJSON(a)
	if r == nil {
		return m
	}
	flags := Document{}
	maps.Copy(flags, r.Flags)
	maps.Copy(flags, a.Flags)
	if len(flags) > 0 {
		m["flags"] = flags
	}
	m["variant_id"], m["revision_id"] = r.VariantID, r.ID
	m["variant_slug"], m["revision_slug"], m["version"] = r.VariantSlug, r.Slug, strconv.Itoa(r.Version)
	putDocument(m, "data", r.Data)
	return m
}

// ReferencesJSON names the three levels of a revision's lineage:
// application, application_variant, application_revision.
func (f Family) ReferencesJSON(r *Revision) map[string]any {
	return map[string]any{
		f.artifact(): map[string]any{"id": r.ArtifactID, "slug": r.ArtifactSlug},
		f.variant():  map[string]any{"id": r.VariantID, "slug": r.VariantSlug},
		f.revision(): map[string]any{"id": r.ID, "slug": r.Slug, "version": strconv.Itoa(r.Version)},
	}
}
