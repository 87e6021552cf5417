package evaluations

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/read/api"
	"colonnade/read/entities/runs"
	"colonnade/read/grid"
)

// GridDeps are what the endpoint of grids needs.
type GridDeps struct {
	Grid *grid.Reader
	Runs *runs.Reader
	// Caller returns the project of a request once the write is visible whose token the
	// request carries.
	Caller func(c *gin.Context) (context.Context, domain.ProjectID, error)
}

type (
	gridOrder struct {
		// Field is the name of a column.
		Field string        `json:"field" request:"required"`
		Order api.ListOrder `json:"order"`
	}
	gridWindow struct {
		Limit *int       `json:"limit" minimum:"1" maximum:"10000"`
		Next  *uuid.UUID `json:"next"`
	}
	gridRequest struct {
		RunIDs []uuid.UUID `json:"run_ids" request:"required"`
		// Fields are names of columns, <step>.* for all outputs of a step. Without it come the
		// columns of every grid, the status and trace of each step, and the outputs of evaluators.
		Fields []string `json:"fields"`
		// Filtering is a filter as of spans; its fields are names of columns.
		Filtering json.RawMessage `json:"filtering"`
		OrderBy   *gridOrder      `json:"order_by"`
		Windowing *gridWindow     `json:"windowing"`
	}
	gridReply struct {
		Count int `json:"count"`
		// Columns are lists with a value for each row.
		Columns map[string][]any `json:"columns"`
		// Schemas are the JSON Schemas of outputs, by column, as far as evaluators have any.
		Schemas   map[string]any `json:"schemas,omitempty"`
		Windowing *gridWindow    `json:"windowing,omitempty"`
	}
)

// MountGrid mounts the endpoint of the table of evaluation runs.
func MountGrid(r api.Router, d GridDeps) {
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/evaluations/grid", Permission: domain.ViewEvaluations, Preview: true, Tag: "evaluations",
		Summary: "The table of evaluation runs by columns: a row for each scenario and repeat.", Request: gridRequest{}, Response: gridReply{},
	}, d.grid)
}

const (
	defaultGridRows = 1000
	// publishTimeout bounds how long a grid waits for results that were just written.
	publishTimeout = time.Second
)

func (d GridDeps) grid(c *gin.Context) error {
	var req gridRequest
	if err := decodeStorable(c, &req); err != nil {
		return err
	}
	q, err := req.query()
	if err != nil {
		return err
	}
	ctx, project, err := d.Caller(c)
	if err != nil {
		return err
	}
	published, err := d.Runs.AwaitPublished(ctx, project, req.RunIDs, publishTimeout)
	if err != nil {
		return err
	}
	if !published {
		c.Header(unpublishedHeader, "true")
	}
	found, err := d.Grid.Read(ctx, project, req.RunIDs)
	if err != nil {
		return err
	}
	page, err := found.Page(q)
	if err != nil {
		return err
	}
	reply := gridReply{Count: page.Count, Columns: page.Columns}
	if reply.Schemas, err = d.schemas(ctx, project, req.RunIDs, page.Columns); err != nil {
		return err
	}
	if page.Next != uuid.Nil {
		reply.Windowing = &gridWindow{Limit: &q.Limit, Next: &page.Next}
	}
	c.PureJSON(http.StatusOK, reply)
	return nil
}

// unpublishedHeader tells that results which were written before the request are missing.
const unpublishedHeader = "Colonnade-Results-Pending"

// query checks a request.
func (r *gridRequest) query() (grid.Query, error) {
	q := grid.Query{Fields: r.Fields, Limit: defaultGridRows}
	if n := len(r.RunIDs); n == 0 || n > grid.MaxRuns {
		return q, request.Invalid("value_error", "A grid is of 1 to 20 runs", n, "body", "run_ids")
	}
	if len(r.Filtering) > 0 {
		filtering, err := jsonvalue.Parse(r.Filtering)
		if err != nil {
			return q, err
		}
		q.Filtering = filtering
	}
	if r.OrderBy != nil {
		q.OrderBy, q.Descending = r.OrderBy.Field, domain.Order(r.OrderBy.Order) == domain.Descending
	}
	if w := r.Windowing; w != nil {
		if w.Limit != nil {
			q.Limit = *w.Limit
		}
		if q.Limit < 1 || q.Limit > grid.MaxRows {
			return q, request.Invalid("value_error", "Input should be a whole number from 1 to 10000", q.Limit, "body", "windowing", "limit")
		}
		if w.Next != nil {
			q.After = *w.Next
		}
	}
	return q, nil
}

// schemas returns the schemas of those columns that are outputs with one.
func (d GridDeps) schemas(ctx context.Context, project domain.ProjectID, of []uuid.UUID, columns map[string][]any) (map[string]any, error) {
	outputs, err := d.Runs.OutputSchemas(ctx, project, of)
	if err != nil {
		return nil, err
	}
	schemas := map[string]any{}
	for step, schema := range outputs {
		for name, property := range grid.Properties(step, schema) {
			if _, ok := columns[name]; ok {
				schemas[name] = property
			}
		}
	}
	return schemas, nil
}
