package entities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// commitEnvironment writes what an environment's new revision refers to: only
// what changed, as intervals of versions. Source: contract §5.6.
func (s finder) commitEnvironment(ctx context.Context, q CommitRequest, revision *entity.Revision) error {
	if q.References == nil && q.EnvironmentDelta == nil {
		revision.Data = nil
		return nil
	}
	revision.Data = entity.Document{}
	head, found, err := s.latest(ctx, entity.Environments(), revision.VariantID)
	if err != nil {
		return err
	}
	if err := checkBase(q.Base, head.ID); err != nil {
		return err
	}
	// The open intervals are the state of the version before this one. It is
	// what the commit builds on unless the latest revisions are archived.
	previous := revision.Version - 1
	if q.EnvironmentDelta != nil && (!found && previous < 0 || found && head.Version == previous) {
		return s.applyDelta(ctx, revision, q.EnvironmentDelta)
	}
	wanted := q.References
	if q.EnvironmentDelta != nil {
		wanted = map[string]entity.Entities{}
		if found {
			if wanted, err = s.references(ctx, revision.VariantID, head.Version); err != nil {
				return err
			}
		}
		for _, key := range q.EnvironmentDelta.Remove {
			if _, ok := wanted[key]; !ok {
				return notHeld(key)
			}
			delete(wanted, key)
		}
		maps.Copy(wanted, q.EnvironmentDelta.Set)
	}
	return s.replaceReferences(ctx, revision, wanted)
}

func notHeld(key string) error {
	return domain.E(domain.Rejected, "delta: remove %s: the environment holds no such key.", key)
}

const (
	closeReference = `UPDATE environment_references SET until_version = $4 WHERE project_id = $1 AND variant_id = $2 AND key = $3 AND until_version IS NULL`
	openReference  = `INSERT INTO environment_references (project_id, variant_id, key, from_version, entities) VALUES ($1, $2, $3, $4, $5)`
)

// applyDelta closes and opens the intervals of the keys that a delta names.
func (s finder) applyDelta(ctx context.Context, revision *entity.Revision, d *EnvironmentDelta) error {
	project := uuid.UUID(s.project)
	for _, key := range d.Remove {
		tag, err := s.tx.Exec(ctx, closeReference, project, revision.VariantID, key, revision.Version)
		if err != nil {
			return err
		}
		if _, replaced := d.Set[key]; tag.RowsAffected() == 0 && !replaced {
			return notHeld(key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Set)) {
		entities := d.Set[key]
		if !d.resolved {
			resolved, err := s.resolve(ctx, key, entities)
			if err != nil {
				return err
			}
			entities = resolved
		}
		batch := &pgx.Batch{}
		batch.Queue(closeReference, project, revision.VariantID, key, revision.Version)
		batch.Queue(openReference, project, revision.VariantID, key, revision.Version, entities)
		if err := s.tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
	}
	return nil
}

// replaceReferences makes the environment hold exactly what is wanted.
func (s finder) replaceReferences(ctx context.Context, revision *entity.Revision, wanted map[string]entity.Entities) error {
	held, err := s.references(ctx, revision.VariantID, revision.Version-1)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		entities, err := s.resolve(ctx, key, wanted[key])
		if err != nil {
			return err
		}
		if before, ok := held[key]; ok && maps.Equal(before, entities) {
			delete(held, key)
			continue
		}
		batch.Queue(closeReference, uuid.UUID(s.project), revision.VariantID, key, revision.Version)
		batch.Queue(openReference, uuid.UUID(s.project), revision.VariantID, key, revision.Version, entities)
		delete(held, key)
	}
	for key := range held {
		batch.Queue(closeReference, uuid.UUID(s.project), revision.VariantID, key, revision.Version)
	}
	return s.tx.SendBatch(ctx, batch).Close()
}

// resolve completes the references under a key upwards: a revision's variant
// and artifact, a variant's artifact, ids and slugs. What does not exist stays
// as it was given, what contradicts itself is Rejected.
func (s finder) resolve(ctx context.Context, key string, given entity.Entities) (entity.Entities, error) {
	resolved := entity.Entities{}
	for _, f := range entity.Families() {
		refs := entity.Refs{
			Artifact: given[f.Member(entity.LevelArtifact)], Variant: given[f.Member(entity.LevelVariant)], Revision: given[f.Member(entity.LevelRevision)],
		}
		if refs.IsZero() {
			continue
		}
		up, err := s.resolveRefs(ctx, f, refs)
		if domain.KindOf(err) == domain.NotFound && err != nil {
			up, err = f.Given(refs), nil
		}
		if err != nil {
			return nil, fmt.Errorf("registry: the references under %s: %w", key, err)
		}
		maps.Copy(resolved, up)
	}
	return resolved, nil
}

func (s finder) resolveRefs(ctx context.Context, f entity.Family, refs entity.Refs) (entity.Entities, error) {
	target, err := f.Plan(refs)
	if err != nil {
		return nil, err
	}
	if target.Level == entity.LevelRevision || target.Version != "" {
		found, ok, err := s.Find(ctx, f, target)
		if err != nil {
			return nil, err
		}
		if !ok {
			return s.resolveReadings(ctx, f, refs)
		}
		return entitiesOf(f, &found), f.Check(refs, &found)
	}
	v, err := s.variantOf(ctx, f, target)
	if err != nil && !errors.Is(err, errArchived) {
		return nil, err
	}
	if v == nil {
		return nil, domain.E(domain.NotFound, "There is no such %s.", f.Name)
	}
	up := entity.Entities{f.Member(entity.LevelArtifact): {ID: v.ArtifactID, Slug: v.ArtifactSlug}}
	if target.Level == entity.LevelVariant {
		up[f.Member(entity.LevelVariant)] = domain.Reference{ID: v.ID, Slug: v.Slug}
	}
	return up, matchArtifact(f, refs, v)
}

// resolveReadings resolves the other meanings of a slug and version of a revision.
func (s finder) resolveReadings(ctx context.Context, f entity.Family, refs entity.Refs) (entity.Entities, error) {
	for _, q := range (entity.Retrieval{Family: f, Refs: refs}).Readings() {
		target, err := f.Plan(q.Refs)
		if err != nil {
			return nil, err
		}
		if found, ok, err := s.Find(ctx, f, target); err != nil || ok {
			return entitiesOf(f, &found), err
		}
	}
	return nil, domain.E(domain.NotFound, "There is no such %s revision.", f.Name)
}

// matchArtifact refuses an artifact reference that contradicts the variant.
func matchArtifact(f entity.Family, refs entity.Refs, v *entity.Variant) error {
	ref := refs.Artifact
	if ref.ID != uuid.Nil && ref.ID != v.ArtifactID {
		return domain.E(domain.Rejected, "%s_ref.id=%s does not match the variant's %s id=%s.", f.Name, ref.ID, f.Name, v.ArtifactID)
	}
	if ref.Slug != "" && ref.Slug != v.ArtifactSlug {
		return domain.E(domain.Rejected, "%s_ref.slug=%s does not match the variant's %s slug=%s.", f.Name, ref.Slug, f.Name, v.ArtifactSlug)
	}
	return nil
}

// entitiesOf are the three references to a revision.
func entitiesOf(f entity.Family, r *entity.Revision) entity.Entities {
	return entity.Entities{
		f.Member(entity.LevelArtifact): {ID: r.ArtifactID, Slug: r.ArtifactSlug},
		f.Member(entity.LevelVariant):  {ID: r.VariantID, Slug: r.VariantSlug},
		f.Member(entity.LevelRevision): {ID: r.ID, Slug: r.Slug, Version: strconv.Itoa(r.Version)},
	}
}

const (
	variantsOf = `SELECT v.id, v.slug, v.deleted_at, a.id, a.slug, a.flags, a.deleted_at IS NOT NULL
FROM variants v JOIN artifacts a ON a.project_id = v.project_id AND a.id = v.artifact_id WHERE v.project_id = $1 AND v.kind = $2 AND `
	variantByID      = variantsOf + `v.id = $3 AND ($4::text = '' OR v.slug = $4)`
	variantBySlug    = variantsOf + `$3::uuid IS NOT NULL AND v.slug = $4`
	defaultOldest    = ` AND v.deleted_at IS NULL ORDER BY v.created_at, v.id LIMIT 1`
	variantOfIDed    = variantsOf + `a.id = $3 AND ($4::text = '' OR a.slug = $4)` + defaultOldest
	variantOfSlugged = variantsOf + `$3::uuid IS NOT NULL AND a.slug = $4` + defaultOldest
)

// errArchived tells that what was found is archived.
var errArchived = errors.New("registry: archived")

// variantOf gives the variant that a target of the variant's or artifact's
// level names; nil when there is none.
func (s finder) variantOf(ctx context.Context, f entity.Family, t entity.Target) (*entity.Variant, error) {
	var sql string
	switch {
	case t.Level == entity.LevelVariant && t.Ref.ID != uuid.Nil:
		sql = variantByID
	case t.Level == entity.LevelVariant:
		sql = variantBySlug
	case t.Ref.ID != uuid.Nil:
		sql = variantOfIDed
	default:
		sql = variantOfSlugged
	}
	v := entity.Variant{}
	var artifactArchived bool
	err := s.tx.QueryRow(ctx, sql, uuid.UUID(s.project), f.Kind, t.Ref.ID, t.Ref.Slug).
		Scan(&v.ID, &v.Slug, &v.DeletedAt, &v.ArtifactID, &v.ArtifactSlug, &v.ArtifactFlags, &artifactArchived)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !f.Owns(v.ArtifactFlags) {
		return nil, nil //nolint:nilnil // as lockArtifact
	}
	if err != nil {
		return nil, fmt.Errorf("registry: finding %s variant: %w", f.Name, err)
	}
	if artifactArchived {
		return &v, errArchived
	}
	return &v, nil
}
