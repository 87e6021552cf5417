package entities

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// Deployment asks that an environment points at a revision.
type Deployment struct {
	entity.Retrieval
	Message *string
}

// maxKey keeps a key within what a btree entry of the store holds.
const maxKey = 1024

// Deploy makes a new revision of the environment, equal to its latest one but
// for the key, and returns the revision that is deployed. Deployments to one
// environment wait for each other. Source: contract §5.4.
func (r *Registry) Deploy(ctx context.Context, caller domain.Principal, d Deployment) (*entity.Revision, error) {
	f := d.Family
	if d.Refs.IsZero() {
		return nil, domain.E(domain.Rejected, "Provide %s refs to deploy.", f.Name)
	}
	if d.Environment.IsZero() {
		return nil, domain.E(domain.Rejected, "Provide environment refs to deploy to.")
	}
	target, err := f.Plan(d.Refs)
	if err != nil {
		return nil, err
	}
	var deployed *entity.Revision
	err = r.db.Transact(ctx, "deploying "+f.Name+" revision", func(tx pgx.Tx) error {
		s := within(tx, caller.Project)
		found, ok, err := s.Find(ctx, f, target)
		if err != nil {
			return err
		}
		if !ok {
			return domain.E(domain.NotFound, "There is no such %s revision.", f.Name)
		}
		if err := f.Check(d.Refs, &found); err != nil {
			return err
		}
		deployed = &found
		if err := r.deploy(ctx, s, caller, d, &found); err != nil {
			return err
		}
		return r.show(ctx, s.lookup, f, &found)
	})
	if errors.Is(err, errNone) {
		return nil, domain.E(domain.NotFound, "Environment not found.")
	}
	return deployed, err
}

func (r *Registry) deploy(ctx context.Context, s finder, caller domain.Principal, d Deployment, found *entity.Revision) error {
	key := d.Key
	if key == "" {
		key = entity.DeployKey(found.ArtifactSlug)
	}
	if len(key) > maxKey {
		return domain.E(domain.Rejected, "A key has at most %d characters.", maxKey)
	}
	environment, err := s.environment(ctx, d.Environment)
	if err != nil {
		return err
	}
	_, err = r.commit(ctx, s, caller, entity.Environments(), CommitRequest{
		Variant: environment.ID, Message: d.Message,
		EnvironmentDelta: &EnvironmentDelta{Set: map[string]entity.Entities{key: entitiesOf(d.Family, found)}, resolved: true},
	})
	return err
}

// environment gives the variant of an environment that references name.
func (s finder) environment(ctx context.Context, refs entity.Refs) (*entity.Variant, error) {
	f := entity.Environments()
	target, err := f.Plan(refs)
	if err != nil {
		return nil, err
	}
	if target.Level == entity.LevelRevision || target.Version != "" {
		// A revision named beside others only says which variant is meant.
		found, ok, err := s.Find(ctx, f, target)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errNone
		}
		if err := f.Check(refs, &found); err != nil {
			return nil, err
		}
		target = entity.Target{Level: entity.LevelVariant, Ref: domain.Reference{ID: found.VariantID}}
	}
	v, err := s.variantOf(ctx, f, target)
	switch {
	case errors.Is(err, errArchived):
		return nil, &domain.Error{Kind: domain.Conflict, Message: "The environment is archived: unarchive it before deploying to it."}
	case err != nil:
		return nil, err
	case v == nil:
		return nil, errNone
	default:
		return v, matchArtifact(f, refs, v)
	}
}
