package sql

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/read/api"
)

// request is the body of POST /sql/query.
type request struct {
	Query string `json:"query"`
	// Parameters are the values of {name:Type} in the query.
	Parameters map[string]string `json:"parameters"`
	// Format is columns, ndjson, csv, tsv, parquet or arrow; empty follows the header Accept.
	Format string `json:"format"`
	// QueryID names the statement, to cancel it; a UUID.
	QueryID *uuid.UUID `json:"query_id"`
}

// file is a format whose reply is a file.
type file struct{ name, clickHouse, mediaType string }

func files() []file {
	return []file{
		{"ndjson", "JSONEachRow", "application/x-ndjson"},
		{"csv", "CSVWithNames", "text/csv"},
		{"tsv", "TSVWithNames", "text/tab-separated-values"},
		{"parquet", "Parquet", "application/vnd.apache.parquet"},
		{"arrow", "ArrowStream", "application/vnd.apache.arrow.stream"},
	}
}

// SchemaView is a view as GET /sql/schema describes it.
type SchemaView struct {
	Name    string         `json:"name"`
	Comment string         `json:"comment"`
	Columns []SchemaColumn `json:"columns"`
}

// SchemaColumn is a column of a view.
type SchemaColumn struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Comment string `json:"comment"`
}

type schemaReply struct {
	Views []SchemaView `json:"views"`
}

// replyTime is how long sending a file may take.
const replyTime = 30 * time.Second

// Mount mounts the endpoints of SQL.
func (r *Runner) Mount(router api.Router) {
	timeout := r.cfg.Timeout + replyTime
	r.mountClickHouse(router)
	types := make([]string, 0, len(files()))
	for _, f := range files() {
		types = append(types, f.mediaType)
	}
	router.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/sql/query", Permission: domain.QuerySQL, Tag: "sql", Timeout: timeout, Limit: 1 << 20,
		Summary: "Run a SELECT over the views of the project.", Request: request{}, Response: Columns{}, Produces: types,
	}, r.query)
	router.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/sql/schema", Permission: domain.QuerySQL, Tag: "sql", Timeout: timeout,
		Summary: "The views of the project with the types and comments of their columns.", Response: schemaReply{},
	}, r.schema)
	router.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/sql/queries/:query_id", Permission: domain.QuerySQL, Tag: "sql", Status: http.StatusNoContent,
		Summary: "Cancel a statement of the project.",
	}, func(c *gin.Context) error {
		if err := r.Cancel(domain.PrincipalFrom(c.Request.Context()).Project, c.Param("query_id")); err != nil {
			return err
		}
		c.Status(http.StatusNoContent)
		return nil
	})
}

// maxAuditedText bounds the bytes of a statement that its audit entry keeps.
const maxAuditedText = 16 << 10

func (r *Runner) query(c *gin.Context) error {
	var req request
	if err := api.DecodeBody(c, &req, false); err != nil {
		return err
	}
	f, err := format(req.Format, c.GetHeader("Accept"))
	if err != nil {
		return err
	}
	domain.NoteTarget(c.Request.Context(), "query", req.Query[:min(len(req.Query), maxAuditedText)])
	q := r.of(c.Request.Context(), req.Query)
	q.Parameters = req.Parameters
	if req.QueryID != nil {
		q.ID = req.QueryID.String()
	}
	if f.name == "columns" {
		out, err := r.Columns(c.Request.Context(), q)
		if err != nil {
			return err
		}
		c.JSON(http.StatusOK, out)
		return nil
	}
	q.Format, q.File = f.clickHouse, true
	return r.Run(c.Request.Context(), q, func(reply Reply) error {
		c.Header("Content-Type", f.mediaType)
		c.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "result." + f.name}))
		c.Header("Colonnade-Query-Id", reply.ID)
		c.Status(http.StatusOK)
		_, err := io.Copy(c.Writer, reply.Body)
		return err
	})
}

// of returns a statement of the caller of a request.
func (r *Runner) of(ctx context.Context, text string) Query {
	p := domain.PrincipalFrom(ctx)
	return Query{Project: p.Project, By: p.KeyPrefix, Text: text, Format: jsonFormat}
}

// Columns runs a statement and returns its result by columns.
func (r *Runner) Columns(ctx context.Context, q Query) (out Columns, err error) {
	q.Format, q.File = jsonFormat, false
	err = r.Run(ctx, q, func(reply Reply) error {
		out, err = readColumns(reply.Body, reply.ID, r.cfg.MaxRows)
		return err
	})
	return out, err
}

// format returns the file that a request asks for, or columns.
func format(name, accept string) (file, error) {
	for _, f := range files() {
		if name == f.name || name == "" && strings.Contains(accept, f.mediaType) {
			return f, nil
		}
	}
	if name == "" || name == "columns" {
		return file{name: "columns"}, nil
	}
	return file{}, domain.E(domain.Rejected, "The format %q is not one of columns, ndjson, csv, tsv, parquet, arrow.", name)
}
