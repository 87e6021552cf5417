package accounts

import (
	"time"

	"github.com/google/uuid"

	"colonnade/write/registry/accounts"
)

// The bodies of the graph for the document; requests are read member by member.
type (
	// entityRef names a place by id or, in ref, by its name in the same body.
	entityRef struct {
		Ref string    `json:"ref"`
		ID  uuid.UUID `json:"id"`
	}
	// personRef names a person likewise, or by e-mail address in slug.
	personRef struct {
		Ref  string    `json:"ref"`
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
	}
	organizationDraft struct {
		Name         string    `json:"name" request:"required"`
		OwnerUserRef personRef `json:"owner_user_ref"`
	}
	workspaceDraft struct {
		Name            string    `json:"name" request:"required"`
		OrganizationRef entityRef `json:"organization_ref" request:"required"`
	}
	projectDraft struct {
		Name            string    `json:"name" request:"required"`
		OrganizationRef entityRef `json:"organization_ref" request:"required"`
		WorkspaceRef    entityRef `json:"workspace_ref" request:"required"`
		IsDefault       bool      `json:"is_default"`
	}
	userPart struct {
		Email    string `json:"email" request:"required"`
		Username string `json:"username"`
	}
	organizationMemberDraft struct {
		OrganizationRef entityRef `json:"organization_ref" request:"required"`
		UserRef         personRef `json:"user_ref" request:"required"`
		Role            string    `json:"role" request:"required"`
	}
	workspaceMemberDraft struct {
		WorkspaceRef entityRef `json:"workspace_ref" request:"required"`
		UserRef      personRef `json:"user_ref" request:"required"`
		Role         string    `json:"role" request:"required"`
	}
	memberDraft struct {
		ProjectRef entityRef `json:"project_ref" request:"required"`
		UserRef    personRef `json:"user_ref" request:"required"`
		Role       string    `json:"role" request:"required"`
	}
	keyDraft struct {
		ProjectRef entityRef `json:"project_ref" request:"required"`
		UserRef    personRef `json:"user_ref" request:"required"`
		Name       string    `json:"name"`
		Purpose    string    `json:"purpose"`
		ExpiresAt  time.Time `json:"expires_at"`
	}
	graphRequest struct {
		Options                 batchOptions                       `json:"options"`
		Users                   map[string]userPart                `json:"users"`
		Organizations           map[string]organizationDraft       `json:"organizations"`
		Workspaces              map[string]workspaceDraft          `json:"workspaces"`
		Projects                map[string]projectDraft            `json:"projects"`
		OrganizationMemberships map[string]organizationMemberDraft `json:"organization_memberships"`
		WorkspaceMemberships    map[string]workspaceMemberDraft    `json:"workspace_memberships"`
		ProjectMemberships      map[string]memberDraft             `json:"project_memberships"`
		APIKeys                 map[string]keyDraft                `json:"api_keys"`
	}
	userRequest struct {
		User    userPart     `json:"user" request:"required"`
		Options batchOptions `json:"options"`
	}
	organizationRequest struct {
		Organization organizationDraft `json:"organization" request:"required"`
		// Owner is created with the organization, in place of its owner_user_ref.
		Owner   userPart     `json:"owner"`
		Options batchOptions `json:"options"`
	}
	workspaceRequest struct {
		Workspace workspaceDraft `json:"workspace" request:"required"`
		Options   batchOptions   `json:"options"`
	}
	projectRequest struct {
		Project projectDraft `json:"project" request:"required"`
		Options batchOptions `json:"options"`
	}
	organizationMemberRequest struct {
		Membership organizationMemberDraft `json:"membership" request:"required"`
		Options    batchOptions            `json:"options"`
	}
	workspaceMemberRequest struct {
		Membership workspaceMemberDraft `json:"membership" request:"required"`
		Options    batchOptions         `json:"options"`
	}
	memberRequest struct {
		Membership memberDraft  `json:"membership" request:"required"`
		Options    batchOptions `json:"options"`
	}
	memberKeyRequest struct {
		APIKey  keyDraft     `json:"api_key" request:"required"`
		Options batchOptions `json:"options"`
	}
)

type (
	graphReply struct {
		Accounts []graphAccount `json:"accounts"`
		DryRun   bool           `json:"dry_run,omitempty"`
	}
	graphAccount struct {
		Users                   map[string]userJSON         `json:"users,omitempty"`
		Organizations           map[string]organizationJSON `json:"organizations,omitempty"`
		Workspaces              map[string]workspaceJSON    `json:"workspaces,omitempty"`
		Projects                map[string]projectJSON      `json:"projects,omitempty"`
		OrganizationMemberships map[string]membershipJSON   `json:"organization_memberships,omitempty"`
		WorkspaceMemberships    map[string]membershipJSON   `json:"workspace_memberships,omitempty"`
		ProjectMemberships      map[string]membershipJSON   `json:"project_memberships,omitempty"`
		APIKeys                 map[string]memberKeyJSON    `json:"api_keys,omitempty"`
	}
	// membershipJSON has the id of its user, and one of the three places.
	membershipJSON struct {
		ID             uuid.UUID  `json:"id"`
		OrganizationID *uuid.UUID `json:"organization_id,omitempty"`
		WorkspaceID    *uuid.UUID `json:"workspace_id,omitempty"`
		ProjectID      *uuid.UUID `json:"project_id,omitempty"`
		UserID         uuid.UUID  `json:"user_id"`
		Role           string     `json:"role"`
		CreatedAt      time.Time  `json:"created_at"`
	}
	// memberKeyJSON has its prefix for its id.
	memberKeyJSON struct {
		ID           string     `json:"id"`
		Prefix       string     `json:"prefix"`
		Name         string     `json:"name,omitempty"`
		ProjectID    uuid.UUID  `json:"project_id"`
		UserID       uuid.UUID  `json:"user_id"`
		ExpiresAt    *time.Time `json:"expires_at,omitempty"`
		Value        string     `json:"value,omitempty"`
		ReturnedOnce bool       `json:"returned_once,omitempty"`
	}
)

// add puts a membership where its place is.
func (g *graphAccount) add(place accounts.Place, name string, m membershipJSON, of uuid.UUID) {
	members, id := &g.ProjectMemberships, &m.ProjectID
	switch place {
	case accounts.InOrganization:
		members, id = &g.OrganizationMemberships, &m.OrganizationID
	case accounts.InWorkspace:
		members, id = &g.WorkspaceMemberships, &m.WorkspaceID
	case accounts.InProject:
	default:
	}
	*id = &of
	if *members == nil {
		*members = map[string]membershipJSON{}
	}
	(*members)[name] = m
}
