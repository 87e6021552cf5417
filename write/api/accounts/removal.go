package accounts

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// mountRemovals mounts the deletion of people, places, memberships and keys. Source: contract §5.8.
func (a endpoints) mountRemovals(r api.Router) {
	op := domain.Operation{Permission: domain.Admin, Tag: "accounts", Method: http.MethodDelete, Response: removedReply{}}
	op.Path, op.Request = "/admin/accounts/", removalRequest{}
	op.Summary = "Delete people and places with all that they own; unless dry_run is false, the reply only says what would go."
	r.Handle(op, a.remove)
	op.Request = nil
	const simple = "/admin/simple/accounts/"
	for _, e := range []struct {
		path, param, owned, missing string
		named                       func(id uuid.UUID) accounts.Removal
	}{
		{"users/:user_id", "user_id", "a person with their organizations", "User not found.", func(id uuid.UUID) accounts.Removal {
			return accounts.Removal{Users: []domain.Reference{{ID: id}}}
		}},
		{"organizations/:organization_id", "organization_id", "an organization with its workspaces", "Organization not found.", func(id uuid.UUID) accounts.Removal {
			return accounts.Removal{Organizations: []uuid.UUID{id}}
		}},
		{"workspaces/:workspace_id", "workspace_id", "a workspace with its projects", "Workspace not found.", func(id uuid.UUID) accounts.Removal {
			return accounts.Removal{Workspaces: []uuid.UUID{id}}
		}},
		{"projects/:project_id", "project_id", "a project", "Project not found.", func(id uuid.UUID) accounts.Removal {
			return accounts.Removal{Projects: []uuid.UUID{id}}
		}},
	} {
		op.Path, op.Summary = simple+e.path, "Delete "+e.owned+" and all that is in it. Keys end within a second; traces, also those on their way, are removed soon after."
		r.Handle(op, a.removeOne(e.param, e.missing, e.named))
	}
	for _, e := range []struct {
		path, param string
		place       accounts.Place
	}{
		{"organizations/:organization_id/memberships/:membership_id", "organization_id", accounts.InOrganization},
		{"workspaces/:workspace_id/memberships/:membership_id", "workspace_id", accounts.InWorkspace},
		{"projects/:project_id/memberships/:membership_id", "project_id", accounts.InProject},
	} {
		op.Path, op.Summary = simple+e.path, "End a membership, named by its user's id; its keys end with it."
		r.Handle(op, a.removeMember(e.param, e.place))
	}
	op.Path, op.Summary = simple+"api-keys/:api_key_id", "Revoke an API key, named by its prefix."
	r.Handle(op, a.removeKey)
}

type (
	removalRequest struct {
		Target removalTarget `json:"target" request:"required"`
		// DryRun is on unless it is false.
		DryRun  bool   `json:"dry_run"`
		Reason  string `json:"reason"`
		Confirm string `json:"confirm"`
	}
	removalTarget struct {
		UserIDs         []uuid.UUID `json:"user_ids"`
		UserEmails      []string    `json:"user_emails"`
		OrganizationIDs []uuid.UUID `json:"organization_ids"`
		WorkspaceIDs    []uuid.UUID `json:"workspace_ids"`
		ProjectIDs      []uuid.UUID `json:"project_ids"`
	}
	removedReply struct {
		DryRun  bool            `json:"dry_run"`
		Deleted removedEntities `json:"deleted"`
	}
	removedEntities struct {
		Users                   []removedEntity `json:"users,omitempty"`
		Organizations           []removedEntity `json:"organizations,omitempty"`
		Workspaces              []removedEntity `json:"workspaces,omitempty"`
		Projects                []removedEntity `json:"projects,omitempty"`
		OrganizationMemberships []removedEntity `json:"organization_memberships,omitempty"`
		WorkspaceMemberships    []removedEntity `json:"workspace_memberships,omitempty"`
		ProjectMemberships      []removedEntity `json:"project_memberships,omitempty"`
		APIKeys                 []removedEntity `json:"api_keys,omitempty"`
	}
	// removedEntity has an id: a UUID, or a key's prefix.
	removedEntity struct {
		ID string `json:"id"`
	}
)

func (a endpoints) remove(c *gin.Context) error {
	body, err := api.ReadObject(c)
	if err != nil {
		return err
	}
	q := removalOf(body)
	if err := body.Err(); err != nil {
		return err
	}
	gone, err := a.deps.Registry.Remove(c.Request.Context(), q)
	if err != nil {
		return err
	}
	noteRemoved(c, q.DryRun, gone)
	c.JSON(http.StatusOK, removedReply{DryRun: q.DryRun, Deleted: removedOut(gone)})
	return nil
}

func removalOf(body *request.Object) accounts.Removal {
	body.Require("target")
	target := body.Object("target")
	q := accounts.Removal{
		Organizations: target.UUIDs("organization_ids"), Workspaces: target.UUIDs("workspace_ids"), Projects: target.UUIDs("project_ids"),
	}
	for _, id := range target.UUIDs("user_ids") {
		q.Users = append(q.Users, domain.Reference{ID: id})
	}
	for _, email := range target.Strings("user_emails") {
		q.Users = append(q.Users, domain.Reference{Slug: email})
	}
	target.FailUnknown()
	dry := body.Bool("dry_run")
	q.DryRun = dry == nil || *dry
	body.Ignore("reason", "confirm")
	body.FailUnknown()
	return q
}

// noteRemoved adds to the audit entry what was removed.
func noteRemoved(c *gin.Context, dryRun bool, gone accounts.Removed) {
	domain.NoteTarget(c.Request.Context(), "dry_run", dryRun)
	domain.NoteTarget(c.Request.Context(), "deleted", removedOut(gone))
}

func removedOut(gone accounts.Removed) removedEntities {
	return removedEntities{
		Users: removedIDs(gone.Users), Organizations: removedIDs(gone.Organizations),
		Workspaces: removedIDs(gone.Workspaces), Projects: removedIDs(gone.Projects),
	}
}

func removedIDs(ids []uuid.UUID) []removedEntity {
	out := make([]removedEntity, len(ids))
	for i, id := range ids {
		out[i] = removedEntity{ID: id.String()}
	}
	return out
}

func (a endpoints) removeOne(param, missing string, named func(id uuid.UUID) accounts.Removal) func(*gin.Context) error {
	return func(c *gin.Context) error {
		id, err := api.PathID(c, param)
		if err != nil {
			return err
		}
		gone, err := a.deps.Registry.Remove(c.Request.Context(), named(id))
		if err != nil {
			return err
		}
		if len(gone.Users)+len(gone.Organizations)+len(gone.Workspaces)+len(gone.Projects) == 0 {
			return domain.E(domain.NotFound, "%s", missing)
		}
		c.JSON(http.StatusOK, removedReply{Deleted: removedOut(gone)})
		return nil
	}
}

func (a endpoints) removeMember(param string, place accounts.Place) func(*gin.Context) error {
	return func(c *gin.Context) error {
		of, err := api.PathID(c, param)
		if err != nil {
			return err
		}
		user, err := api.PathID(c, "membership_id")
		if err != nil {
			return err
		}
		if err := a.deps.Registry.RemoveMember(c.Request.Context(), place, of, user); err != nil {
			return err
		}
		ended := removedIDs([]uuid.UUID{user})
		reply := removedReply{}
		switch place {
		case accounts.InOrganization:
			reply.Deleted.OrganizationMemberships = ended
		case accounts.InWorkspace:
			reply.Deleted.WorkspaceMemberships = ended
		case accounts.InProject:
			reply.Deleted.ProjectMemberships = ended
		default:
		}
		c.JSON(http.StatusOK, reply)
		return nil
	}
}

func (a endpoints) removeKey(c *gin.Context) error {
	prefix := c.Param("api_key_id")
	if err := a.deps.Registry.RevokeAnyKey(c.Request.Context(), prefix); err != nil {
		return err
	}
	c.JSON(http.StatusOK, removedReply{Deleted: removedEntities{APIKeys: []removedEntity{{ID: prefix}}}})
	return nil
}
