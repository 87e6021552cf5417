// Package outbox publishes results of evaluation runs from Postgres to the table
// run_results of ClickHouse, where read/grid and the views of analysts read them. A trigger
// of Postgres writes a row of evaluation_outbox with every change of a result, in the
// transaction of the change. A Publisher claims rows, inserts the results as they are then,
// and deletes the rows, so that a result is missing in ClickHouse only until the next pass,
// however a process ends.
//
// Commands on results are write/registry/evaluations. What a table shows of a trace is
// computed by the read side; cmd wires it.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/testset"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

const (
	// maxRows bounds the rows of a pass, and so its memory.
	maxRows = 500
	// lease is how long a claimed row stays with a publisher: after a crash another
	// publishes it that much later.
	lease = 15 * time.Second
	// pollInterval is how often Postgres is queried while nothing is due: a result is seen
	// at most that much later.
	pollInterval = 250 * time.Millisecond
	// firstWait and lastWait bound the pauses between two looks for a trace that is not
	// visible yet, maxAttempts how often it is looked for: about ten minutes.
	firstWait   = 250 * time.Millisecond
	lastWait    = time.Minute
	maxAttempts = 18
)

// Entities finds what steps and results refer to; write/registry/entities implements it.
type Entities interface {
	TestcasesByID(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]testset.Testcase, error)
	FindRevision(ctx context.Context, project domain.ProjectID, f entity.Family, ref domain.Reference) (entity.Revision, bool, error)
}

// Runs finds runs; write/registry/evaluations implements it.
type Runs interface {
	Run(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*evaluation.Run, error)
}

// Deps are the components that a Publisher calls.
type Deps struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn
	Deployment schema.Deployment
	Entities   Entities
	Runs       Runs
	// Outcomes returns what a table shows of traces, by their ids; traces that are not
	// visible are absent.
	Outcomes func(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error)
	Log      *slog.Logger
}

// Publisher publishes results. Several processes may run one each.
type Publisher struct{ deps Deps }

// New returns a Publisher that connects at its first pass.
func New(deps Deps) *Publisher {
	deps.Log = deps.Log.With(slog.String("component", "outbox"))
	return &Publisher{deps}
}

// Run publishes results until the context ends. A pass that fails is repeated.
func (p *Publisher) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		published, err := p.Publish(ctx)
		wait := pollInterval
		switch {
		case err != nil && ctx.Err() == nil:
			p.deps.Log.WarnContext(ctx, "publication of results of evaluation runs failed, the next pass repeats it", slog.Any("error", err))
			wait = time.Second
		case published == maxRows:
			wait = 0
		}
		timer.Reset(wait)
	}
}

// Publish publishes the results that are due, at most maxRows of them, and returns their
// number.
func (p *Publisher) Publish(ctx context.Context) (published int, err error) {
	rows, err := p.claim(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	of := map[domain.ProjectID][]*row{}
	for i := range rows {
		if r := &rows[i]; !r.orphan && !r.deleted {
			of[r.project] = append(of[r.project], r)
		}
	}
	// The rows of a project that cannot be completed wait for the end of their lease, so that
	// they do not hold up those of others.
	var failed error
	unread := map[domain.ProjectID]bool{}
	for project, some := range of {
		if err := p.complete(ctx, project, some); err != nil {
			unread[project] = true
			failed = errors.Join(failed, fmt.Errorf("outbox: complete the results of project %s: %w", uuid.UUID(project), err))
		}
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return unread[r.project] && !r.orphan && !r.deleted })
	if err := p.insert(ctx, rows); err != nil {
		return 0, errors.Join(failed, err)
	}
	return len(rows), errors.Join(failed, p.release(ctx, rows))
}
