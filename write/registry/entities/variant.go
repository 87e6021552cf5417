package entities

import (
	"context"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// CreateVariant makes a variant without revisions. An artifact that is not
// there is NotFound, a slug that is taken a Conflict.
func (r *Registry) CreateVariant(ctx context.Context, caller domain.Principal, f entity.Family, artifact uuid.UUID, d registry.RecordFields) (entity.Variant, error) {
	var made entity.Variant
	err := r.db.Transact(ctx, "creating "+f.Name+" variant", func(tx pgx.Tx) error {
		a, err := within(tx, caller.Project).loadArtifact(ctx, f, artifact)
		if err != nil {
			return err
		}
		if a == nil {
			return domain.E(domain.NotFound, "There is no %s with the id %s.", f.Name, artifact)
		}
		if err := mayChange(caller, f, a.Flags); err != nil {
			return err
		}
		made, err = r.createVariant(ctx, tx, caller, f, a, d)
		return err
	})
	return made, err
}

func (r *Registry) createVariant(ctx context.Context, tx pgx.Tx, caller domain.Principal, f entity.Family, a *entity.Artifact, d registry.RecordFields) (entity.Variant, error) {
	if err := entity.CheckSlug(d.Slug, "body", f.Member(entity.LevelVariant), "slug"); err != nil {
		return entity.Variant{}, err
	}
	if d.Name == nil {
		d.Name = &d.Slug
	}
	record, err := r.db.NewRecord(caller, f, d, uuid.Nil)
	if err != nil {
		return entity.Variant{}, err
	}
	v := entity.Variant{Record: record, ArtifactID: a.ID, ArtifactSlug: a.Slug, ArtifactFlags: a.Flags}
	v.Flags = roles(f, a.Flags, d.Flags)
	_, err = tx.Exec(ctx, `
INSERT INTO variants (project_id, id, kind, artifact_id, slug, name, description, flags, tags, meta, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		uuid.UUID(caller.Project), v.ID, f.Kind, v.ArtifactID, v.Slug, v.Name, v.Description, v.Flags, v.Tags, v.Meta, v.CreatedAt, v.CreatedByID)
	if registry.Violates(err, "variants_slug") {
		return entity.Variant{}, entity.SlugConflict(v.Slug)
	}
	return v, err
}

// roles are the flags of a variant: those of its artifact that say what it is
// used as, and whatever the caller flagged.
func roles(f entity.Family, artifactFlags, given entity.Document) entity.Document {
	if f.Kind != entity.Workflow {
		return given
	}
	flags := entity.Document{}
	maps.Copy(flags, entity.Own(given))
	for _, role := range []string{entity.FlagApplication, entity.FlagEvaluator, entity.FlagSnippet} {
		flags[role] = artifactFlags[role] == true
	}
	return flags
}

// EditVariant replaces name, description, flags, tags and meta. Nil means that
// there is no such variant, or that it is archived. Source: contract §5.1.
func (r *Registry) EditVariant(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, d registry.RecordFields) (*entity.Variant, error) {
	var edited *entity.Variant
	err := r.db.Transact(ctx, "editing "+f.Name+" variant", func(tx pgx.Tx) error {
		v, err := within(tx, caller.Project).lockVariant(ctx, f, id)
		if err != nil || v == nil || v.Archived() {
			return err
		}
		if err := registry.CheckSameSlug(d.Slug, v.Slug); err != nil {
			return err
		}
		if err := mayChange(caller, f, v.ArtifactFlags); err != nil {
			return err
		}
		v.Name, v.Description, v.Flags, v.Tags, v.Meta = d.Name, d.Description, roles(f, v.ArtifactFlags, d.Flags), d.Tags, d.Meta
		r.db.Touch(caller, &v.Record)
		edited = v
		_, err = tx.Exec(ctx, `
UPDATE variants SET name = $3, description = $4, flags = $5, tags = $6, meta = $7, updated_at = $8, updated_by_id = $9
WHERE project_id = $1 AND id = $2`,
			uuid.UUID(caller.Project), id, v.Name, v.Description, v.Flags, v.Tags, v.Meta, v.UpdatedAt, v.UpdatedByID)
		return err
	})
	return edited, err
}

// SetVariantArchived hides a variant and its revisions, or shows it again with
// those of its revisions that were archived with it: a revision that had been
// archived before stays archived. Nil means that there is none. Source: contract §5.1.
func (r *Registry) SetVariantArchived(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, archived bool) (*entity.Variant, error) {
	var changed *entity.Variant
	err := r.db.Transact(ctx, "archiving "+f.Name+" variant", func(tx pgx.Tx) error {
		v, err := within(tx, caller.Project).lockVariant(ctx, f, id)
		changed = v
		if err != nil || v == nil || v.Archived() == archived {
			return err
		}
		if err := mayChange(caller, f, v.ArtifactFlags); err != nil {
			return err
		}
		before := v.DeletedAt
		r.db.SetArchived(caller, &v.Record, archived)
		if err := storeArchived(ctx, tx, caller, "variants", &v.Record); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
UPDATE revisions SET deleted_at = $3, deleted_by_id = $4, updated_at = $5, updated_by_id = $6
WHERE project_id = $1 AND variant_id = $2 AND deleted_at IS NOT DISTINCT FROM $7`,
			uuid.UUID(caller.Project), id, v.DeletedAt, v.DeletedByID, v.UpdatedAt, v.UpdatedByID, before)
		return err
	})
	return changed, err
}

// EditRevision replaces name, description, flags, tags and meta; the data of a
// revision never changes. Flags that follow from the data cannot be edited
// away. Nil means that there is no such revision, or that it is archived.
func (r *Registry) EditRevision(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, d registry.RecordFields) (*entity.Revision, error) {
	var edited *entity.Revision
	err := r.db.Transact(ctx, "editing "+f.Name+" revision", func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		v, err := s.lockRevision(ctx, f, id)
		if err != nil || v == nil || v.Archived() {
			return err
		}
		if err := registry.CheckSameSlug(d.Slug, v.Slug); err != nil {
			return err
		}
		if err := mayChange(caller, f, v.ArtifactFlags); err != nil {
			return err
		}
		v.Name, v.Description, v.Flags, v.Tags, v.Meta = d.Name, d.Description, revisionFlags(f, v.Data, v.ArtifactFlags, d.Flags), d.Tags, d.Meta
		r.db.Touch(caller, &v.Record)
		if _, err := tx.Exec(ctx, `
UPDATE revisions SET name = $3, description = $4, flags = $5, tags = $6, meta = $7, updated_at = $8, updated_by_id = $9
WHERE project_id = $1 AND id = $2`,
			uuid.UUID(caller.Project), id, v.Name, v.Description, v.Flags, v.Tags, v.Meta, v.UpdatedAt, v.UpdatedByID); err != nil {
			return err
		}
		edited = v
		return r.show(ctx, s.lookup, f, v)
	})
	return edited, err
}

// SetRevisionArchived hides a revision, or shows it again. A hidden revision is
// not the latest one, and it stays resolvable by its id. Nil means that there is none.
func (r *Registry) SetRevisionArchived(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, archived bool) (*entity.Revision, error) {
	var changed *entity.Revision
	err := r.db.Transact(ctx, "archiving "+f.Name+" revision", func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		v, err := s.lockRevision(ctx, f, id)
		changed = v
		if err != nil || v == nil {
			return err
		}
		if v.Archived() != archived {
			if err := mayChange(caller, f, v.ArtifactFlags); err != nil {
				return err
			}
			r.db.SetArchived(caller, &v.Record, archived)
			if err := storeArchived(ctx, tx, caller, "revisions", &v.Record); err != nil {
				return err
			}
		}
		return r.show(ctx, s.lookup, f, v)
	})
	return changed, err
}
