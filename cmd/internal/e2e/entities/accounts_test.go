//go:build embedded

package entities_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const accountsPath = "/admin/simple/accounts/"

// one creates a single resource below /admin/simple/accounts/ and returns it.
func (c client) one(path, member string, body object, kind, name string) object {
	c.t.Helper()
	return objectAt(c.t, c.post(accountsPath+path, object{member: body}), "accounts", 0, kind, name)
}

func (c client) eventuallyEnds() {
	c.t.Helper()
	c.w.eventually(c.t, func() bool {
		status, _, _ := c.do(http.MethodGet, "/projects/current", nil)
		return status == http.StatusUnauthorized
	})
}

// Users, organizations, workspaces and projects are created one by one until a key
// works in the project, and deleted one by one until the key no longer does.
func TestAccountsOneByOne(t *testing.T) {
	t.Parallel()
	w := newService(t)
	admin := w.admin(t)
	id := func(o object) object { return object{"id": o["id"]} }
	boss := admin.one("users/", "user", object{"email": "Boss@b.c"}, "users", "user")
	require.Equal(t, "Boss", boss["username"])
	guest := admin.one("users/", "user", object{"email": "guest@b.c", "username": "G"}, "users", "user")
	organization := admin.one("organizations/", "organization", object{"name": "O", "owner_user_ref": object{"slug": "boss@b.c"}}, "organizations", "org")
	require.Equal(t, boss["id"], organization["owner_user_id"])
	again := admin.post("/admin/simple/accounts/organizations/", object{"organization": object{"name": "P"}, "owner": object{"email": "boss@b.c", "username": "other"}})
	require.Equal(t, boss["id"], at(t, again, "accounts", 0, "organizations", "org", "owner_user_id"), "who exists owns it")
	require.Equal(t, boss["username"], at(t, again, "accounts", 0, "users", "user", "username"), "and stays as they are")
	workspace := admin.one("workspaces/", "workspace", object{"name": "W", "organization_ref": id(organization)}, "workspaces", "wrk")
	require.Equal(t, organization["id"], workspace["organization_id"])
	empty := admin.fails(http.StatusBadRequest, http.MethodPost, accountsPath+"workspaces/memberships/", object{"membership": object{"workspace_ref": id(workspace), "user_ref": id(guest), "role": "viewer"}})
	require.Equal(t, "The workspace has no project yet that somebody could be a member of.", empty)

	inside := object{"name": "P", "organization_ref": id(organization), "workspace_ref": id(workspace)}
	project := admin.one("projects/", "project", inside, "projects", "prj")
	require.Equal(t, false, project["is_default"])
	bare := objectAt(t, admin.post(accountsPath+"projects/", object{
		"project": object{"name": "bare", "organization_ref": id(organization), "workspace_ref": id(workspace), "is_default": true}, "options": object{"seed_defaults": false},
	}), "accounts", 0, "projects", "prj")
	require.Equal(t, true, bare["is_default"])

	key := func(project, user object) (client, string) {
		made := admin.one("api-keys/", "api_key", object{"project_ref": id(project), "user_ref": id(user)}, "api_keys", "key")
		return client{t: t, w: w, header: "ApiKey " + text(t, made, "value")}, text(t, made, "id")
	}
	owner, _ := key(project, boss)
	require.Equal(t, "owner", owner.get("/projects/current")["user_role"])
	require.EqualValues(t, 3, owner.post("/environments/query", object{})["count"], "it is seeded like any other")
	inBare, _ := key(bare, boss)
	require.EqualValues(t, 0, inBare.post("/environments/query", object{})["count"])

	// A role in the organization is one in each of its projects.
	membership := admin.one("organizations/memberships/", "membership", object{"organization_ref": id(organization), "user_ref": id(guest), "role": "viewer"}, "organization_memberships", "mem")
	require.Equal(t, organization["id"], membership["organization_id"])
	require.Equal(t, guest["id"], membership["user_id"])
	asGuest, prefix := key(project, guest)
	guestInBare, _ := key(bare, guest)
	require.Equal(t, "viewer", guestInBare.get("/projects/current")["user_role"])
	membership = admin.one("workspaces/memberships/", "membership", object{"workspace_ref": id(workspace), "user_ref": object{"slug": "GUEST@b.c"}, "role": "editor"}, "workspace_memberships", "mem")
	require.Equal(t, workspace["id"], membership["workspace_id"])
	for _, c := range []client{asGuest, guestInBare} {
		w.eventually(t, func() bool { return c.get("/projects/current")["user_role"] == "editor" })
	}
	admin.one("projects/memberships/", "membership", object{"project_ref": id(project), "user_ref": id(boss), "role": "owner"}, "project_memberships", "mem")

	gone := admin.remove(accountsPath+"api-keys/"+prefix, nil)
	require.Equal(t, prefix, at(t, gone, "deleted", "api_keys", 0, "id"))
	asGuest.eventuallyEnds()
	guestInBare.get("/projects/current")
	gone = admin.remove(accountsPath+"workspaces/"+text(t, workspace, "id")+"/memberships/"+text(t, guest, "id"), nil)
	require.Equal(t, guest["id"], at(t, gone, "deleted", "workspace_memberships", 0, "id"))
	guestInBare.eventuallyEnds()
	admin.fails(http.StatusNotFound, http.MethodDelete, accountsPath+"organizations/"+text(t, organization, "id")+"/memberships/"+text(t, guest, "id"), nil)

	for _, step := range []struct {
		kind string
		it   object
		ends client
	}{{"projects", bare, inBare}, {"workspaces", workspace, owner}, {"organizations", organization, owner}, {"users", boss, owner}} {
		path := accountsPath + step.kind + "/" + text(t, step.it, "id")
		gone := admin.remove(path, nil)
		require.Equal(t, step.it["id"], at(t, gone, "deleted", step.kind, 0, "id"))
		step.ends.eventuallyEnds()
		admin.fails(http.StatusNotFound, http.MethodDelete, path, nil)
	}
	admin.one("users/", "user", object{"email": "boss@b.c"}, "users", "user")
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM project_deletions`), "their spans go as well")
	require.Equal(t, 0, w.count(t, `SELECT count(*) FROM projects`))
}

// One body creates all of them; its members refer to each other by name.
func TestAccountsInOneBody(t *testing.T) {
	t.Parallel()
	w := newService(t)
	admin := w.admin(t)
	ref := func(name string) object { return object{"ref": name} }
	body := func() object {
		return object{
			"users":                    object{"ann": object{"email": "ann@b.c"}, "bob": object{"email": "bob@b.c"}},
			"organizations":            object{"o": object{"name": "O", "owner_user_ref": ref("ann")}},
			"workspaces":               object{"w": object{"name": "W", "organization_ref": ref("o")}},
			"projects":                 object{"p": object{"name": "P", "organization_ref": ref("o"), "workspace_ref": ref("w"), "is_default": true}},
			"organization_memberships": object{"a": object{"organization_ref": ref("o"), "user_ref": ref("ann"), "role": "owner"}},
			"workspace_memberships":    object{"b": object{"workspace_ref": ref("w"), "user_ref": ref("bob"), "role": "viewer"}},
			"project_memberships":      object{"b": object{"project_ref": ref("p"), "user_ref": ref("bob"), "role": "developer"}},
			"api_keys":                 object{"k": object{"project_ref": ref("p"), "user_ref": ref("bob"), "name": "ci"}},
			"options":                  object{"create_api_keys": true, "return_api_keys": true, "seed_defaults": false},
		}
	}
	bad := body()
	bad["api_keys"] = object{"k": object{"project_ref": ref("q"), "user_ref": ref("bob")}}
	refused := admin.fails(http.StatusBadRequest, http.MethodPost, "/admin/accounts/", bad)
	require.Equal(t, `The reference "q" names no project of this request.`, refused)
	require.Zero(t, w.count(t, `SELECT count(*) FROM users`), "all or nothing")

	account := objectAt(t, admin.post("/admin/accounts/", body()), "accounts", 0)
	bob := client{t: t, w: w, header: "ApiKey " + text(t, account, "api_keys", "k", "value")}
	current := bob.get("/projects/current")
	require.Equal(t, "developer", current["user_role"])
	require.Equal(t, at(t, account, "projects", "p", "id"), current["project_id"])
	require.Equal(t, "O", current["organization_name"])
	conflict := admin.fails(http.StatusConflict, http.MethodPost, "/admin/accounts/", body())
	require.Equal(t, "ann@b.c", at(t, conflict, "conflict", "email"))

	// The only user of a body owns each resource without an owner; a key may be withheld.
	quiet := objectAt(t, admin.post("/admin/accounts/", object{
		"users": object{"x": object{"email": "x@b.c"}}, "organizations": object{"o": object{"name": "X"}},
		"api_keys": object{"k": object{"project_ref": object{"id": current["project_id"]}, "user_ref": object{"slug": "bob@b.c"}}},
		"options":  object{"return_api_keys": false},
	}), "accounts", 0)
	require.Equal(t, at(t, quiet, "users", "x", "id"), at(t, quiet, "organizations", "o", "owner_user_id"))
	require.NotContains(t, at(t, quiet, "api_keys", "k"), "value")

	target := object{"user_emails": []any{"Ann@b.c", "nobody@b.c"}, "user_ids": []any{uuid.NewString()}}
	plan := admin.remove("/admin/accounts/", object{"target": target})
	require.Equal(t, true, plan["dry_run"])
	bob.get("/projects/current")
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM projects`))
	gone := admin.remove("/admin/accounts/", object{"target": target, "dry_run": false})
	require.Equal(t, plan["deleted"], gone["deleted"])
	for kind, name := range map[string]string{"users": "ann", "organizations": "o", "workspaces": "w", "projects": "p"} {
		require.Equal(t, []any{object{"id": at(t, account, kind, name, "id")}}, at(t, gone, "deleted", kind), kind)
	}
	bob.eventuallyEnds()
	require.Equal(t, 1, w.count(t, `SELECT count(*) FROM project_deletions`))
	require.Empty(t, at(t, admin.remove("/admin/accounts/", object{"target": target, "dry_run": false}), "deleted"))
}

func TestAccountsRefused(t *testing.T) {
	t.Parallel()
	w := newService(t)
	admin, a, b := w.admin(t), w.owner(t, "a@b.c", false), w.owner(t, "b@b.c", false)
	ref := func(id uuid.UUID) object { return object{"id": id.String()} }
	organization, workspace, project := ref(a.account.Organization.ID), ref(a.account.Workspace.ID), ref(uuid.UUID(a.account.Project.ID))
	nobody := ref(uuid.New())
	inside := func(more object) object {
		p := object{"name": "P", "organization_ref": organization, "workspace_ref": workspace}
		maps.Copy(p, more)
		return object{"project": p}
	}
	member := func(place string, of, user any) object {
		return object{"membership": object{place + "_ref": of, "user_ref": user, "role": "viewer"}}
	}
	owner := text(t, ref(a.account.User.ID), "id")
	for _, refused := range []struct {
		status       int
		method, path string
		body         any
	}{
		{409, "POST", "users/", object{"user": object{"email": "A@b.c"}}},
		{400, "POST", "users/", object{"user": object{"email": "nonsense"}}},
		{422, "POST", "users/", object{"user": object{"username": "x"}}},
		{422, "POST", "users/", object{"user": object{"email": "x@b.c", "colour": "red"}}},
		{422, "POST", "users/", object{}},
		{422, "POST", "users/", ""},
		{422, "POST", "organizations/", object{"organization": object{"name": "O"}}},
		{422, "POST", "organizations/", object{"organization": object{"name": "", "owner_user_ref": ref(a.account.User.ID)}}},
		{422, "POST", "organizations/", object{"organization": object{"name": "O", "owner_user_ref": object{"id": owner, "slug": "a@b.c"}}}},
		{400, "POST", "organizations/", object{"organization": object{"name": "O", "owner_user_ref": object{"ref": "x"}}}},
		{422, "POST", "organizations/", object{"organization": object{"name": "O", "owner_user_ref": ref(a.account.User.ID)}, "owner": object{"email": "x@b.c"}}},
		{404, "POST", "organizations/", object{"organization": object{"name": "O", "owner_user_ref": nobody}}},
		{404, "POST", "workspaces/", object{"workspace": object{"name": "W", "organization_ref": nobody}}},
		{422, "POST", "workspaces/", object{"workspace": object{"name": "W", "organization_ref": object{}}}},
		{422, "POST", "workspaces/", object{"workspace": object{"name": "W", "organization_ref": object{"slug": "o"}}}},
		{404, "POST", "projects/", inside(object{"organization_ref": nobody})},
		{404, "POST", "projects/", inside(object{"workspace_ref": nobody})},
		{400, "POST", "projects/", inside(object{"workspace_ref": ref(b.account.Workspace.ID)})},
		{409, "POST", "projects/", inside(object{"is_default": true})},
		{422, "POST", "projects/", inside(object{"name": nil})},
		{404, "POST", "organizations/memberships/", member("organization", nobody, object{"slug": "b@b.c"})},
		{404, "POST", "organizations/memberships/", member("organization", organization, nobody)},
		{404, "POST", "organizations/memberships/", member("organization", project, object{"slug": "b@b.c"})},
		{400, "POST", "organizations/memberships/", member("organization", organization, object{"slug": "a@b.c"})},
		{422, "POST", "organizations/memberships/", member("workspace", workspace, object{"slug": "b@b.c"})},
		{404, "POST", "workspaces/memberships/", member("workspace", nobody, object{"slug": "b@b.c"})},
		{400, "POST", "workspaces/memberships/", member("workspace", workspace, object{"slug": "a@b.c"})},
		{400, "DELETE", "organizations/" + text(t, organization, "id") + "/memberships/" + owner, nil},
		{404, "DELETE", "workspaces/" + text(t, workspace, "id") + "/memberships/" + text(t, nobody, "id"), nil},
		{422, "DELETE", "users/nobody", nil},
		{404, "DELETE", "users/" + text(t, nobody, "id"), nil},
		{404, "DELETE", "organizations/" + text(t, nobody, "id"), nil},
		{404, "DELETE", "workspaces/" + text(t, nobody, "id"), nil},
		{404, "DELETE", "projects/" + text(t, organization, "id"), nil},
		{404, "DELETE", "api-keys/abcdefgh", nil},
		{422, "POST", "/admin/accounts/", ""},
		{422, "POST", "/admin/accounts/", object{"users": object{"x": nil}}},
		{422, "POST", "/admin/accounts/", object{"colours": object{}}},
		{422, "POST", "/admin/accounts/", object{"organizations": object{"o": object{"name": "O"}}}},
		{422, "DELETE", "/admin/accounts/", object{}},
		{422, "DELETE", "/admin/accounts/", object{"target": object{"user_ids": []any{"x"}}}},
		{422, "DELETE", "/admin/accounts/", object{"target": object{}, "force": true}},
	} {
		path := refused.path
		if path[0] != '/' {
			path = accountsPath + path
		}
		admin.fails(refused.status, refused.method, path, refused.body)
		a.fails(http.StatusUnauthorized, refused.method, path, refused.body)
	}
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM users`), "what is refused leaves nothing")
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM projects`))
	require.Equal(t, 2, w.count(t, `SELECT count(*) FROM organizations`))
	a.get("/projects/current")
}

func (w *service) count(tb testing.TB, sql string) (n int) {
	tb.Helper()
	require.NoError(tb, w.pool.QueryRow(tb.Context(), sql).Scan(&n))
	return n
}
