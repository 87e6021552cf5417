package schema

import (
	"strconv"

	"github.com/google/uuid"
)

// Columns and joins of the tables of versioned entities in Postgres. Both sides select these
// columns in this order and scan them into the addresses that
// entity.Artifact.Targets, entity.Variant.Targets and entity.Revision.Targets
// return, entity.Folder.Targets, and testset.Testcase.Targets. The aliases are a,
// v, r, f and t.
const (
	ArtifactColumns = `a.id, a.kind, a.slug, a.name, a.description, a.flags, a.tags, a.meta,
	a.created_at, a.updated_at, a.deleted_at, a.created_by_id, a.updated_by_id, a.deleted_by_id, a.folder_id`

	VariantColumns = `v.id, v.kind, v.slug, v.name, v.description, v.flags, v.tags, v.meta,
	v.created_at, v.updated_at, v.deleted_at, v.created_by_id, v.updated_by_id, v.deleted_by_id, a.id, a.slug, a.flags`

	RevisionColumns = `r.id, r.kind, r.slug, r.name, r.description, r.flags, r.tags, r.meta,
	r.created_at, r.updated_at, r.deleted_at, r.created_by_id, r.updated_by_id, r.deleted_by_id,
	a.id, a.slug, a.flags, v.id, v.slug, r.version, r.author_id, r.date, r.message, r.data`

	FolderColumns = `f.id, f.kind, f.slug, f.name, f.description, f.flags, f.tags, f.meta,
	f.created_at, f.updated_at, f.deleted_at, f.created_by_id, f.updated_by_id, f.deleted_by_id, f.parent_id, f.path`

	TestcaseColumns = `t.id, t.testset_id, t.data, t.flags, t.tags, t.meta, t.created_at, t.created_by_id`

	ArtifactTables = `artifacts a`

	VariantTables = `variants v
	JOIN artifacts a ON a.project_id = v.project_id AND a.id = v.artifact_id`

	RevisionTables = `revisions r
	JOIN variants v ON v.project_id = r.project_id AND v.id = r.variant_id
	JOIN artifacts a ON a.project_id = r.project_id AND a.id = r.artifact_id`
)

// The pieces of the statements with which a revision is found by a reference.
// Their arguments are $1 the project, $2 the kind, $3 an id or a slug, and
// then, where they are needed, the slug that must agree with an id and the version.
const (
	revisionOf = `SELECT ` + RevisionColumns + ` FROM ` + RevisionTables + ` WHERE r.project_id = $1`

	revisionByID   = revisionOf + ` AND r.kind = $2 AND r.id = $3 AND ($4::text = '' OR r.slug = $4)`
	revisionBySlug = revisionOf + ` AND r.kind = $2 AND r.slug = $3`

	variantByID   = revisionOf + ` AND r.variant_id = (SELECT id FROM variants WHERE project_id = $1 AND kind = $2 AND id = $3 AND ($4::text = '' OR slug = $4))`
	variantBySlug = revisionOf + ` AND r.variant_id = (SELECT id FROM variants WHERE project_id = $1 AND kind = $2 AND slug = $3)`

	// The default variant of an artifact is its oldest live one.
	defaultOf = revisionOf + ` AND r.variant_id = (
	SELECT d.id FROM variants d JOIN artifacts b ON b.project_id = d.project_id AND b.id = d.artifact_id
	WHERE b.project_id = $1 AND b.kind = $2 AND d.deleted_at IS NULL AND `
	oldest        = ` ORDER BY d.created_at, d.id LIMIT 1)`
	defaultByID   = defaultOf + `b.id = $3 AND ($4::text = '' OR b.slug = $4)` + oldest
	defaultBySlug = defaultOf + `b.slug = $3` + oldest

	newest = ` AND r.deleted_at IS NULL ORDER BY r.version DESC LIMIT 1`
)

// The levels of a lineage, as in entity.Level.
const (
	levelVariant  = 2
	levelRevision = 3
)

// FindRevision is the statement that finds the revision which a reference of
// this level names, and its arguments after the project and the kind. A nil
// version means the latest live revision; a revision's own reference needs none.
func FindRevision(level int, id uuid.UUID, slug string, version *int) (sql string, args []any) {
	var byID, bySlug string
	switch level {
	case levelRevision:
		byID, bySlug = revisionByID, revisionBySlug
	case levelVariant:
		byID, bySlug = variantByID, variantBySlug
	default:
		byID, bySlug = defaultByID, defaultBySlug
	}
	sql, args = bySlug, []any{slug}
	if id != uuid.Nil {
		sql, args = byID, []any{id, slug}
	}
	switch {
	case level == levelRevision:
		return sql, args
	case version == nil:
		return sql + newest, args
	default:
		args = append(args, *version)
		return sql + ` AND r.version = $` + strconv.Itoa(len(args)+2), args
	}
}

// What an environment's revision holds: $1 the project, $2 its variant, $3 its
// version, $4 the key. An interval begins at from_version and ends before
// until_version.
const (
	ReferencesAt = `SELECT key, entities FROM environment_references
	WHERE project_id = $1 AND variant_id = $2 AND from_version <= $3 AND (until_version IS NULL OR until_version > $3)`
	ReferenceAt = ReferencesAt + ` AND key = $4 ORDER BY from_version DESC LIMIT 1`
)

// TestcasesByID is what a testset's revision holds: $1 the project, $2 the ids.
const TestcasesByID = `SELECT ` + TestcaseColumns + ` FROM testcases t WHERE t.project_id = $1 AND t.id = ANY($2)`
