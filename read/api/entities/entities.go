// Package entities holds the endpoints that read entities: applications,
// workflows, evaluators, environments, queries, testsets and their testcases,
// folders, the catalog, and the accounts' keys, secrets and projects. The reads
// themselves are in read/entities and read/access.
package entities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/entities"
)

// MountRegistry mounts the questions about every family: applications,
// workflows, evaluators, environments, queries, testsets, and the catalog.
// Source: contract §5.
func MountRegistry(r api.Router, reader *entities.Registry, run api.RunQuery) {
	for _, f := range entity.Families() {
		l := lineageRoutes{family: f, registry: reader, router: r, run: run}
		l.mountRecords()
		l.mountLists()
		l.mountRetrieve()
		if f.Catalog {
			l.mountCatalog()
		}
	}
}

// lineageRoutes are the questions about one family.
type lineageRoutes struct {
	family   entity.Family
	registry *entities.Registry
	router   api.Router
	// run runs saved queries.
	run api.RunQuery
}

func (l lineageRoutes) mount(op domain.Operation, h func(*gin.Context) error) {
	op.Permission, op.Tag, op.Preview = l.family.View, l.family.Plural, true
	l.router.Handle(op, h)
}

func (l lineageRoutes) mountRecords() {
	f := l.family
	get := func(path, summary, member string, record entityschema.Schema, h func(*gin.Context) error, query ...domain.Parameter) {
		l.mount(domain.Operation{Method: http.MethodGet, Path: path, Summary: summary, Response: entityschema.One(member, record), Query: query}, h)
	}
	variant, revision := f.Member(entity.LevelVariant), f.Member(entity.LevelRevision)
	get("/"+f.Plural+"/:"+f.Name+"_id", "One "+f.Name+", archived or not.", f.Name, entityschema.For(f).Record(entity.LevelArtifact), l.artifact)
	get("/"+f.Plural+"/variants/:"+variant+"_id", "One variant, archived or not.", variant, entityschema.For(f).Record(entity.LevelVariant), l.variant)
	l.mount(domain.Operation{
		Method: http.MethodGet, Path: "/" + f.Plural + "/revisions/:" + revision + "_id", Summary: "One revision, archived or not.",
		Response: entityschema.One(revision, entityschema.For(f).Record(entity.LevelRevision)), Query: l.viewParameters(), Hook: f.Kind == entity.Workflow,
	}, l.revision)
	get("/simple/"+f.Plural+"/:"+f.Name+"_id", "One "+f.Name+" with its latest revision.", f.Name, entityschema.For(f).Simple(), l.simple)
}

func (l lineageRoutes) artifact(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_id")
	if err != nil {
		return err
	}
	found, err := l.registry.Artifact(c.Request.Context(), api.Project(c), l.family, id)
	if err != nil || found == nil {
		return l.one(c, "", nil, err)
	}
	return l.one(c, l.family.Name, l.family.ArtifactJSON(found), nil)
}

func (l lineageRoutes) variant(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_variant_id")
	if err != nil {
		return err
	}
	found, err := l.registry.Variant(c.Request.Context(), api.Project(c), l.family, id)
	if err != nil || found == nil {
		return l.one(c, "", nil, err)
	}
	return l.one(c, l.family.Member(entity.LevelVariant), l.family.VariantJSON(found), nil)
}

func (l lineageRoutes) revision(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_revision_id")
	if err != nil {
		return err
	}
	if err := ofHook(c.Request.Context(), id); err != nil {
		return err
	}
	found, err := l.findRevision(c, id)
	if err != nil || found == nil {
		return l.one(c, "", nil, err)
	}
	return l.one(c, l.family.Member(entity.LevelRevision), l.family.RevisionJSON(found), nil)
}

// ofHook refuses a hook's credential any revision but the one that the hook was called for.
func ofHook(ctx context.Context, revision uuid.UUID) error {
	if caller := domain.PrincipalFrom(ctx); caller.Purpose == domain.PurposeHook && revision != caller.Revision {
		return domain.E(domain.Forbidden, "The credential of a hook may read the revision that it was called for, and no other.")
	}
	return nil
}

func (l lineageRoutes) simple(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_id")
	if err != nil {
		return err
	}
	found, err := l.registry.Simple(c.Request.Context(), api.Project(c), l.family, id)
	if err != nil || found == nil {
		return l.one(c, "", nil, err)
	}
	return l.one(c, l.family.Name, l.family.SimpleJSON(&found.Artifact, found.Revision), nil)
}

// one answers 200 with one record, or with none. Source: contract §5.1.
func (l lineageRoutes) one(c *gin.Context, member string, record map[string]any, err error) error {
	switch {
	case err != nil:
		return err
	case record == nil:
		c.PureJSON(http.StatusOK, gin.H{"count": 0})
	default:
		c.PureJSON(http.StatusOK, gin.H{"count": 1, member: record})
	}
	return nil
}

// form reads the request's body, which must be there and be an object. Source: interface.md §7.
func (l lineageRoutes) form(c *gin.Context) (*request.Object, error) {
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, fmt.Errorf("api: reading the body: %w", err)
	}
	return request.ParseObject(raw)
}

// formOrQuery reads the body of a list of one level or, where that is empty
// and may be, the query string, whose keys mean the same: a body wins. Source:
// contract §5.1.
func (l lineageRoutes) formOrQuery(c *gin.Context, level entity.Level) (*request.Object, error) {
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, fmt.Errorf("api: reading the body: %w", err)
	}
	optional := level == entity.LevelVariant || l.family.Kind == entity.Environment
	if len(bytes.TrimSpace(raw)) > 0 || c.Request.URL.RawQuery == "" || !optional {
		return request.ParseObject(raw)
	}
	return l.queryForm(c.Request.URL.Query(), level)
}
