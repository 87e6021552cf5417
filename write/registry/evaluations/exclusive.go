package evaluations

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// Exclusive does something about a run while nobody else does so, in this
// process or another one: what takes more commands than one, and must not
// happen twice. It waits for its turn as long as a command waits for a lock.
// A connection is held meanwhile, so that the caller bounds how many do so at once.
func (r *Runs) Exclusive(ctx context.Context, project domain.ProjectID, run uuid.UUID, do func() error) error {
	return r.db.Transact(ctx, "waiting for an evaluation run", func(tx pgx.Tx) error {
		// No row is locked: the commands of do lock the run themselves.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, $2))`, project.String()+run.String(), exclusiveSeed); err != nil {
			return err
		}
		return do()
	})
}

// exclusiveSeed tells these locks from any others that a database may know.
const exclusiveSeed = 0x65766c
