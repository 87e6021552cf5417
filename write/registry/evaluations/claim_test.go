//go:build embedded

package evaluations_test

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations"
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// What the store did not keep was not taken: a run that somebody else will take
// is carried out once, and one that does not exist not at all.
func TestARunIsTakenOrNot(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	cfg := registry.DefaultConfig()
	db, err := registry.New(cfg, registry.Deps{Pool: pool, Now: time.Now, Random: rand.Reader})
	require.NoError(t, err)
	e, err := entities.New(db, cfg.ServicesURL)
	require.NoError(t, err)
	r := evaluations.New(db, e, evaluations.Spans{})
	claimed, err := r.Claim(t.Context(), uuid.New(), time.Minute)
	require.Error(t, err, "there is no table")
	require.Nil(t, claimed)

	_, err = migrations.Postgres(t.Context(), pool)
	require.NoError(t, err)
	created, err := accounts.New(db, e).CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"owner": {Email: "a@b.c"}}})
	require.NoError(t, err)
	account := created["owner"]
	waiting := uuid.New()
	for _, statement := range []string{
		`INSERT INTO evaluation_runs (project_id, id, flags, status, refs, created_at, created_by_id)
VALUES ('` + uuid.UUID(account.Project.ID).String() + `', '` + waiting.String() + `', '{"is_active": true}', 'queued', '{}', now(), '` + account.User.ID.String() + `')`,
		// The statement works, and the commit does not: as when the store is lost between the two.
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not kept'; END $$`,
		`CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON evaluation_runs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	claimed, err = r.Claim(t.Context(), uuid.New(), time.Minute)
	require.ErrorContains(t, err, "not kept")
	require.Nil(t, claimed)

	_, err = pool.Exec(t.Context(), "DROP TRIGGER refuse ON evaluation_runs")
	require.NoError(t, err)
	claimed, err = r.Claim(t.Context(), uuid.New(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, waiting, claimed.ID)
}
