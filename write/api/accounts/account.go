// Package accounts holds the administration of accounts: creating and deleting
// users, organizations, workspaces, projects and memberships, API keys, and the
// secrets of a project. The rules are in write/registry/accounts and
// write/secrets; who a caller is and what a role permits is decided by
// read/access before a handler runs.
package accounts

import (
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// Deps are what the administration routes call.
type Deps struct{ Registry *accounts.Registry }

// Mount mounts the administration of accounts. Source: contract §10.
func Mount(r api.Router, deps Deps) {
	a := endpoints{deps: deps}
	r.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/admin/simple/accounts/", Permission: domain.Admin, Tag: "accounts",
		Summary: "Create people, each with an organization, a workspace, a project and a key.",
		Request: accountsRequest{}, Response: accountsReply{},
	}, a.create)
	r.Handle(domain.Operation{
		Method: http.MethodDelete, Path: "/admin/simple/accounts/", Permission: domain.Admin, Tag: "accounts",
		Summary: "Delete people with everything that they own. Their keys end within a second; their traces, also those on their way, are removed soon after. With dry_run nothing changes, and the reply is 200 with what would go.", Request: accountsRemovalRequest{}, Status: http.StatusNoContent,
	}, a.delete)
	a.mountGraph(r)
	a.mountRemovals(r)
}

type endpoints struct{ deps Deps }

// The bodies for the document; requests are read member by member, since the
// user may be nested once more. Source: contract §10.
type (
	accountsRequest struct {
		Accounts map[string]accountRequest `json:"accounts" request:"required"`
		Options  batchOptions              `json:"options"`
	}
	// accountsRemovalRequest names people as they were created.
	accountsRemovalRequest struct {
		Accounts map[string]accountRequest `json:"accounts" request:"required"`
		Options  batchOptions              `json:"options"`
		DryRun   bool                      `json:"dry_run"`
		Reason   string                    `json:"reason"`
		Confirm  string                    `json:"confirm"`
	}
	accountRequest struct {
		User         accountUser    `json:"user" request:"required"`
		Organization accountName    `json:"organization"`
		Workspace    accountName    `json:"workspace"`
		Project      accountName    `json:"project"`
		Options      accountOptions `json:"options"`
	}
	accountUser struct {
		// User is the same once more, the form that the reference's clients send.
		User     *accountUser `json:"user"`
		ID       uuid.UUID    `json:"id"`
		Email    string       `json:"email"`
		Username string       `json:"username"`
	}
	accountName struct {
		Name string `json:"name"`
	}
	accountOptions struct {
		CreateAPIKeys bool `json:"create_api_keys"`
		ReturnAPIKeys bool `json:"return_api_keys"`
		SeedDefaults  bool `json:"seed_defaults"`
	}
	// batchOptions are those of a whole request. With DryRun it changes nothing.
	batchOptions struct {
		accountOptions

		DryRun bool `json:"dry_run"`
	}
	accountsReply struct {
		Accounts map[string]accountReply `json:"accounts"`
		DryRun   bool                    `json:"dry_run,omitempty"`
	}
	accountReply struct {
		User          userJSON                    `json:"user"`
		Organizations map[string]organizationJSON `json:"organizations"`
		Workspaces    map[string]workspaceJSON    `json:"workspaces"`
		Projects      map[string]projectJSON      `json:"projects"`
		APIKeys       map[string]string           `json:"api_keys,omitempty"`
	}
)

func (a endpoints) create(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	batch, hidden, err := accountBatch(body)
	if err != nil {
		return err
	}
	made, err := a.deps.Registry.CreateAccounts(c.Request.Context(), batch)
	if err != nil {
		return err
	}
	reply := accountsReply{Accounts: map[string]accountReply{}, DryRun: batch.DryRun}
	created := map[string]accountReply{}
	for name, account := range made {
		created[name] = accountJSON(account, false)
		reply.Accounts[name] = accountJSON(account, !hidden[name] && !batch.DryRun)
	}
	domain.NoteTarget(c.Request.Context(), "dry_run", batch.DryRun)
	domain.NoteTarget(c.Request.Context(), "created", created)
	c.JSON(http.StatusOK, reply)
	return nil
}

// accountBatch reads the batch, and which accounts do not want their key in the reply.
func accountBatch(body *request.Object) (batch accounts.AccountBatch, hidden map[string]bool, err error) {
	batch.Accounts, hidden = map[string]accounts.AccountRequest{}, map[string]bool{}
	common := body.Object("options")
	body.Require("accounts")
	entries := body.Object("accounts")
	for _, name := range entries.Names() {
		entry := entries.Object(name)
		if entry == nil {
			entries.Require(name)
			continue
		}
		q := accounts.AccountRequest{}
		if user := userOf(entry); user != nil {
			user.Require("email")
			q.Email, q.Username = user.String("email"), user.String("username")
			user.Ignore("name", "is_admin", "is_root", "metadata")
			user.FailUnknown()
		}
		q.Organization, q.Workspace, q.Project = nameOf(entry, "organization"), nameOf(entry, "workspace"), nameOf(entry, "project")
		options := entry.Object("options")
		q.CreateKey = option(options, common, "create_api_keys")
		q.SeedDefaults = option(options, common, "seed_defaults")
		hidden[name] = !option(options, common, "return_api_keys")
		closeOptions(options)
		entry.Ignore("user_identities", "subscription")
		entry.FailUnknown()
		batch.Accounts[name] = q
	}
	batch.DryRun = common.True("dry_run")
	closeOptions(common)
	body.FailUnknown()
	return batch, hidden, body.Err()
}

func closeOptions(o *request.Object) {
	o.Ignore("create_api_keys", "return_api_keys", "seed_defaults", "idempotency_key", "create_identities", "reason")
	o.FailUnknown()
}

// userOf finds the user of an account: directly, or nested once more as the
// reference's clients send it. Source: contract §10.
func userOf(entry *request.Object) *request.Object {
	entry.Require("user")
	user := entry.Object("user")
	if user.Has("user") {
		inner := user.Object("user")
		user.FailUnknown()
		return inner
	}
	return user
}

func nameOf(entry *request.Object, member string) string {
	o := entry.Object(member)
	o.Ignore("slug", "metadata", "organization_ref", "workspace_ref", "owner_user_ref", "is_default")
	name := o.String("name")
	o.FailUnknown()
	return name
}

// option is on unless the account, or else the whole batch, switches it off.
func option(own, common *request.Object, name string) bool {
	value := common.Bool(name)
	if b := own.Bool(name); b != nil {
		value = b
	}
	return value == nil || *value
}

func (a endpoints) delete(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	q := accountRemoval(body)
	if err := body.Err(); err != nil {
		return err
	}
	gone, err := a.deps.Registry.Remove(c.Request.Context(), q)
	if err != nil {
		return err
	}
	noteRemoved(c, q.DryRun, gone)
	if q.DryRun {
		c.JSON(http.StatusOK, removedReply{DryRun: true, Deleted: removedOut(gone)})
		return nil
	}
	c.Status(http.StatusNoContent)
	return nil
}

// accountRemoval reads the people of a delete: by e-mail, as they were
// created, or by id. Members that only creating needs are not looked at.
// Either of the two places of dry_run makes the request a rehearsal.
func accountRemoval(body *request.Object) accounts.Removal {
	options := body.Object("options")
	q := accounts.Removal{DryRun: body.True("dry_run")}
	q.DryRun = options.True("dry_run") || q.DryRun
	body.Require("accounts")
	body.Ignore("reason", "confirm")
	entries := body.Object("accounts")
	for _, name := range entries.Names() {
		user := userOf(entries.Object(name))
		if user == nil {
			continue
		}
		person := domain.Reference{ID: user.UUID("id"), Slug: strings.TrimSpace(user.String("email"))}
		if person.IsZero() {
			user.Require("email")
			continue
		}
		q.Users = append(q.Users, person)
	}
	body.FailUnknown()
	return q
}

type userJSON struct {
	ID        uuid.UUID `json:"id"`
	UID       uuid.UUID `json:"uid"`
	Email     string    `json:"email"`
	Username  string    `json:"username"`
	CreatedAt time.Time `json:"created_at"`
}

type organizationJSON struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	OwnerUserID uuid.UUID `json:"owner_user_id"`
	CreatedAt   time.Time `json:"created_at"`
}

type workspaceJSON struct {
	ID             uuid.UUID `json:"id"`
	Name           string    `json:"name"`
	OrganizationID uuid.UUID `json:"organization_id"`
	CreatedAt      time.Time `json:"created_at"`
}

type projectJSON struct {
	ID             uuid.UUID `json:"id"`
	Name           string    `json:"name"`
	OrganizationID uuid.UUID `json:"organization_id"`
	WorkspaceID    uuid.UUID `json:"workspace_id"`
	IsDefault      bool      `json:"is_default"`
	CreatedAt      time.Time `json:"created_at"`
}

func userOut(u accounts.User) userJSON {
	return userJSON{ID: u.ID, UID: u.ID, Email: u.Email, Username: u.Username, CreatedAt: u.CreatedAt}
}

func organizationOut(o accounts.Organization) organizationJSON {
	return organizationJSON{ID: o.ID, Name: o.Name, OwnerUserID: o.OwnerID, CreatedAt: o.CreatedAt}
}

func workspaceOut(w accounts.Workspace) workspaceJSON {
	return workspaceJSON{ID: w.ID, Name: w.Name, OrganizationID: w.OrganizationID, CreatedAt: w.CreatedAt}
}

func projectOut(p accounts.Project) projectJSON {
	return projectJSON{
		ID: uuid.UUID(p.ID), Name: p.Name, OrganizationID: p.OrganizationID, WorkspaceID: p.WorkspaceID, IsDefault: p.IsDefault, CreatedAt: p.CreatedAt,
	}
}

func accountJSON(a accounts.Account, reveal bool) accountReply {
	reply := accountReply{
		User:          userOut(a.User),
		Organizations: map[string]organizationJSON{oneOrganization: organizationOut(a.Organization)},
		Workspaces:    map[string]workspaceJSON{oneWorkspace: workspaceOut(a.Workspace)},
		Projects:      map[string]projectJSON{oneProject: projectOut(a.Project)},
	}
	if reveal && a.Key != (credential.Key{}) {
		reply.APIKeys = map[string]string{oneKey: a.Key.Reveal()}
	}
	return reply
}
