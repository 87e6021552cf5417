package entities

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/write/registry"
)

// Simple is an artifact with the latest revision of its default variant.
type Simple struct {
	Artifact entity.Artifact
	// Revision is nil when the artifact has none.
	Revision *entity.Revision
}

// SimpleDraft is a simple record as a caller gives it.
type SimpleDraft struct {
	ArtifactDraft
	// Data is nil when not given; of an environment, References are its data, of
	// a testset Testset is.
	Data       entity.Document
	References map[string]entity.Entities
	Testset    *testset.Data
	// Variant names and describes the variant; an empty slug generates it.
	VariantSlug string
	Message     *string
}

func (d SimpleDraft) hasData() bool { return d.Data != nil || d.References != nil || d.Testset != nil }

const initialMessage = "Initial commit"

// CreateSimple makes an artifact, its default variant, a placeholder revision
// and, when there is data, a revision with it: all or nothing. Source:
// contract §5.5.
func (r *Registry) CreateSimple(ctx context.Context, caller domain.Principal, f entity.Family, d SimpleDraft) (Simple, error) {
	var made Simple
	err := r.db.Transact(ctx, "creating simple "+f.Name, func(tx pgx.Tx) (err error) {
		made, err = r.createSimple(ctx, within(tx, caller.Project), caller, f, d)
		return err
	})
	return made, err
}

func (r *Registry) createSimple(ctx context.Context, s finder, caller domain.Principal, f entity.Family, d SimpleDraft) (Simple, error) {
	a, err := r.createArtifact(ctx, s.tx, caller, f, d.ArtifactDraft)
	if err != nil {
		return Simple{}, err
	}
	slug := d.VariantSlug
	if slug == "" {
		if slug, err = entity.NewSlug(r.db.Random()); err != nil {
			return Simple{}, err
		}
	}
	v, err := r.createVariant(ctx, s.tx, caller, f, &a, registry.RecordFields{Slug: slug, Name: d.Name, Description: d.Description, Tags: d.Tags, Meta: d.Meta})
	if err != nil {
		return Simple{}, err
	}
	message := initialMessage
	first, err := r.commit(ctx, s, caller, f, CommitRequest{Variant: v.ID, Message: &message, RecordFields: registry.RecordFields{Name: d.Name, Description: d.Description}})
	if err != nil || !d.hasData() {
		return Simple{Artifact: a, Revision: first}, err
	}
	second, err := r.commit(ctx, s, caller, f, simpleCommit(d, v.ID))
	if err != nil {
		return Simple{}, err
	}
	return Simple{Artifact: a, Revision: second}, r.show(ctx, s.lookup, f, second)
}

func simpleCommit(d SimpleDraft, variant uuid.UUID) CommitRequest {
	return CommitRequest{
		Variant: variant, Message: d.Message, Data: d.Data, References: d.References, Testset: d.Testset,
		RecordFields: registry.RecordFields{Name: d.Name, Description: d.Description, Flags: d.Flags, Tags: d.Tags, Meta: d.Meta},
	}
}

// EditSimple edits the artifact and commits what is given to the default
// variant; of an environment, only its data. Nil means that there is no such artifact, or that it is
// archived. Source: contract §5.5.
func (r *Registry) EditSimple(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID, d SimpleDraft) (*Simple, error) {
	var edited *Simple
	err := r.db.Transact(ctx, "editing simple "+f.Name, func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		d.Slug = "" // it stays, whatever a simple record brings
		a, err := r.editArtifact(ctx, tx, caller, f, id, d.ArtifactDraft)
		if err != nil || a == nil {
			return err
		}
		v, err := s.variantOf(ctx, f, entity.Target{Level: entity.LevelArtifact, Ref: domain.Reference{ID: id}})
		if err != nil && !errors.Is(err, errArchived) {
			return err
		}
		edited = &Simple{Artifact: *a}
		if v == nil && d.hasData() {
			slug, err := entity.NewSlug(r.db.Random())
			if err != nil {
				return err
			}
			made, err := r.createVariant(ctx, tx, caller, f, a, registry.RecordFields{Slug: slug})
			if err != nil {
				return err
			}
			v = &made
		}
		if v == nil {
			return nil
		}
		edited.Revision, err = r.editSimpleData(ctx, s, caller, f, v.ID, d)
		return err
	})
	return edited, err
}

func (r *Registry) editSimpleData(ctx context.Context, s finder, caller domain.Principal, f entity.Family, variant uuid.UUID, d SimpleDraft) (*entity.Revision, error) {
	if !d.hasData() {
		head, ok, err := s.latest(ctx, f, variant)
		if err != nil || !ok {
			return nil, err
		}
		if f.Kind != entity.Workflow || d.Empty() || head.Data == nil && simpleCommit(d, variant).says() == 0 {
			return &head, r.show(ctx, s.lookup, f, &head) // there is nothing to commit: a name is the artifact's
		}
		// What a simple record says beside its data is part of its history too.
		d.Data = head.Data
	}
	made, err := r.commit(ctx, s, caller, f, simpleCommit(d, variant))
	if err != nil {
		return nil, err
	}
	return made, r.show(ctx, s.lookup, f, made)
}

// WithLatest loads what a simple record shows beside its artifact, for the
// replies of commands that change the artifact alone.
func (r *Registry) WithLatest(ctx context.Context, caller domain.Principal, f entity.Family, a *entity.Artifact) (Simple, error) {
	simple := Simple{Artifact: *a}
	err := r.db.Transact(ctx, "reading simple "+f.Name, func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		found, ok, err := s.Find(ctx, f, entity.Target{Level: entity.LevelArtifact, Ref: domain.Reference{ID: a.ID}})
		if err != nil || !ok {
			return err
		}
		simple.Revision = &found
		return r.show(ctx, s.lookup, f, &found)
	})
	return simple, err
}
