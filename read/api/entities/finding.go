package entities

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/read/api"
)

// finding asks to run the saved query that is retrieved: its data then hold trace_ids, and
// traces if whole is set. Source: contract §5.8.
type finding struct {
	whole  bool
	window api.Windowing
}

// readFinding reads include_trace_ids, include_traces and windowing of a query; nil without the
// first two.
func (l lineageRoutes) readFinding(body *request.Object) (*finding, error) {
	if l.family.Kind != entity.Query {
		return nil, nil //nolint:nilnil // nothing is to be run
	}
	ids, whole := body.True("include_trace_ids"), body.True("include_traces")
	var given struct {
		Windowing *api.Windowing `json:"windowing"`
	}
	if window := body.Map("windowing"); window != nil {
		text, err := json.Marshal(map[string]any{"windowing": window})
		if err != nil {
			return nil, fmt.Errorf("api: reading a window: %w", err)
		}
		if err := request.Decode(text, &given); err != nil {
			return nil, err
		}
		if _, err := given.Windowing.Page(); err != nil { // bounds are checked whether or not the query runs
			return nil, err
		}
	}
	if !ids && !whole {
		return nil, nil //nolint:nilnil // nothing is to be run
	}
	f := &finding{whole: whole}
	if given.Windowing != nil {
		f.window = *given.Windowing
	}
	return f, nil
}

// run completes the data of a query's revision with what it finds. The caller must be one who
// may view spans.
func (f *finding) run(c *gin.Context, run api.RunQuery, revision *entity.Revision) (api.FoundTraces, error) {
	if err := domain.PrincipalFrom(c.Request.Context()).Check(domain.ViewSpans); err != nil {
		return api.FoundTraces{}, err
	}
	if run == nil {
		return api.FoundTraces{}, domain.E(domain.Rejected, "Saved queries are not run here.")
	}
	found, err := run(c, revision.ID, &f.window, f.whole)
	if err != nil {
		return found, err
	}
	data := maps.Clone(revision.Data)
	if data == nil {
		data = entity.Document{}
	}
	data["trace_ids"] = found.IDs
	if f.whole {
		data["traces"] = found.Traces
	}
	revision.Data = data
	if found.Release == nil {
		found.Release = func() {}
	}
	return found, nil
}
