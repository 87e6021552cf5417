// Package entitycopy copies entities from Postgres into the table entities of ClickHouse,
// which the views of analysts read: applications, evaluators, testsets, environments and
// saved queries, their revisions, test cases and evaluation runs. Postgres stays the only
// place where they are changed.
//
// A pass copies what changed since the newest row that ClickHouse has, of each kind. It
// begins a little earlier than that, because a transaction may commit after a later one.
package entitycopy

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/migrations/schema"
	"colonnade/write/registry"
)

// Every is how often changes are copied.
const Every = 15 * time.Second

const (
	// overlap is how much older than the newest row a change may be and still be found: far
	// more than a command's transaction takes.
	overlap = 2 * time.Minute
	// batchRows bounds the rows of an insert, which are held in memory.
	batchRows = 5_000
)

// Deps are the connections of a Copier.
type Deps struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn
	Deployment schema.Deployment
	Log        *slog.Logger
}

// Copier copies entities. Several at once do no harm, because equal rows replace each other.
type Copier struct {
	deps Deps
	// copied holds when rows within the overlap changed last, as they were copied.
	copied map[key]time.Time
}

// key identifies a row of the table entities.
type key struct {
	project, id uuid.UUID
	kind        string
}

// New returns a Copier that connects at its first pass.
func New(deps Deps) *Copier {
	deps.Log = deps.Log.With(slog.String("component", "entitycopy"))
	return &Copier{deps: deps, copied: map[key]time.Time{}}
}

// Run copies until the context ends. A pass that fails is repeated.
func (c *Copier) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := c.Sync(ctx); err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "copies of entities are not up to date, the next pass repeats them", slog.Any("error", err))
		}
		timer.Reset(Every)
	}
}

// Sync copies what changed since the last pass, and marks deleted runs.
func (c *Copier) Sync(ctx context.Context) error {
	newest, err := c.newest(ctx)
	if err != nil {
		return err
	}
	for _, s := range sources() {
		if err := c.copyChanges(ctx, s, newest[s.kind]); err != nil {
			return err
		}
	}
	return c.markDeletedRuns(ctx)
}

// newest returns when the newest row of each kind changed.
func (c *Copier) newest(ctx context.Context) (map[string]time.Time, error) {
	rows, err := c.deps.ClickHouse.Query(ctx, "SELECT toString(kind), max(changed_at) FROM "+c.table()+" WHERE NOT deleted GROUP BY kind")
	if err != nil {
		return nil, fmt.Errorf("entitycopy: find the newest rows: %w", err)
	}
	defer func() { _ = rows.Close() }() // the error of the loop counts
	out := map[string]time.Time{}
	for rows.Next() {
		var kind string
		var at time.Time
		if err := rows.Scan(&kind, &at); err != nil {
			return nil, fmt.Errorf("entitycopy: find the newest rows: %w", err)
		}
		out[kind] = at
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("entitycopy: find the newest rows: %w", err)
	}
	return out, nil
}

func (c *Copier) table() string { return c.deps.Deployment.Table(schema.Entities) }

// copyChanges copies the rows of a source that changed after newest, in the order of their
// changes: a pass that stops in the middle goes on from there.
func (c *Copier) copyChanges(ctx context.Context, s source, newest time.Time) error {
	since := time.Unix(0, 0).UTC()
	if !newest.IsZero() {
		since = newest.Add(-overlap)
	}
	c.forget(s.kind, since)
	rows, err := c.deps.Postgres.Query(ctx, s.sql, since)
	if err != nil {
		return registry.Classify(err, "reading entities of kind "+s.kind)
	}
	defer rows.Close()
	batch := make([]row, 0, batchRows)
	for more := true; more; {
		batch = batch[:0]
		for len(batch) < batchRows {
			if more = rows.Next(); !more {
				break
			}
			r, err := pgx.RowToStructByPos[row](rows)
			if err != nil {
				return registry.Classify(err, "reading entities of kind "+s.kind)
			}
			if !c.copied[r.key(s.kind)].Equal(r.ChangedAt) {
				batch = append(batch, r)
			}
		}
		if err := c.insert(ctx, s.kind, batch, false); err != nil {
			return err
		}
		for _, r := range batch {
			c.copied[r.key(s.kind)] = r.ChangedAt
		}
		if len(batch) > 0 { // the first copy of an installation has millions of rows
			c.forget(s.kind, batch[len(batch)-1].ChangedAt.Add(-overlap))
		}
	}
	return registry.Classify(rows.Err(), "reading entities of kind "+s.kind)
}

// forget drops the rows of a kind that changed before a time.
func (c *Copier) forget(kind string, before time.Time) {
	for k, at := range c.copied {
		if k.kind == kind && at.Before(before) {
			delete(c.copied, k)
		}
	}
}

// insert writes rows of a kind.
func (c *Copier) insert(ctx context.Context, kind string, rows []row, deleted bool) error {
	if len(rows) == 0 {
		return nil
	}
	batch, err := c.deps.ClickHouse.PrepareBatch(ctx, "INSERT INTO "+c.table()+" ("+columns+")")
	if err != nil {
		return fmt.Errorf("entitycopy: insert %d rows of kind %s: %w", len(rows), kind, err)
	}
	for _, r := range rows {
		if err := batch.Append(r.values(kind, deleted)...); err != nil {
			_ = batch.Abort() // the first error counts
			return fmt.Errorf("entitycopy: append a row of kind %s: %w", kind, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("entitycopy: insert %d rows of kind %s: %w", len(rows), kind, err)
	}
	return nil
}

// markDeletedRuns marks the runs that Postgres no longer has: everything else that is copied
// is archived, which is a change, or goes with its project.
func (c *Copier) markDeletedRuns(ctx context.Context) error {
	var have uint64
	if err := c.deps.ClickHouse.QueryRow(ctx, "SELECT count() FROM "+c.table()+" FINAL WHERE kind = ? AND NOT deleted", kindRun).Scan(&have); err != nil {
		return fmt.Errorf("entitycopy: count runs: %w", err)
	}
	var want uint64
	if err := c.deps.Postgres.QueryRow(ctx, `SELECT count(*) FROM evaluation_runs`).Scan(&want); err != nil {
		return registry.Classify(err, "counting runs")
	}
	if have <= want {
		return nil
	}
	there, err := c.runs(ctx)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(there))
	for k := range there {
		ids = append(ids, k.id)
	}
	rows, err := c.deps.Postgres.Query(ctx, `SELECT id FROM unnest($1::uuid[]) AS known (id) WHERE NOT EXISTS (SELECT FROM evaluation_runs r WHERE r.id = known.id)`, ids)
	if err != nil {
		return registry.Classify(err, "looking for deleted runs")
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return registry.Classify(err, "looking for deleted runs")
	}
	missing := make(map[uuid.UUID]bool, len(gone))
	for _, id := range gone {
		missing[id] = true
	}
	var marks []row
	for k, at := range there {
		if missing[k.id] {
			marks = append(marks, row{ProjectID: k.project, ID: k.id, CreatedAt: at, ChangedAt: at.Add(time.Microsecond)})
			delete(c.copied, k)
		}
	}
	return c.insert(ctx, kindRun, marks, true)
}

// runs returns the runs that ClickHouse has and when they changed.
func (c *Copier) runs(ctx context.Context) (map[key]time.Time, error) {
	rows, err := c.deps.ClickHouse.Query(ctx, "SELECT project_id, id, changed_at FROM "+c.table()+" FINAL WHERE kind = ? AND NOT deleted", kindRun)
	if err != nil {
		return nil, fmt.Errorf("entitycopy: list runs: %w", err)
	}
	defer func() { _ = rows.Close() }() // the error of the loop counts
	out := map[key]time.Time{}
	for rows.Next() {
		k := key{kind: kindRun}
		var at time.Time
		if err := rows.Scan(&k.project, &k.id, &at); err != nil {
			return nil, fmt.Errorf("entitycopy: list runs: %w", err)
		}
		out[k] = at
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("entitycopy: list runs: %w", err)
	}
	return out, nil
}
