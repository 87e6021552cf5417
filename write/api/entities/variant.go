package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/entities"
)

func (l endpoints) mountVariants() {
	f := l.family
	base, id := "/"+f.Plural+"/variants", "/:"+f.Name+"_variant_id"
	l.mount(f.Member(entity.LevelVariant), entityschema.For(f).Record(entity.LevelVariant),
		command{http.MethodPost, base + "/", "Create a variant, without revisions.", entityschema.For(f).Write(entity.LevelVariant, true), l.createVariant},
		command{http.MethodPut, base + id, "Replace name, description, flags, tags and meta of a variant.", entityschema.For(f).Write(entity.LevelVariant, false), l.editVariant},
		command{http.MethodPost, base + id + "/archive", "Hide a variant and its revisions.", nil, l.archiveVariant(true)},
		command{http.MethodPost, base + id + "/unarchive", "Show a variant and its revisions again.", nil, l.archiveVariant(false)},
		command{http.MethodPost, base + "/fork", "Copy a variant with its history.", entityschema.For(f).Fork(), l.fork},
	)
}

func (l endpoints) createVariant(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	record := readRecord(body, l.family.Member(entity.LevelVariant))
	record.Require("slug")
	artifact := readParent(record, l.family, "")
	if artifact == uuid.Nil {
		record.Require(l.family.Name + "_id")
	}
	d := readDraft(record, l.family)
	record.Ignore("id")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	made, err := l.registry.CreateVariant(c.Request.Context(), api.Caller(c), l.family, artifact, d)
	return l.replyVariant(c, &made, err)
}

func (l endpoints) editVariant(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_variant_id")
	if err != nil {
		return err
	}
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	record := readRecord(body, l.family.Member(entity.LevelVariant))
	mismatch := checkID(record, id)
	readParent(record, l.family, "")
	d := readDraft(record, l.family)
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	if mismatch != nil {
		return mismatch
	}
	edited, err := l.registry.EditVariant(c.Request.Context(), api.Caller(c), l.family, id, d)
	return l.replyVariant(c, edited, err)
}

func (l endpoints) archiveVariant(archived bool) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, l.family.Name+"_variant_id")
		if err != nil {
			return err
		}
		changed, err := l.registry.SetVariantArchived(c.Request.Context(), api.Caller(c), l.family, id, archived)
		return l.replyVariant(c, changed, err)
	}
}

// fork reads {application_variant, application_variant_ref, application_revision_ref?};
// the references may also stand inside the variant.
func (l endpoints) fork(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	variant, revision := l.family.Member(entity.LevelVariant), l.family.Member(entity.LevelRevision)
	q := entities.ForkRequest{
		Variant:  entity.ReadReference(body, variant+"_ref"),
		Revision: entity.ReadReference(body, revision+"_ref"),
	}
	record := readRecord(body, variant)
	if q.Variant.IsZero() && q.Revision.IsZero() {
		q.Variant, q.Revision = entity.ReadReference(record, variant+"_ref"), entity.ReadReference(record, revision+"_ref")
	}
	q.Artifact = readParent(record, l.family, "")
	q.RecordFields = readDraft(record, l.family)
	record.Ignore("id")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	if q.Variant.IsZero() && q.Revision.IsZero() {
		return request.Invalid("missing", "Provide "+variant+"_ref or "+revision+"_ref to fork.", nil, "body", variant+"_ref")
	}
	made, err := l.registry.Fork(c.Request.Context(), api.Caller(c), l.family, q)
	return l.replyVariant(c, &made, err)
}

func (l endpoints) replyVariant(c *gin.Context, v *entity.Variant, err error) error {
	if err != nil {
		return err
	}
	if v == nil {
		return api.Reply(c, "", nil)
	}
	return api.Reply(c, l.family.Member(entity.LevelVariant), l.family.VariantJSON(v))
}
