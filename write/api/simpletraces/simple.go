// Package simpletraces holds the commands on simple traces, annotations and
// invocations: one record that is stored as one span, under three routes of the
// same behavior. It decodes and checks the record, completes the references to
// its evaluator or application, and answers with the record as a read will show
// it. What a record is, and how a span holds it, is domain/simple.
package simpletraces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/api/spans"
	"colonnade/write/ingest"
	"colonnade/write/registry/entities"
)

// source is what the records of these endpoints name as their source.
const source = "simple"

// Ensurer gives the references of the entity that a record names, and makes it
// where there is none; write/registry/entities does.
type Ensurer interface {
	EnsureEvaluator(ctx context.Context, caller domain.Principal, j entities.Judgment) (entity.Entities, error)
	EnsureApplication(ctx context.Context, caller domain.Principal, j entities.Judgment) (entity.Entities, error)
}

// Deps are what the commands on simple traces call.
type Deps struct {
	spans.Deps
	Entities Ensurer
	// Random feeds ids and generated slugs; crypto/rand.Reader in production.
	Random io.Reader
}

// Mount mounts the commands on simple traces, annotations and
// invocations: one machine with three faces. Source: contract §4.
func Mount(r api.Router, deps Deps) {
	for _, f := range []simple.Face{simple.Trace, simple.Annotation, simple.Invocation} {
		s := simples{deps: deps, face: f}
		word := f.Member()
		op := domain.Operation{Permission: domain.EditSpans, Preview: true, Remember: true, Tag: f.Members()}
		one, _, gone := simple.Views(f)
		op.Response = one
		op.Method, op.Path, op.Request = http.MethodPost, f.Path(), creationView(f)
		op.Summary = "Record a simple " + word + ": one span, its ids made here."
		if f == simple.Trace {
			op.Status = http.StatusAccepted
		}
		r.Handle(op, s.create)
		op.Status, op.Path = http.StatusOK, f.Path()+":trace_id"
		op.Method, op.Request, op.Query = http.MethodPatch, editView(f), s.parameters()
		op.Summary = "Edit a simple " + word + ": what is left out stays, null clears, what is given replaces."
		r.Handle(op, s.edit)
		op.Method, op.Request, op.Summary = http.MethodDelete, nil, "Delete a simple "+word+"."
		op.Response = gone
		r.Handle(op, s.remove)
	}
}

// simples is one face.
type simples struct {
	deps Deps
	face simple.Face
}

// parameters are those of a face whose records may be named by their span too. Source: contract §4.3.
func (s simples) parameters() []domain.Parameter {
	if s.face == simple.Trace {
		return nil
	}
	return []domain.Parameter{{Name: "span_id", Type: "string", Doc: "The span that holds the record; the trace's root without it."}}
}

func (s simples) create(c *gin.Context) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	record, err := readCreation(s.face, data)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	if err := s.ensure(ctx, &record, true); err != nil {
		return err
	}
	if err := s.identify(&record); err != nil {
		return err
	}
	span := simple.New(s.face, &record, s.deps.Now().UnixNano())
	shown, err := s.shown(&span)
	if err != nil {
		return err
	}
	receipt, err := s.deps.Ingest.JSON(ctx, source, []trace.Span{span}, nil)
	if err != nil {
		return err
	}
	shown.List = record.List
	shown.Links = record.Links
	status := http.StatusOK
	if s.face == simple.Trace {
		status = http.StatusAccepted
	}
	s.reply(c, status, receipt, &shown)
	return nil
}

// identify makes the ids of a new record.
func (s simples) identify(r *simple.Record) error {
	if _, err := io.ReadFull(s.deps.Random, r.TraceID[:]); err != nil {
		return fmt.Errorf("api: making a trace id: %w", err)
	}
	if _, err := io.ReadFull(s.deps.Random, r.SpanID[:]); err != nil {
		return fmt.Errorf("api: making a span id: %w", err)
	}
	r.TraceID[0] |= 1 // all zeros is no id
	r.SpanID[0] |= 1
	return nil
}

// shown is the record of a span as a read will show it, times and users of
// creation aside: it is read from the span as it will be stored.
func (s simples) shown(span *trace.Span) (simple.Record, error) {
	fitted, err := spans.Normalize(s.deps.Normalizer, []trace.Span{*span})
	if err != nil {
		return simple.Record{}, err
	}
	jsonvalue.Expand(fitted[0].Attributes)
	r, ok := simple.Read(s.face, &fitted[0])
	if !ok {
		return r, request.Invalid("too_short", "Data should hold a value", nil, "body", s.face.Member(), "data")
	}
	return r, nil
}

func (s simples) reply(c *gin.Context, status int, receipt ingest.Receipt, r *simple.Record) {
	api.SetToken(c, receipt)
	dst := append(make([]byte, 0, 1024), `{"count":1,"`+s.face.Member()+`":`...)
	c.Data(status, "application/json", append(r.AppendJSON(dst), '}'))
}

func (s simples) edit(c *gin.Context) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	change, err := readEdit(s.face, data)
	if err != nil {
		return err
	}
	turn, err := s.turn(c)
	if err != nil {
		return err
	}
	defer turn.End()
	outline, id, err := s.find(c, turn)
	if err != nil {
		return err
	}
	if id.IsZero() {
		c.JSON(http.StatusOK, gin.H{"count": 0})
		return nil
	}
	if err := s.mayChange(c, outline, id); err != nil {
		return err
	}
	ctx := c.Request.Context()
	span, err := s.deps.Stored.Span(ctx, domain.PrincipalFrom(ctx).Project, outline, id)
	if err != nil {
		return err
	}
	record, ok := simple.Read(s.face, &span)
	if !ok {
		c.JSON(http.StatusOK, gin.H{"count": 0})
		return nil
	}
	if err := change.apply(&record); err != nil {
		return err
	}
	if change.judged() {
		if err := s.ensure(ctx, &record, false); err != nil {
			return err
		}
	}
	record.Write(s.face, &span)
	if change.links.Given {
		record.WriteLinks(&span)
	}
	return s.rewrite(c, turn, &span)
}

// rewrite publishes an edited span and answers with what a read will show.
func (s simples) rewrite(c *gin.Context, turn *ingest.Turn, span *trace.Span) error {
	shown, err := s.shown(span)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	receipt, err := s.deps.Ingest.Replace(ctx, turn, source, []trace.Span{*span})
	if err != nil {
		return err
	}
	shown.CreatedAt, shown.CreatedBy = span.CreatedAt, span.CreatedBy
	shown.UpdatedAt, shown.UpdatedBy = receipt.ReceivedAt.Truncate(time.Microsecond), domain.PrincipalFrom(ctx).User
	s.reply(c, http.StatusOK, receipt, &shown)
	return nil
}

func (s simples) remove(c *gin.Context) error {
	turn, err := s.turn(c)
	if err != nil {
		return err
	}
	defer turn.End()
	outline, id, err := s.find(c, turn)
	if err != nil {
		return err
	}
	if id.IsZero() {
		c.JSON(http.StatusOK, gin.H{"count": 0})
		return nil
	}
	if err := s.mayChange(c, outline, trace.SpanID{}); err != nil {
		return err
	}
	traceID := outline.Spans[0].TraceID
	receipt, err := s.deps.Ingest.Delete(c.Request.Context(), turn, source)
	if err != nil {
		return err
	}
	api.SetToken(c, receipt)
	dst := append(make([]byte, 0, 160), `{"count":1,"`+s.face.LinkMember()+`":`...)
	c.Data(http.StatusOK, "application/json", append(simple.AppendLink(dst, traceID, id), '}'))
	return nil
}

// mayChange returns an error unless the caller has added the span, or has the permission to
// change the spans of others. The zero id stands for all spans of the trace, which a deletion
// removes: one span of one's own does not make the trace one's own.
func (s simples) mayChange(c *gin.Context, outline *ingest.Outline, id trace.SpanID) error {
	caller := api.Caller(c)
	if caller.Allows(domain.EditTraces) {
		return nil
	}
	for i := range outline.Spans {
		x := &outline.Spans[i]
		if (id.IsZero() || x.SpanID == id) && (caller.User == uuid.Nil || x.CreatedBy != caller.User) {
			return domain.E(domain.Forbidden, "Only the author of this %s, or a role from editor on, may change or delete it.", s.face.Member())
		}
	}
	return nil
}

// turn waits for leave to edit the trace of the path.
func (s simples) turn(c *gin.Context) (*ingest.Turn, error) {
	id, err := trace.ParseTraceID(c.Param("trace_id"))
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	return s.deps.Stored.Turn(ctx, domain.PrincipalFrom(ctx).Project, id)
}

// find gives the span that holds the record of the path; zero where there is none.
func (s simples) find(c *gin.Context, turn *ingest.Turn) (*ingest.Outline, trace.SpanID, error) {
	var want trace.SpanID
	var err error
	if text := c.Query("span_id"); text != "" && s.face != simple.Trace {
		if want, err = trace.ParseSpanID(text); err != nil {
			return nil, want, err
		}
	}
	found, err := api.Outline(c, turn)
	if err != nil {
		return nil, want, err
	}
	if want.IsZero() {
		if root := found.Root(); root != nil {
			return found, root.SpanID, nil
		}
		return found, want, nil
	}
	for i := range found.Spans {
		if found.Spans[i].SpanID == want {
			return found, want, nil
		}
	}
	return found, trace.SpanID{}, nil
}

// ensure completes the references to what the record is made about. A simple
// trace judges only with an evaluator and links; an annotation and an
// invocation always have theirs. Source: contract §4.2-4.4.
func (s simples) ensure(ctx context.Context, r *simple.Record, isNew bool) error {
	word := s.face.Entity()
	refs := entity.Refs{Artifact: r.References[word], Variant: r.References[word+"_variant"], Revision: r.References[word+"_revision"]}
	if s.face == simple.Trace && (r.References[word].IsZero() || len(r.Links) == 0) || !isNew && refs.IsZero() {
		return nil
	}
	if refs.IsZero() {
		slug, err := entity.NewSlug(s.deps.Random)
		if err != nil {
			return err
		}
		refs.Artifact.Slug = slug
	}
	j := entities.Judgment{Refs: refs, Data: r.Data, Loc: []any{"body", s.face.Member(), "data"}, Check: s.face == simple.Annotation}
	found, err := s.ensureEntity(ctx, j)
	if !isNew && domain.KindOf(err) == domain.NotFound {
		return nil // the record outlives what it was made about
	}
	if err != nil {
		return err
	}
	for key, ref := range found {
		if ref.ID != uuid.Nil {
			r.References[key] = ref
		}
	}
	return nil
}

func (s simples) ensureEntity(ctx context.Context, j entities.Judgment) (entity.Entities, error) {
	caller := domain.PrincipalFrom(ctx)
	if s.deps.Entities == nil {
		return nil, errors.New("api: simple traces are mounted without a registry")
	}
	if s.face == simple.Invocation {
		return s.deps.Entities.EnsureApplication(ctx, caller, j)
	}
	return s.deps.Entities.EnsureEvaluator(ctx, caller, j)
}
