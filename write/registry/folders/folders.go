// Package folders holds the commands on the folders that applications are kept in:
// they form a tree, so that a change locks the folders of the project. The rules of
// paths are domain/entity; which folder an artifact is in is written by
// write/registry/entities, which asks Check.
package folders

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/migrations/schema"
	"colonnade/write/registry"
)

// Registry runs the commands on folders. It is safe for concurrent use.
type Registry struct{ db *registry.DB }

// New returns the commands on folders.
func New(db *registry.DB) *Registry { return &Registry{db: db} }

// tree is the folders of one project within a transaction.
type tree struct {
	tx      pgx.Tx
	project domain.ProjectID
}

// FolderDraft is what a caller gives to a folder.
type FolderDraft struct {
	registry.RecordFields
	// Moves tells that Parent is given; a nil Parent is then the root.
	Moves  bool
	Parent *uuid.UUID
}

// CreateFolder makes a folder. A slug that its parent holds already is a
// Conflict, a parent that does not exist is Rejected. Source: contract §5.8.
func (r *Registry) CreateFolder(ctx context.Context, caller domain.Principal, d FolderDraft) (entity.Folder, error) {
	var made entity.Folder
	err := r.db.Transact(ctx, "creating a folder", func(tx pgx.Tx) error {
		if err := entity.CheckSlug(d.Slug, "body", "folder", "slug"); err != nil {
			return err
		}
		s := tree{tx, caller.Project}
		parent, err := s.lockTree(ctx, d.Parent)
		if err != nil {
			return err
		}
		record, err := r.db.NewRecord(caller, entity.Folders(), d.RecordFields, uuid.Nil)
		if err != nil {
			return err
		}
		made = entity.Folder{Record: record, Of: entity.FolderOfApplications, ParentID: d.Parent}
		if made.Path, err = parent.Below(made.Slug); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
INSERT INTO folders (project_id, id, kind, slug, name, description, flags, tags, meta, parent_id, path, created_at, created_by_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			uuid.UUID(caller.Project), made.ID, made.Of, made.Slug, made.Name, made.Description, made.Flags, made.Tags, made.Meta, made.ParentID, made.Path, made.CreatedAt, made.CreatedByID)
		return taken(err, made.Slug)
	})
	return made, err
}

func taken(err error, slug string) error {
	if registry.Violates(err, "folders_path") {
		return entity.SlugConflict(slug)
	}
	return err
}

// lockTree holds off other changes of the project's folders until the end of
// the transaction, so that none is moved into itself by two at once, and gives
// the one that is meant to be the parent: nil for the root.
func (s tree) lockTree(ctx context.Context, parent *uuid.UUID) (*entity.Folder, error) {
	if _, err := s.tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('colonnade.folders.' || $1::text, 0))`, s.project.String()); err != nil {
		return nil, err
	}
	if parent == nil {
		return nil, nil //nolint:nilnil // the root is no folder
	}
	found, err := s.folder(ctx, *parent)
	if err == nil && found == nil {
		err = domain.E(domain.Rejected, "There is no folder %s.", *parent)
	}
	return found, err
}

// folder gives a folder; nil when there is none.
func (s tree) folder(ctx context.Context, id uuid.UUID) (*entity.Folder, error) {
	f := new(entity.Folder)
	err := s.tx.QueryRow(ctx, `SELECT `+schema.FolderColumns+` FROM folders f WHERE f.project_id = $1 AND f.id = $2`, uuid.UUID(s.project), id).Scan(f.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no such folder is an answer
	}
	return f, err
}

// EditFolder changes what the draft gives, and moves the folder with all below
// it where the draft says so. Nil means that there is none.
func (r *Registry) EditFolder(ctx context.Context, caller domain.Principal, id uuid.UUID, d FolderDraft) (*entity.Folder, error) {
	var edited *entity.Folder
	err := r.db.Transact(ctx, "editing a folder", func(tx pgx.Tx) error {
		s := tree{tx, caller.Project}
		parent, err := s.lockTree(ctx, d.Parent)
		if err != nil {
			return err
		}
		edited, err = s.folder(ctx, id)
		if err != nil || edited == nil {
			return err
		}
		if err := registry.CheckSameSlug(d.Slug, edited.Slug); err != nil {
			return err
		}
		registry.SetField(&edited.Name, d.Name)
		registry.SetField(&edited.Description, d.Description)
		registry.SetDocument(&edited.Flags, d.Flags)
		registry.SetDocument(&edited.Tags, d.Tags)
		registry.SetDocument(&edited.Meta, d.Meta)
		if d.Moves {
			if err := s.moveFolder(ctx, edited, parent); err != nil {
				return err
			}
		}
		r.db.Touch(caller, &edited.Record)
		_, err = tx.Exec(ctx, `UPDATE folders SET name = $3, description = $4, flags = $5, tags = $6, meta = $7, updated_at = $8, updated_by_id = $9 WHERE project_id = $1 AND id = $2`,
			uuid.UUID(caller.Project), id, edited.Name, edited.Description, edited.Flags, edited.Tags, edited.Meta, edited.UpdatedAt, edited.UpdatedByID)
		return err
	})
	return edited, err
}

// moveFolder puts a folder and all below it under another parent.
func (s tree) moveFolder(ctx context.Context, f, parent *entity.Folder) error {
	if f.Holds(parent) {
		return domain.E(domain.Rejected, "A folder cannot be moved into itself.")
	}
	path, err := parent.Below(f.Slug)
	if err != nil {
		return err
	}
	rows, err := s.tx.Query(ctx, `
UPDATE folders SET path = $3::text || substr(path, length($2::text) + 1) WHERE project_id = $1 AND (path = $2 OR starts_with(path, $2 || '/')) RETURNING path`,
		uuid.UUID(s.project), f.Path, path)
	if err != nil {
		return err
	}
	moved, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return taken(err, f.Slug)
	}
	for _, p := range moved {
		if err := entity.CheckDepth(p); err != nil {
			return err
		}
	}
	f.Path, f.ParentID = path, nil
	if parent != nil {
		f.ParentID = &parent.ID
	}
	_, err = s.tx.Exec(ctx, `UPDATE folders SET parent_id = $3 WHERE project_id = $1 AND id = $2`, uuid.UUID(s.project), f.ID, f.ParentID)
	return err
}

// DeleteFolder removes a folder and all below it. What lay in them lies nowhere
// then. Nil means that there is none.
func (r *Registry) DeleteFolder(ctx context.Context, caller domain.Principal, id uuid.UUID) (*entity.Folder, error) {
	var gone *entity.Folder
	err := r.db.Transact(ctx, "deleting a folder", func(tx pgx.Tx) error {
		s := tree{tx, caller.Project}
		if _, err := s.lockTree(ctx, nil); err != nil {
			return err
		}
		found, err := s.folder(ctx, id)
		gone = found
		if err != nil || found == nil {
			return err
		}
		// What is being put into them now is waited for, and then taken out as well.
		if _, err := tx.Exec(ctx, `
SELECT FROM folders WHERE project_id = $1 AND (path = $2 OR starts_with(path, $2 || '/')) ORDER BY id FOR UPDATE`, uuid.UUID(caller.Project), found.Path); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
UPDATE artifacts SET folder_id = NULL WHERE project_id = $1
AND folder_id IN (SELECT id FROM folders WHERE project_id = $1 AND (path = $2 OR starts_with(path, $2 || '/')))`, uuid.UUID(caller.Project), found.Path); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM folders WHERE project_id = $1 AND id = $2`, uuid.UUID(caller.Project), id)
		return err
	})
	return gone, err
}

// Check refuses to keep an artifact where no folder is, and keeps the
// folder there until the artifact is in it.
func Check(ctx context.Context, tx pgx.Tx, project domain.ProjectID, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	var found uuid.UUID
	err := tx.QueryRow(ctx, `SELECT id FROM folders WHERE project_id = $1 AND id = $2 FOR KEY SHARE`, uuid.UUID(project), *id).Scan(&found)
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.E(domain.Rejected, "There is no folder %s.", *id)
	}
	return err
}
