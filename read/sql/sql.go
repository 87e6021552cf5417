// Package sql runs statements of analysts over the views of their project. A statement is
// checked three times (package guard), then runs in the project's database, read-only and
// with limits that its text cannot change. On a server the user of sql.clickhouse_url has no
// right but to read the views, so that a fault of the checks never reaches a table.
package sql

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/sql/guard"
)

// Deps are what a Runner needs.
type Deps struct {
	// Allowed returns how many statements of a project may run at once here, beside
	// Config.MaxConcurrentPerProject; nil means that only that counts.
	Allowed func(domain.ProjectID) int
	Now     func() time.Time
	Log     *slog.Logger
}

// Runner checks and runs statements. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	deps   Deps
	client *http.Client

	mu      sync.Mutex
	running map[string]*statement // by id
}

// statement is one that is being checked or run.
type statement struct {
	project domain.ProjectID
	cancel  context.CancelFunc
}

// New returns a Runner that connects with its first statement.
func New(cfg Config, deps Deps) *Runner {
	deps.Log = deps.Log.With(slog.String("component", "sql"))
	return &Runner{cfg: cfg, deps: deps, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: cfg.MaxConcurrent}}, running: map[string]*statement{}}
}

// Query is a statement of a caller.
type Query struct {
	Project domain.ProjectID
	// By names the caller in the log.
	By string
	// ID names the statement for Cancel; empty makes one.
	ID   string
	Text string
	// Parameters are the values of {name:Type} as ClickHouse reads them from a query string.
	Parameters map[string]string
	// Format is a format of ClickHouse that holds whole results, and File whether its reply is a
	// file. The FORMAT clause of the text is ignored.
	Format string
	File   bool
}

// Run checks and runs a statement and calls use with the reply. What the statement may not
// do is Forbidden, a limit that it reached Rejected with what to narrow.
func (r *Runner) Run(ctx context.Context, q Query, use func(id string, body io.Reader) error) error {
	began := r.deps.Now()
	if !r.cfg.Enabled {
		return domain.E(domain.NotFound, "SQL is switched off (sql.enabled).")
	}
	if r.cfg.ClickHouseURL == "" {
		return domain.E(domain.Unavailable, "SQL needs a ClickHouse user of its own: create one with GRANT SELECT ON `p_*`.* TO <user>, and set sql.clickhouse_url.")
	}
	if q.Project.IsZero() {
		return domain.E(domain.Forbidden, "SQL needs a project.")
	}
	if q.ID == "" {
		q.ID = uuid.NewString()
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	if err := r.begin(q, cancel); err != nil {
		return err
	}
	defer r.end(q.ID)
	err := r.run(ctx, q, use)
	if ctx.Err() != nil && err != nil {
		err = domain.Wrap(domain.Rejected, err, "The statement was cancelled, or took longer than %s: narrow its range of start_time, or its columns.", r.cfg.Timeout)
	}
	r.record(ctx, q, began, err)
	return err
}

func (r *Runner) record(ctx context.Context, q Query, began time.Time, err error) {
	attrs := []any{
		slog.String("query_id", q.ID), slog.String("project", q.Project.String()), slog.String("by", q.By),
		slog.String("text", q.Text), slog.Duration("took", r.deps.Now().Sub(began)),
	}
	if err != nil {
		attrs = append(attrs, slog.String("refused", err.Error()))
	}
	r.deps.Log.InfoContext(ctx, "statement of an analyst", attrs...)
}

func (r *Runner) begin(q Query, cancel context.CancelFunc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.running[q.ID]; taken {
		return domain.E(domain.Conflict, "A statement with the id %s is running.", q.ID)
	}
	own := 0
	for _, s := range r.running {
		if s.project == q.Project {
			own++
		}
	}
	most := r.cfg.MaxConcurrentPerProject
	if r.deps.Allowed != nil {
		most = min(most, r.deps.Allowed(q.Project))
	}
	const retryAfter = 2 * time.Second
	if own >= most {
		e := domain.E(domain.TooMany, "At most %d statements of this project run at a time here: wait for one to end, or try again in 2 seconds.", most)
		e.RetryAfter = retryAfter
		return e
	}
	if len(r.running) >= r.cfg.MaxConcurrent {
		e := domain.E(domain.TooMany, "At most %d statements of all projects run at a time here: try again in 2 seconds.", r.cfg.MaxConcurrent)
		e.RetryAfter = retryAfter
		return e
	}
	r.running[q.ID] = &statement{q.Project, cancel}
	return nil
}

// Demand returns how many statements of each project run.
func (r *Runner) Demand() map[domain.ProjectID]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	demand := map[domain.ProjectID]int{}
	for _, s := range r.running {
		demand[s.project]++
	}
	return demand
}

func (r *Runner) end(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// Cancel ends a statement of the project that this process runs.
func (r *Runner) Cancel(project domain.ProjectID, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.running[id]
	if !ok || s.project != project {
		return domain.E(domain.NotFound, "No statement with this id is running.")
	}
	s.cancel()
	return nil
}

func (r *Runner) run(ctx context.Context, q Query, use func(id string, body io.Reader) error) error {
	s, err := guard.Parse(q.Text)
	if err != nil {
		return refused(err)
	}
	text := s.SQL
	if s.Describe == "" && !s.Tables {
		if err := r.check(ctx, q, text); err != nil {
			return err
		}
	} else if err := viewExists(s); err != nil {
		return err
	}
	body, err := r.send(ctx, q, text, q.Format, q.File)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was read
	return use(q.ID, body)
}

func viewExists(s guard.Statement) error {
	if s.Tables {
		return nil
	}
	if slices.Contains(schema.ViewNames(), s.Describe) {
		return nil
	}
	return domain.E(domain.Forbidden, "The table %s is not one of this project: GET /sql/schema lists its views.", s.Describe)
}

// check asks ClickHouse for the syntax tree, which runs nothing, and only then for the query
// tree, for which it computes scalar subqueries.
func (r *Runner) check(ctx context.Context, q Query, text string) error {
	database := schema.ViewsDatabase(q.Project)
	lines, err := r.explain(ctx, q, "EXPLAIN AST ", text)
	if err != nil {
		return err
	}
	if err := guard.CheckSyntax(lines, database); err != nil {
		return refused(err)
	}
	if lines, err = r.explain(ctx, q, "EXPLAIN QUERY TREE run_passes = 1 ", text); err != nil {
		return err
	}
	return refused(guard.CheckNames(lines, database, schema.ViewNames()))
}

// maxTreeBytes bounds the text of a tree.
const maxTreeBytes = 16 << 20

func (r *Runner) explain(ctx context.Context, q Query, head, text string) ([]string, error) {
	body, err := r.send(ctx, q, head+text, "TabSeparated", false)
	if err != nil {
		return nil, shifted(err, len(head))
	}
	defer body.Close() //nolint:errcheck // it was read
	tree, err := io.ReadAll(io.LimitReader(body, maxTreeBytes+1))
	if err != nil {
		return nil, domain.Wrap(domain.Unavailable, err, "ClickHouse did not reply.")
	}
	if len(tree) > maxTreeBytes {
		return nil, domain.E(domain.Forbidden, "The statement is too complex.")
	}
	return strings.Split(strings.TrimRight(string(tree), "\n"), "\n"), nil
}

func refused(err error) error {
	if refusal, ok := errors.AsType[*guard.RefusedError](err); ok {
		return domain.E(domain.Forbidden, "%s", refusal.What)
	}
	return err
}
