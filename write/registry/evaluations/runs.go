// Package evaluations holds the commands on evaluations: runs, and their scenarios,
// results, metrics and queues. A command locks the run that it is about, looks
// whether it is open, and writes all or nothing; every statement carries the
// project, but for the one by which a runner takes the next run of any project.
//
// Transactions and errors are those of registry.DB. Metrics are computed by a
// function that cmd wires, because spans are read by the read side.
// Not here: rules (domain/evaluation), questions for their own sake
// (read/entities/runs), who carries a run out (write/evaluate), bodies (write/api).
package evaluations

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/evaluation"
	"colonnade/migrations/schema"
	"colonnade/write/registry"
	"colonnade/write/registry/entities"
)

// MaxMany is how many things one command may make, edit or delete.
const MaxMany = 5000

// Runs runs commands. It is safe for concurrent use.
type Runs struct {
	db       *registry.DB
	entities *entities.Registry
	spans    Spans
}

// Spans is what is asked about traces that results name. Without Measure
// metrics cannot be refreshed.
type Spans struct {
	// Wait returns when what a token says was written is visible, or when its
	// bound has passed, and gives what is not.
	Wait    func(ctx context.Context, token domain.Token) (pending domain.Token, err error)
	Measure Measure
}

// New returns the commands on evaluations; entities finds the evaluators whose
// schemas describe the outputs that metrics are computed from.
func New(db *registry.DB, entities *entities.Registry, spans Spans) *Runs {
	return &Runs{db: db, entities: entities, spans: spans}
}

// command is one command as it looks and writes.
type command struct {
	*Runs
	tx     pgx.Tx
	caller domain.Principal
	now    time.Time
}

func (r *Runs) transact(ctx context.Context, caller domain.Principal, doing string, many int, run func(command) error) error {
	if many > MaxMany {
		return domain.E(domain.Rejected, "At most %d things can be changed at once.", MaxMany)
	}
	return r.db.Transact(ctx, doing, func(tx pgx.Tx) error {
		return run(command{r, tx, caller, r.db.Now()})
	})
}

func (c command) project() uuid.UUID { return uuid.UUID(c.caller.Project) }

// record makes the record of something new.
func (c command) record(d evaluation.RecordDraft) (evaluation.Record, evaluation.Status, error) {
	id, err := c.db.NewID()
	if err != nil {
		return evaluation.Record{}, "", err
	}
	record, status := d.New(id, c.caller.User, c.now)
	return record, status, nil
}

// row is something that a row is scanned into.
type row[T any] interface {
	*T
	Targets() []any
}

// collect reads rows of one sort.
func collect[T any, P row[T]](rows pgx.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (T, error) {
		var t T
		return t, r.Scan(P(&t).Targets()...)
	})
}

// inOrder gives what was found in the order in which it was asked for, each once.
func inOrder[T any](found []T, ids []uuid.UUID, id func(*T) uuid.UUID) []T {
	at := map[uuid.UUID]int{}
	for i := range slices.Backward(ids) {
		at[ids[i]] = i
	}
	slices.SortFunc(found, func(a, b T) int { return at[id(&a)] - at[id(&b)] })
	return found
}

const (
	selectRuns = `SELECT ` + schema.RunColumns + ` FROM evaluation_runs e WHERE e.project_id = $1 AND e.id = ANY($2)`
	// Locks are taken in the order of ids, so that two commands on the same runs wait instead of blocking each other.
	forChange = ` ORDER BY e.id FOR NO KEY UPDATE`
	forParts  = ` ORDER BY e.id FOR SHARE`
)

func (c command) lockRuns(ctx context.Context, ids []uuid.UUID, lock string) ([]evaluation.Run, error) {
	return collect[evaluation.Run](c.tx.Query(ctx, selectRuns+lock, c.project(), ids))
}

// open makes sure that runs are there and open until the end of the command,
// before parts of them are made.
func (c command) open(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*evaluation.Run, error) {
	found, err := c.lockRuns(ctx, ids, forParts)
	if err != nil {
		return nil, err
	}
	byID := map[uuid.UUID]*evaluation.Run{}
	for i := range found {
		if found[i].Closed() {
			return nil, evaluation.ClosedConflict(found[i].ID, "", uuid.Nil)
		}
		byID[found[i].ID] = &found[i]
	}
	for _, id := range ids {
		if byID[id] == nil {
			return nil, domain.E(domain.Rejected, "There is no evaluation run %s.", id)
		}
	}
	return byID, nil
}

// owned is a part that is there, and its run.
type owned struct{ id, run uuid.UUID }

// partsOpen makes sure that the runs of parts are open until the end of the
// command, and gives those parts that are there. table and member are constants of ours.
func (c command) partsOpen(ctx context.Context, table, member string, ids []uuid.UUID) error {
	rows, err := c.tx.Query(ctx, `SELECT e.id, e.run_id FROM `+table+` e WHERE e.project_id = $1 AND e.id = ANY($2)`, c.project(), ids)
	if err != nil {
		return err
	}
	parts, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (o owned, err error) { return o, r.Scan(&o.id, &o.run) })
	if err != nil {
		return err
	}
	of := make([]uuid.UUID, len(parts))
	for i, p := range parts {
		of[i] = p.run
	}
	found, err := c.lockRuns(ctx, of, forParts)
	if err != nil {
		return err
	}
	for _, run := range found {
		if run.Closed() {
			i := slices.IndexFunc(parts, func(p owned) bool { return p.run == run.ID })
			return evaluation.ClosedConflict(run.ID, member, parts[i].id)
		}
	}
	return nil
}

// remove deletes parts of open runs and gives the ids of those that were there.
func (r *Runs) remove(ctx context.Context, caller domain.Principal, table, member string, ids []uuid.UUID) (gone []uuid.UUID, err error) {
	err = r.transact(ctx, caller, "deleting of "+table, len(ids), func(c command) error {
		if err := c.partsOpen(ctx, table, member, ids); err != nil {
			return err
		}
		gone, err = c.deleted(ctx, table, ids)
		return err
	})
	return gone, err
}

func (c command) deleted(ctx context.Context, table string, ids []uuid.UUID) ([]uuid.UUID, error) {
	rows, err := c.tx.Query(ctx, `DELETE FROM `+table+` WHERE project_id = $1 AND id = ANY($2) RETURNING id`, c.project(), ids)
	if err != nil {
		return nil, err
	}
	gone, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return inOrder(gone, ids, func(id *uuid.UUID) uuid.UUID { return *id }), err
}

// update runs a statement that changes one row for every draft, in one round
// trip, and gives the rows that were there, in the order of the drafts. The
// rows are changed in an order that all commands keep, so that two of them on
// the same rows wait instead of blocking each other.
func update[T any, P row[T]](ctx context.Context, c command, sql string, order []int, args func(i int) []any) ([]T, error) {
	if len(order) == 0 {
		return nil, nil
	}
	changed := make([][]T, len(order))
	batch := &pgx.Batch{}
	for _, i := range order {
		batch.Queue(sql, args(i)...).Query(func(rows pgx.Rows) (err error) {
			changed[i], err = collect[T, P](rows, nil)
			return err
		})
	}
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("evaluations: changing: %w", err)
	}
	return slices.Concat(changed...), nil
}

// ordered are the places of drafts in the order in which their rows are changed.
func ordered[D any](drafts []D, compare func(a, b *D) int) []int {
	order := make([]int, len(drafts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(&drafts[a], &drafts[b]) })
	return order
}

// byID orders what is edited.
func byID[D interface{ Named() uuid.UUID }](a, b *D) int {
	return compareIDs((*a).Named(), (*b).Named())
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// given is a status as an argument; nil where none was given.
func given(s evaluation.Status) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// each runs a statement for every item, in one round trip. scan takes the row
// that the i-th statement returns.
func (c command) each(ctx context.Context, sql string, n int, args func(i int) []any, scan func(i int, row pgx.Row) error) error {
	if n == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for i := range n {
		batch.Queue(sql, args(i)...).QueryRow(func(row pgx.Row) error { return scan(i, row) })
	}
	if err := c.tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("evaluations: writing: %w", err)
	}
	return nil
}
