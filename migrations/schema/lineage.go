package schema

// Columns and joins of the lineage tables in Postgres. Both wings select these
// columns in this order and scan them into the addresses that
// entity.Artifact.Targets, entity.Variant.Targets and entity.Revision.Targets
// give. The aliases are a, v and r.
const (
	ArtifactColumns = `a.id, a.kind, a.slug, a.name, a.description, a.flags, a.tags, a.meta,
	a.created_at, a.updated_at, a.deleted_at, a.created_by_id, a.updated_by_id, a.deleted_by_id, a.folder_id`

	VariantColumns = `v.id, v.kind, v.slug, v.name, v.description, v.flags, v.tags, v.meta,
	v.created_at, v.updated_at, v.deleted_at, v.created_by_id, v.updated_by_id, v.deleted_by_id, a.id, a.slug, a.flags`

	RevisionColumns = `r.id, r.kind, r.slug, r.name, r.description, r.flags, r.tags, r.meta,
	r.created_at, r.updated_at, r.deleted_at, r.created_by_id, r.updated_by_id, r.deleted_by_id,
	a.id, a.slug, v.id, v.slug, r.version, r.author_id, r.date, r.message, r.data`

	ArtifactTables = `artifacts a`

	VariantTables = `variants v
	JOIN artifacts a ON a.project_id = v.project_id AND a.id = v.artifact_id`

	RevisionTables = `revisions r
	JOIN variants v ON v.project_id = r.project_id AND v.id = r.variant_id
	JOIN artifacts a ON a.project_id = r.project_id AND a.id = r.artifact_id`
)
