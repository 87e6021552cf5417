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
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/sql/guard"
)

// Deps are what a Runner needs.
type Deps struct {
	// Allowed returns how many statements of a project may run at once here, beside
	// Config.MaxConcurrentPerProject; nil means that only that counts.
	Allowed    func(domain.ProjectID) int
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Runner checks and runs statements. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	deps   Deps
	client *http.Client

	metrics *metrics

	mu      sync.Mutex            // guards the rest
	running map[string]*statement // by id
	waiting int                   // statements that wait for a slot
	freed   chan struct{}         // closed when a slot is given back
	known   *guard.Server         // the engine, once it was asked
}

// statement is one that is being checked or run.
type statement struct {
	project domain.ProjectID
	cancel  context.CancelFunc
}

// New returns a Runner that connects with its first statement.
func New(cfg Config, deps Deps) (*Runner, error) {
	deps.Log = deps.Log.With(slog.String("component", "sql"))
	r := &Runner{
		cfg: cfg, deps: deps, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: cfg.MaxConcurrent, DisableCompression: true}},
		running: map[string]*statement{}, freed: make(chan struct{}),
	}
	var err error
	r.metrics, err = newMetrics(deps.Registerer, r)
	return r, err
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
	// file. The FORMAT clause of the text is ignored, but for a tool's.
	Format string
	File   bool
	// Tool is how a client of the ClickHouse interface asks; nil for other statements.
	Tool *Tool
}

// Reply is the result of a statement.
type Reply struct {
	// ID is that of the statement.
	ID string
	// Format is the format of Body.
	Format string
	// Header are the headers of ClickHouse's reply.
	Header http.Header
	Body   io.Reader
}

// Run checks and runs a statement and calls use with the reply. What the statement may not
// do is Forbidden, a limit that it reached Rejected with what to narrow.
func (r *Runner) Run(ctx context.Context, q Query, use func(Reply) error) error {
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
	if err := r.begin(ctx, q, cancel); err != nil {
		r.metrics.ended(outcomeBusy, 0)
		return err
	}
	defer r.end(q.ID)
	began := r.deps.Now()
	err := r.run(ctx, q, use)
	outcome := outcomeOf(err)
	if ctx.Err() != nil && err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			outcome = outcomeCancelled
		}
		err = domain.Wrap(domain.Rejected, err, "The statement was cancelled, or took longer than %s: narrow its range of start_time, or its columns.", r.cfg.Timeout)
	}
	took := r.deps.Now().Sub(began)
	r.metrics.ended(outcome, took)
	r.record(ctx, q, took, err)
	return err
}

func (r *Runner) record(ctx context.Context, q Query, took time.Duration, err error) {
	attrs := []any{
		slog.String("query_id", q.ID), slog.String("project", q.Project.String()), slog.String("by", q.By),
		slog.String("text", q.Text), slog.Duration("took", took),
	}
	if err != nil {
		attrs = append(attrs, slog.String("refused", err.Error()))
	}
	r.deps.Log.InfoContext(ctx, "statement of an analyst", attrs...)
}

// begin takes a slot. A tool's statement waits for one, because a dashboard sends the
// statements of all its panels at once and shows an error for each that is refused.
func (r *Runner) begin(ctx context.Context, q Query, cancel context.CancelFunc) error {
	for {
		freed, err := r.tryBegin(q, cancel)
		if freed == nil {
			return err
		}
		if !r.waits(1) {
			return err
		}
		select {
		case <-freed:
			r.waits(-1)
		case <-ctx.Done():
			r.waits(-1)
			return err
		}
	}
}

// maxWaiting bounds the statements that wait for a slot.
const maxWaiting = 100

// waits counts a statement that begins (1) or ends (-1) to wait, and reports whether it may.
func (r *Runner) waits(by int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if by > 0 && r.waiting >= maxWaiting {
		return false
	}
	r.waiting += by
	return true
}

// tryBegin takes a slot or returns why not, for a tool with a channel that is closed when one
// was given back.
func (r *Runner) tryBegin(q Query, cancel context.CancelFunc) (freed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.running[q.ID]; taken {
		return nil, domain.E(domain.Conflict, "A statement with the id %s is running.", q.ID)
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
	if own < most && len(r.running) < r.cfg.MaxConcurrent {
		r.running[q.ID] = &statement{q.Project, cancel}
		return nil, nil //nolint:nilnil // no error, and nothing to wait for
	}
	if q.Tool != nil {
		freed = r.freed
	}
	e := domain.E(domain.TooMany, "At most %d statements of this project run at a time here: wait for one to end, or try again in 2 seconds.", most)
	if own < most {
		e = domain.E(domain.TooMany, "At most %d statements of all projects run at a time here: try again in 2 seconds.", r.cfg.MaxConcurrent)
	}
	e.RetryAfter = 2 * time.Second
	return freed, e
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
	close(r.freed)
	r.freed = make(chan struct{})
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

func (r *Runner) run(ctx context.Context, q Query, use func(Reply) error) error {
	l, text := r.columns(), q.Text
	if q.File {
		l = r.file()
	}
	if q.Tool != nil {
		l = limits{rows: r.cfg.MaxToolRows, tool: q.Tool}
		if q.Tool.greets(q.Text) {
			return r.answer(ctx, q, hello, l, use)
		}
		server, err := r.server(ctx, q)
		if err != nil {
			return err
		}
		if text, err = guard.ForTools(q.Text, server); err != nil {
			return refused(err)
		}
	}
	s, err := guard.Parse(text)
	if err != nil {
		return refused(err)
	}
	if q.Tool != nil && s.Format != "" {
		q.Format = s.Format
	}
	text = s.SQL
	switch {
	case s.Tables:
		text = "SELECT name FROM system_tables ORDER BY name"
	case s.Describe != "":
		err = viewExists(s.Describe, q.Tool)
	default:
		err = r.check(ctx, q, text)
	}
	if err != nil {
		return err
	}
	return r.answer(ctx, q, text, l, use)
}

func (r *Runner) answer(ctx context.Context, q Query, text string, l limits, use func(Reply) error) error {
	resp, err := r.send(ctx, q, text, q.Format, l)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	r.metrics.read(resp.Header)
	return use(Reply{ID: q.ID, Format: q.Format, Header: resp.Header, Body: resp.Body})
}

func viewExists(name string, tool *Tool) error {
	if slices.Contains(schema.ViewNames(), name) || tool != nil && slices.Contains(schema.ToolViewNames(), name) {
		return nil
	}
	return domain.E(domain.Forbidden, "The table %s is not one of this project: GET /sql/schema lists its views.", name)
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
	views := schema.ViewNames()
	if q.Tool != nil {
		views = append(views, schema.ToolViewNames()...)
	}
	return refused(guard.CheckNames(lines, database, views))
}

// maxTreeBytes bounds the text of a tree.
const maxTreeBytes = 16 << 20

func (r *Runner) explain(ctx context.Context, q Query, head, text string) ([]string, error) {
	resp, err := r.send(ctx, q, head+text, "TabSeparated", limits{})
	if err != nil {
		return nil, shifted(err, len(head))
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	tree, err := io.ReadAll(io.LimitReader(resp.Body, maxTreeBytes+1))
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
