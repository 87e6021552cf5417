//go:build embedded

package accounts_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/registry/accounts"
)

func count(t *testing.T, pool *pgxpool.Pool, table string) int {
	t.Helper()
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// createAccount creates a batch of one account.
func createAccount(ctx context.Context, r *accounts.Registry, q accounts.AccountRequest) (accounts.Account, error) {
	made, err := r.CreateAccounts(ctx, accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"account": q}})
	return made["account"], err
}

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	made, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "ann@example.com", CreateKey: true})
	require.NoError(t, err)
	require.Equal(t, "ann", made.User.Username)
	require.NotEmpty(t, made.Key.Prefix)
	require.Equal(t, made.Organization.ID, made.Project.OrganizationID)
	require.Equal(t, made.Workspace.ID, made.Project.WorkspaceID)

	var digest []byte
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT digest FROM api_keys WHERE prefix = $1`, made.Key.Prefix).Scan(&digest))
	require.True(t, made.Key.Matches(digest))

	_, err = createAccount(t.Context(), r, accounts.AccountRequest{Email: "ANN@example.com"})
	require.Equal(t, domain.Conflict, domain.KindOf(err))
}

func TestABatchOfAccountsIsAllOrNothing(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	_, err := r.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{"a": {Email: "a@b.c"}, "b": {Email: "nonsense"}}})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	require.Zero(t, count(t, pool, "users"))
	require.Zero(t, count(t, pool, "projects"))
}

func TestRemoveDeletesEverythingOfAPersonAlone(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	made, err := r.CreateAccounts(t.Context(), accounts.AccountBatch{Accounts: map[string]accounts.AccountRequest{
		"a": {Email: "a@b.c", CreateKey: true, SeedDefaults: true}, "b": {Email: "b@b.c", CreateKey: true},
	}})
	require.NoError(t, err)
	gone, err := r.Remove(t.Context(), accounts.Removal{Users: []domain.Reference{{Slug: "A@b.c"}, {Slug: "nobody@b.c"}, {ID: uuid.New()}}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{uuid.UUID(made["a"].Project.ID)}, gone.Projects)
	for _, table := range []string{"users", "organizations", "workspaces", "projects", "memberships", "api_keys"} {
		require.Equal(t, 1, count(t, pool, table), table)
	}
	_, err = createAccount(t.Context(), r, accounts.AccountRequest{Email: "a@b.c"})
	require.NoError(t, err, "the address is free again")
}

// An id and an e-mail of two people name neither.
func TestAPersonIsNamedByAllThatIsSaid(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	a, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "a@b.c"})
	require.NoError(t, err)
	b, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "b@b.c"})
	require.NoError(t, err)
	two := domain.Reference{ID: a.User.ID, Slug: b.User.Email}
	_, err = r.Remove(t.Context(), accounts.Removal{Users: []domain.Reference{two}})
	require.Equal(t, domain.Rejected, domain.KindOf(err), "%v", err)
	_, err = r.CreateGraph(t.Context(), accounts.Graph{Keys: map[string]accounts.KeyDraft{"k": {
		Project: accounts.Ref{Reference: domain.Reference{ID: uuid.UUID(a.Project.ID)}}, User: accounts.Ref{Reference: two},
	}}})
	require.Equal(t, domain.Rejected, domain.KindOf(err), "%v", err)
	gone, err := r.Remove(t.Context(), accounts.Removal{Users: []domain.Reference{{ID: a.User.ID, Slug: "A@b.c"}}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{uuid.UUID(a.Project.ID)}, gone.Projects)
}

func TestBootstrapOnce(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	key, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	q := accounts.AccountRequest{Email: "root@localhost", Key: key, SeedDefaults: true}

	var wait sync.WaitGroup
	created := make([]bool, 8)
	errs := make([]error, 8)
	for i := range created {
		wait.Go(func() { _, created[i], errs[i] = r.Bootstrap(t.Context(), q) })
	}
	wait.Wait()
	news := 0
	for i := range created {
		require.NoError(t, errs[i])
		if created[i] {
			news++
		}
	}
	require.Equal(t, 1, news)
	require.Equal(t, 1, count(t, pool, "api_keys"))

	second, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	q.Key = second
	found, isNew, err := r.Bootstrap(t.Context(), q)
	require.NoError(t, err)
	require.False(t, isNew)
	require.Equal(t, second, found.Key)
	require.Equal(t, 2, count(t, pool, "api_keys"), "another key given later works too")

	require.NoError(t, r.RevokeKey(t.Context(), domain.Principal{Project: found.Project.ID, Role: domain.RoleOwner}, second.Prefix))
	revoked, isNew, err := r.Bootstrap(t.Context(), q)
	require.NoError(t, err, "a service whose key was revoked starts")
	require.False(t, isNew)
	require.Equal(t, credential.Key{}, revoked.Key, "and the key stays revoked")
	var alive int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL").Scan(&alive))
	require.Equal(t, 1, alive)

	gone, err := r.Remove(t.Context(), accounts.Removal{Organizations: []uuid.UUID{found.Organization.ID}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{uuid.UUID(found.Project.ID)}, gone.Projects)
	again, isNew, err := r.Bootstrap(t.Context(), q)
	require.NoError(t, err, "the person is left without a project")
	require.True(t, isNew)
	require.Equal(t, found.User, again.User)
	require.NotEqual(t, found.Project.ID, again.Project.ID)
	require.Equal(t, second, again.Key)
	require.Equal(t, 1, count(t, pool, "api_keys"))
}

// Who makes a project in an organization that is being deleted either has it
// deleted as well or is told that the organization is gone.
func TestProjectsWhileTheirOrganizationGoes(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	a, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "a@b.c"})
	require.NoError(t, err)
	organization := accounts.Ref{Reference: domain.Reference{ID: a.Organization.ID}}
	workspace := accounts.Ref{Reference: domain.Reference{ID: a.Workspace.ID}}
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() {
			if i == len(errs)/2 {
				_, errs[i] = r.Remove(t.Context(), accounts.Removal{Users: []domain.Reference{{ID: a.User.ID}}})
				return
			}
			_, errs[i] = r.CreateGraph(t.Context(), accounts.Graph{Projects: map[string]accounts.ProjectDraft{"p": {Name: "P", Organization: organization, Workspace: workspace}}})
		})
	}
	wait.Wait()
	made := 0
	for i, err := range errs {
		if err == nil {
			made++
			continue
		}
		require.NotEqual(t, len(errs)/2, i, err)
		require.Equal(t, domain.NotFound, domain.KindOf(err), err)
	}
	for _, table := range []string{"users", "organizations", "workspaces", "projects", "memberships"} {
		require.Zero(t, count(t, pool, table), table)
	}
	require.Equal(t, made, count(t, pool, "project_deletions"), "the account's own, and those made in time")
	require.Zero(t, deadlocks(t, pool), "both lock in one order")
}

// deadlocks counts those of the test's database. Connections tell what they
// counted when they end, at the latest.
func deadlocks(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	pool.Reset()
	require.Eventually(t, func() bool {
		var connections int
		err := pool.QueryRow(t.Context(), `SELECT numbackends, deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&connections, &n)
		return err == nil && connections == 1
	}, 10*time.Second, 10*time.Millisecond)
	return n
}

func TestKeys(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	a, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "a@b.c"})
	require.NoError(t, err)
	b, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "b@b.c"})
	require.NoError(t, err)
	key, err := r.CreateKey(t.Context(), accounts.KeyRequest{Project: a.Project.ID, User: a.User.ID, Name: "ci", Role: domain.RoleViewer})
	require.NoError(t, err)

	_, err = r.CreateKey(t.Context(), accounts.KeyRequest{Project: a.Project.ID, User: b.User.ID})
	require.Equal(t, domain.NotFound, domain.KindOf(err), "no member")
	_, err = r.CreateKey(t.Context(), accounts.KeyRequest{Project: a.Project.ID, User: a.User.ID, Role: "king"})
	require.Equal(t, domain.Rejected, domain.KindOf(err))

	stranger := domain.Principal{Project: b.Project.ID, Role: domain.RoleOwner}
	require.Equal(t, domain.NotFound, domain.KindOf(r.RevokeKey(t.Context(), stranger, key.Prefix)), "another project's key")
	developer := domain.Principal{Project: a.Project.ID, User: a.User.ID, Role: domain.RoleDeveloper}
	require.NoError(t, r.RevokeKey(t.Context(), developer, key.Prefix))
	require.Equal(t, domain.NotFound, domain.KindOf(r.RevokeKey(t.Context(), developer, key.Prefix)), "revoked already")

	// No caller revokes a key that has more permissions than the caller.
	for _, tt := range []struct {
		role string
		want bool
	}{
		{"", false}, {domain.RoleOwner, false}, {domain.RoleAdmin, false}, {domain.RoleDeveloper, true}, {domain.RoleEditor, true},
	} {
		key, err := r.CreateKey(t.Context(), accounts.KeyRequest{Project: a.Project.ID, User: a.User.ID, Role: tt.role})
		require.NoError(t, err)
		err = r.RevokeKey(t.Context(), developer, key.Prefix)
		if tt.want {
			require.NoError(t, err, tt.role)
			continue
		}
		require.Equal(t, domain.Forbidden, domain.KindOf(err), tt.role)
		require.NoError(t, r.RevokeKey(t.Context(), domain.Principal{Project: a.Project.ID, Role: domain.RoleOwner}, key.Prefix))
	}
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	a, err := createAccount(t.Context(), r, accounts.AccountRequest{Email: "a@b.c"})
	require.NoError(t, err)
	old, err := r.CreateKey(t.Context(), accounts.KeyRequest{Project: a.Project.ID, User: a.User.ID, Name: "page", Role: domain.RoleEditor, Purpose: domain.PurposeIngest})
	require.NoError(t, err)
	owner := domain.Principal{Project: a.Project.ID, User: a.User.ID, Role: domain.RoleOwner}

	before := time.Now()
	made, ends, err := r.RotateKey(t.Context(), owner, old.Prefix, time.Hour)
	require.NoError(t, err)
	require.WithinRange(t, ends, before.Add(time.Hour).Add(-time.Second), time.Now().Add(time.Hour).Add(time.Second))
	var name, role, purpose string
	var expires *time.Time
	row := `SELECT name, role, purpose, expires_at FROM api_keys WHERE prefix = $1 AND digest = $2`
	require.NoError(t, pool.QueryRow(t.Context(), row, made.Prefix, made.Digest()).Scan(&name, &role, &purpose, &expires))
	require.Equal(t, []string{"page", "editor", "ingest"}, []string{name, role, purpose}, "the new key may do what the old one may")
	require.Nil(t, expires)
	require.NoError(t, pool.QueryRow(t.Context(), row, old.Prefix, old.Digest()).Scan(&name, &role, &purpose, &expires))
	require.NotNil(t, expires, "the old key ends")

	_, _, err = r.RotateKey(t.Context(), owner, made.Prefix, accounts.MaxOverlap+1)
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	_, _, err = r.RotateKey(t.Context(), domain.Principal{Project: a.Project.ID, User: a.User.ID, Role: domain.RoleViewer}, made.Prefix, 0)
	require.Equal(t, domain.Forbidden, domain.KindOf(err), "a key with more permissions than the caller")
	_, _, err = r.RotateKey(t.Context(), domain.Principal{Project: a.Project.ID, User: uuid.New(), Role: domain.RoleOwner}, made.Prefix, 0)
	require.Equal(t, domain.Forbidden, domain.KindOf(err), "a key that acts for another member")
	_, _, err = r.RotateKey(t.Context(), domain.Principal{Project: domain.ProjectID(uuid.New()), User: a.User.ID, Role: domain.RoleOwner}, made.Prefix, 0)
	require.Equal(t, domain.NotFound, domain.KindOf(err), "a key of another project")
	_, _, err = r.RotateKey(t.Context(), owner, made.Prefix, 0)
	require.NoError(t, err)
	_, _, err = r.RotateKey(t.Context(), owner, made.Prefix, 0)
	require.Equal(t, domain.Conflict, domain.KindOf(err), "a key that has ended")

	used := time.Now().Truncate(time.Microsecond)
	require.NoError(t, accounts.Used(pool)(t.Context(), map[string]time.Time{made.Prefix: used, "absentXX": used}))
	require.NoError(t, accounts.Used(pool)(t.Context(), map[string]time.Time{made.Prefix: used.Add(-time.Hour)}))
	var at time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT last_used_at FROM api_keys WHERE prefix = $1`, made.Prefix).Scan(&at))
	require.True(t, used.Equal(at), "a later use of another process stays")
}

func TestTwentyAccountsAtOnce(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	r := newRegistry(t, pool)
	var wait sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = createAccount(t.Context(), r, accounts.AccountRequest{Email: fmt.Sprintf("u%d@b.c", i%10), CreateKey: true})
		})
	}
	wait.Wait()
	conflicts := 0
	for _, err := range errs {
		if domain.KindOf(err) == domain.Conflict && err != nil {
			conflicts++
			continue
		}
		require.NoError(t, err)
	}
	require.Equal(t, 10, conflicts)
	require.Equal(t, 10, count(t, pool, "users"))
}
