package entities

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/read/access"
	"colonnade/read/api"
)

// MountAccess mounts what a caller may ask about itself: its keys, its
// project, its person, its permissions. Source: contract §7.
func MountAccess(r api.Router, a *access.Access) {
	h := accessRoutes{access: a}
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/keys/", Permission: domain.ViewKeys, Tag: "keys",
		Summary: "List the API keys of this project, without their secrets.", Response: []access.Key{},
	}, h.keys)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/projects/", Permission: domain.ViewProject, Tag: "projects",
		Summary: "List the projects that this key sees: its own.", Response: []access.Project{},
	}, h.projects)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/public/projects", Permission: domain.Authenticated, Tag: "langfuse",
		Summary: "The project of the key, as the Langfuse SDK asks for it to check the key. The address is /api/public/projects.", Response: foreignProjects{},
	}, h.foreignProjects)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/projects/:project_id", Permission: domain.ViewProject, Tag: "projects",
		Summary: "One project; the word current means that of the key.", Response: access.Project{},
	}, h.project)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/organizations/", Permission: domain.ViewProject, Tag: "organizations",
		Summary: "List the organizations that this key sees: that of its project.", Response: []access.Organization{},
	}, all(a.Organization))
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/organizations/:organization_id", Permission: domain.ViewProject, Tag: "organizations",
		Summary: "The organization of the key's project.", Response: access.Organization{},
	}, single(a.Organization, func(o access.Organization) uuid.UUID { return o.ID }, "organization_id", "Organization not found"))
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/workspaces/", Permission: domain.ViewProject, Tag: "workspaces",
		Summary: "List the workspaces that this key sees: that of its project.", Response: []access.Workspace{},
	}, all(a.Workspace))
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/workspaces/:workspace_id", Permission: domain.ViewProject, Tag: "workspaces",
		Summary: "The workspace of the key's project.", Response: access.Workspace{},
	}, single(a.Workspace, func(w access.Workspace) uuid.UUID { return w.ID }, "workspace_id", "Workspace not found"))
	h.mountRoles(r)
	h.mountMembers(r)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/profile/", Permission: domain.ViewProject, Tag: "profile",
		Summary: "The person behind the key.", Response: access.Profile{},
	}, h.profile)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/access/permissions/check", Permission: domain.Authenticated, Tag: "access", Hook: true,
		Summary: "Ask whether the caller may do something, and get a short-lived credential to do it with.",
		Query: []domain.Parameter{
			{Name: "action", Type: "string", Doc: "A permission, such as run_service."},
			{Name: "resource_type", Type: "string", Doc: "service or local_secrets."},
			{Name: "resource_id", Type: "string", Doc: "The resource, where it has one."},
			{Name: "scope_type", Type: "string", Doc: "Taken and not looked at: a key has one scope, its project."},
			{Name: "scope_id", Type: "string", Doc: "See scope_type."},
		},
		Response: permissionCheck{},
	}, h.check)
}

type accessRoutes struct{ access *access.Access }

func (h accessRoutes) keys(c *gin.Context) error {
	keys, err := h.access.Keys(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()).Project, false)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, keys)
	return nil
}

func (h accessRoutes) projects(c *gin.Context) error {
	current, err := h.access.Current(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, []access.Project{current})
	return nil
}

type (
	// foreignProjects is a list of projects in the form of Langfuse's public API.
	foreignProjects struct {
		Data []foreignProject `json:"data"`
	}
	foreignProject struct {
		ID           string              `json:"id"`
		Name         string              `json:"name"`
		Organization foreignOrganization `json:"organization"`
		Metadata     map[string]any      `json:"metadata"`
	}
	foreignOrganization struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
)

func (h accessRoutes) foreignProjects(c *gin.Context) error {
	p, err := h.access.Current(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, foreignProjects{[]foreignProject{{
		ID: p.ProjectID.String(), Name: p.ProjectName, Organization: foreignOrganization{p.OrganizationID.String(), p.OrganizationName}, Metadata: map[string]any{},
	}}})
	return nil
}

func (h accessRoutes) project(c *gin.Context) error {
	caller := domain.PrincipalFrom(c.Request.Context())
	if err := ownProject(c); err != nil {
		return err
	}
	current, err := h.access.Current(c.Request.Context(), caller)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, current)
	return nil
}

// ownProject refuses any project but the caller's, which the word current means as well.
func ownProject(c *gin.Context) error {
	name := c.Param("project_id")
	if name == "current" {
		return nil
	}
	if id, err := uuid.Parse(name); err != nil || domain.ProjectID(id) != api.Project(c) {
		return domain.E(domain.NotFound, "Project not found")
	}
	return nil
}

// seen is the one record of its kind that a caller sees.
type seen[T any] func(ctx context.Context, caller domain.Principal) (T, error)

// all lists it.
func all[T any](read seen[T]) func(*gin.Context) error {
	return func(c *gin.Context) error {
		found, err := read(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
		if err != nil {
			return err
		}
		c.JSON(http.StatusOK, []T{found})
		return nil
	}
}

// single shows it under its own id; any other is not found.
func single[T any](read seen[T], id func(T) uuid.UUID, parameter, missing string) func(*gin.Context) error {
	return func(c *gin.Context) error {
		found, err := read(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
		if err != nil {
			return err
		}
		if given, err := uuid.Parse(c.Param(parameter)); err != nil || given != id(found) {
			return domain.E(domain.NotFound, "%s", missing)
		}
		c.JSON(http.StatusOK, found)
		return nil
	}
}

func (h accessRoutes) profile(c *gin.Context) error {
	profile, err := h.access.Profile(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, profile)
	return nil
}

type permissionCheck struct {
	Effect      string `json:"effect"`
	Credentials string `json:"credentials"`
}

// permission reads a permission; those on secrets have two spellings. Source: contract §0 row 59.
func permission(action string) domain.Permission {
	switch p := domain.Permission(strings.ToLower(action)); p {
	case "view_secret":
		return domain.ViewSecrets
	case "edit_secret":
		return domain.EditSecrets
	default:
		return p
	}
}

func (h accessRoutes) check(c *gin.Context) error {
	var missing []domain.Field
	for _, name := range []string{"action", "resource_type"} {
		if c.Query(name) == "" {
			missing = append(missing, domain.Field{Type: "missing", Loc: []any{"query", name}, Msg: "Field required"})
		}
	}
	if missing != nil {
		return &domain.Error{Kind: domain.Invalid, Message: "A parameter is missing.", Fields: missing}
	}
	if of := c.Query("resource_type"); of != "service" && of != "local_secrets" {
		return request.Invalid("enum", "Input should be 'service' or 'local_secrets'", of, "query", "resource_type")
	}
	caller := domain.PrincipalFrom(c.Request.Context())
	action := permission(c.Query("action"))
	// A hook runs what it was called for, and asks as any service does.
	if called := caller.Purpose == domain.PurposeHook && action == domain.RunService; !called && !caller.Allows(action) {
		return domain.E(domain.Forbidden, "Forbidden")
	}
	credentials := caller.Credential
	if h.access.IssuesTickets() {
		ticket, err := h.access.Ticket(caller)
		if err != nil {
			return err
		}
		credentials = ticket
	}
	c.JSON(http.StatusOK, permissionCheck{Effect: "allow", Credentials: credentials})
	return nil
}
