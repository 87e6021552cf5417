package entities

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/entities"
)

// MountLegacy mounts the fetch of a prompt's configuration as clients of before
// ask for it; it is retrieve under other names. Source: contract §5.8.
func MountLegacy(r api.Router, reader *entities.Registry) {
	l := legacy{lineageRoutes{family: entity.Applications(), registry: reader, router: r}}
	l.mount(domain.Operation{
		Method: http.MethodPost, Path: "/variants/configs/fetch", Deprecated: true, Request: entityschema.LegacyFetch(), Response: entityschema.LegacyConfig(),
		Summary: "The parameters of an application: of a variant or revision, or deployed to an environment (production, if none is named). Retrieve replaces it.",
	}, l.fetch)
}

type legacy struct{ lineageRoutes }

// legacyReference names something; the version is a number.
type legacyReference struct {
	Slug          *string    `json:"slug"`
	Version       *int       `json:"version"`
	CommitMessage *string    `json:"commit_message"`
	ID            *uuid.UUID `json:"id"`
}

// legacyLifecycle says when something was made and changed. UpdatedBy, an
// address, is always null.
type legacyLifecycle struct {
	CreatedAt   *time.Time `json:"created_at"`
	UpdatedAt   *time.Time `json:"updated_at"`
	UpdatedByID *uuid.UUID `json:"updated_by_id"`
	UpdatedBy   *string    `json:"updated_by"`
}

// legacyConfig is the reply: everything is there, null where it is nothing.
type legacyConfig struct {
	Params               map[string]any   `json:"params"`
	URL                  *string          `json:"url"`
	ApplicationRef       *legacyReference `json:"application_ref"`
	ServiceRef           *legacyReference `json:"service_ref"`
	VariantRef           *legacyReference `json:"variant_ref"`
	EnvironmentRef       *legacyReference `json:"environment_ref"`
	ApplicationLifecycle *legacyLifecycle `json:"application_lifecycle"`
	ServiceLifecycle     *legacyLifecycle `json:"service_lifecycle"`
	VariantLifecycle     *legacyLifecycle `json:"variant_lifecycle"`
	EnvironmentLifecycle *legacyLifecycle `json:"environment_lifecycle"`
}

func (l legacy) fetch(c *gin.Context) error {
	body, err := l.form(c)
	if err != nil {
		return err
	}
	variant, environment, application := readLegacyRef(body, "variant_ref"), readLegacyRef(body, "environment_ref"), readLegacyRef(body, "application_ref")
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	application.Version = "" // an application has none
	ctx, project := c.Request.Context(), api.Project(c)
	var found entity.Retrieved
	if variant.IsZero() {
		found, err = l.deployed(ctx, project, environment, application)
	} else {
		found, err = l.committed(ctx, project, variant, application)
	}
	if err != nil {
		return err
	}
	if found.Revision == nil {
		return domain.E(domain.NotFound, "Config not found.")
	}
	if found.Revision.Data != nil {
		if found.Revision.Data, _, err = l.registry.Resolve(ctx, project, found.Revision.Data, entities.Resolution{}); err != nil {
			return err
		}
	}
	owner, err := l.registry.Artifact(ctx, project, l.family, found.Revision.ArtifactID)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, configOf(found, owner))
	return nil
}

// readLegacyRef reads {slug?, version?, id?}; the version is a number or a string.
func readLegacyRef(body *request.Object, member string) domain.Reference {
	o := body.Object(member)
	if o == nil {
		return domain.Reference{}
	}
	ref := domain.Reference{ID: o.UUID("id"), Slug: o.String("slug")}
	switch v := o.Any("version").(type) {
	case nil:
	case string:
		ref.Version = v
	case json.Number:
		ref.Version = v.String()
	default:
		o.Fail("int_type", "Input should be a valid integer", v, "version")
	}
	o.Ignore("commit_message")
	o.FailUnknown()
	return ref
}

// committed finds what a variant's reference names. Its id may be that of a
// revision, which old clients call a variant's.
func (l legacy) committed(ctx context.Context, project domain.ProjectID, variant, application domain.Reference) (entity.Retrieved, error) {
	if variant.ID != uuid.Nil {
		found, err := l.registry.Retrieve(ctx, project, entity.Retrieval{Family: l.family, Refs: entity.Refs{Artifact: application, Revision: domain.Reference{ID: variant.ID}}})
		if err != nil || found.Revision != nil {
			return found, err
		}
	}
	q := entity.Retrieval{Family: l.family, Refs: entity.Refs{Artifact: application, Variant: domain.Reference{ID: variant.ID, Slug: variant.Slug}}}
	q.Refs.Revision.Version = variant.Version
	return l.registry.Retrieve(ctx, project, q)
}

// deployed finds what an environment holds for an application. The
// environment's id may be that of one of its revisions.
func (l legacy) deployed(ctx context.Context, project domain.ProjectID, environment, application domain.Reference) (entity.Retrieved, error) {
	if application.IsZero() {
		return entity.Retrieved{}, domain.E(domain.NotFound, "Config not found: what is deployed to an environment needs an application_ref.")
	}
	if application.Slug == "" { // the key needs it
		owner, err := l.registry.Artifact(ctx, project, l.family, application.ID)
		if err != nil || owner == nil {
			return entity.Retrieved{}, err
		}
		application.Slug = owner.Slug
	}
	if environment.IsZero() {
		environment.Slug = "production"
	}
	q := entity.Retrieval{Family: l.family, Refs: entity.Refs{Artifact: application}}
	q.Environment.Artifact = domain.Reference{ID: environment.ID, Slug: environment.Slug}
	q.Environment.Revision.Version = environment.Version
	found, err := l.registry.Retrieve(ctx, project, q)
	failed, isKnown := errors.AsType[*domain.Error](err)
	if environment.ID == uuid.Nil || !isKnown || failed.Kind != domain.NotFound {
		return found, err
	}
	q.Environment = entity.Refs{Revision: domain.Reference{ID: environment.ID}}
	return l.registry.Retrieve(ctx, project, q)
}

func configOf(found entity.Retrieved, owner *entity.Artifact) legacyConfig {
	r := found.Revision
	config := legacyConfig{
		Params:           map[string]any{},
		ApplicationRef:   &legacyReference{Slug: &r.ArtifactSlug, ID: &r.ArtifactID},
		VariantRef:       &legacyReference{Slug: &r.VariantSlug, Version: &r.Version, CommitMessage: r.Message, ID: &r.VariantID},
		VariantLifecycle: lifecycleOf(&r.Record),
	}
	if parameters, ok := r.Data["parameters"].(map[string]any); ok {
		config.Params = parameters
	}
	if url, ok := r.Data["url"].(string); ok {
		config.URL = &url
	}
	if owner != nil {
		config.ApplicationLifecycle = lifecycleOf(&owner.Record)
	}
	if e := found.Environment; e != nil {
		config.EnvironmentRef = &legacyReference{Slug: &e.ArtifactSlug, Version: &e.Version, CommitMessage: e.Message, ID: &e.ID}
		config.EnvironmentLifecycle = lifecycleOf(&e.Record)
	}
	return config
}

func lifecycleOf(r *entity.Record) *legacyLifecycle {
	created := r.CreatedAt.UTC()
	l := &legacyLifecycle{CreatedAt: &created, UpdatedByID: r.UpdatedByID}
	if r.UpdatedAt != nil {
		updated := r.UpdatedAt.UTC()
		l.UpdatedAt = &updated
	}
	return l
}
