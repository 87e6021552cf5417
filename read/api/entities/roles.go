package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/read/api"
)

// mountRoles mounts what the reference's clients ask about roles and plans. They are the same
// for every project. Source: contract §5.8.
func (h accessRoutes) mountRoles(r api.Router) {
	get := func(path, tag, summary string, permission domain.Permission, response any, reply func() any) {
		r.Handle(domain.Operation{
			Method: http.MethodGet, Path: path, Permission: permission, Tag: tag, Summary: summary, Response: response,
		}, func(c *gin.Context) error {
			c.PureJSON(http.StatusOK, reply())
			return nil
		})
	}
	get("/workspaces/roles", "workspaces", "The roles that a member may have.", domain.ViewProject, []roleName{}, func() any { return roleNames() })
	get("/workspaces/permissions", "workspaces", "The permissions that roles are made of.", domain.ViewProject, []domain.Permission{}, func() any { return domain.Principal{Role: domain.RoleOwner}.Permissions() })
	get("/access/roles", "access", "The roles that a member may have in an organization, a workspace or a project, with their permissions.", domain.Authenticated, map[string][]role{}, func() any {
		roles := rolesJSON()
		return map[string][]role{"organization": roles, "workspace": roles, "project": roles}
	})
	get("/access/plans", "access", "The plans. There is one, without limits of its own.", domain.Authenticated, map[string]plan{}, func() any { return map[string]plan{"self_hosted": {Name: "Self-hosted"}} })
	get("/.well-known/jwks.json", "access", "The public keys of service credentials: none, because these are signed with a shared secret.", domain.Public, keySet{}, func() any { return keySet{Keys: []struct{}{}} })
}

type (
	roleName struct {
		Name        string `json:"role_name"`
		Description string `json:"role_description"`
	}
	role struct {
		Role        string              `json:"role"`
		Description string              `json:"description"`
		Permissions []domain.Permission `json:"permissions"`
	}
	plan struct {
		Name string `json:"name"`
	}
	keySet struct {
		Keys []struct{} `json:"keys"`
	}
)

func roleNames() []roleName {
	out := make([]roleName, 0, len(domain.Roles()))
	for _, r := range domain.Roles() {
		out = append(out, roleName{r.Name, r.Description})
	}
	return out
}

func rolesJSON() []role {
	out := make([]role, 0, len(domain.Roles()))
	for _, r := range domain.Roles() {
		out = append(out, role{r.Name, r.Description, r.Permissions})
	}
	return out
}
