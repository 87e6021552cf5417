package entities

import (
	"context"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry"
	"colonnade/write/registry/folders"
)

// ArtifactDraft asks for an artifact.
type ArtifactDraft struct {
	registry.RecordFields
	// ID is chosen by the caller; the zero UUID means a new one.
	ID uuid.UUID
	// FolderID is where a person keeps it; nil means nowhere.
	FolderID *uuid.UUID
}

const guarded = "This environment is guarded. You do not have access to change it. Please contact your organization admin."

// mayChange refuses changes of a guarded environment by callers without the
// permission. Source: contract §5.4, §5.6.
func mayChange(caller domain.Principal, f entity.Family, artifactFlags entity.Document) error {
	if f.Kind != entity.Environment || artifactFlags[entity.FlagGuarded] != true || domain.Allows(caller.Role, domain.GuardEnvironments) {
		return nil
	}
	return domain.E(domain.Forbidden, guarded)
}

// CreateArtifact makes an artifact without variants. A slug that is taken is a Conflict.
func (r *Registry) CreateArtifact(ctx context.Context, caller domain.Principal, f entity.Family, d ArtifactDraft) (entity.Artifact, error) {
	var made entity.Artifact
	err := r.db.Transact(ctx, "creating "+f.Name, func(tx pgx.Tx) (err error) {
		made, err = r.createArtifact(ctx, tx, caller, f, d)
		return err
	})
	return made, err
}

func (r *Registry) createArtifact(ctx context.Context, tx pgx.Tx, caller domain.Principal, f entity.Family, d ArtifactDraft) (entity.Artifact, error) {
	if err := entity.CheckSlug(d.Slug, "body", f.Name, "slug"); err != nil {
		return entity.Artifact{}, err
	}
	if err := r.db.CheckQuota(ctx, tx, caller.Project); err != nil {
		return entity.Artifact{}, err
	}
	record, err := r.db.NewRecord(caller, f, d.RecordFields, d.ID)
	if err != nil {
		return entity.Artifact{}, err
	}
	if err := folders.Check(ctx, tx, caller.Project, d.FolderID); err != nil {
		return entity.Artifact{}, err
	}
	a := entity.Artifact{Record: record, FolderID: d.FolderID}
	a.Flags = f.ArtifactFlags(d.Flags)
	if err := mayChange(caller, f, a.Flags); err != nil {
		return entity.Artifact{}, err
	}
	_, err = tx.Exec(ctx, `
INSERT INTO artifacts (project_id, id, kind, slug, name, description, flags, tags, meta, folder_id, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		uuid.UUID(caller.Project), a.ID, f.Kind, a.Slug, a.Name, a.Description, a.Flags, a.Tags, a.Meta, a.FolderID, a.CreatedAt, a.CreatedByID)
	switch {
	case registry.Violates(err, "artifacts_slug"):
		return entity.Artifact{}, entity.SlugConflict(a.Slug)
	case registry.Violates(err, "artifacts_pkey"):
		return entity.Artifact{}, &domain.Error{Kind: domain.Conflict, Message: "A resource with this id already exists.", Detail: map[string]any{
			"message": "A resource with this id already exists.", "conflict": map[string]any{"id": a.ID},
		}}
	default:
		return a, err
	}
}

// EditArtifact changes what the draft gives and leaves the rest; flags change
// as a whole. Nil means that there is no such artifact, or that it is
// archived. Source: contract §5.1.
func (r *Registry) EditArtifact(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, d ArtifactDraft) (*entity.Artifact, error) {
	var edited *entity.Artifact
	err := r.db.Transact(ctx, "editing "+f.Name, func(tx pgx.Tx) (err error) {
		edited, err = r.editArtifact(ctx, tx, caller, f, id, d)
		return err
	})
	return edited, err
}

func (r *Registry) editArtifact(ctx context.Context, tx pgx.Tx, caller domain.Principal, f entity.Family, id uuid.UUID, d ArtifactDraft) (*entity.Artifact, error) {
	a, err := within(tx, caller.Project).lockArtifact(ctx, f, id)
	if err != nil || a == nil || a.Archived() {
		return nil, err
	}
	if err := registry.CheckSameSlug(d.Slug, a.Slug); err != nil {
		return nil, err
	}
	if err := mayChange(caller, f, a.Flags); err != nil {
		return nil, err
	}
	registry.SetField(&a.Name, d.Name)
	registry.SetField(&a.Description, d.Description)
	registry.SetDocument(&a.Tags, d.Tags)
	registry.SetDocument(&a.Meta, d.Meta)
	if err := folders.Check(ctx, tx, caller.Project, d.FolderID); err != nil {
		return nil, err
	}
	registry.SetField(&a.FolderID, d.FolderID)
	if d.Flags != nil {
		a.Flags = f.ArtifactFlags(d.Flags)
		if err := mayChange(caller, f, a.Flags); err != nil {
			return nil, err
		}
	}
	r.db.Touch(caller, &a.Record)
	_, err = tx.Exec(ctx, `
UPDATE artifacts SET name = $3, description = $4, flags = $5, tags = $6, meta = $7, folder_id = $8, updated_at = $9, updated_by_id = $10
WHERE project_id = $1 AND id = $2`,
		uuid.UUID(caller.Project), id, a.Name, a.Description, a.Flags, a.Tags, a.Meta, a.FolderID, a.UpdatedAt, a.UpdatedByID)
	return a, err
}

// SetArtifactArchived hides an artifact from queries, or shows it again; its
// variants and revisions stay as they are. Nil means that there is none. Source:
// interface.md §3.
func (r *Registry) SetArtifactArchived(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, archived bool) (*entity.Artifact, error) {
	var changed *entity.Artifact
	err := r.db.Transact(ctx, "archiving "+f.Name, func(tx pgx.Tx) error {
		a, err := within(tx, caller.Project).lockArtifact(ctx, f, id)
		changed = a
		if err != nil || a == nil || a.Archived() == archived {
			return err
		}
		if err := mayChange(caller, f, a.Flags); err != nil {
			return err
		}
		r.db.SetArchived(caller, &a.Record, archived)
		return storeArchived(ctx, tx, caller, "artifacts", &a.Record)
	})
	return changed, err
}

// storeArchived writes the four columns of a record's archived state; table is
// one of the three lineage tables.
func storeArchived(ctx context.Context, tx pgx.Tx, caller domain.Principal, table string, record *entity.Record) error {
	_, err := tx.Exec(ctx, `UPDATE `+table+` SET deleted_at = $3, deleted_by_id = $4, updated_at = $5, updated_by_id = $6 WHERE project_id = $1 AND id = $2`,
		uuid.UUID(caller.Project), record.ID, record.DeletedAt, record.DeletedByID, record.UpdatedAt, record.UpdatedByID)
	return err
}

// Guard closes an environment to callers without the permission, or opens it
// again. Nil means that there is none. Source: contract §5.6.
func (r *Registry) Guard(ctx context.Context, caller domain.Principal, id uuid.UUID, on bool) (*entity.Artifact, error) {
	f := entity.Environments()
	var changed *entity.Artifact
	err := r.db.Transact(ctx, "guarding an environment", func(tx pgx.Tx) error {
		a, err := within(tx, caller.Project).lockArtifact(ctx, f, id)
		changed = a
		if err != nil || a == nil {
			return err
		}
		flags := entity.Document{}
		maps.Copy(flags, a.Flags)
		flags[entity.FlagGuarded] = on
		a.Flags = flags
		r.db.Touch(caller, &a.Record)
		_, err = tx.Exec(ctx, `UPDATE artifacts SET flags = $3, updated_at = $4, updated_by_id = $5 WHERE project_id = $1 AND id = $2`,
			uuid.UUID(caller.Project), id, a.Flags, a.UpdatedAt, a.UpdatedByID)
		return err
	})
	return changed, err
}
