// Package usage answers what a project stores and how long it keeps it. Here: its usage with
// its limits and quotas, its retention, and what that would delete now. Setting it is write/api/accounts, deleting is the
// sink's.
package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/limit"
	"colonnade/migrations/schema"
	"colonnade/read/api"
)

// Deps are what a Reader works with.
type Deps struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn
	Deployment schema.Deployment
	// Limits and Quotas are those of every project.
	Limits limit.Config
	Quotas Quotas
	Now    func() time.Time
}

// Reader reads what projects store. It is safe for concurrent use.
type Reader struct{ deps Deps }

// New returns a Reader that connects with its first query.
func New(deps Deps) *Reader { return &Reader{deps: deps} }

// Retention is how long a project keeps its spans.
type Retention struct {
	// Days and PayloadDays count from the start of a span; 0 keeps it.
	Days        int `json:"days"`
	PayloadDays int `json:"payload_days"`
	// UpdatedAt is nil for a project that keeps everything since it was created.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	Deletes   Deletes    `json:"deletes"`
}

// Deletes is what a retention deletes in the next night, as far as it is stored by now.
type Deletes struct {
	Spans    uint64 `json:"spans"`
	Payloads uint64 `json:"payloads"`
}

// Mount mounts the endpoints. Source: deploy/docs/api.md, Retention.
func (r *Reader) Mount(router api.Router) {
	router.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/projects/current/retention", Permission: domain.ViewProject, Tag: "projects",
		Summary: "For how many days this project keeps its spans and their payloads, and what that deletes in the next night.",
		Query: []domain.Parameter{
			{Name: "days", Type: "integer", Doc: "Count what this number of days would delete, instead of the project's."},
			{Name: "payload_days", Type: "integer", Doc: "The same for payloads."},
		},
		Response: Retention{},
	}, r.retention)
	router.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/projects/current/usage", Permission: domain.ViewProject, Tag: "projects",
		Summary: "What this project stores and has sent today, with its limits and quotas; 0 is none.", Response: Usage{},
	}, r.usage)
}

func (r *Reader) retention(c *gin.Context) error {
	ctx, project := c.Request.Context(), api.Project(c)
	out, err := r.Retention(ctx, project)
	if err != nil {
		return err
	}
	asked := domain.Retention{Project: project, Days: out.Days, PayloadDays: out.PayloadDays}
	query := c.Request.URL.Query()
	if err := errors.Join(api.FromQuery(query, "days", &asked.Days, strconv.Atoi), api.FromQuery(query, "payload_days", &asked.PayloadDays, strconv.Atoi)); err != nil {
		return err
	}
	if err := asked.Validate(); err != nil {
		return err
	}
	out.Days, out.PayloadDays = asked.Days, asked.PayloadDays
	if out.Deletes, err = r.deletes(ctx, asked); err != nil {
		return err
	}
	c.JSON(http.StatusOK, out)
	return nil
}

// Retention returns the retention of a project, without what it deletes.
func (r *Reader) Retention(ctx context.Context, project domain.ProjectID) (out Retention, err error) {
	err = r.deps.Postgres.QueryRow(ctx, `SELECT days, payload_days, updated_at FROM project_retention WHERE project_id = $1`, uuid.UUID(project)).
		Scan(&out.Days, &out.PayloadDays, &out.UpdatedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, nil
	}
	if err != nil {
		return out, domain.Wrap(domain.Unavailable, fmt.Errorf("usage: reading the retention: %w", err), "The retention's store does not answer. Please try again.")
	}
	return out, nil
}

// deletes counts what a retention deletes in the next night.
func (r *Reader) deletes(ctx context.Context, retention domain.Retention) (d Deletes, err error) {
	tomorrow := r.deps.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	var payloads time.Time
	if retention.Days > 0 {
		payloads = tomorrow.AddDate(0, 0, -retention.Days)
		if d.Spans, err = r.count(ctx, schema.Spans, "", retention.Project, payloads); err != nil {
			return d, err
		}
	}
	if retention.PayloadDays > 0 {
		payloads = tomorrow.AddDate(0, 0, -retention.PayloadDays) // not before days, see domain.Retention.Validate
	}
	if !payloads.IsZero() {
		d.Payloads, err = r.count(ctx, schema.SpanPayloads, " AND "+schema.HasPayloads(), retention.Project, payloads)
	}
	return d, err
}

// countTimeout bounds one count, whose rows are those of one project and of old partitions.
const countTimeout = 10

func (r *Reader) count(ctx context.Context, table, more string, project domain.ProjectID, before time.Time) (n uint64, err error) {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": countTimeout}))
	at := before.UnixMicro()
	err = r.deps.ClickHouse.QueryRow(ctx, "SELECT count() FROM "+r.deps.Deployment.Table(table)+
		" WHERE project_id = ? AND partition_week <= toMonday(fromUnixTimestamp64Micro(?, 'UTC')) AND start_time < fromUnixTimestamp64Micro(?, 'UTC')"+more,
		project.String(), at, at).Scan(&n)
	if err != nil {
		return 0, domain.Wrap(domain.Unavailable, fmt.Errorf("usage: counting spans: %w", err), "The spans cannot be counted now. Please try again.")
	}
	return n, nil
}

type (
	// Usage is what a project uses.
	Usage struct {
		// Day is the day (UTC) of SpansToday, which is some seconds behind.
		Day        string `json:"day"`
		SpansToday int64  `json:"spans_today"`
		// Spans and PayloadBytes are what is stored; bytes are before compression.
		Spans        uint64 `json:"spans"`
		PayloadBytes uint64 `json:"payload_bytes"`
		// Entities counts entities with their revisions and test cases.
		Entities int64  `json:"entities"`
		Quotas   Quotas `json:"quotas"`
		Limits   Limits `json:"limits"`
	}
	// Quotas are those of every project; zero is none.
	Quotas struct {
		SpansPerDay  int64 `json:"spans_per_day"`
		PayloadBytes int64 `json:"payload_bytes"`
		Entities     int64 `json:"entities"`
	}
	// Limits are those of every project; zero is none.
	Limits struct {
		SpansPerSecond int `json:"spans_per_second"`
		ReadsPerSecond int `json:"reads_per_second"`
		SQLStatements  int `json:"sql_statements"`
		Invocations    int `json:"invocations"`
	}
)

func (r *Reader) usage(c *gin.Context) error {
	out, err := r.Usage(c.Request.Context(), api.Project(c))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, out)
	return nil
}

// Usage returns what a project uses.
func (r *Reader) Usage(ctx context.Context, project domain.ProjectID) (Usage, error) {
	day := r.deps.Now().UTC().Truncate(24 * time.Hour)
	out := Usage{Day: day.Format(time.DateOnly), Quotas: r.deps.Quotas, Limits: Limits(r.deps.Limits)}
	err := r.deps.Postgres.QueryRow(ctx, `
SELECT coalesce((SELECT spans FROM project_usage WHERE project_id = $1 AND day = $2), 0),
       (SELECT count(*) FROM artifacts WHERE project_id = $1) + (SELECT count(*) FROM revisions WHERE project_id = $1) + (SELECT count(*) FROM testcases WHERE project_id = $1)`,
		uuid.UUID(project), day).Scan(&out.SpansToday, &out.Entities)
	if err != nil {
		return out, domain.Wrap(domain.Unavailable, fmt.Errorf("usage: reading the usage: %w", err), "The usage cannot be counted now. Please try again.")
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": countTimeout}))
	err = r.deps.ClickHouse.QueryRow(ctx, "SELECT count(), sum(payload_bytes) FROM "+r.deps.Deployment.Table(schema.Spans)+" WHERE project_id = ?", project.String()).
		Scan(&out.Spans, &out.PayloadBytes)
	if err != nil {
		return out, domain.Wrap(domain.Unavailable, fmt.Errorf("usage: counting spans: %w", err), "The spans cannot be counted now. Please try again.")
	}
	return out, nil
}
