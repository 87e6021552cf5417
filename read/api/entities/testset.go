package entities

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/domain/testset"
	"colonnade/read/api"
	"colonnade/read/entities"
)

// readView reads how much of a testset's revision is wanted; of other families all is.
func (l lineageRoutes) readView(body *request.Object) testset.View {
	if l.family.Kind != entity.Testset {
		return testset.View{}
	}
	return testset.ReadView(body)
}

// viewParameters say the same in a query string.
func (l lineageRoutes) viewParameters() []domain.Parameter {
	if l.family.Kind != entity.Testset {
		return nil
	}
	return []domain.Parameter{
		{Name: "include_testcases", Type: "boolean", Doc: "False leaves out the testcases; their ids stay."},
		{Name: "include_testcase_ids", Type: "boolean", Doc: "False leaves out the ids."},
	}
}

func (l lineageRoutes) findRevision(c *gin.Context, id uuid.UUID) (*entity.Revision, error) {
	ctx := c.Request.Context()
	if l.family.Kind != entity.Testset {
		return l.registry.Revision(ctx, api.Project(c), l.family, id)
	}
	members := map[string]any{}
	for _, p := range l.viewParameters() {
		given, ok := c.GetQuery(p.Name)
		if !ok {
			continue
		}
		on, err := strconv.ParseBool(given)
		if err != nil {
			return nil, invalidQuery("bool_parsing", "Input should be true or false", p.Name, given)
		}
		members[p.Name] = on
	}
	return l.registry.TestsetRevision(ctx, api.Project(c), id, testset.ReadView(request.ObjectOf(members, "query")))
}

func (l lineageRoutes) findRetrieved(ctx context.Context, project domain.ProjectID, q entity.Retrieval, view testset.View) (entity.Retrieved, error) {
	if l.family.Kind == entity.Testset && q.Environment.IsZero() {
		return l.registry.RetrieveTestset(ctx, project, q, view)
	}
	return l.registry.Retrieve(ctx, project, q)
}

// MountTestcases mounts the questions about the rows of testsets. Source: contract §5.8.
func MountTestcases(r api.Router, reader *entities.Registry) {
	t := testcaseRoutes{lineageRoutes{family: entity.Family{Name: "testcase", Plural: "testcases", Kind: entity.Testset, View: domain.ViewTestsets}, registry: reader, router: r}}
	list := entityschema.List("testcases", entityschema.Testcase(), domain.Window{})
	t.mount(domain.Operation{
		Method: http.MethodGet, Path: "/testcases/", Summary: "List testcases: of the project, of testsets, or in the order of a testset's revision.",
		Query: testcaseParameters(), Response: list,
	}, t.list)
	t.mount(domain.Operation{Method: http.MethodGet, Path: "/testcases/:testcase_id", Summary: "One testcase.", Response: entityschema.One("testcase", entityschema.Testcase())}, t.one)
	t.mount(domain.Operation{
		Method: http.MethodPost, Path: "/testcases/query", Summary: "List testcases: of the project, of testsets, or in the order of a testset's revision or of the ids that are given.",
		Request: entityschema.TestcaseQuery(), Response: list,
	}, t.query)
}

// testcaseRoutes answer as those of lineages do.
type testcaseRoutes struct{ lineageRoutes }

func testcaseParameters() []domain.Parameter {
	return []domain.Parameter{
		{Name: "testcase_ids", Type: "array", Doc: "Repeated or joined by commas; the list has their order."},
		{Name: "testset_id", Type: "string", Doc: "All rows of a testset, whatever revision holds them."},
		{Name: "testset_slug", Type: "string", Doc: "The same by the testset's slug."},
		{Name: "testset_variant_id", Type: "string", Doc: "What the latest revision of a variant holds, in its order."},
		{Name: "testset_revision_id", Type: "string", Doc: "What a revision holds, in its order."},
		{Name: "flags", Type: "string", Doc: "JSON that must be contained."},
		{Name: "tags", Type: "string", Doc: "JSON that must be contained."},
		{Name: "meta", Type: "string", Doc: "JSON that must be contained."},
		{Name: "include_archived", Type: "boolean", Doc: "Testcases are never archived: it changes nothing."},
		{Name: "next", Type: "string", Doc: "The cursor of the previous page."},
		{Name: "newest", Type: "string", Doc: "Upper bound on created_at."},
		{Name: "oldest", Type: "string", Doc: "Lower bound on created_at."},
		{Name: "limit", Type: "integer", Doc: "The page size."},
		{Name: "order", Type: "string", Doc: "ascending or descending."},
	}
}

func (t testcaseRoutes) one(c *gin.Context) error {
	id, err := api.PathID(c, "testcase_id")
	if err != nil {
		return err
	}
	found, err := t.registry.Testcase(c.Request.Context(), api.Project(c), id)
	if err != nil || found == nil {
		return t.lineageRoutes.one(c, "", nil, err)
	}
	return t.lineageRoutes.one(c, "testcase", found.JSON(), nil)
}

func (t testcaseRoutes) list(c *gin.Context) error {
	body, err := t.queryForm(c.Request.URL.Query(), entity.LevelArtifact)
	if err != nil {
		return err
	}
	return t.answer(c, body)
}

func (t testcaseRoutes) query(c *gin.Context) error {
	body, err := t.form(c)
	if err != nil {
		return err
	}
	return t.answer(c, body)
}

func (t testcaseRoutes) answer(c *gin.Context, body *request.Object) error {
	q, err := t.readQuery(body)
	if err != nil {
		return err
	}
	found, err := t.registry.Testcases(c.Request.Context(), api.Project(c), q)
	return replyLineages(c, "testcases", q.Window, found, (*testset.Testcase).JSON, err)
}

func (t testcaseRoutes) readQuery(body *request.Object) (entities.TestcaseQuery, error) {
	o := body.Object("testcase")
	q := entities.TestcaseQuery{Flags: api.WithoutNulls(o.Map("flags")), Tags: o.Map("tags"), Meta: o.Map("meta"), IDs: body.UUIDs("testcase_ids")}
	o.FailUnknown()
	if refs := t.readReferences(body, entity.LevelArtifact); refs != nil {
		for _, ref := range refs { // a testcase has an id and nothing else to be named by
			q.IDs = append(q.IDs, ref.ID)
		}
	}
	if q.IDs == nil && (body.Has("testcase_ids") || body.Has("testcase_refs")) {
		q.IDs = []uuid.UUID{}
	}
	testsets := lineageRoutes{family: entity.Testsets()}
	q.Testsets = append(testsets.readParents(body, entity.LevelArtifact), testsets.readReferences(body, entity.LevelArtifact)...)
	if q.Testsets == nil && (body.Has("testset_refs") || body.Has("testset_ids") || body.Has("testset_slugs")) {
		q.Testsets = []domain.Reference{}
	}
	q.Revision = testsets.family.ReadRefs(body)
	for _, short := range []struct {
		name string
		to   *domain.Reference
	}{{"testset_variant_id", &q.Revision.Variant}, {"testset_revision_id", &q.Revision.Revision}} {
		id := body.UUID(short.name)
		if id == uuid.Nil {
			continue
		}
		if short.to.ID != uuid.Nil && short.to.ID != id {
			body.Fail("value_error", "It contradicts the reference", id.String(), short.name)
		}
		short.to.ID = id
	}
	body.Bool("include_archived")
	if w := body.Object("windowing"); w != nil {
		q.Window = readLineageWindow(w)
	}
	body.FailUnknown()
	return q, body.Err()
}
