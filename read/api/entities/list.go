package entities

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/entity/entityschema"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/entities"
)

func (l lineageRoutes) mountLists() {
	f := l.family
	query := func(path, summary string, level entity.Level, record entityschema.Schema, h func(*gin.Context) error) {
		l.mount(domain.Operation{
			Method: http.MethodPost, Path: path, Summary: summary,
			Request: entityschema.For(f).Query(level), Response: entityschema.List(f.Members(level), record, domain.Window{}),
		}, h)
	}
	query("/"+f.Plural+"/query", "List "+f.Plural+".", entity.LevelArtifact, entityschema.For(f).Record(entity.LevelArtifact), l.artifacts)
	query("/"+f.Plural+"/variants/query", "List variants.", entity.LevelVariant, entityschema.For(f).Record(entity.LevelVariant), l.variants)
	query("/"+f.Plural+"/revisions/query", "List revisions, with their data.", entity.LevelRevision, entityschema.For(f).Record(entity.LevelRevision), l.revisions)
	query("/simple/"+f.Plural+"/query", "List "+f.Plural+", each with its latest revision.", entity.LevelArtifact, entityschema.For(f).Simple(), l.simples)
}

func (l lineageRoutes) artifacts(c *gin.Context) error {
	q, err := l.readQuery(c, entity.LevelArtifact)
	if err != nil {
		return err
	}
	found, err := l.registry.Artifacts(c.Request.Context(), api.Project(c), l.family, q)
	return replyLineages(c, l.family.Plural, q.Window, found, l.family.ArtifactJSON, err)
}

func (l lineageRoutes) variants(c *gin.Context) error {
	q, err := l.readQuery(c, entity.LevelVariant)
	if err != nil {
		return err
	}
	found, err := l.registry.Variants(c.Request.Context(), api.Project(c), l.family, q)
	return replyLineages(c, l.family.Members(entity.LevelVariant), q.Window, found, l.family.VariantJSON, err)
}

func (l lineageRoutes) revisions(c *gin.Context) error {
	q, err := l.readQuery(c, entity.LevelRevision)
	if err != nil {
		return err
	}
	found, err := l.registry.Revisions(c.Request.Context(), api.Project(c), l.family, q)
	return replyLineages(c, l.family.Members(entity.LevelRevision), q.Window, found, l.family.RevisionJSON, err)
}

func (l lineageRoutes) simples(c *gin.Context) error {
	q, err := l.readQuery(c, entity.LevelArtifact)
	if err != nil {
		return err
	}
	found, err := l.registry.Simples(c.Request.Context(), api.Project(c), l.family, q)
	return replyLineages(c, l.family.Plural, q.Window, found, func(s *entities.Simple) map[string]any {
		return l.family.SimpleJSON(&s.Artifact, s.Revision)
	}, err)
}

// replyLineages answers with a page, and with its window when there is another.
// Source: interface.md §2.11, contract §0 row 4.
func replyLineages[T any](c *gin.Context, members string, window domain.Window, found domain.Page[*T], show func(*T) map[string]any, err error) error {
	if err != nil {
		return err
	}
	list := make([]map[string]any, len(found.Items))
	for i, item := range found.Items {
		list[i] = show(item)
	}
	body := gin.H{"count": len(list), members: list}
	if found.Next != uuid.Nil {
		window.Next = found.Next
		body["windowing"] = window
	}
	c.PureJSON(http.StatusOK, body)
	return nil
}

// readQuery reads a query of one level: {application?: filter, application_refs?,
// application_variant_refs?, application_revision_refs?, include_archived?,
// windowing?} and the parents by id or slug. Source: interface.md §2.11.
func (l lineageRoutes) readQuery(c *gin.Context, level entity.Level) (entities.Query, error) {
	body, err := l.formOrQuery(c, level)
	if err != nil {
		return entities.Query{}, err
	}
	q := entities.Query{Archived: body.True("include_archived")}
	record := body.Object(l.family.Member(level))
	q.Artifacts = l.readReferences(body, entity.LevelArtifact)
	if level >= entity.LevelVariant {
		q.Variants = l.readReferences(body, entity.LevelVariant)
		q.OfArtifacts = l.readScope(body, record, entity.LevelArtifact)
	}
	if level == entity.LevelRevision {
		q.Revisions = l.readReferences(body, entity.LevelRevision)
		q.OfVariants = l.readScope(body, record, entity.LevelVariant)
		q.View = l.readView(body)
	}
	l.readFilter(record, level, &q)
	if w := body.Object("windowing"); w != nil {
		q.Window = readLineageWindow(w)
	}
	body.FailUnknown()
	return q, body.Err()
}

// readScope reads the parents of one level, at the top of the body or in the record that
// filters, as clients of the reference send them.
func (l lineageRoutes) readScope(body, record *request.Object, parent entity.Level) []domain.Reference {
	scope := l.readParents(body, parent)
	inRecord := l.readParents(record, parent)
	if scope != nil && inRecord != nil {
		record.Fail("value_error", "The scope is given twice, here and at the top of the body", nil, l.family.Member(parent)+"_id")
	}
	if scope == nil {
		return inRecord
	}
	return scope
}

func (l lineageRoutes) readFilter(o *request.Object, level entity.Level, q *entities.Query) {
	q.Flags, q.Tags, q.Meta = api.WithoutNulls(o.Map("flags")), o.Map("tags"), o.Map("meta")
	q.Name, q.Description = o.String("name"), o.String("description")
	q.Slugs = textsOf(o, "slug", "slugs")
	switch level {
	case entity.LevelArtifact:
		q.FolderID = o.UUID("folder_id")
	case entity.LevelRevision:
		q.Message = o.String("message")
		for _, text := range textsOf(o, "author", "authors") {
			id, err := uuid.Parse(text)
			if err != nil {
				o.Fail("uuid_parsing", "Input should be a valid UUID", text, "author")
			}
			q.Authors = append(q.Authors, id)
		}
		if at := o.Time("date"); !at.IsZero() {
			q.Dates = append(q.Dates, at)
		}
		for i, text := range o.Strings("dates") {
			q.Dates = append(q.Dates, request.ObjectOf(map[string]any{"date": text}, append(o.Loc(), "dates", i)...).Time("date"))
		}
	default:
	}
	o.FailUnknown()
}

// textsOf joins a member and its plural; nil when neither is there.
func textsOf(o *request.Object, one, many string) []string {
	texts := o.Strings(many)
	if o.Has(many) && texts == nil {
		texts = []string{}
	}
	if s := o.StringPtr(one); s != nil {
		texts = append(texts, *s)
	}
	return texts
}

// readReferences reads the list of references of one level; nil means that there is none.
func (l lineageRoutes) readReferences(body *request.Object, level entity.Level) []domain.Reference {
	member := l.family.Member(level) + "_refs"
	refs := entity.ReadReferences(body, member)
	if refs == nil && body.Has(member) {
		refs = []domain.Reference{}
	}
	return refs
}

// readParents reads the ids and slugs of the parents, one or several; nil
// means that there are none. An id and a slug of one parent must both be its own.
func (l lineageRoutes) readParents(body *request.Object, level entity.Level) []domain.Reference {
	member := l.family.Member(level)
	var refs []domain.Reference
	id, slug := body.UUID(member+"_id"), body.String(member+"_slug")
	if id != uuid.Nil || slug != "" {
		refs = append(refs, domain.Reference{ID: id, Slug: slug})
	}
	for _, id := range body.UUIDs(member + "_ids") {
		refs = append(refs, domain.Reference{ID: id})
	}
	for _, slug := range body.Strings(member + "_slugs") {
		refs = append(refs, domain.Reference{Slug: slug})
	}
	if refs == nil && (body.Has(member+"_ids") || body.Has(member+"_slugs")) {
		refs = []domain.Reference{}
	}
	return refs
}

func readLineageWindow(w *request.Object) domain.Window {
	window := domain.Window{
		Newest: w.Time("newest"), Oldest: w.Time("oldest"), Next: w.UUID("next"),
		Order: domain.Order(w.Enum("order", string(domain.Ascending), string(domain.Descending))),
	}
	if limit := w.Int("limit", 1); limit != nil {
		window.Limit = *limit
	}
	w.FailUnknown()
	return window
}

// queryForm turns a query string into the body it stands for. Lists may be
// repeated or joined by commas; flags, tags and meta are JSON.
func (l lineageRoutes) queryForm(values url.Values, level entity.Level) (*request.Object, error) {
	members, filter, window := map[string]any{}, map[string]any{}, map[string]any{}
	for name, given := range values {
		last := given[len(given)-1]
		switch {
		case slices.Contains([]string{"name", "description", "slug", "message"}, name):
			filter[name] = last
		case name == "slugs":
			filter[name] = split(given)
		case slices.Contains([]string{"flags", "tags", "meta"}, name):
			value, err := request.ParseValue([]byte(last))
			if err != nil {
				return nil, invalidQuery("json_invalid", "Input should be a JSON object", name, last)
			}
			filter[name] = value
		case name == "include_archived":
			if last != "true" && last != "false" {
				return nil, invalidQuery("bool_parsing", "Input should be true or false", name, last)
			}
			members[name] = last == "true"
		case slices.Contains([]string{"next", "newest", "oldest", "order"}, name):
			window[name] = last
		case name == "limit":
			window[name] = json.Number(last)
		case strings.HasSuffix(name, "_ids") || strings.HasSuffix(name, "_slugs"):
			members[name] = split(given)
		default:
			members[name] = last
		}
	}
	if len(filter) > 0 {
		members[l.family.Member(level)] = filter
	}
	if len(window) > 0 {
		members["windowing"] = window
	}
	return request.ObjectOf(members, "query"), nil
}

func split(given []string) []any {
	var list []any
	for _, g := range given {
		for part := range strings.SplitSeq(g, ",") {
			list = append(list, part)
		}
	}
	return list
}

func invalidQuery(typ, msg, name, input string) error {
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: typ, Loc: []any{"query", name}, Msg: msg, Input: input}}}
}
