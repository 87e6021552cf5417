package entities

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/migrations/schema"
)

// FolderQuery selects folders; the zero FolderQuery selects all.
type FolderQuery struct {
	Flags, Tags, Meta entity.Document
	// Name and Description are substrings, in any case.
	Name, Description string
	// Slugs are exact, any of them; nil means any.
	Slugs []string
	// OfParent tells that Parent is given; a nil Parent is then the root.
	OfParent bool
	Parent   *uuid.UUID
	// Path is one folder, Prefix a folder with all below it.
	Path, Prefix string
	// Refs restrict to what they name; nil restricts nothing.
	Refs   []domain.Reference
	Window domain.Window
}

// Folder gives a folder; nil when there is none. Source: contract §5.8.
func (r *Registry) Folder(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*entity.Folder, error) {
	f := new(entity.Folder)
	err := r.pool.QueryRow(ctx, `SELECT `+schema.FolderColumns+` FROM folders f WHERE f.project_id = $1 AND f.id = $2`, uuid.UUID(project), id).Scan(f.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as Artifact
	}
	if err != nil {
		return nil, failed(err, "reading a folder")
	}
	return f, nil
}

// Folders gives a page of folders, by creation.
func (r *Registry) Folders(ctx context.Context, project domain.ProjectID, q FolderQuery) (domain.Page[*entity.Folder], error) {
	common := Query{Flags: q.Flags, Tags: q.Tags, Meta: q.Meta, Name: q.Name, Description: q.Description, Slugs: q.Slugs}
	b := common.filter(dollar().Select(schema.FolderColumns).From("folders f").Where("f.project_id = ?", uuid.UUID(project)), "f")
	switch {
	case q.OfParent && q.Parent == nil:
		b = b.Where("f.parent_id IS NULL")
	case q.OfParent:
		b = b.Where("f.parent_id = ?", *q.Parent)
	default:
	}
	if q.Path != "" {
		b = b.Where("f.path = ?", q.Path)
	}
	if q.Prefix != "" {
		b = b.Where("(f.path = ? OR starts_with(f.path, ?))", q.Prefix, q.Prefix+"/")
	}
	if q.Refs != nil {
		b = b.Where(anyOf("f", q.Refs))
	}
	return page(ctx, r, b, "f", q.Window, r.cfg.MaxPage, func(f *entity.Folder) (uuid.UUID, []any) { return f.ID, f.Targets() })
}
