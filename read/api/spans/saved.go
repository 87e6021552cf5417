package spans

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/request"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/read/api"
)

// savedData is what a query revision holds.
type savedData struct {
	formatting struct {
		Focus  focus  `json:"focus"`
		Format format `json:"format"`
	}
	filtering json.RawMessage
	windowing api.Windowing
	// traces are those that the query names instead of finding them.
	traces []trace.TraceID
}

// savedQuery finds the query that a request refers to. Source: contract §3.1.
func (s *Routes) savedQuery(ctx context.Context, project domain.ProjectID, f focus, req *queryRequest) (saved savedData, found bool, err error) {
	if s.saved == nil {
		return saved, false, domain.E(domain.Rejected, "Saved queries are not served here.")
	}
	refs := make([]domain.Reference, 0, 3)
	for _, r := range []*domain.Reference{req.QueryRef, req.QueryVariantRef, req.QueryRevisionRef} {
		if r == nil {
			r = &domain.Reference{}
		}
		refs = append(refs, *r)
	}
	data, found, err := s.saved(ctx, project, refs[0], refs[1], refs[2])
	if err != nil || !found {
		return saved, false, err
	}
	// Other members of a stored query are not about how to run it, so it is read member by member.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return saved, false, domain.Wrap(domain.Rejected, err, "The saved query is not one.")
	}
	saved.filtering = members["filtering"]
	for name, to := range map[string]any{"formatting": &saved.formatting, "windowing": &saved.windowing, "trace_ids": &saved.traces} {
		if !given(members[name]) {
			continue
		}
		if err := request.Decode(members[name], to); err != nil {
			return saved, false, domain.Wrap(domain.Rejected, err, "The %s of the saved query cannot be read.", name)
		}
	}
	if stored := saved.formatting.Focus; stored != "" && f != "" && stored != f {
		return saved, false, domain.E(domain.Conflict, "The saved query has focus %s, this endpoint %s.", stored, f)
	}
	if req.Format == "" {
		req.Format = saved.formatting.Format
	}
	return saved, true, nil
}

// over completes the request's window and gives the stored filter. The request
// chooses limit and next; any other member has to be what is stored, as it is
// in a reply's windowing that comes back. Source: contract §3.1.
func (d savedData) over(w *api.Windowing) (json.RawMessage, error) {
	stored := d.windowing
	if stored.Order == "" {
		stored.Order = api.ListOrder(domain.Descending) // what a reply says where nothing is stored
	}
	if !echoes(w.Newest, stored.Newest, time.Time.Equal) || !echoes(w.Oldest, stored.Oldest, time.Time.Equal) ||
		!echoes(w.Interval, stored.Interval, equal) || !echoes(w.Rate, stored.Rate, equal) || w.Order != "" && w.Order != stored.Order {
		return nil, domain.E(domain.Rejected, "A request to run a saved query gives no more of windowing than limit and next: the rest is stored.")
	}
	if w.Limit != nil {
		stored.Limit = w.Limit
	}
	stored.Next = w.Next
	*w = stored
	return d.filtering, nil
}

// echoes tells whether a member says nothing other than what is stored.
func echoes[T any](given, stored *T, same func(a, b T) bool) bool {
	return given == nil || stored != nil && same(*given, *stored)
}

func equal[T comparable](a, b T) bool { return a == b }

// RunSaved is the api.RunQuery of these routes. A query of spans finds their traces.
func (s *Routes) RunSaved(c *gin.Context, revision uuid.UUID, w *api.Windowing, whole bool) (found api.FoundTraces, err error) {
	ctx, project, err := s.Caller(c)
	if err != nil {
		return found, err
	}
	saved, ok, err := s.savedQuery(ctx, project, "", &queryRequest{QueryRevisionRef: &domain.Reference{ID: revision}})
	if err != nil || !ok {
		return found, err
	}
	ctx, found.Release = s.reader.Lease(ctx)
	defer func() {
		if err != nil {
			found.Release()
		}
	}()
	page, window, err := s.tracesOf(ctx, project, saved, w, whole)
	if err != nil {
		return found, err
	}
	found.IDs, found.Window = saved.traces, page.Following(window)
	if saved.traces == nil {
		found.IDs = []trace.TraceID{}
		for _, spans := range page.Items {
			found.IDs = append(found.IDs, spans[0].TraceID)
		}
	}
	if !whole {
		return found, nil
	}
	found.Traces = append(found.Traces, '[')
	for i, spans := range page.Items {
		if i > 0 {
			found.Traces = append(found.Traces, ',')
		}
		found.Traces = tracejson.AppendTrace(found.Traces, spans[0].TraceID, api.Tree(spans))
	}
	found.Traces = append(found.Traces, ']')
	return found, nil
}

// tracesOf returns a page of what a saved query finds, or, if they are asked for, the traces that
// it names.
func (s *Routes) tracesOf(ctx context.Context, project domain.ProjectID, saved savedData, w *api.Windowing, whole bool) (page domain.Page[[]trace.Span], window domain.Window, err error) {
	if saved.traces != nil {
		if whole {
			page.Items, err = s.reader.TracesByID(ctx, project, saved.traces)
		}
		return page, window, err
	}
	filtering, err := saved.over(w)
	if err != nil {
		return page, window, err
	}
	where, err := filterjson.Parse(filtering, "filtering")
	if err != nil {
		return page, window, err
	}
	if window, err = s.Window(w, []any{"body", "windowing"}); err != nil {
		return page, window, err
	}
	page, err = s.reader.Traces(ctx, project, where, window)
	return page, window, err
}

// SavedTraces gives the ids of the traces that a saved query of a project
// finds now, or that it names: as many as its window says, and most at
// most. Who evaluates them asks. A query that is not there is Rejected.
func (s *Routes) SavedTraces(ctx context.Context, project domain.ProjectID, revision uuid.UUID, most int) ([]trace.TraceID, error) {
	saved, found, err := s.savedQuery(ctx, project, focusTrace, &queryRequest{QueryRevisionRef: &domain.Reference{ID: revision}})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, domain.E(domain.Rejected, "There is no query revision %s.", revision)
	}
	if saved.traces != nil {
		return saved.traces[:min(len(saved.traces), most)], nil
	}
	where, err := filterjson.Parse(saved.filtering, "filtering")
	if err != nil {
		return nil, err
	}
	w := saved.windowing
	if w.Limit != nil {
		most = min(most, *w.Limit)
		w.Limit = nil
	}
	window, err := s.Window(&w, []any{"windowing"})
	if err != nil {
		return nil, err
	}
	var ids []trace.TraceID
	for {
		window.Limit = min(most-len(ids), s.cfg.DefaultLimit)
		page, err := s.reader.Traces(ctx, project, where, window)
		if err != nil {
			return nil, err
		}
		for _, spans := range page.Items {
			if len(spans) > 0 && !slices.Contains(ids, spans[0].TraceID) {
				ids = append(ids, spans[0].TraceID)
			}
		}
		if page.Next == uuid.Nil || len(ids) >= most {
			return ids, nil
		}
		window.Next = page.Next
	}
}
