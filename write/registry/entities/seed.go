package entities

import (
	"context"

	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// Seed fills a new project with what every project begins with: three
// environments and three evaluators. Source: contract §5.6.
func (r *Registry) Seed(ctx context.Context, tx pgx.Tx, caller domain.Principal) error {
	s := within(tx, caller.Project)
	for _, slug := range []string{"development", "staging", "production"} {
		d := SimpleDraft{ArtifactDraft: ArtifactDraft{RecordFields: registry.RecordFields{Slug: slug, Name: &slug}}, VariantSlug: slug}
		if _, err := r.createSimple(ctx, s, caller, entity.Environments(), d); err != nil {
			return err
		}
	}
	for _, e := range []struct{ slug, name, template, preset string }{
		{"exact-match", "Exact Match", "auto_exact_match", ""},
		{"contains-json", "Contains JSON", "auto_contains_json", ""},
		{"quality-rating", "Quality Rating", "feedback", "quality-rating"},
	} {
		d := SimpleDraft{
			ArtifactDraft: ArtifactDraft{RecordFields: registry.RecordFields{Slug: e.slug, Name: &e.name}}, VariantSlug: e.slug,
			Data: scaffold(r.catalog, e.template, e.preset),
		}
		if _, err := r.createSimple(ctx, s, caller, entity.Evaluators(), d); err != nil {
			return err
		}
	}
	return nil
}

// scaffold is the data that an evaluator of a template begins with.
func scaffold(c *catalog.Catalog, template, preset string) entity.Document {
	t, ok := c.Template(entity.FlagEvaluator, template)
	if !ok {
		return nil
	}
	for _, p := range t.Presets() {
		if p.Key == preset {
			return p.Data
		}
	}
	return t.Data
}
