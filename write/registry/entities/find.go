package entities

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/migrations/schema"
	"colonnade/write/registry/testcases"
)

// querier runs statements that read. Within a transaction, too, each statement has a
// snapshot of its own (read committed), so that a command that only reads runs its
// statements outside of one and saves two round trips.
type querier interface {
	testcases.Querier
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// lookup reads revisions of a project, within a transaction or outside of one. It
// implements entity.Store for commands.
type lookup struct {
	db      querier
	project domain.ProjectID
}

// finder looks within a command's transaction.
type finder struct {
	lookup
	tx pgx.Tx
}

func within(tx pgx.Tx, project domain.ProjectID) finder { return finder{lookup{tx, project}, tx} }

// Find gives the revision that a target names, if the family owns it.
func (s lookup) Find(ctx context.Context, f entity.Family, t entity.Target) (entity.Revision, bool, error) {
	var version *int
	if t.Version != "" && t.Level != entity.LevelRevision {
		n, ok := t.Number()
		if !ok {
			return entity.Revision{}, false, nil
		}
		version = &n
	}
	sql, args := schema.FindRevision(int(t.Level), t.Ref.ID, t.Ref.Slug, version)
	found, owned, err := s.revision(ctx, f, sql, append([]any{uuid.UUID(s.project), f.Kind}, args...)...)
	return found, owned || t.ByID() && found.ID != uuid.Nil, err
}

func (s lookup) revision(ctx context.Context, f entity.Family, sql string, args ...any) (entity.Revision, bool, error) {
	var r entity.Revision
	err := s.db.QueryRow(ctx, sql, args...).Scan(r.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("registry: finding %s revision: %w", f.Name, err)
	}
	return r, f.Owns(r.ArtifactFlags), nil
}

// Deployed gives an environment revision's entry under a key.
func (s lookup) Deployed(ctx context.Context, environment *entity.Revision, key string) (entity.Entities, bool, error) {
	var name string
	var entities entity.Entities
	err := s.db.QueryRow(ctx, schema.ReferenceAt, uuid.UUID(s.project), environment.VariantID, environment.Version, key).Scan(&name, &entities)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("registry: reading what is deployed: %w", err)
	}
	return entities, true, nil
}

const selectLatest = `SELECT ` + schema.RevisionColumns + ` FROM ` + schema.RevisionTables + `
WHERE r.project_id = $1 AND r.variant_id = $2 AND r.deleted_at IS NULL ORDER BY r.version DESC LIMIT 1`

// latest gives the variant's newest live revision.
func (s finder) latest(ctx context.Context, f entity.Family, variant uuid.UUID) (entity.Revision, bool, error) {
	return s.revision(ctx, f, selectLatest, uuid.UUID(s.project), variant)
}

// references gives all that an environment's variant holds at a version.
func (s lookup) references(ctx context.Context, variant uuid.UUID, version int) (map[string]entity.Entities, error) {
	rows, err := s.db.Query(ctx, schema.ReferencesAt, uuid.UUID(s.project), variant, version)
	if err != nil {
		return nil, fmt.Errorf("registry: reading an environment: %w", err)
	}
	held := map[string]entity.Entities{}
	var key string
	var entities entity.Entities
	_, err = pgx.ForEachRow(rows, []any{&key, &entities}, func() error {
		held[key] = entities
		entities = nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("registry: reading an environment: %w", err)
	}
	return held, nil
}

// The locks are FOR NO KEY UPDATE: a stronger one would wait for every commit
// below the row, whose foreign keys hold it, and deadlock with those that wait
// for this command in turn.
const (
	selectArtifact = `SELECT ` + schema.ArtifactColumns + ` FROM ` + schema.ArtifactTables + `
WHERE a.project_id = $1 AND a.kind = $2 AND a.id = $3`
	lockArtifact  = selectArtifact + ` FOR NO KEY UPDATE OF a`
	selectVariant = `SELECT ` + schema.VariantColumns + ` FROM ` + schema.VariantTables + `
WHERE v.project_id = $1 AND v.kind = $2 AND v.id = $3 FOR NO KEY UPDATE OF v`
	selectRevision = `SELECT ` + schema.RevisionColumns + ` FROM ` + schema.RevisionTables + `
WHERE r.project_id = $1 AND r.kind = $2 AND r.id = $3 FOR NO KEY UPDATE OF r`
)

// lockArtifact loads an artifact of the family for a change; nil when there is none.
func (s finder) lockArtifact(ctx context.Context, f entity.Family, id uuid.UUID) (*entity.Artifact, error) {
	return s.artifact(ctx, f, lockArtifact, id)
}

// loadArtifact loads an artifact to which something is added; nil when there is none.
func (s finder) loadArtifact(ctx context.Context, f entity.Family, id uuid.UUID) (*entity.Artifact, error) {
	return s.artifact(ctx, f, selectArtifact, id)
}

func (s finder) artifact(ctx context.Context, f entity.Family, sql string, id uuid.UUID) (*entity.Artifact, error) {
	var a entity.Artifact
	err := s.tx.QueryRow(ctx, sql, uuid.UUID(s.project), f.Kind, id).Scan(a.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(a.Flags) {
		return nil, nil //nolint:nilnil // no such artifact is an answer, not a fault (contract §5.1)
	}
	if err != nil {
		return nil, fmt.Errorf("registry: loading %s: %w", f.Name, err)
	}
	return &a, nil
}

// lockVariant loads a variant of the family for a change; nil when there is none.
func (s finder) lockVariant(ctx context.Context, f entity.Family, id uuid.UUID) (*entity.Variant, error) {
	var v entity.Variant
	err := s.tx.QueryRow(ctx, selectVariant, uuid.UUID(s.project), f.Kind, id).Scan(v.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(v.ArtifactFlags) {
		return nil, nil //nolint:nilnil // as lockArtifact
	}
	if err != nil {
		return nil, fmt.Errorf("registry: loading %s variant: %w", f.Name, err)
	}
	return &v, nil
}

// lockRevision loads a revision of the family for a change; nil when there is none.
func (s finder) lockRevision(ctx context.Context, f entity.Family, id uuid.UUID) (*entity.Revision, error) {
	r, ok, err := s.revision(ctx, f, selectRevision, uuid.UUID(s.project), f.Kind, id)
	if err != nil || !ok {
		return nil, err
	}
	return &r, nil
}
