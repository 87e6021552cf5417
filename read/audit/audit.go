// Package audit reads the audit log: what callers changed, and the statements of SQL that
// they ran. Here: the query and its endpoints. Writing the log is write/audit.
package audit

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/read/api"
)

// Entry is one request in the audit log.
type Entry struct {
	ID uuid.UUID `json:"id" db:"id"`
	// At is when the request came.
	At        time.Time  `json:"at" db:"at"`
	ProjectID *uuid.UUID `json:"project_id,omitempty" db:"project_id"`
	// UserID is nil for the administration key.
	UserID *uuid.UUID `json:"user_id,omitempty" db:"user_id"`
	// Email is that of the user, as long as the user exists.
	Email     *string    `json:"email,omitempty" db:"email"`
	KeyPrefix *string    `json:"key_prefix,omitempty" db:"key_prefix"`
	SessionID *uuid.UUID `json:"session_id,omitempty" db:"session_id"`
	Address   string     `json:"address" db:"address"`
	Action    string     `json:"action" db:"action"`
	// Resource is the kind of what was changed: the tag of the route.
	Resource string         `json:"resource" db:"resource"`
	Method   string         `json:"method" db:"method"`
	Route    string         `json:"route" db:"route"`
	Target   map[string]any `json:"target" db:"target"`
	// Status is that of the reply; nil while the request runs, and where its outcome is unknown.
	Status *int `json:"status,omitempty" db:"status"`
}

// Filter selects entries; empty members select all.
type Filter struct {
	Actions     []string    `json:"actions"`
	Resources   []string    `json:"resources"`
	UserIDs     []uuid.UUID `json:"user_ids"`
	KeyPrefixes []string    `json:"key_prefixes"`
}

type (
	query struct {
		Entry     Filter         `json:"entry"`
		Windowing *api.Windowing `json:"windowing"`
	}
	list struct {
		Count     int            `json:"count"`
		Entries   []Entry        `json:"entries"`
		Windowing *domain.Window `json:"windowing,omitempty"`
	}
)

// Reader reads the audit log. It is safe for concurrent use.
type Reader struct{ pool *pgxpool.Pool }

// New returns a Reader that connects with its first query.
func New(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Mount mounts the endpoints. Source: deploy/docs/api.md, Audit log.
func (r *Reader) Mount(router api.Router) {
	router.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/audit/query", Permission: domain.ViewAudit, Tag: "audit",
		Summary: "List what callers changed in this project and the SQL that they ran, newest first.", Request: query{}, Response: list{},
	}, func(c *gin.Context) error {
		project := uuid.UUID(api.Project(c))
		return r.reply(c, &project)
	})
	router.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/admin/audit/query", Permission: domain.Admin, Tag: "audit",
		Summary: "List what callers changed in all projects, and what the administration key changed, newest first.", Request: query{}, Response: list{},
	}, func(c *gin.Context) error { return r.reply(c, nil) })
}

func (r *Reader) reply(c *gin.Context, project *uuid.UUID) error {
	var q query
	if err := api.DecodeBody(c, &q, false); err != nil {
		return err
	}
	window, err := q.Windowing.Page()
	if err != nil {
		return err
	}
	page, err := r.Query(c.Request.Context(), project, q.Entry, window)
	if err != nil {
		return err
	}
	out := list{Count: len(page.Items), Entries: page.Items}
	if page.Next != uuid.Nil {
		following := page.Following(window)
		out.Windowing = &following
	}
	c.PureJSON(http.StatusOK, out)
	return nil
}

const (
	// defaultLimit is a screen of entries, maxLimit a page of an export.
	defaultLimit = 100
	maxLimit     = 1000
)

// Query returns a page of the entries of a project, or of all where project is nil. The ids
// of entries ascend with time, so that they order the list.
func (r *Reader) Query(ctx context.Context, project *uuid.UUID, f Filter, w domain.Window) (domain.Page[Entry], error) {
	var page domain.Page[Entry]
	limit := min(w.Limit, maxLimit)
	if limit == 0 {
		limit = defaultLimit
	}
	following, order := "<", "DESC"
	if w.Order == domain.Ascending {
		following, order = ">", "ASC"
	}
	rows, err := r.pool.Query(ctx, `
SELECT a.id, a.at, a.project_id, a.user_id, u.email, a.key_prefix, a.session_id, a.address, a.action, a.resource, a.method, a.route, a.target, a.status
FROM audit_log a LEFT JOIN users u ON u.id = a.user_id
WHERE ($1::uuid IS NULL OR a.project_id = $1) AND ($2::uuid IS NULL OR a.id `+following+` $2)
  AND ($3::timestamptz IS NULL OR a.at <= $3) AND ($4::timestamptz IS NULL OR a.at >= $4)
  AND (cardinality($5::text[]) = 0 OR a.action = ANY ($5)) AND (cardinality($6::text[]) = 0 OR a.resource = ANY ($6))
  AND (cardinality($7::uuid[]) = 0 OR a.user_id = ANY ($7)) AND (cardinality($8::text[]) = 0 OR a.key_prefix = ANY ($8))
ORDER BY a.id `+order+`
LIMIT $9`, project, optional(w.Next), optional(w.Newest), optional(w.Oldest),
		listed(f.Actions), listed(f.Resources), listed(f.UserIDs), listed(f.KeyPrefixes), limit+1)
	if err == nil {
		page.Items, err = pgx.CollectRows(rows, pgx.RowToStructByName[Entry])
	}
	if err != nil {
		return page, domain.Wrap(domain.Unavailable, fmt.Errorf("audit: reading entries: %w", err), "The audit log's store does not answer. Please try again.")
	}
	if len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = page.Items[limit-1].ID
	}
	return page, nil
}

// optional returns nil for the zero value, which bounds nothing.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// listed returns a list that is never null.
func listed[T any](v []T) []T { return append([]T{}, v...) }
