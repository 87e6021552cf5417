// Package lease divides the limits of projects (domain/limit) between the processes of a
// service. Each process writes once a second what the projects that it serves ask for, and
// reads what the other processes wrote; from both follows its share. A request never waits
// for it. Without Postgres every process goes on with its last share.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/domain/limit"
)

// Deps are what a Leaser works with.
type Deps struct {
	Pool   *pgxpool.Pool
	Limits *limit.Projects
	// Shared is called after the shares have changed.
	Shared func()
	Log    *slog.Logger
}

// Leaser agrees on shares with the other processes.
type Leaser struct {
	deps Deps
	// process names this process among the others.
	process uuid.UUID
}

// New returns a Leaser that connects with its first lease.
func New(deps Deps) *Leaser {
	deps.Log = deps.Log.With(slog.String("component", "lease"))
	return &Leaser{deps: deps, process: uuid.New()}
}

const (
	// every is the time between two leases.
	every = time.Second
	// timeout is short beside the time for which a lease counts.
	timeout = 2 * time.Second
)

// Run leases once a second until ctx ends.
func (l *Leaser) Run(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := l.Lease(ctx, every)
		if err != nil && ctx.Err() == nil && !failing {
			l.deps.Log.WarnContext(ctx, "leasing shares of the projects' limits failed, the last shares hold", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// The processes that have not written for three seconds are gone, or serve the project no
// more; after a minute their rows are deleted. The demand of a project that was deleted is
// not stored.
const leaseShares = `
WITH asked AS (
    SELECT * FROM unnest($2::uuid[], $3::float8[], $4::float8[], $5::float8[], $6::float8[]) AS a (project_id, spans, reads, sql_statements, invocations)
), stored AS (
    INSERT INTO limit_demands (project_id, process_id, spans, reads, sql_statements, invocations, asked_at)
    SELECT a.project_id, $1, a.spans, a.reads, a.sql_statements, a.invocations, now()
    FROM asked a JOIN projects p ON p.id = a.project_id
    ON CONFLICT (project_id, process_id) DO UPDATE SET spans = excluded.spans, reads = excluded.reads,
        sql_statements = excluded.sql_statements, invocations = excluded.invocations, asked_at = excluded.asked_at
), deleted AS (
    DELETE FROM limit_demands WHERE asked_at < now() - interval '1 minute'
)
SELECT a.project_id, count(d.process_id), coalesce(sum(d.spans), 0), coalesce(sum(d.reads), 0), coalesce(sum(d.sql_statements), 0), coalesce(sum(d.invocations), 0)
FROM asked a LEFT JOIN limit_demands d ON d.project_id = a.project_id AND d.process_id <> $1 AND d.asked_at > now() - interval '3 seconds'
GROUP BY a.project_id`

// Lease writes what this process was asked for since the last lease and sets its shares, in
// one statement for all projects.
func (l *Leaser) Lease(ctx context.Context, since time.Duration) error {
	demands := l.deps.Limits.Demands(since)
	if len(demands) == 0 {
		return nil
	}
	var columns [limit.Resources][]float64
	ids := make([]uuid.UUID, 0, len(demands))
	for id, demand := range demands {
		ids = append(ids, uuid.UUID(id))
		for r := range columns {
			columns[r] = append(columns[r], demand[r])
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rows, err := l.deps.Pool.Query(ctx, leaseShares, l.process, ids, columns[limit.Spans], columns[limit.Reads], columns[limit.SQLStatements], columns[limit.Invocations])
	if err != nil {
		return fmt.Errorf("lease: sharing limits: %w", err)
	}
	var id uuid.UUID
	var processes int
	var o limit.Amounts
	_, err = pgx.ForEachRow(rows, []any{&id, &processes, &o[limit.Spans], &o[limit.Reads], &o[limit.SQLStatements], &o[limit.Invocations]}, func() error {
		l.deps.Limits.Share(domain.ProjectID(id), o, processes+1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("lease: sharing limits: %w", err)
	}
	if l.deps.Shared != nil {
		l.deps.Shared()
	}
	return nil
}
