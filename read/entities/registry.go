// Package entities answers questions about what Postgres knows of lineages:
// single records, lists, logs, the revision that references lead to, embeds
// resolved, saved trace queries, testcases, and folders. It only looks; every statement carries
// the project. The rules are in domain/entity and domain/catalog. Evaluations
// have a room below it (runs), which asks by the same means (room.go).
//
// Not here: commands (write/registry/entities), who calls (read/access), bodies
// (read/api/entities, its caller).
package entities

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/postgres"
	"colonnade/migrations/schema"
)

// Deps are what the questions need from outside.
type Deps struct{ Pool *pgxpool.Pool }

// Registry answers. It is safe for concurrent use.
type Registry struct {
	cfg     Config
	pool    *pgxpool.Pool
	catalog *catalog.Catalog
}

// New makes an inert room; it touches the store at the first question.
func New(cfg Config, deps Deps) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	c, err := catalog.New()
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return &Registry{cfg: cfg, pool: deps.Pool, catalog: c}, nil
}

// Catalog is the product's templates and types.
func (r *Registry) Catalog() *catalog.Catalog { return r.catalog }

const (
	selectArtifact = `SELECT ` + schema.ArtifactColumns + ` FROM ` + schema.ArtifactTables + ` WHERE a.project_id = $1 AND a.kind = $2 AND a.id = $3`
	selectVariant  = `SELECT ` + schema.VariantColumns + ` FROM ` + schema.VariantTables + ` WHERE v.project_id = $1 AND v.kind = $2 AND v.id = $3`
)

// Artifact gives an artifact, archived or not; nil when the family has none of this id.
func (r *Registry) Artifact(ctx context.Context, project domain.ProjectID, f entity.Family, id uuid.UUID) (*entity.Artifact, error) {
	var a entity.Artifact
	err := r.pool.QueryRow(ctx, selectArtifact, uuid.UUID(project), f.Kind, id).Scan(a.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(a.Flags) {
		return nil, nil //nolint:nilnil // no such artifact is an answer (contract §5.1)
	}
	if err != nil {
		return nil, failed(err, "reading %s", f.Name)
	}
	return &a, nil
}

// Variant gives a variant, archived or not; nil when the family has none of this id.
func (r *Registry) Variant(ctx context.Context, project domain.ProjectID, f entity.Family, id uuid.UUID) (*entity.Variant, error) {
	var v entity.Variant
	err := r.pool.QueryRow(ctx, selectVariant, uuid.UUID(project), f.Kind, id).Scan(v.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(v.ArtifactFlags) {
		return nil, nil //nolint:nilnil // as Artifact
	}
	if err != nil {
		return nil, failed(err, "reading %s variant", f.Name)
	}
	return &v, nil
}

// Revision gives a revision, archived or not; nil when the family has none of this id.
func (r *Registry) Revision(ctx context.Context, project domain.ProjectID, f entity.Family, id uuid.UUID) (*entity.Revision, error) {
	found, err := r.revision(ctx, project, f, id)
	if err != nil || found == nil {
		return nil, err
	}
	return found, r.show(ctx, project, f, found)
}

// revision gives one as it is stored.
func (r *Registry) revision(ctx context.Context, project domain.ProjectID, f entity.Family, id uuid.UUID) (*entity.Revision, error) {
	found, ok, err := r.in(project).Find(ctx, f, entity.Target{Level: entity.LevelRevision, Ref: domain.Reference{ID: id}})
	if err != nil || !ok {
		return nil, err
	}
	return &found, nil
}

// failed wraps an error of the store; one that does not answer is Unavailable,
// what it cannot hold and so cannot look for is Rejected.
func failed(err error, format string, args ...any) error {
	wrapped := fmt.Errorf("registry: "+format+": %w", append(args, err)...)
	switch {
	case postgres.Unreachable(err):
		return domain.Wrap(domain.Unavailable, wrapped, "The registry's store does not answer. Please try again.")
	case postgres.Unholdable(err):
		return domain.Wrap(domain.Rejected, wrapped, "The store cannot look for this text or document.")
	default:
		return wrapped
	}
}

// store implements entity.Store of the read side for one project.
type store struct {
	pool             *pgxpool.Pool
	project          domain.ProjectID
	maxTestcaseBytes int
}

func (r *Registry) in(project domain.ProjectID) store {
	return store{pool: r.pool, project: project, maxTestcaseBytes: r.cfg.MaxTestcaseBytes}
}

// Find gives the revision that a target names, if the family owns it.
func (s store) Find(ctx context.Context, f entity.Family, t entity.Target) (entity.Revision, bool, error) {
	var version *int
	if t.Version != "" && t.Level != entity.LevelRevision {
		n, ok := t.Number()
		if !ok {
			return entity.Revision{}, false, nil
		}
		version = &n
	}
	sql, args := schema.FindRevision(int(t.Level), t.Ref.ID, t.Ref.Slug, version)
	var found entity.Revision
	err := s.pool.QueryRow(ctx, sql, append([]any{uuid.UUID(s.project), f.Kind}, args...)...).Scan(found.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return entity.Revision{}, false, nil
	}
	if err != nil {
		return entity.Revision{}, false, failed(err, "finding %s revision", f.Name)
	}
	return found, f.Owns(found.ArtifactFlags) || t.ByID(), nil
}

// Deployed gives an environment revision's entry under a key.
func (s store) Deployed(ctx context.Context, environment *entity.Revision, key string) (entity.Entities, bool, error) {
	var name string
	var entities entity.Entities
	err := s.pool.QueryRow(ctx, schema.ReferenceAt, uuid.UUID(s.project), environment.VariantID, environment.Version, key).Scan(&name, &entities)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, failed(err, "reading what is deployed")
	}
	return entities, true, nil
}

// show completes revisions for a reply: the address of a built-in handler, an
// environment's references, a testset's testcases.
func (r *Registry) show(ctx context.Context, project domain.ProjectID, f entity.Family, revisions ...*entity.Revision) error {
	switch f.Kind {
	case entity.Environment:
		return r.in(project).fill(ctx, revisions)
	case entity.Workflow:
		for _, v := range revisions {
			v.Data = catalog.WithURL(v.Data, r.cfg.ServicesURL)
		}
		return nil
	case entity.Testset:
		_, err := r.in(project).showTestsets(ctx, testset.View{}, revisions)
		return err
	default:
		return nil
	}
}

const selectReferences = `SELECT w.place, e.key, e.entities
FROM unnest($2::uuid[], $3::int[]) WITH ORDINALITY AS w(variant_id, version, place)
JOIN environment_references e ON e.project_id = $1 AND e.variant_id = w.variant_id
	AND e.from_version <= w.version AND (e.until_version IS NULL OR e.until_version > w.version)`

// fill puts the references of environment revisions into their data, all with one question.
func (s store) fill(ctx context.Context, revisions []*entity.Revision) error {
	variants, versions := make([]uuid.UUID, len(revisions)), make([]int, len(revisions))
	held := make([]map[string]entity.Entities, len(revisions))
	for i, v := range revisions {
		variants[i], versions[i], held[i] = v.VariantID, v.Version, map[string]entity.Entities{}
	}
	rows, err := s.pool.Query(ctx, selectReferences, uuid.UUID(s.project), variants, versions)
	if err != nil {
		return failed(err, "reading environments")
	}
	var place int
	var key string
	var entities entity.Entities
	_, err = pgx.ForEachRow(rows, []any{&place, &key, &entities}, func() error {
		held[place-1][key] = entities
		entities = nil
		return nil
	})
	if err != nil {
		return failed(err, "reading environments")
	}
	for i, v := range revisions {
		if v.Data != nil {
			v.Data = entity.Document{"references": held[i]}
		}
	}
	return nil
}
