package accounts

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Removal names what is to go, with all that it owns: people by id or, in
// Slug, by e-mail, places by id.
type Removal struct {
	Users                               []domain.Reference
	Organizations, Workspaces, Projects []uuid.UUID
	// DryRun returns what would go, and changes nothing.
	DryRun bool
}

// Removed is what went, also what was owned by what was named.
type Removed struct{ Users, Organizations, Workspaces, Projects []uuid.UUID }

// errDryRun rolls back what a dry run did.
var errDryRun = errors.New("a dry run changes nothing")

// Remove deletes what is named and all that it owns: of a person their
// organizations, of these their workspaces, of these their projects. The spans
// are in another store: the projects are noted as erased in the same
// transaction, and the sink removes what they have there. What does not exist
// is already removed.
func (r *Registry) Remove(ctx context.Context, q Removal) (Removed, error) {
	var gone Removed
	err := r.rehearse(ctx, "deleting accounts", q.DryRun, func(tx pgx.Tx) (err error) {
		gone, err = r.remove(ctx, tx, q)
		return err
	})
	return gone, err
}

// rehearse runs a command as Transact does, and rolls it back in a dry run: the
// command has then met every check and lock that it would meet, and nothing changed.
func (r *Registry) rehearse(ctx context.Context, doing string, dryRun bool, command func(tx pgx.Tx) error) error {
	err := r.db.Transact(ctx, doing, func(tx pgx.Tx) error {
		if err := command(tx); err != nil || !dryRun {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// remove locks from the widest to the narrowest, as who makes something there
// does, so that nothing is made in a place that is going.
func (r *Registry) remove(ctx context.Context, tx pgx.Tx, q Removal) (gone Removed, err error) {
	ids, emails := make([]uuid.UUID, len(q.Users)), make([]string, len(q.Users))
	for i, person := range q.Users {
		if err := onePerson(ctx, tx, person); err != nil {
			return gone, err
		}
		ids[i], emails[i] = person.ID, strings.TrimSpace(person.Slug)
	}
	for _, step := range []struct {
		found *[]uuid.UUID
		sql   string
		args  func() []any
	}{
		{&gone.Users, `SELECT id FROM users WHERE id = ANY($1) OR lower(email) = ANY (SELECT lower(e) FROM unnest($2::text[]) AS e) ORDER BY id FOR UPDATE`, func() []any { return []any{ids, emails} }},
		{&gone.Organizations, `SELECT id FROM organizations WHERE id = ANY($1) OR owner_id = ANY($2) ORDER BY id FOR UPDATE`, func() []any { return []any{q.Organizations, gone.Users} }},
		{&gone.Workspaces, `SELECT id FROM workspaces WHERE id = ANY($1) OR organization_id = ANY($2) ORDER BY id FOR UPDATE`, func() []any { return []any{q.Workspaces, gone.Organizations} }},
		{&gone.Projects, `SELECT id FROM projects WHERE id = ANY($1) OR workspace_id = ANY($2) OR organization_id = ANY($3) ORDER BY id FOR UPDATE`, func() []any { return []any{q.Projects, gone.Workspaces, gone.Organizations} }},
	} {
		rows, err := tx.Query(ctx, step.sql, step.args()...)
		if err != nil {
			return gone, err
		}
		if *step.found, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil {
			return gone, err
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO project_deletions (project_id, requested_at) SELECT id, $2 FROM unnest($1::uuid[]) AS id`, gone.Projects, r.db.Now())
	batch.Queue(`DELETE FROM projects WHERE id = ANY($1)`, gone.Projects)
	batch.Queue(`DELETE FROM workspaces WHERE id = ANY($1)`, gone.Workspaces)
	batch.Queue(`DELETE FROM organizations WHERE id = ANY($1)`, gone.Organizations)
	batch.Queue(`DELETE FROM users WHERE id = ANY($1)`, gone.Users)
	return gone, tx.SendBatch(ctx, batch).Close()
}
