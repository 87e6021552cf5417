package entities

import (
	"maps"
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

// maxRevisionBytes bounds a question that brings a revision along.
const maxRevisionBytes = 32 << 20

func (l lineageRoutes) mountRetrieve() {
	f, base := l.family, "/"+l.family.Plural+"/revisions"
	post := func(path, summary string, request, response any, h func(*gin.Context) error) {
		l.mount(domain.Operation{Method: http.MethodPost, Path: path, Summary: summary, Request: request, Response: response}, h)
	}
	history := entityschema.List(f.Members(entity.LevelRevision), entityschema.For(f).Record(entity.LevelRevision), domain.Window{})
	l.mount(domain.Operation{
		Method: http.MethodPost, Path: base + "/retrieve", Summary: "The revision that references lead to, directly or through an environment.",
		Request: entityschema.For(f).Retrieve(), Response: entityschema.For(f).Retrieved(), Hook: f.Kind == entity.Workflow,
	}, l.retrieve)
	l.mount(domain.Operation{
		Method: http.MethodPost, Path: base + "/resolve", Summary: "A revision with its embeds replaced.", Limit: maxRevisionBytes,
		Request: entityschema.For(f).Resolve(), Response: entityschema.For(f).Resolved(),
	}, l.resolve)
	post(base+"/log", "The history of "+f.Name+", newest first.", entityschema.For(f).Log(), history, l.log)
}

func (l lineageRoutes) retrieve(c *gin.Context) error {
	body, err := l.form(c)
	if err != nil {
		return err
	}
	q := l.family.ReadRetrieval(body)
	resolve := body.True("resolve")
	limits := readResolution(body)
	view := l.readView(body)
	if l.family.Kind == entity.Testset {
		view.ReadWindow(body.Object("windowing"))
	}
	finding, err := l.readFinding(body)
	if err != nil {
		return err
	}
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	ctx := c.Request.Context()
	found, err := l.findRetrieved(ctx, api.Project(c), q, view)
	if err != nil || found.Revision == nil {
		return l.one(c, "", nil, err)
	}
	if err := ofHook(ctx, found.Revision.ID); err != nil {
		return err
	}
	reply := gin.H{"count": 1}
	if resolve && found.Revision.Data != nil {
		data, info, err := l.registry.Resolve(ctx, api.Project(c), found.Revision.Data, limits)
		if err != nil {
			return err
		}
		found.Revision.Data = data
		reply["resolution_info"] = info
	}
	if finding != nil {
		traces, err := finding.run(c, l.run, found.Revision)
		if err != nil {
			return err
		}
		defer traces.Release()
		if traces.Window.Next != uuid.Nil {
			reply["windowing"] = traces.Window
		}
	}
	reply[l.family.Member(entity.LevelRevision)] = l.family.RevisionJSON(found.Revision)
	reply["retrieval_info"] = l.retrievalInfo(found)
	c.PureJSON(http.StatusOK, reply)
	return nil
}

// retrievalInfo names what was found and the environment it was found through. Source: contract §5.3.
func (l lineageRoutes) retrievalInfo(found entity.Retrieved) gin.H {
	references := l.family.ReferencesJSON(found.Revision)
	if found.Environment != nil {
		maps.Copy(references, entity.Environments().ReferencesJSON(found.Environment))
	}
	info := gin.H{"references": references}
	if found.Key != "" {
		info["selector"] = gin.H{"key": found.Key}
	}
	return info
}

func readResolution(o *request.Object) entities.Resolution {
	limits := entities.Resolution{Policy: entity.ErrorPolicy(o.Enum("error_policy", string(entity.FailOnError), string(entity.PlaceholderOnError), string(entity.KeepOnError)))}
	for _, bound := range []struct {
		name string
		most int
		to   *int
	}{{"max_depth", entity.MaxEmbedDepth, &limits.MaxDepth}, {"max_embeds", entity.MaxEmbeds, &limits.MaxEmbeds}} {
		n := o.Int(bound.name, 1)
		if n == nil {
			continue
		}
		if *n > bound.most {
			o.Fail("less_than_equal", "Input is beyond the service's own limit", *n, bound.name)
		}
		*bound.to = *n
	}
	return limits
}

// resolve reads references to a revision, or a revision with data that was not
// committed yet.
func (l lineageRoutes) resolve(c *gin.Context) error {
	body, err := l.form(c)
	if err != nil {
		return err
	}
	member := l.family.Member(entity.LevelRevision)
	q := l.family.ReadRetrieval(body)
	limits := readResolution(body)
	given := body.Object(member)
	record := body.Map(member)
	data := entity.Document(given.Map("data"))
	body.Ignore("resolve", "include_archived")
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	ctx := c.Request.Context()
	if record == nil {
		found, err := l.registry.Retrieve(ctx, api.Project(c), q)
		if err != nil || found.Revision == nil {
			return l.one(c, "", nil, err)
		}
		data, record = found.Revision.Data, l.family.RevisionJSON(found.Revision)
	}
	resolved, info, err := l.registry.Resolve(ctx, api.Project(c), data, limits)
	if err != nil {
		return err
	}
	if data != nil {
		record["data"] = resolved
	}
	c.PureJSON(http.StatusOK, gin.H{"count": 1, member: record, "resolution_info": info})
	return nil
}

// log reads {application_revisions: {application_id?, application_variant_id?,
// application_revision_id?, depth?}}; the wrapper may also be called
// application or application_revision. Source: contract §0 row 15.
func (l lineageRoutes) log(c *gin.Context) error {
	body, err := l.form(c)
	if err != nil {
		return err
	}
	members := l.family.Members(entity.LevelRevision)
	member := body.OneOf(members, l.family.Name, l.family.Member(entity.LevelRevision), l.family.Name+"_revisions_log")
	body.Require(member)
	o := body.Object(member)
	q := entities.LogQuery{Archived: o.True("include_archived"), View: l.readView(body)}
	for _, level := range []struct {
		suffix string
		names  []string
	}{
		{"", []string{"_id", "artifact_id"}},
		{"_variant", []string{"_variant_id", "variant_id"}},
		{"_revision", []string{"_revision_id", "revision_id"}},
	} {
		name := o.OneOf(l.family.Name+level.names[0], level.names[1], "workflow"+level.names[0])
		id := o.UUID(name)
		switch level.suffix {
		case "":
			q.Artifact = id
		case "_variant":
			q.Variant = id
		default:
			q.Revision = id
		}
	}
	if depth := o.Int("depth", 1); depth != nil {
		q.Depth = *depth
	}
	o.FailUnknown()
	body.FailUnknown()
	if err := body.Err(); err != nil {
		return err
	}
	if q.Artifact == q.Variant && q.Variant == q.Revision {
		return domain.E(domain.Rejected, "Provide %s_id, %s_variant_id or %s_revision_id.", l.family.Name, l.family.Name, l.family.Name)
	}
	found, err := l.registry.Log(c.Request.Context(), api.Project(c), l.family, q)
	return replyLineages(c, members, domain.Window{}, domain.Page[*entity.Revision]{Items: found}, l.family.RevisionJSON, err)
}
