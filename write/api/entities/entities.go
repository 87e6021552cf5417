// Package entities holds the commands on versioned entities (applications,
// workflows, evaluators, environments, queries and testsets: their artifacts,
// variants and revisions), on the folders that hold applications, and on testcases
// from an uploaded file. A handler decodes the request and calls
// write/registry/entities, which holds the rules; entities are read in read/api/entities.
package entities

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/entities"
)

// Mount mounts the commands of every family: applications, workflows,
// evaluators, environments, queries, testsets. Source: contract §5.
func Mount(r api.Router, commands *entities.Registry) {
	for _, f := range entity.Families() {
		l := endpoints{family: f, registry: commands, router: r}
		l.mountArtifacts()
		l.mountVariants()
		l.mountRevisions()
		l.mountSimple()
	}
}

// endpoints is the commands of one family.
type endpoints struct {
	family   entity.Family
	registry *entities.Registry
	router   api.Router
}

// command is a route as its file lists it.
type command struct {
	method, path, summary string
	// request is the shape of the body; nil where there is none.
	request any
	handle  func(*gin.Context) error
}

// mount mounts commands that answer with one record of this shape.
func (l endpoints) mount(member string, record entityschema.Schema, commands ...command) {
	l.mountWith(l.family.Edit, member, record, commands...)
}

func (l endpoints) mountWith(p domain.Permission, member string, record entityschema.Schema, commands ...command) {
	for _, c := range commands {
		l.router.Handle(domain.Operation{
			Method: c.method, Path: c.path, Permission: p, Tag: l.family.Plural, Summary: c.summary, Preview: true,
			Request: c.request, Response: entityschema.One(member, record),
		}, c.handle)
	}
}

func (l endpoints) mountArtifacts() {
	f := l.family
	base, id := "/"+f.Plural, "/:"+f.Name+"_id"
	l.mount(f.Name, entityschema.For(f).Record(entity.LevelArtifact),
		command{http.MethodPost, base + "/", "Create " + f.Name + ", without variants.", entityschema.For(f).Write(entity.LevelArtifact, true), l.createArtifact},
		command{http.MethodPut, base + id, "Edit " + f.Name + ": given members change.", entityschema.For(f).Write(entity.LevelArtifact, false), l.editArtifact},
		command{http.MethodPost, base + id + "/archive", "Hide " + f.Name + " from queries.", nil, l.archiveArtifact(l.setArchived(true))},
		command{http.MethodPost, base + id + "/unarchive", "Show " + f.Name + " again.", nil, l.archiveArtifact(l.setArchived(false))},
	)
}

func (l endpoints) createArtifact(c *gin.Context) error {
	d, err := l.readArtifact(c, uuid.Nil)
	if err != nil {
		return err
	}
	made, err := l.registry.CreateArtifact(c.Request.Context(), api.Caller(c), l.family, d)
	if err != nil {
		return err
	}
	return api.Reply(c, l.family.Name, l.family.ArtifactJSON(&made))
}

func (l endpoints) editArtifact(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_id")
	if err != nil {
		return err
	}
	d, err := l.readArtifact(c, id)
	if err != nil {
		return err
	}
	workflow := l.family.Name == string(entity.Workflow)
	if workflow && d.Name != nil && strings.TrimSpace(*d.Name) == "" {
		return request.Invalid("string_too_short", "String should have at least 1 character", *d.Name, "body", l.family.Name, "name")
	}
	edited, err := l.registry.EditArtifact(c.Request.Context(), api.Caller(c), l.family, id, d)
	if workflow && err == nil && edited == nil {
		return domain.E(domain.NotFound, "Workflow not found.")
	}
	return l.replyArtifact(c, edited, err)
}

// readArtifact reads a new artifact, or the change of the one with this id.
func (l endpoints) readArtifact(c *gin.Context, id uuid.UUID) (entities.ArtifactDraft, error) {
	f := l.family
	body, err := api.ReadObject(c)
	if err != nil {
		return entities.ArtifactDraft{}, err
	}
	record := readRecord(body, f.Name)
	var mismatch error
	if id != uuid.Nil {
		mismatch = checkID(record, id)
	} else {
		record.Require("slug")
		record.Ignore("id")
	}
	d := entities.ArtifactDraft{RecordFields: readDraft(record, f)}
	d.Flags = readRoles(record, f, d.Flags)
	if folder := record.UUID("folder_id"); folder != uuid.Nil {
		d.FolderID = &folder
	}
	record.FailUnknown()
	if given := c.Query(f.Name + "_id"); given != "" && id == uuid.Nil {
		if d.ID, err = uuid.Parse(given); err != nil {
			return entities.ArtifactDraft{}, badQueryID(f.Name+"_id", given)
		}
	}
	if err := body.Err(); err != nil {
		return d, err
	}
	return d, mismatch
}

// setArchived returns the command that archives an artifact, or makes it live again.
func (l endpoints) setArchived(archived bool) archiveArtifact {
	return func(ctx context.Context, caller domain.Principal, f entity.Family, id uuid.UUID) (*entity.Artifact, error) {
		return l.registry.SetArtifactArchived(ctx, caller, f, id, archived)
	}
}

type archiveArtifact func(context.Context, domain.Principal, entity.Family, uuid.UUID) (*entity.Artifact, error)

func (l endpoints) archiveArtifact(command archiveArtifact) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, l.family.Name+"_id")
		if err != nil {
			return err
		}
		changed, err := command(c.Request.Context(), api.Caller(c), l.family, id)
		return l.replyArtifact(c, changed, err)
	}
}

func (l endpoints) replyArtifact(c *gin.Context, a *entity.Artifact, err error) error {
	if err != nil {
		return err
	}
	if a == nil {
		return api.Reply(c, "", nil)
	}
	return api.Reply(c, l.family.Name, l.family.ArtifactJSON(a))
}
