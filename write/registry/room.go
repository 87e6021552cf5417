package registry

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// What the rooms below this one (write/registry/runs) share with it: how a
// command runs, what time it is, where ids come from.

// Transact runs a command in one transaction. A deadlock or a serialization
// failure starts it over; anything else leaves nothing behind. What the store
// says is classified; doing names the command in the log.
func (r *Registry) Transact(ctx context.Context, doing string, command func(tx pgx.Tx) error) error {
	return r.transact(ctx, doing, command)
}

// Look asks one question outside of a transaction; classified as Transact does.
func (r *Registry) Look(ctx context.Context, doing string, question func(ctx context.Context, rows func(sql string, args ...any) (pgx.Rows, error)) error) error {
	err := question(ctx, func(sql string, args ...any) (pgx.Rows, error) { return r.deps.Pool.Query(ctx, sql, args...) })
	return classify(err, doing)
}

// Now is the moment of a command in the precision that Postgres keeps.
func (r *Registry) Now() time.Time { return r.now() }

// NewID is a UUIDv7: a list by id is a list by creation.
func (r *Registry) NewID() (uuid.UUID, error) { return r.newID() }

// FindRevision gives the revision of a family that a reference names.
func (r *Registry) FindRevision(ctx context.Context, project domain.ProjectID, f entity.Family, ref domain.Reference) (entity.Revision, bool, error) {
	found, ok, err := lookup{r.deps.Pool, project}.Find(ctx, f, entity.Target{Level: entity.LevelRevision, Ref: ref})
	return found, ok, classify(err, "finding "+f.Name+" revision")
}
