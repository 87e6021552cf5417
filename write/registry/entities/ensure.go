package entities

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// feedbackURI is the handler of an evaluator that is made from its first
// result. Source: contract §4.2.
const feedbackURI = "agenta:custom:feedback:v0"

// Judgment is a result that names its evaluator.
type Judgment struct {
	// Refs name the evaluator. A slug that names none is made into one.
	Refs entity.Refs
	// Data holds outputs, which must fit the evaluator's schema.
	Data map[string]any
	// Loc leads to Data in the body, for the locations of what does not fit.
	Loc []any
	// Check refuses outputs that do not fit. Source: contract §4.3; simple traces
	// are taken as they come.
	Check bool
}

// EnsureEvaluator gives the references of the evaluator that a judgment names,
// by id and slug and with the version of its latest revision. A missing one is
// made with a schema inferred from the outputs. An id that names none is
// NotFound; outputs that do not fit are Invalid, with their locations. Source:
// contract §4.2, §4.3.
func (r *Registry) EnsureEvaluator(ctx context.Context, caller domain.Principal, j Judgment) (entity.Entities, error) {
	return r.ensure(ctx, caller, entity.Evaluators(), j)
}

// EnsureApplication is EnsureEvaluator for an invocation that names its
// application. Source: contract §4.4.
func (r *Registry) EnsureApplication(ctx context.Context, caller domain.Principal, j Judgment) (entity.Entities, error) {
	return r.ensure(ctx, caller, entity.Applications(), j)
}

func (r *Registry) ensure(ctx context.Context, caller domain.Principal, f entity.Family, j Judgment) (entity.Entities, error) {
	target, err := f.Plan(j.Refs)
	if err != nil {
		return nil, err
	}
	var refs entity.Entities
	attempt := func() error {
		return r.db.Transact(ctx, "ensuring "+f.Name, func(tx pgx.Tx) error {
			refs, err = r.findOrCreate(ctx, within(tx, caller.Project), caller, f, target, j)
			return err
		})
	}
	err = attempt()
	if domain.KindOf(err) == domain.Conflict {
		// Another judgment made the same evaluator meanwhile; now it is found.
		err = attempt()
	}
	return refs, err
}

func (r *Registry) findOrCreate(ctx context.Context, s finder, caller domain.Principal, f entity.Family, target entity.Target, j Judgment) (entity.Entities, error) {
	found, ok, err := s.Find(ctx, f, target)
	if err != nil {
		return nil, err
	}
	if !ok {
		slug, err := missingSlug(f, target, j.Refs)
		if err != nil {
			return nil, err
		}
		made, err := r.createSimple(ctx, s, caller, f, r.inferred(f, slug, j.Data))
		if err != nil {
			return nil, err
		}
		return entitiesOf(f, made.Revision), nil
	}
	if err := f.Check(j.Refs, &found); err != nil {
		return nil, err
	}
	if j.Check {
		if err := fits(ctx, &found, j); err != nil {
			return nil, err
		}
	}
	return entitiesOf(f, &found), nil
}

// missingSlug is the slug to make; only an artifact named by its slug alone can be made.
func missingSlug(f entity.Family, target entity.Target, refs entity.Refs) (string, error) {
	if target.Level == entity.LevelArtifact && target.Ref.ID == uuid.Nil && target.Version == "" {
		return refs.Artifact.Slug, nil
	}
	return "", domain.E(domain.NotFound, "There is no such %s.", f.Name)
}

func (r *Registry) inferred(f entity.Family, slug string, data map[string]any) SimpleDraft {
	document := entity.Document{"uri": feedbackURI}
	if outputs, ok := data["outputs"]; ok && f.Role == entity.FlagEvaluator {
		document["schemas"] = map[string]any{"outputs": catalog.InferSchema(outputs)}
	}
	return SimpleDraft{ArtifactDraft: ArtifactDraft{RecordFields: registry.RecordFields{Slug: slug, Name: &slug}}, Data: r.complete(f, document)}
}

func fits(ctx context.Context, revision *entity.Revision, j Judgment) error {
	schemas, _ := revision.Data["schemas"].(map[string]any)
	schema, _ := schemas["outputs"].(map[string]any)
	if len(schema) == 0 {
		return nil
	}
	fields, err := catalog.Validate(ctx, schema, j.Data["outputs"], append(append([]any{}, j.Loc...), "outputs")...)
	if err != nil {
		return fmt.Errorf("registry: the evaluator's schema: %w", err)
	}
	if len(fields) > 0 {
		return &domain.Error{Kind: domain.Invalid, Message: fields[0].Msg, Fields: fields}
	}
	return nil
}
