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
	"colonnade/domain"
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
	claimed, err := r.Claim(t.Context(), uuid.New(), time.Minute, evaluations.Busy{})
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
	claimed, err = r.Claim(t.Context(), uuid.New(), time.Minute, evaluations.Busy{})
	require.ErrorContains(t, err, "not kept")
	require.Nil(t, claimed)

	_, err = pool.Exec(t.Context(), "DROP TRIGGER refuse ON evaluation_runs")
	require.NoError(t, err)
	claimed, err = r.Claim(t.Context(), uuid.New(), time.Minute, evaluations.Busy{})
	require.NoError(t, err)
	require.Equal(t, waiting, claimed.ID)
}

// A free slot goes to the project with the fewest runs, whichever waits longer; slots
// that are kept go to projects without any.
func TestTheProjectWithTheFewestRunsIsNext(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), embeddedtest.PostgresDatabase(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = migrations.Postgres(t.Context(), pool)
	require.NoError(t, err)
	cfg := registry.DefaultConfig()
	db, err := registry.New(cfg, registry.Deps{Pool: pool, Now: time.Now, Random: rand.Reader})
	require.NoError(t, err)
	e, err := entities.New(db, cfg.ServicesURL)
	require.NoError(t, err)
	created, err := accounts.New(db, e).CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{
		"heavy": {Email: "a@b.c"}, "light": {Email: "d@e.f"},
	}})
	require.NoError(t, err)
	queue := func(account string, n byte) {
		_, err := pool.Exec(t.Context(), `INSERT INTO evaluation_runs (project_id, id, flags, status, refs, created_at, created_by_id) VALUES ($1, $2, '{"is_active": true}', 'queued', '{}', now(), $3)`,
			uuid.UUID(created[account].Project.ID), uuid.UUID{n}, created[account].User.ID)
		require.NoError(t, err)
	}
	for n := range byte(5) {
		queue("heavy", n)
	}
	queue("light", 100)
	r := evaluations.New(db, e, evaluations.Spans{})
	busy := evaluations.Busy{Runs: map[domain.ProjectID]int{}}
	claim := func() string {
		claimed, err := r.Claim(t.Context(), uuid.New(), time.Minute, busy)
		require.NoError(t, err)
		if claimed == nil {
			return ""
		}
		busy.Runs[claimed.Project]++
		if claimed.Project == created["light"].Project.ID {
			return "light"
		}
		return "heavy"
	}
	require.Equal(t, "heavy", claim(), "the one that waits longest")
	require.Equal(t, "light", claim(), "it has none")
	require.Equal(t, "heavy", claim())
	busy.OthersOnly = true
	require.Empty(t, claim(), "both have runs")
	delete(busy.Runs, created["light"].Project.ID)
	require.Empty(t, claim(), "light has none that waits")
	queue("light", 101)
	require.Equal(t, "light", claim())
}
