package invoke

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strconv"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/entity"
	"colonnade/write/invoke/handler"
)

// resolve completes a call by what its references lead to. Parameters of the
// request win over the revision's; the trace then refers to that revision only
// if it says the same, for it must name exactly what ran. Source: contract §6.
func (i *Invoke) resolve(ctx context.Context, req *Request, c *handler.Call) error {
	switch {
	case req.Data.Revision != nil:
		if err := i.adopt(c, req.Data.Revision); err != nil {
			return err
		}
	default:
		if err := i.retrieve(ctx, req, c); err != nil {
			return err
		}
	}
	if c.Parameters == nil {
		c.Parameters = map[string]any{}
	}
	if req.Raw {
		return nil
	}
	return i.unfold(ctx, c)
}

// retrieve looks up the revision that the references name, where they name one.
func (i *Invoke) retrieve(ctx context.Context, req *Request, c *handler.Call) error {
	q, ok, err := retrieval(req)
	if err != nil || !ok {
		return err
	}
	found, err := i.deps.Registry.Retrieve(ctx, c.Caller, q)
	kind := domain.KindOf(err)
	missing := err == nil && found.Revision == nil
	switch {
	case (missing || err != nil && (kind == domain.NotFound || kind == domain.Rejected)) && req.Data.Parameters != nil:
		// The request says itself what to run with; its references are labels.
		return nil
	case err != nil:
		return err
	case missing:
		return domain.E(domain.NotFound, "The references lead to no %s revision.", q.Family.Name)
	default:
	}
	given := c.Parameters
	if err := i.adopt(c, found.Revision.Data); err != nil {
		return err
	}
	if given == nil || reflect.DeepEqual(given, handler.Object(handler.Canonical(map[string]any(found.Revision.Data)["parameters"]))) {
		c.References = complete(c.References, q.Family, found)
	}
	return nil
}

// retrieval reads out of the references which revision is to run. Where they
// name several families, an invocation that judges runs the evaluator, any
// other the application.
func retrieval(req *Request) (entity.Retrieval, bool, error) {
	families := []entity.Family{entity.Applications(), entity.Workflows(), entity.Evaluators()}
	if len(req.Links) > 0 {
		families = []entity.Family{entity.Evaluators(), entity.Workflows(), entity.Applications()}
	}
	at := entity.Environments().Member(entity.LevelArtifact)
	environment := entity.Refs{Artifact: req.References[at], Variant: req.References[at+"_variant"], Revision: req.References[at+"_revision"]}
	for _, f := range families {
		refs := entity.Refs{
			Artifact: req.References[f.Member(entity.LevelArtifact)], Variant: req.References[f.Member(entity.LevelVariant)],
			Revision: req.References[f.Member(entity.LevelRevision)],
		}
		if !refs.IsZero() {
			return entity.Retrieval{Family: f, Refs: refs, Environment: environment, Key: req.Key}, true, nil
		}
	}
	if environment.IsZero() {
		return entity.Retrieval{}, false, nil
	}
	if req.Key == "" {
		return entity.Retrieval{}, false, domain.E(domain.Rejected, "References to an environment need those of an application, or selector.key.")
	}
	return entity.Retrieval{Family: entity.Workflows(), Environment: environment, Key: req.Key}, true, nil
}

// adopt takes over what a revision's data says. The handler that the address
// names, if it names one, must be the revision's.
func (i *Invoke) adopt(c *handler.Call, data map[string]any) error {
	text, _ := data["uri"].(string)
	if text != "" {
		u, err := catalog.ParseURI(text)
		if err != nil {
			return handler.Fail(domain.Rejected, handler.UnknownHandler, "Not a handler URI: %s", err)
		}
		u = u.Resolved()
		if c.URI.Key != "" && (c.URI.Key != u.Key || c.URI.Version != u.Version) {
			return domain.E(domain.Rejected, "The revision is run by %s:%s, and this address runs %s:%s.", u.Key, u.Version, c.URI.Key, c.URI.Version)
		}
		c.URI = u
	}
	all := handler.Object(handler.Canonical(data))
	c.Revision = handler.Revision{URI: text, Headers: handler.Object(all["headers"]), Schemas: handler.Object(all["schemas"])}
	c.Revision.URL, _ = all["url"].(string)
	c.Revision.Runtime, _ = all["runtime"].(string)
	c.Revision.Script, _ = all["script"].(string)
	if c.Parameters == nil {
		c.Parameters = handler.Object(all["parameters"])
	}
	return nil
}

// complete adds references to the revision that was found, and to the
// environment it was found in.
func complete(given entity.Entities, f entity.Family, found entity.Retrieved) entity.Entities {
	all := entity.Entities{}
	maps.Copy(all, given)
	add := func(f entity.Family, r *entity.Revision) {
		all[f.Member(entity.LevelArtifact)] = domain.Reference{ID: r.ArtifactID, Slug: r.ArtifactSlug}
		all[f.Member(entity.LevelVariant)] = domain.Reference{ID: r.VariantID, Slug: r.VariantSlug}
		all[f.Member(entity.LevelRevision)] = domain.Reference{ID: r.ID, Slug: r.Slug, Version: strconv.Itoa(r.Version)}
	}
	add(f, found.Revision)
	if found.Environment != nil {
		add(entity.Environments(), found.Environment)
	}
	return all
}

// unfold replaces embeds in the parameters by what they refer to.
func (i *Invoke) unfold(ctx context.Context, c *handler.Call) error {
	if !embeds(c.Parameters) {
		return nil
	}
	resolved, _, err := i.deps.Registry.Resolve(ctx, c.Caller, entity.Document(c.Parameters))
	if err != nil {
		if e, ok := errors.AsType[*domain.Error](err); ok && e.Kind == domain.Rejected {
			return handler.Fail(domain.Rejected, handler.InvalidParameters, "%s", e.Message)
		}
		return err
	}
	c.Parameters = handler.Object(handler.Canonical(map[string]any(resolved)))
	return nil
}
