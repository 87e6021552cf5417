package api

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/body"
)

// savedData is what a query revision holds.
type savedData struct {
	formatting struct {
		Focus  focus  `json:"focus"`
		Format format `json:"format"`
	}
	filtering json.RawMessage
	windowing windowing
}

// savedQuery finds the query that a request refers to. Source: contract §3.1.
func (s *Spans) savedQuery(c *gin.Context, f focus, req *queryRequest) (saved savedData, found bool, err error) {
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
	ctx := c.Request.Context()
	data, found, err := s.saved(ctx, domain.PrincipalFrom(ctx).Project, refs[0], refs[1], refs[2])
	if err != nil || !found {
		return saved, false, err
	}
	// Other members of a stored query are not about how to run it, so it is read member by member.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return saved, false, domain.Wrap(domain.Rejected, err, "The saved query is not one.")
	}
	saved.filtering = members["filtering"]
	for name, to := range map[string]any{"formatting": &saved.formatting, "windowing": &saved.windowing} {
		if !given(members[name]) {
			continue
		}
		if err := body.Decode(members[name], to); err != nil {
			return saved, false, domain.Wrap(domain.Rejected, err, "The %s of the saved query cannot be read.", name)
		}
	}
	if stored := saved.formatting.Focus; stored != "" && stored != f {
		return saved, false, domain.E(domain.Conflict, "The saved query has focus %s, this endpoint %s.", stored, f)
	}
	if req.Format == "" {
		req.Format = saved.formatting.Format
	}
	return saved, true, nil
}

// over completes the request's window, which may say no more than limit and
// next, and gives the stored filter.
func (d savedData) over(w *windowing) (json.RawMessage, error) {
	if w.Newest != nil || w.Oldest != nil || w.Order != "" || w.Interval != nil || w.Rate != nil {
		return nil, domain.E(domain.Rejected, "A request to run a saved query gives no more of windowing than limit and next.")
	}
	limit, next := w.Limit, w.Next
	*w = d.windowing
	if limit != nil {
		w.Limit = limit
	}
	w.Next = next
	return d.filtering, nil
}
