package entities

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// Simple is an artifact with the latest revision of its default variant.
type Simple struct {
	Artifact entity.Artifact
	// Revision is nil when the artifact has none.
	Revision *entity.Revision
}

// Simple gives one simple record, archived or not; nil when there is none.
func (r *Registry) Simple(ctx context.Context, project domain.ProjectID, f entity.Family, id uuid.UUID) (*Simple, error) {
	a, err := r.Artifact(ctx, project, f, id)
	if err != nil || a == nil {
		return nil, err
	}
	found, ok, err := r.in(project).Find(ctx, f, entity.Target{Level: entity.LevelArtifact, Ref: domain.Reference{ID: id}})
	if err != nil || !ok {
		return &Simple{Artifact: *a}, err
	}
	return &Simple{Artifact: *a, Revision: &found}, r.show(ctx, project, f, &found)
}

// latestOf joins each artifact with the latest revision of its default variant.
const latestOf = `LATERAL (
	SELECT d.id, d.slug FROM variants d
	WHERE d.project_id = a.project_id AND d.artifact_id = a.id AND d.deleted_at IS NULL ORDER BY d.created_at, d.id LIMIT 1
) v ON true LEFT JOIN LATERAL (
	SELECT l.* FROM revisions l
	WHERE l.project_id = a.project_id AND l.variant_id = v.id AND l.deleted_at IS NULL ORDER BY l.version DESC LIMIT 1
) r ON true`

// Simples gives a page of simple records, by creation of their artifacts. The
// flags of a query are looked for in the merged record. Source: contract §5.5.
func (r *Registry) Simples(ctx context.Context, project domain.ProjectID, f entity.Family, q Query) (domain.Page[*Simple], error) {
	flags := q.Flags
	q.Flags = nil
	b := dollar().Select(schema.ArtifactColumns).From(schema.ArtifactTables)
	b = q.where(b, "a", project, f)
	if len(flags) > 0 {
		b = b.LeftJoin(latestOf).Where(sq.Expr("(coalesce(r.flags, '{}') || coalesce(a.flags, '{}')) @> ?", flags))
	}
	found, err := page(ctx, r, b, "a", q.Window, r.maxRevisions(f), func(a *entity.Artifact) (uuid.UUID, []any) { return a.ID, a.Targets() })
	if err != nil {
		return domain.Page[*Simple]{}, err
	}
	simples := make([]*Simple, len(found.Items))
	for i, a := range found.Items {
		simples[i] = &Simple{Artifact: *a}
	}
	whole, err := r.addLatest(ctx, project, f, simples)
	if err == nil && whole < len(simples) {
		return domain.Page[*Simple]{Items: simples[:whole], Next: simples[whole-1].Artifact.ID}, nil
	}
	return domain.Page[*Simple]{Items: simples, Next: found.Next}, err
}

const selectLatest = `SELECT w.place, ` + schema.RevisionColumns + `
FROM unnest($2::uuid[]) WITH ORDINALITY AS w(artifact_id, place)
JOIN artifacts a ON a.project_id = $1 AND a.id = w.artifact_id
JOIN LATERAL (
	SELECT d.* FROM variants d
	WHERE d.project_id = $1 AND d.artifact_id = w.artifact_id AND d.deleted_at IS NULL ORDER BY d.created_at, d.id LIMIT 1
) v ON true
JOIN LATERAL (
	SELECT l.* FROM revisions l
	WHERE l.project_id = $1 AND l.variant_id = v.id AND l.deleted_at IS NULL ORDER BY l.version DESC LIMIT 1
) r ON true
ORDER BY w.place`

// addLatest finds the latest revisions of a page of artifacts with one
// question, and tells how many of the page are complete: they may fill a reply
// before its end.
func (r *Registry) addLatest(ctx context.Context, project domain.ProjectID, f entity.Family, simples []*Simple) (whole int, err error) {
	ids := make([]uuid.UUID, len(simples))
	for i, s := range simples {
		ids[i] = s.Artifact.ID
	}
	rows, err := r.pool.Query(ctx, selectLatest, uuid.UUID(project), ids)
	if err != nil {
		return 0, failed(err, "reading latest revisions")
	}
	defer rows.Close()
	revisions := make([]*entity.Revision, len(simples))
	for size := 0; rows.Next(); {
		var place int
		v := new(entity.Revision)
		before := size
		size += sizeOf(rows)
		if err := rows.Scan(append([]any{&place}, v.Targets()...)...); err != nil {
			return 0, failed(err, "reading latest revisions")
		}
		if before > 0 && size > r.cfg.MaxPageBytes {
			rows.Close()
			revisions = revisions[:place-1]
			break
		}
		simples[place-1].Revision, revisions[place-1] = v, v
	}
	if err := rows.Err(); err != nil {
		return 0, failed(err, "reading latest revisions")
	}
	if f.Kind == entity.Testset {
		return r.in(project).showTestsets(ctx, testset.View{}, revisions)
	}
	whole = len(revisions)
	there := slices.DeleteFunc(revisions, func(v *entity.Revision) bool { return v == nil })
	return whole, r.show(ctx, project, f, there...)
}
