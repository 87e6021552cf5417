package entities

import (
	"context"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry"
)

// Retrieve returns the revision that the decision table of contract §5.3 chooses,
// for commands that run it. Its embeds are not replaced yet; Resolve does that.
func (r *Registry) Retrieve(ctx context.Context, caller domain.Principal, q entity.Retrieval) (entity.Retrieved, error) {
	s := lookup{r.db.Pool(), caller.Project}
	found, err := entity.Retrieve(ctx, s, q)
	if err == nil && found.Revision != nil {
		err = r.show(ctx, s, q.Family, found.Revision)
	}
	return found, registry.Classify(err, "retrieving "+q.Family.Name+" revision")
}

// Resolve replaces the embeds in a revision's data within the service's
// limits; an embed that leads nowhere is Rejected. Source: contract §5.3, §9.
func (r *Registry) Resolve(ctx context.Context, caller domain.Principal, data entity.Document) (entity.Document, entity.ResolutionInfo, error) {
	return entity.Resolution{
		MaxDepth: entity.MaxEmbedDepth, MaxEmbeds: entity.MaxEmbeds,
		Lookup: entity.LookupBy(func(ctx context.Context, q entity.Retrieval) (entity.Retrieved, error) {
			return r.Retrieve(ctx, caller, q)
		}),
	}.Resolve(ctx, data)
}
