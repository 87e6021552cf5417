package entities

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// Retrieve follows the decision table of contract §5.3 and completes what it found.
func (r *Registry) Retrieve(ctx context.Context, project domain.ProjectID, q entity.Retrieval) (entity.Retrieved, error) {
	if q.Family.Kind == entity.Environment {
		return r.retrieveEnvironment(ctx, project, q)
	}
	found, err := entity.Retrieve(ctx, r.in(project), q)
	if err != nil || found.Revision == nil {
		return found, err
	}
	return found, r.show(ctx, project, q.Family, found.Revision)
}

// retrieveEnvironment gives an environment's revision; with a key, only what
// it holds under that key, which must be there.
func (r *Registry) retrieveEnvironment(ctx context.Context, project domain.ProjectID, q entity.Retrieval) (entity.Retrieved, error) {
	s := r.in(project)
	key := q.Key
	q.Key = ""
	found, err := entity.Retrieve(ctx, s, q)
	if err != nil || found.Revision == nil {
		return found, err
	}
	if key == "" {
		return found, r.show(ctx, project, q.Family, found.Revision)
	}
	entities, ok, err := s.Deployed(ctx, found.Revision, key)
	if err != nil {
		return found, err
	}
	if !ok {
		return found, domain.E(domain.NotFound, "Environment revision does not contain references for the requested key.")
	}
	found.Key = key
	found.Revision.Data = entity.Document{"references": map[string]entity.Entities{key: entities}}
	return found, nil
}

// Resolution bounds resolving embeds; the zero value means the defaults.
type Resolution struct {
	MaxDepth, MaxEmbeds int
	Policy              entity.ErrorPolicy
}

// Resolve replaces the embeds in a revision's data. Source: contract §5.3.
func (r *Registry) Resolve(ctx context.Context, project domain.ProjectID, data entity.Document, limits Resolution) (entity.Document, entity.ResolutionInfo, error) {
	if limits.MaxDepth == 0 {
		limits.MaxDepth = entity.MaxEmbedDepth
	}
	if limits.MaxEmbeds == 0 {
		limits.MaxEmbeds = entity.MaxEmbeds
	}
	return entity.Resolution{
		MaxDepth: limits.MaxDepth, MaxEmbeds: limits.MaxEmbeds, Policy: limits.Policy,
		Lookup: entity.LookupBy(func(ctx context.Context, q entity.Retrieval) (entity.Retrieved, error) {
			return r.Retrieve(ctx, project, q)
		}),
	}.Resolve(ctx, data)
}

// LogQuery asks for the history of an artifact, a variant, or a revision and
// those before it.
type LogQuery struct {
	Artifact, Variant, Revision uuid.UUID
	// Depth bounds the history; zero means the registry's bound.
	Depth int
	// Archived includes what is archived.
	Archived bool
	// View is how much of testset revisions is shown.
	View testset.View
}

// Log gives a history, newest first, as far as a page may go. One that does not exist is empty. Source: contract §5.2.
func (r *Registry) Log(ctx context.Context, project domain.ProjectID, f entity.Family, q LogQuery) ([]*entity.Revision, error) {
	most := r.maxRevisions(f)
	if q.Depth > 0 {
		most = min(q.Depth, most)
	}
	b := dollar().Select(schema.RevisionColumns).From(schema.RevisionTables).Where("r.project_id = ?", uuid.UUID(project))
	b = ofFamily(b, "r", f)
	if !q.Archived {
		b = b.Where("r.deleted_at IS NULL")
	}
	switch {
	case q.Revision != uuid.Nil:
		b = b.Where(sq.Expr("(r.variant_id, r.version) <= (SELECT variant_id, version FROM revisions WHERE project_id = ? AND id = ?)", uuid.UUID(project), q.Revision)).
			Where(sq.Expr("r.variant_id = (SELECT variant_id FROM revisions WHERE project_id = ? AND id = ?)", uuid.UUID(project), q.Revision)).
			OrderBy("r.version DESC")
	case q.Variant != uuid.Nil:
		b = b.Where("r.variant_id = ?", q.Variant).OrderBy("r.version DESC")
	default:
		b = b.Where("r.artifact_id = ?", q.Artifact).OrderBy("r.id DESC")
	}
	if q.Revision != uuid.Nil && q.Variant != uuid.Nil {
		b = b.Where("r.variant_id = ?", q.Variant)
	}
	if q.Artifact != uuid.Nil {
		b = b.Where("r.artifact_id = ?", q.Artifact)
	}
	sql, args, err := b.Limit(uint64(most)).ToSql() //nolint:gosec // most is positive
	if err != nil {
		return nil, failed(err, "writing a query")
	}
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failed(err, "reading a log")
	}
	defer rows.Close()
	log := []*entity.Revision{}
	for size := 0; rows.Next(); {
		if size += sizeOf(rows); len(log) > 0 && size > r.cfg.MaxPageBytes {
			rows.Close()
			break
		}
		v := new(entity.Revision)
		if err := rows.Scan(v.Targets()...); err != nil {
			return nil, failed(err, "reading a log")
		}
		log = append(log, v)
	}
	if err := rows.Err(); err != nil {
		return nil, failed(err, "reading a log")
	}
	if f.Kind == entity.Testset {
		return log, r.in(project).showHistory(ctx, q.View, log)
	}
	return log, r.show(ctx, project, f, log...)
}
