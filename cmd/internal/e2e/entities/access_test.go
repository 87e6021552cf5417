//go:build embedded

package entities_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/read/access"
)

func (w *service) admin(tb testing.TB) client {
	tb.Helper()
	return client{t: tb, w: w, header: "Access " + adminKey}
}

// An account is created in one call, in both nestings of the user.
func TestAdministration(t *testing.T) {
	t.Parallel()
	w := newService(t)
	admin := w.admin(t)
	options := object{"create_api_keys": true, "return_api_keys": true, "seed_defaults": false}
	made := admin.post("/admin/simple/accounts/", object{"accounts": object{
		"one": object{"user": object{"email": "one@b.c"}, "options": options},
		"two": object{"user": object{"user": object{"email": "two@b.c"}}, "options": options},
	}})
	for _, name := range []string{"one", "two"} {
		account := at(t, made, "accounts", name)
		require.Equal(t, name+"@b.c", at(t, account, "user", "email"))
		require.Regexp(t, `^[A-Za-z0-9]{8}\.[0-9a-f]{64}$`, at(t, account, "api_keys", "key"))
		for _, project := range objectAt(t, account, "projects") {
			require.Equal(t, true, at(t, project, "is_default"))
			require.NotEmpty(t, at(t, project, "workspace_id"))
		}
		c := client{t: t, w: w, header: "ApiKey " + text(t, account, "api_keys", "key")}
		require.Equal(t, name+"@b.c", c.get("/profile")["email"])
		require.EqualValues(t, 0, c.post("/simple/environments/query", object{})["count"], "the project is empty")
	}

	conflict := admin.fails(http.StatusConflict, http.MethodPost, "/admin/simple/accounts/", object{"accounts": object{"x": object{"user": object{"email": "one@b.c"}}}})
	require.Equal(t, "one@b.c", at(t, conflict, "conflict", "email"))

	status, _, _ := admin.do(http.MethodDelete, "/admin/simple/accounts/", object{"accounts": object{"one": object{"user": object{"email": "one@b.c"}, "options": options}}})
	require.Equal(t, http.StatusNoContent, status)
	one := client{t: t, w: w, header: "ApiKey " + text(t, made, "accounts", "one", "api_keys", "key")}
	w.eventually(t, func() bool {
		status, _, _ := one.do(http.MethodGet, "/profile", nil)
		return status == http.StatusUnauthorized
	})
	admin.post("/admin/simple/accounts/", object{"accounts": object{"x": object{"user": object{"email": "one@b.c"}, "options": object{"return_api_keys": false}}}})
}

// A second member of a project has the role that was granted, until the membership
// ends, and never takes the place of the organization's owner.
func TestMembers(t *testing.T) {
	t.Parallel()
	w := newService(t)
	admin := w.admin(t)
	owner, guest, other := w.owner(t, "owner@b.c", true), w.owner(t, "guest@b.c", false), w.owner(t, "other@b.c", false)
	project := object{"id": owner.account.Project.ID.String()}
	const members, keys = "/admin/simple/accounts/projects/memberships/", "/admin/simple/accounts/api-keys/"
	membership := func(user, role any) object {
		return object{"membership": object{"project_ref": project, "user_ref": user, "role": role}}
	}
	key := func(user object) object {
		return object{"api_key": object{"project_ref": project, "user_ref": user, "name": "laptop"}}
	}
	byEmail := object{"slug": "Guest@B.C"}

	admin.fails(http.StatusNotFound, http.MethodPost, keys, key(byEmail))
	made := admin.post(members, membership(byEmail, "viewer"))
	require.Equal(t, guest.account.User.ID.String(), at(t, made, "accounts", 0, "project_memberships", "mem", "user_id"))
	issued := admin.post(keys, key(object{"id": guest.account.User.ID.String()}))
	c := client{t: t, w: w, header: "ApiKey " + text(t, issued, "accounts", 0, "api_keys", "key", "value")}
	current := c.get("/projects/current")
	require.Equal(t, owner.account.Project.ID.String(), current["project_id"])
	require.Equal(t, "viewer", current["user_role"])
	require.Equal(t, "guest@b.c", c.get("/profile")["email"])
	require.EqualValues(t, 3, c.post("/environments/query", object{})["count"], "they see the project")
	c.fails(http.StatusForbidden, http.MethodPost, "/applications/", object{"application": object{"slug": "x"}})
	require.NotEqual(t, current["project_id"], guest.get("/projects/current")["project_id"], "their own key is of their own project")

	admin.post(members, membership(byEmail, "editor"))
	w.eventually(t, func() bool { return c.get("/projects/current")["user_role"] == "editor" })
	record := objectAt(t, c.post("/applications/", object{"application": object{"slug": "x"}}), "application")
	require.Equal(t, guest.account.User.ID.String(), record["created_by_id"])

	path := "/admin/simple/accounts/projects/" + owner.account.Project.ID.String() + "/memberships/"
	for _, refused := range []struct {
		status       int
		method, path string
		body         any
	}{
		{http.StatusBadRequest, "POST", members, membership(object{"slug": "owner@b.c"}, "viewer")},
		{http.StatusBadRequest, "DELETE", path + owner.account.User.ID.String(), nil},
		{http.StatusNotFound, "DELETE", path + other.account.User.ID.String(), nil},
		{http.StatusUnprocessableEntity, "DELETE", path + "nobody", nil},
		{http.StatusNotFound, "POST", members, membership(object{"slug": "nobody@b.c"}, "viewer")},
		{http.StatusNotFound, "POST", members, object{"membership": object{"project_ref": object{"id": guest.account.User.ID.String()}, "user_ref": byEmail, "role": "viewer"}}},
		{http.StatusUnprocessableEntity, "POST", members, membership(byEmail, "king")},
		{http.StatusUnprocessableEntity, "POST", members, membership(object{}, "viewer")},
		{http.StatusUnprocessableEntity, "POST", members, object{"membership": object{"role": "viewer"}}},
		{http.StatusUnprocessableEntity, "POST", members, object{}},
		{http.StatusUnprocessableEntity, "POST", keys, object{"api_key": object{"project_ref": project, "user_ref": byEmail, "colour": "red"}}},
	} {
		admin.fails(refused.status, refused.method, refused.path, refused.body)
		owner.fails(http.StatusUnauthorized, refused.method, refused.path, refused.body)
	}

	gone := admin.expect(http.StatusOK, http.MethodDelete, path+guest.account.User.ID.String(), nil)
	require.Equal(t, guest.account.User.ID.String(), at(t, gone, "deleted", "project_memberships", 0, "id"))
	w.eventually(t, func() bool {
		status, _, _ := c.do(http.MethodGet, "/projects/current", nil)
		return status == http.StatusUnauthorized
	})
	guest.get("/projects/current")
}

func TestAdministrationIsClosedToOthers(t *testing.T) {
	t.Parallel()
	w := newService(t)
	body := object{"accounts": object{"x": object{"user": object{"email": "x@b.c"}}}}
	owner := w.owner(t, "a@b.c", false)
	for _, header := range []string{"", "Access wrong", "Access", "ApiKey " + adminKey, owner.header} {
		c := client{t: t, w: w, header: header}
		require.Equal(t, object{"message": "Unauthorized"}, c.fails(http.StatusUnauthorized, http.MethodPost, "/admin/simple/accounts/", body), header)
	}
	for name, bad := range map[string]any{
		"nothing": "", "no accounts": object{}, "no user": object{"accounts": object{"x": object{}}}, "no e-mail": object{"accounts": object{"x": object{"user": object{}}}},
		"an unknown member": object{"accounts": object{}, "y": 1}, "an unknown option": object{"accounts": object{"x": object{"user": object{"email": "a@b.d"}, "options": object{"z": 1}}}},
	} {
		w.admin(t).fails(http.StatusUnprocessableEntity, http.MethodPost, "/admin/simple/accounts/", bad)
		_ = name
	}
	w.admin(t).fails(http.StatusBadRequest, http.MethodPost, "/admin/simple/accounts/", object{"accounts": object{"x": object{"user": object{"email": "nonsense"}}}})
}

// eventually waits until a condition holds. A revoked key ends within a second on an
// idle host.
func (w *service) eventually(tb testing.TB, holds func() bool) {
	tb.Helper()
	require.Eventually(tb, holds, time.Minute, 20*time.Millisecond)
}

func TestKeysOverHTTP(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	raw := text(t, c.expect(http.StatusOK, http.MethodPost, "/keys", nil), "")
	narrow := text(t, c.expect(http.StatusOK, http.MethodPost, "/keys/", object{"name": "ci", "role": "viewer", "expires_at": time.Now().Add(time.Hour)}), "")
	made := client{t: t, w: w, header: "ApiKey " + raw}
	require.Equal(t, "owner", made.get("/projects/current")["user_role"])
	viewer := client{t: t, w: w, header: narrow}
	require.Equal(t, "viewer", viewer.get("/projects/current")["user_role"])
	viewer.fails(http.StatusForbidden, http.MethodPost, "/keys", nil)

	for _, past := range []any{"2020-01-01T00:00:00Z", time.Now().Add(-time.Second)} {
		detail := c.fails(http.StatusBadRequest, http.MethodPost, "/keys/", object{"expires_at": past})
		require.Contains(t, detail, "expires_at", "a key that has ended is none")
		require.Contains(t, detail, "past")
	}

	listed := listAt(t, c.expect(http.StatusOK, http.MethodGet, "/keys", nil), "")
	require.Len(t, listed, 3)
	for _, key := range []string{raw, narrow} {
		_, secret, _ := strings.Cut(key, ".")
		for _, l := range listed {
			require.NotContains(t, l, secret)
			require.NotContains(t, l, "digest")
		}
	}
	prefix, _, _ := strings.Cut(raw, ".")
	other := w.owner(t, "b@b.c", false)
	other.fails(http.StatusNotFound, http.MethodDelete, "/keys/"+prefix, nil)
	c.expect(http.StatusOK, http.MethodDelete, "/keys/"+prefix, nil)
	w.eventually(t, func() bool {
		status, _, _ := made.do(http.MethodGet, "/projects/current", nil)
		return status == http.StatusUnauthorized
	})

	developer := c.as(domain.RoleDeveloper)
	escalated := text(t, developer.expect(http.StatusOK, http.MethodPost, "/keys", object{"role": "owner"}), "")
	require.Equal(t, "developer", client{t: t, w: w, header: escalated}.get("/projects/current")["user_role"], "a key never makes one that holds more")
}

// A key or ticket that expires creates no key that expires later.
func TestAKeyLivesNoLongerThanWhatMadeIt(t *testing.T) {
	t.Parallel()
	w := newService(t, func(c *access.Config) { c.TicketSecret = []byte("0123456789abcdef") })
	c := w.owner(t, "a@b.c", false)
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	brief := c
	brief.header = text(t, c.expect(http.StatusOK, http.MethodPost, "/keys/", object{"expires_at": end}), "")
	ends := func(by client, body any) time.Time {
		prefix, _, _ := strings.Cut(text(t, by.expect(http.StatusOK, http.MethodPost, "/keys/", body), ""), ".")
		for _, key := range listAt(t, c.expect(http.StatusOK, http.MethodGet, "/keys", nil), "") {
			if at(t, key, "prefix") != prefix {
				continue
			}
			expires, _ := objectAt(t, key)["expires_at"].(string)
			moment, err := time.Parse(time.RFC3339Nano, expires)
			require.NoError(t, err, "it never ends")
			return moment.UTC()
		}
		require.Fail(t, "no such key")
		return time.Time{}
	}
	require.Equal(t, end, ends(brief, nil))
	require.Equal(t, end, ends(brief, object{"expires_at": end.Add(time.Hour)}))
	require.Equal(t, end.Add(-time.Minute), ends(brief, object{"expires_at": end.Add(-time.Minute)}))
	ticket := c
	ticket.header = text(t, c.get("/access/permissions/check?action=view_spans&resource_type=service"), "credentials")
	require.False(t, ends(ticket, nil).After(time.Now().Add(credential.TicketLifetime)))
	c.fails(http.StatusBadRequest, http.MethodPost, "/keys/", object{"name": strings.Repeat("x", 1025)})
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	current := c.get("/api/projects/current")
	require.Equal(t, c.account.Project.ID.String(), current["project_id"])
	require.Equal(t, current, c.get("/projects/"+c.account.Project.ID.String()))
	require.Len(t, c.expect(http.StatusOK, http.MethodGet, "/projects", nil)[""], 1)
	for _, kind := range []string{"organization", "workspace"} {
		listed := listAt(t, c.expect(http.StatusOK, http.MethodGet, "/"+kind+"s", nil), "")
		require.Len(t, listed, 1, "a key sees that of its project and no other")
		require.Equal(t, current[kind+"_id"], at(t, listed[0], "id"))
		require.Equal(t, current[kind+"_name"], at(t, listed[0], "name"))
		path := "/" + kind + "s/" + text(t, current, kind+"_id")
		require.Equal(t, listed[0], c.get(path))
		w.owner(t, kind+"@b.c", false).fails(http.StatusNotFound, http.MethodGet, path, nil)
		c.fails(http.StatusNotFound, http.MethodGet, "/"+kind+"s/current", nil)
	}
	other := w.owner(t, "b@b.c", false)
	require.Equal(t, "Project not found", other.fails(http.StatusNotFound, http.MethodGet, "/projects/"+c.account.Project.ID.String(), nil))

	allowed := c.get("/access/permissions/check?action=run_service&resource_type=service")
	require.Equal(t, "allow", allowed["effect"])
	asIssued := client{t: t, w: w, header: text(t, allowed, "credentials")}
	require.Equal(t, current["project_id"], asIssued.get("/projects/current")["project_id"])
	require.Equal(t, "Forbidden", c.as(domain.RoleViewer).fails(http.StatusForbidden, http.MethodGet, "/access/permissions/check?action=run_service&resource_type=service", nil))
	c.fails(http.StatusUnprocessableEntity, http.MethodGet, "/access/permissions/check?action=run_service", nil)
	c.fails(http.StatusUnprocessableEntity, http.MethodGet, "/access/permissions/check?action=run_service&resource_type=xx", nil)
	require.Equal(t, "allow", c.get("/access/permissions/check?action=view_secrets&resource_type=local_secrets&resource_id=x")["effect"])
	c.fails(http.StatusUnauthorized, http.MethodGet, "/projects/current?project_id=null", nil)
}

func TestRateLimitOverHTTP(t *testing.T) {
	t.Parallel()
	w := newService(t, func(c *access.Config) { c.RatePerMinute, c.Burst = 1, 2 })
	c := w.owner(t, "a@b.c", false)
	_, _, headers := c.do(http.MethodGet, "/profile", nil)
	require.Equal(t, "2", headers.Get("X-RateLimit-Limit"))
	require.Equal(t, "1", headers.Get("X-RateLimit-Remaining"))
	c.get("/profile")
	status, reply, headers := c.do(http.MethodGet, "/profile", nil)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Regexp(t, `^Rate limit exceeded\. Please retry after \d+ seconds\.$`, reply["detail"])
	require.NotEmpty(t, headers.Get("Retry-After"))
	require.Equal(t, "2", headers.Get("X-RateLimit-Limit"))
	require.Equal(t, "0", headers.Get("X-RateLimit-Remaining"))
	w.owner(t, "b@b.c", false).get("/profile")
}

// Every route has a permission, and a caller without it is refused before a body is
// read: the test calls every route with the lowest role.
func TestEveryRouteIsGuarded(t *testing.T) {
	t.Parallel()
	w := newService(t)
	owner := w.owner(t, "a@b.c", false)
	viewer := owner.as(domain.RoleViewer)
	nobody := client{t: t, w: w}
	operations := w.server.Operations()
	require.Greater(t, len(operations), 150)
	for _, op := range operations {
		require.NotEmpty(t, op.Permission, op.Path)
		if op.Permission == domain.Public {
			continue
		}
		path := fill(op.Path, "0190f3a0-0000-7000-8000-000000000000")
		status, _, _ := nobody.do(op.Method, path, nil)
		require.Equal(t, http.StatusUnauthorized, status, "%s %s without a key", op.Method, op.Path)
		status, reply, _ := viewer.do(op.Method, path, nil)
		switch {
		case op.Permission == domain.Admin:
			require.Equal(t, http.StatusUnauthorized, status, op.Path)
		case domain.Allows(domain.RoleViewer, op.Permission):
			require.NotEqual(t, http.StatusForbidden, status, "%s %s %v", op.Method, op.Path, reply)
		default:
			require.Equal(t, http.StatusForbidden, status, "%s %s", op.Method, op.Path)
		}
	}
}

// fill replaces every parameter of a path with a value.
func fill(path, value string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = value
		}
	}
	return strings.Join(parts, "/")
}

// No log line contains a secret, at any level.
func TestNoSecretInLogs(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", true)
	made := text(t, c.expect(http.StatusOK, http.MethodPost, "/keys", nil), "")
	c.app("my-app")
	c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/applications/query", "{")
	client{t: t, w: w, header: "ApiKey " + made + "x"}.fails(http.StatusUnauthorized, http.MethodGet, "/keys", nil)
	account := w.admin(t).post("/admin/simple/accounts/", object{"accounts": object{"x": object{"user": object{"email": "x@b.c"}}}})
	w.pool.Close()
	client{t: t, w: w, header: "ApiKey " + made}.do(http.MethodGet, "/keys", nil)

	log := w.logs.String()
	require.Contains(t, log, c.account.Key.Prefix, "the log names keys by their prefix")
	for _, key := range []string{c.account.Key.Reveal(), made, text(t, account, "accounts", "x", "api_keys", "key"), adminKey} {
		require.NotContains(t, log, strings.TrimLeft(key[strings.IndexByte(key, '.')+1:], "."))
	}
}

// What the reference's clients ask about roles before they show members. Source: contract §0 row 62.
func TestRolesAndPlans(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	roles := c.get("/workspaces/roles")
	require.Equal(t, "owner", at(t, roles, "", 0, "role_name"))
	require.NotEmpty(t, at(t, roles, "", 0, "role_description"))
	require.Len(t, at(t, roles, ""), 6)
	require.Subset(t, c.get("/workspaces/permissions")[""], []any{"view_spans", "run_service", "edit_project"})
	for _, place := range []string{"organization", "workspace", "project"} {
		require.Equal(t, "viewer", at(t, c.get("/access/roles"), place, 5, "role"))
	}
	require.Equal(t, object{"self_hosted": object{"name": "Self-hosted"}}, c.get("/access/plans"))
	status, keys, _ := client{t: t, w: w}.do("GET", "/.well-known/jwks.json", nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, object{"keys": []any{}}, keys)
}

// Owners and admins decide about the members of their project, each up to their own role.
func TestMembersOfAProject(t *testing.T) {
	t.Parallel()
	w := newService(t)
	owner, other := w.owner(t, "owner@b.c", false), w.owner(t, "other@b.c", false)
	const path = "/projects/current/members"
	admin, editor := owner.as(domain.RoleAdmin), owner.as(domain.RoleEditor)
	own := owner.account.User.ID.String()
	require.Equal(t, own, at(t, owner.get(path), "members", 0, "user_id"))
	require.Equal(t, owner.get(path), owner.get("/projects/"+owner.account.Project.ID.String()+"/members"))
	other.fails(http.StatusNotFound, http.MethodGet, "/projects/"+owner.account.Project.ID.String()+"/members", nil)

	made := admin.post(path, object{"email": "new@b.c", "role": "editor"})
	guest := client{t: t, w: w, header: "ApiKey " + text(t, made, "key")}
	id := text(t, made, "member", "user_id")
	require.Equal(t, "editor", guest.get("/projects/current")["user_role"])
	require.Equal(t, "new@b.c", at(t, guest.get(path), "members", 1, "email"))
	admin.fails(http.StatusConflict, http.MethodPost, path, object{"email": "New@b.c", "role": "viewer"})
	existing := admin.post(path, object{"email": "other@b.c", "role": "viewer"})
	require.NotContains(t, existing, "key", "nobody else gets a key of theirs")
	require.Equal(t, "other", at(t, existing, "member", "username"))

	admin.expect(http.StatusOK, http.MethodPatch, path+"/"+id, object{"role": "viewer"})
	w.eventually(t, func() bool { return guest.get("/projects/current")["user_role"] == "viewer" })
	for _, refused := range []struct {
		who          client
		status       int
		method, path string
		body         any
	}{
		{editor, 403, "POST", path, object{"email": "x@b.c", "role": "viewer"}},
		{guest, 403, "DELETE", path + "/" + own, nil},
		{admin, 403, "POST", path, object{"email": "x@b.c", "role": "owner"}},
		{admin, 403, "PATCH", path + "/" + id, object{"role": "owner"}},
		{admin, 403, "PATCH", path + "/" + own, object{"role": "viewer"}},
		{admin, 403, "DELETE", path + "/" + own, nil},
		{owner, 400, "DELETE", path + "/" + own, nil},
		{owner, 400, "POST", path, object{"email": "x@b.c", "role": "king"}},
		{owner, 400, "POST", path, object{"email": "nonsense", "role": "viewer"}},
		{owner, 422, "POST", path, object{"email": "x@b.c"}},
		{owner, 404, "PATCH", path + "/" + owner.account.Project.ID.String(), object{"role": "viewer"}},
		{other, 404, "DELETE", "/projects/" + owner.account.Project.ID.String() + "/members/" + id, nil},
		{admin, 403, "POST", "/organizations/" + owner.account.Organization.ID.String() + "/transfer/" + id, nil},
		{other, 404, "POST", "/organizations/" + owner.account.Organization.ID.String() + "/transfer/" + id, nil},
	} {
		refused.who.fails(refused.status, refused.method, refused.path, refused.body)
	}

	moved := owner.post("/organizations/"+owner.account.Organization.ID.String()+"/transfer/"+id, nil)
	require.Equal(t, id, moved["owner_user_id"])
	w.eventually(t, func() bool { return guest.get("/projects/current")["user_role"] == "owner" })
	w.eventually(t, func() bool { return owner.get("/projects/current")["user_role"] == "admin" })
	guest.expect(http.StatusOK, http.MethodDelete, path+"/"+own, nil)
	w.eventually(t, func() bool {
		status, _, _ := owner.do(http.MethodGet, "/projects/current", nil)
		return status == http.StatusUnauthorized
	})
}
