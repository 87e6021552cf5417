package entities

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/write/api"
	"colonnade/write/registry/entities"
)

func (l endpoints) mountSimple() {
	f := l.family
	base, id := "/simple/"+f.Plural, "/:"+f.Name+"_id"
	l.mount(f.Name, entityschema.For(f).Simple(),
		command{http.MethodPost, base + "/", "Create " + f.Name + " with a variant and a first revision.", entityschema.For(f).SimpleWrite(true), l.createSimple},
		command{http.MethodPut, base + id, "Edit " + f.Name + " and commit what is given.", entityschema.For(f).SimpleWrite(false), l.editSimple},
		command{http.MethodPost, base + id + "/archive", "Hide " + f.Name + " from queries.", nil, l.archiveSimple(l.setArchived(true))},
		command{http.MethodPost, base + id + "/unarchive", "Show " + f.Name + " again.", nil, l.archiveSimple(l.setArchived(false))},
	)
	if f.Kind == entity.Environment {
		l.mountWith(domain.GuardEnvironments, f.Name, entityschema.For(f).Simple(),
			command{http.MethodPost, base + id + "/guard", "Close an environment to callers without the permission.", nil, l.archiveSimple(l.guard(true))},
			command{http.MethodPost, base + id + "/unguard", "Open it again.", nil, l.archiveSimple(l.guard(false))},
		)
	}
}

func (l endpoints) guard(on bool) archiveArtifact {
	return func(ctx context.Context, who domain.Principal, _ entity.Family, id uuid.UUID) (*entity.Artifact, error) {
		return l.registry.Guard(ctx, who, id, on)
	}
}

// readSimple reads a new simple record, or the change of the one with this id.
func (l endpoints) readSimple(c *gin.Context, id uuid.UUID) (entities.SimpleDraft, error) {
	f := l.family
	body, err := api.ReadObject(c)
	if err != nil {
		return entities.SimpleDraft{}, err
	}
	record := readRecord(body, f.Name)
	var mismatch error
	if id != uuid.Nil {
		mismatch = checkID(record, id)
	} else {
		record.Require("slug")
		record.Ignore("id")
	}
	d := entities.SimpleDraft{ArtifactDraft: entities.ArtifactDraft{RecordFields: readDraft(record, f)}, Message: record.StringPtr("message")}
	d.Flags = readRoles(record, f, d.Flags)
	if folder := record.UUID("folder_id"); folder != uuid.Nil {
		d.FolderID = &folder
	}
	var q entities.CommitRequest
	l.readContent(record, &q)
	if record.Has("delta") {
		record.Fail("extra_forbidden", "Extra inputs are not permitted", record.Any("delta"), "delta")
	}
	d.Data, d.References, d.Testset = q.Data, q.References, q.Testset
	record.Ignore("variant_id")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return d, err
	}
	if mismatch != nil {
		return d, mismatch
	}
	if given := c.Query(f.Name + "_id"); given != "" && id == uuid.Nil {
		if d.ID, err = uuid.Parse(given); err != nil {
			return d, badQueryID(f.Name+"_id", given)
		}
	}
	return d, nil
}

func badQueryID(name, given string) error {
	return &domain.Error{Kind: domain.Invalid, Message: "Not a UUID.", Fields: []domain.Field{{
		Type: "uuid_parsing", Loc: []any{"query", name}, Msg: "Input should be a valid UUID", Input: given,
	}}}
}

func (l endpoints) createSimple(c *gin.Context) error {
	d, err := l.readSimple(c, uuid.Nil)
	if err != nil {
		return err
	}
	made, err := l.registry.CreateSimple(c.Request.Context(), api.Caller(c), l.family, d)
	return l.replySimple(c, &made, err)
}

func (l endpoints) editSimple(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_id")
	if err != nil {
		return err
	}
	d, err := l.readSimple(c, id)
	if err != nil {
		return err
	}
	edited, err := l.registry.EditSimple(c.Request.Context(), api.Caller(c), l.family, id, d)
	if err == nil && edited != nil && d.Slug != "" && d.Slug != edited.Artifact.Slug {
		c.Header(api.IgnoredHeader, l.family.Name+".slug")
	}
	return l.replySimple(c, edited, err)
}

func (l endpoints) archiveSimple(command archiveArtifact) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, l.family.Name+"_id")
		if err != nil {
			return err
		}
		changed, err := command(c.Request.Context(), api.Caller(c), l.family, id)
		if err != nil || changed == nil {
			return l.replySimple(c, nil, err)
		}
		simple, err := l.registry.WithLatest(c.Request.Context(), api.Caller(c), l.family, changed)
		return l.replySimple(c, &simple, err)
	}
}

func (l endpoints) replySimple(c *gin.Context, s *entities.Simple, err error) error {
	if err != nil {
		return err
	}
	if s == nil {
		return api.Reply(c, "", nil)
	}
	return api.Reply(c, l.family.Name, l.family.SimpleJSON(&s.Artifact, s.Revision))
}
