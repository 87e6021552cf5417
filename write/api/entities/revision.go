package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/domain/testset"
	"colonnade/write/api"
	"colonnade/write/registry/entities"
)

func (l endpoints) mountRevisions() {
	f := l.family
	base, id := "/"+f.Plural+"/revisions", "/:"+f.Name+"_revision_id"
	member, record := f.Member(entity.LevelRevision), entityschema.For(f).Record(entity.LevelRevision)
	l.mount(member, record,
		command{http.MethodPost, base + "/", "Make the first revision of a variant.", entityschema.For(f).Commit(), l.createRevision},
		command{http.MethodPut, base + id, "Replace name, description, flags, tags and meta of a revision.", entityschema.For(f).Write(entity.LevelRevision, false), l.editRevision},
		command{http.MethodPost, base + id + "/archive", "Hide a revision.", nil, l.archiveRevision(true)},
		command{http.MethodPost, base + id + "/unarchive", "Show a revision again.", nil, l.archiveRevision(false)},
		command{http.MethodPost, base + "/commit", "Commit the next revision of a variant.", entityschema.For(f).Commit(), l.commit},
	)
	if f.Deployable {
		l.mountWith(domain.DeployEnvironment, member, record,
			command{http.MethodPost, base + "/deploy", "Point an environment at a revision.", entityschema.For(f).Deploy(), l.deploy})
	}
}

func (l endpoints) createRevision(c *gin.Context) error {
	q, err := l.readCommit(c)
	if err != nil {
		return err
	}
	q.Initial = true
	if q.Message == nil {
		message := "Initial revision"
		q.Message = &message
	}
	made, err := l.registry.Commit(c.Request.Context(), api.Caller(c), l.family, q)
	return l.replyRevision(c, made, err)
}

func (l endpoints) commit(c *gin.Context) error {
	q, err := l.readCommit(c)
	if err != nil {
		return err
	}
	if l.family.Kind == entity.Environment && q.References == nil && q.EnvironmentDelta == nil {
		return domain.E(domain.Rejected, "Provide either data or delta for a commit.")
	}
	made, err := l.registry.Commit(c.Request.Context(), api.Caller(c), l.family, q)
	if err == nil && made == nil && l.family.Name == string(entity.Workflow) {
		return domain.E(domain.NotFound, "Workflow variant not found.")
	}
	return l.replyRevision(c, made, err)
}

// readCommit reads {application_revision: ...}; the wrapper may also be called
// application_revision_commit. Source: contract §0 row 3.
func (l endpoints) readCommit(c *gin.Context) (entities.CommitRequest, error) {
	f := l.family
	body, err := api.ReadObject(c)
	if err != nil {
		return entities.CommitRequest{}, err
	}
	member := f.Member(entity.LevelRevision)
	view := readView(body, f)
	record := readRecord(body, member, member+"_commit")
	q := entities.CommitRequest{
		Message: record.StringPtr("message"), Base: record.UUID("base_revision_id"),
		Variant: readParent(record, f, "_variant"), Artifact: readParent(record, f, ""), View: view,
	}
	if f.Kind == entity.Testset {
		readTestsetBase(record, &q)
	}
	q.RecordFields = readDraft(record, f)
	if q.Variant == uuid.Nil && q.Named == uuid.Nil {
		record.Require(f.Name + "_variant_id")
	}
	both := record.Has("data") && record.Has("delta")
	l.readContent(record, &q)
	record.Ignore("id")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return q, err
	}
	if both {
		return q, domain.E(domain.Rejected, "Provide either data or delta for a commit, not both.")
	}
	return q, nil
}

// readContent reads data and delta in the family's form.
func (l endpoints) readContent(record *request.Object, q *entities.CommitRequest) {
	data, delta := record.Object("data"), record.Object("delta")
	environment, tests := l.family.Kind == entity.Environment, l.family.Kind == entity.Testset
	switch {
	case data != nil && environment:
		q.References = entities.ReadReferences(data)
	case data != nil && tests:
		given := testset.ReadData(data)
		q.Testset = &given
	case data != nil:
		q.Data = entities.ReadData(l.family, data)
	default:
	}
	switch {
	case delta != nil && environment:
		q.EnvironmentDelta = entities.ReadEnvironmentDelta(delta)
	case delta != nil && tests:
		d := testset.ReadDelta(delta)
		q.TestsetDelta = &d
	case delta != nil:
		d := entity.ReadDelta(delta)
		q.Delta = &d
	default:
	}
}

func (l endpoints) editRevision(c *gin.Context) error {
	id, err := api.PathID(c, l.family.Name+"_revision_id")
	if err != nil {
		return err
	}
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	view := readView(body, l.family)
	record := readRecord(body, l.family.Member(entity.LevelRevision))
	mismatch := checkID(record, id)
	readParent(record, l.family, "")
	readParent(record, l.family, "_variant")
	d := readDraft(record, l.family)
	// A revision is immutable: what was committed may be sent back, and stays as it is.
	record.Ignore("data", "message")
	record.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	if mismatch != nil {
		return mismatch
	}
	edited, err := l.registry.EditRevision(c.Request.Context(), api.Caller(c), l.family, id, d)
	if edited != nil && l.family.Kind == entity.Testset {
		edited.Data = view.Show(edited.Data, nil)
	}
	return l.replyRevision(c, edited, err)
}

func (l endpoints) archiveRevision(archived bool) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, l.family.Name+"_revision_id")
		if err != nil {
			return err
		}
		changed, err := l.registry.SetRevisionArchived(c.Request.Context(), api.Caller(c), l.family, id, archived)
		return l.replyRevision(c, changed, err)
	}
}

func (l endpoints) deploy(c *gin.Context) error {
	who := api.Caller(c)
	for _, p := range []domain.Permission{l.family.Edit, domain.EditEnvironments} {
		if err := who.Check(p); err != nil {
			return err
		}
	}
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	d := entities.Deployment{Retrieval: l.family.ReadRetrieval(body), Message: body.StringPtr("message")}
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	deployed, err := l.registry.Deploy(c.Request.Context(), who, d)
	return l.replyRevision(c, deployed, err)
}

func (l endpoints) replyRevision(c *gin.Context, r *entity.Revision, err error) error {
	if err != nil {
		return err
	}
	if r == nil {
		return api.Reply(c, "", nil)
	}
	return api.Reply(c, l.family.Member(entity.LevelRevision), l.family.RevisionJSON(r))
}
