package entities

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// ForkRequest asks for a copy of a variant with its history.
type ForkRequest struct {
	registry.RecordFields
	// Artifact must be the source's; the zero UUID is not checked.
	Artifact uuid.UUID
	// Variant names the source, Revision the last revision that is copied; none
	// means the whole history.
	Variant, Revision domain.Reference
}

// Fork makes a variant with the revisions of another one up to a given one.
// References that name nothing or contradict each other are Rejected. Source:
// contract §5.2.
func (r *Registry) Fork(ctx context.Context, caller domain.Principal, f entity.Family, q ForkRequest) (entity.Variant, error) {
	var made entity.Variant
	err := r.db.Transact(ctx, "forking "+f.Name+" variant", func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		source, version, err := s.forkSource(ctx, f, q)
		if err != nil {
			return err
		}
		a, err := s.loadArtifact(ctx, f, source.ArtifactID)
		if err != nil {
			return err
		}
		if a == nil || q.Artifact != uuid.Nil && q.Artifact != a.ID {
			return domain.E(domain.Rejected, "%s_id does not match the forked variant's %s.", f.Name, f.Name)
		}
		if err := mayChange(caller, f, a.Flags); err != nil {
			return err
		}
		if q.Slug == "" {
			if q.Slug, err = entity.NewSlug(r.db.Random()); err != nil {
				return err
			}
		}
		if made, err = r.createVariant(ctx, tx, caller, f, a, q.RecordFields); err != nil {
			return err
		}
		return r.copyHistory(ctx, s, source, made.ID, version)
	})
	return made, err
}

// forkSource gives the variant to copy and the last version of it; -1 means that there is none.
func (s finder) forkSource(ctx context.Context, f entity.Family, q ForkRequest) (*entity.Variant, int, error) {
	refs := entity.Refs{Variant: q.Variant, Revision: q.Revision}
	target, err := f.Plan(refs)
	if err != nil {
		return nil, 0, err
	}
	bad := func(what string) error {
		return domain.E(domain.Rejected, "There is no such %s %s to fork.", f.Name, what)
	}
	if target.Level == entity.LevelRevision || target.Version != "" {
		found, ok, err := s.Find(ctx, f, target)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			return nil, 0, bad("revision")
		}
		if err := f.Check(refs, &found); err != nil {
			return nil, 0, err
		}
		v, err := s.lockVariant(ctx, f, found.VariantID)
		return v, found.Version, err
	}
	v, err := s.variantOf(ctx, f, target)
	if err != nil && v == nil {
		return nil, 0, err
	}
	if v == nil {
		return nil, 0, bad("variant")
	}
	// The lock keeps commits on the source out until its history is copied.
	if v, err = s.lockVariant(ctx, f, v.ID); err != nil {
		return nil, 0, err
	}
	var last int
	err = s.tx.QueryRow(ctx, `SELECT coalesce(max(version), -1) FROM revisions WHERE project_id = $1 AND variant_id = $2`, uuid.UUID(s.project), v.ID).Scan(&last)
	return v, last, err
}

// maxForked bounds a fork: each revision is a row with its data.
const maxForked = 100_000

// copyHistory copies revisions and, of an environment, what they refer to. The
// copies keep number, message, author and date; their slugs get a suffix. What
// was archived with the source is live in the copy, which is no archived variant.
func (r *Registry) copyHistory(ctx context.Context, s finder, from *entity.Variant, to uuid.UUID, version int) error {
	if version >= maxForked {
		return domain.E(domain.Rejected, "A fork copies at most %d revisions.", maxForked)
	}
	if err := r.db.CheckQuota(ctx, s.tx, s.project); err != nil {
		return err
	}
	suffix, err := entity.NewSlug(r.db.Random())
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, version+1)
	for i := range ids {
		if ids[i], err = r.db.NewID(); err != nil {
			return err
		}
	}
	project := uuid.UUID(s.project)
	batch := &pgx.Batch{}
	batch.Queue(`
INSERT INTO revisions (project_id, id, kind, artifact_id, variant_id, version, slug, name, description, flags, tags, meta, author_id, date, message, data, created_at, updated_at, deleted_at, created_by_id, updated_by_id, deleted_by_id)
SELECT r.project_id, ($4::uuid[])[r.version + 1], r.kind, r.artifact_id, $3, r.version, r.slug || '_' || $5, r.name, r.description, r.flags, r.tags, r.meta, r.author_id, r.date, r.message, r.data, $7, r.updated_at, live.deleted_at, r.created_by_id, r.updated_by_id, CASE WHEN live.deleted_at IS NOT NULL THEN r.deleted_by_id END
FROM revisions r, LATERAL (SELECT nullif(r.deleted_at, $8::timestamptz) AS deleted_at) live
WHERE r.project_id = $1 AND r.variant_id = $2 AND r.version <= $6`,
		project, from.ID, to, ids, suffix, version, r.db.Now(), from.DeletedAt)
	batch.Queue(`
INSERT INTO environment_references (project_id, variant_id, key, from_version, until_version, entities)
SELECT project_id, $3, key, from_version, CASE WHEN until_version <= $4 THEN until_version END, entities
FROM environment_references WHERE project_id = $1 AND variant_id = $2 AND from_version <= $4`, project, from.ID, to, version)
	batch.Queue(`UPDATE variants SET next_version = $3 WHERE project_id = $1 AND id = $2`, project, to, version+1)
	return s.tx.SendBatch(ctx, batch).Close()
}
