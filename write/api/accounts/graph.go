package accounts

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// mountGraph mounts the administration of people and places, all in one body
// or one at a time: the second is a graph of one. Source: contract §5.8.
func (a endpoints) mountGraph(r api.Router) {
	op := domain.Operation{Permission: domain.Admin, Tag: "accounts", Method: http.MethodPost, Response: graphReply{}}
	for _, e := range []struct {
		path, summary string
		request       any
		read          func(body *request.Object) accounts.Graph
	}{
		{"", "Create people, organizations, workspaces, projects, memberships and keys, all or none; each may refer to the others by their names here.", graphRequest{}, readGraph},
		{"users/", "Create a person, who is a member of nothing yet.", userRequest{}, readOneUser},
		{"organizations/", "Create an organization of a person, who is named, or given by e-mail and created if nobody has it.", organizationRequest{}, readOneOrganization},
		{"workspaces/", "Create a workspace of an organization.", workspaceRequest{}, readOneWorkspace},
		{"projects/", "Create a project of a workspace; the organization's owner is its first member.", projectRequest{}, readOneProject},
		{"organizations/memberships/", "Give a person a role in each project that an organization has now.", organizationMemberRequest{}, readOneMember(accounts.InOrganization)},
		{"workspaces/memberships/", "Give a person a role in each project that a workspace has now.", workspaceMemberRequest{}, readOneMember(accounts.InWorkspace)},
		{"projects/memberships/", "Give a person a role in a project, or another one.", memberRequest{}, readOneMember(accounts.InProject)},
		{"api-keys/", "Make an API key for a member of a project; the reply shows it, once.", memberKeyRequest{}, readOneKey},
	} {
		op.Path, op.Summary, op.Request = "/admin/simple/accounts/"+e.path, e.summary, e.request
		if e.path == "" {
			op.Path = "/admin/accounts/"
		}
		r.Handle(op, a.createGraph(e.read))
	}
}

// The names of a graph of one in the reply.
const (
	oneUser         = "user"
	oneOrganization = "org"
	oneWorkspace    = "wrk"
	oneProject      = "prj"
	oneMember       = "mem"
	oneKey          = "key"
)

func (a endpoints) createGraph(read func(body *request.Object) accounts.Graph) func(*gin.Context) error {
	return func(c *gin.Context) error {
		body, err := api.ReadObject(c)
		if err != nil {
			return err
		}
		options := body.Object("options")
		create, reveal := option(options, nil, "create_api_keys"), option(options, nil, "return_api_keys")
		seed := option(options, nil, "seed_defaults")
		dryRun := options.True("dry_run")
		closeOptions(options)
		g := read(body)
		g.SeedDefaults, g.DryRun = seed, dryRun
		body.FailUnknown()
		if err := body.Err(); err != nil {
			return err
		}
		if body.Has("api_keys") && !create {
			g.Keys = nil
		}
		made, err := a.deps.Registry.CreateGraph(c.Request.Context(), g)
		if err != nil {
			return err
		}
		domain.NoteTarget(c.Request.Context(), "dry_run", dryRun)
		domain.NoteTarget(c.Request.Context(), "created", graphJSON(made, false))
		if only, ok := onlyProject(made); ok {
			domain.NoteTarget(c.Request.Context(), "project_id", only)
		}
		c.JSON(http.StatusOK, graphReply{Accounts: []graphAccount{graphJSON(made, !dryRun && (reveal || body.Has("api_key")))}, DryRun: dryRun})
		return nil
	}
}

// readEach reads the members of a map.
func readEach[D any](body *request.Object, member string, read func(entry *request.Object) D) map[string]D {
	drafts := map[string]D{}
	entries := body.Object(member)
	for _, name := range entries.Names() {
		entries.Require(name)
		drafts[name] = read(entries.Object(name))
	}
	return drafts
}

// readOne reads the one member that a graph of one has.
func readOne[D any](body *request.Object, member, name string, read func(entry *request.Object) D) map[string]D {
	body.Require(member)
	return map[string]D{name: read(body.Object(member))}
}

func readGraph(body *request.Object) accounts.Graph {
	body.Ignore("user_identities", "subscriptions")
	g := accounts.Graph{Users: readEach(body, "users", userDraft)}
	only := ""
	for name := range g.Users {
		if only = name; len(g.Users) > 1 {
			only = ""
			break
		}
	}
	g.Organizations = readEach(body, "organizations", func(o *request.Object) accounts.OrganizationDraft {
		if only != "" && !o.Has("owner_user_ref") {
			return accounts.OrganizationDraft{Name: organizationOf(o, false).Name, Owner: accounts.Ref{Local: only}}
		}
		return organizationOf(o, true)
	})
	g.Workspaces, g.Projects = readEach(body, "workspaces", workspaceOf), readEach(body, "projects", projectOf)
	g.Keys = readEach(body, "api_keys", keyOf)
	g.Members = map[accounts.Place]map[string]accounts.MemberDraft{}
	for _, place := range []accounts.Place{accounts.InOrganization, accounts.InWorkspace, accounts.InProject} {
		g.Members[place] = readEach(body, string(place)+"_memberships", memberOf(place))
	}
	return g
}

func readOneUser(body *request.Object) accounts.Graph {
	return accounts.Graph{Users: readOne(body, "user", oneUser, userDraft)}
}

func readOneOrganization(body *request.Object) accounts.Graph {
	created := body.Has("owner")
	g := accounts.Graph{Organizations: readOne(body, "organization", oneOrganization, func(o *request.Object) accounts.OrganizationDraft {
		return organizationOf(o, !created)
	})}
	if created {
		owner := userDraft(body.Object("owner"))
		owner.Existing = true
		g.Users = map[string]accounts.UserDraft{oneUser: owner}
		g.Organizations[oneOrganization] = accounts.OrganizationDraft{Name: g.Organizations[oneOrganization].Name, Owner: accounts.Ref{Local: oneUser}}
	}
	return g
}

func readOneWorkspace(body *request.Object) accounts.Graph {
	return accounts.Graph{Workspaces: readOne(body, "workspace", oneWorkspace, workspaceOf)}
}

func readOneProject(body *request.Object) accounts.Graph {
	return accounts.Graph{Projects: readOne(body, "project", oneProject, projectOf)}
}

func readOneMember(place accounts.Place) func(body *request.Object) accounts.Graph {
	return func(body *request.Object) accounts.Graph {
		return accounts.Graph{Members: map[accounts.Place]map[string]accounts.MemberDraft{place: readOne(body, "membership", oneMember, memberOf(place))}}
	}
}

func readOneKey(body *request.Object) accounts.Graph {
	return accounts.Graph{Keys: readOne(body, "api_key", oneKey, keyOf)}
}

// refTo reads a reference by exactly one of the words: the id, the name in the
// same body, the e-mail address of a person.
func refTo(entry *request.Object, member string, words ...string) accounts.Ref {
	entry.Require(member)
	o := entry.Object(member)
	if o == nil {
		return accounts.Ref{}
	}
	var ref accounts.Ref
	named := 0
	for _, word := range words {
		if !o.Has(word) {
			continue
		}
		named++
		switch word {
		case "ref":
			ref.Local = o.String(word)
		case "slug":
			ref.Slug = o.String(word)
		default:
			ref.ID = o.UUID(word)
		}
	}
	o.FailUnknown()
	switch named {
	case 0:
		o.Require("id")
	case 1:
	default:
		o.Fail("value_error", "Exactly one of "+strings.Join(words, ", ")+" must be given", nil)
	}
	return ref
}

func placeOf(entry *request.Object, member string) accounts.Ref {
	return refTo(entry, member, "ref", "id")
}

func personOf(entry *request.Object, member string) accounts.Ref {
	return refTo(entry, member, "ref", "id", "slug")
}

// givenName reads a name, which is no empty one, and passes over what a client of
// the reference may send beside it.
func givenName(o *request.Object) string {
	o.Require("name")
	o.Ignore("slug", "metadata")
	name := o.StringPtr("name")
	if name == nil {
		return ""
	}
	if *name == "" {
		o.Fail("string_too_short", "String should have at least 1 character", "", "name")
	}
	return *name
}

func userDraft(o *request.Object) accounts.UserDraft {
	o.Require("email")
	d := accounts.UserDraft{Email: o.String("email"), Username: o.String("username")}
	o.Ignore("name", "is_admin", "is_root", "metadata")
	o.FailUnknown()
	return d
}

func organizationOf(o *request.Object, owned bool) accounts.OrganizationDraft {
	d := accounts.OrganizationDraft{Name: givenName(o)}
	if owned {
		d.Owner = personOf(o, "owner_user_ref")
	}
	o.FailUnknown()
	return d
}

func workspaceOf(o *request.Object) accounts.WorkspaceDraft {
	d := accounts.WorkspaceDraft{Name: givenName(o), Organization: placeOf(o, "organization_ref")}
	o.FailUnknown()
	return d
}

func projectOf(o *request.Object) accounts.ProjectDraft {
	d := accounts.ProjectDraft{
		Name: givenName(o), Organization: placeOf(o, "organization_ref"), Workspace: placeOf(o, "workspace_ref"), IsDefault: o.True("is_default"),
	}
	o.FailUnknown()
	return d
}

func memberOf(place accounts.Place) func(o *request.Object) accounts.MemberDraft {
	return func(o *request.Object) accounts.MemberDraft {
		o.Require("role")
		d := accounts.MemberDraft{
			Of: placeOf(o, string(place)+"_ref"), User: personOf(o, "user_ref"),
			Role: o.Enum("role", domain.RoleOwner, domain.RoleAdmin, domain.RoleDeveloper, domain.RoleEditor, domain.RoleAnnotator, domain.RoleViewer),
		}
		o.FailUnknown()
		return d
	}
}

func keyOf(o *request.Object) accounts.KeyDraft {
	d := accounts.KeyDraft{Project: placeOf(o, "project_ref"), User: personOf(o, "user_ref"), Name: o.String("name"), Purpose: domain.Purpose(o.Enum("purpose", domain.Purposes()...))}
	if expires := o.Time("expires_at"); !expires.IsZero() {
		d.ExpiresAt = &expires
	}
	o.FailUnknown()
	return d
}

// graphJSON shows what was made; a key whose secret is not shown is known by its prefix alone.
func graphJSON(made accounts.GraphMade, reveal bool) graphAccount {
	reply := graphAccount{
		Users: shown(made.Users, userOut), Organizations: shown(made.Organizations, organizationOut),
		Workspaces: shown(made.Workspaces, workspaceOut), Projects: shown(made.Projects, projectOut),
	}
	for place, members := range made.Members {
		for name, m := range members {
			reply.add(place, name, membershipJSON{ID: m.User, UserID: m.User, Role: m.Role, CreatedAt: m.CreatedAt}, m.Of)
		}
	}
	reply.APIKeys = shown(made.Keys, func(m accounts.KeyMade) memberKeyJSON {
		out := memberKeyJSON{ID: m.Key.Prefix, Prefix: m.Key.Prefix, Name: m.Name, ProjectID: uuid.UUID(m.Project), UserID: m.User, ExpiresAt: m.ExpiresAt}
		if reveal {
			out.Value, out.ReturnedOnce = m.Key.Reveal(), true
		}
		return out
	})
	return reply
}

// onlyProject returns the project of memberships and keys that all are of one.
func onlyProject(made accounts.GraphMade) (only uuid.UUID, ok bool) {
	projects := map[uuid.UUID]bool{}
	for _, m := range made.Members[accounts.InProject] {
		projects[m.Of] = true
	}
	for _, k := range made.Keys {
		projects[uuid.UUID(k.Project)] = true
	}
	for id := range projects {
		only = id
	}
	return only, len(projects) == 1
}

func shown[M, J any](made map[string]M, show func(M) J) map[string]J {
	out := make(map[string]J, len(made))
	for name, m := range made {
		out[name] = show(m)
	}
	return out
}
