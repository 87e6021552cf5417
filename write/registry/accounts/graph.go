package accounts

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/credential"
)

// Graph asks for people, for places and for what joins them, each under a name
// of the caller's, by which the others may refer to it. Source: contract §5.8.
type Graph struct {
	Users         map[string]UserDraft
	Organizations map[string]OrganizationDraft
	Workspaces    map[string]WorkspaceDraft
	Projects      map[string]ProjectDraft
	// Members are those of each place.
	Members map[Place]map[string]MemberDraft
	Keys    map[string]KeyDraft
	// SeedDefaults fills each project with the environments and evaluators
	// that every project begins with.
	SeedDefaults bool
	// DryRun returns what would be made, and changes nothing.
	DryRun bool
}

// Ref names what a graph makes, by its Local name, or what exists: by id, and
// a person by e-mail in Slug.
type Ref struct {
	Local string
	domain.Reference
}

// UserDraft asks for a person; an empty Username means the e-mail's local part.
type UserDraft struct {
	Email, Username string
	// Existing takes the person who has this e-mail already, as they are.
	Existing bool
}

// OrganizationDraft asks for an organization.
type OrganizationDraft struct {
	Name  string
	Owner Ref
}

// WorkspaceDraft asks for a workspace.
type WorkspaceDraft struct {
	Name         string
	Organization Ref
}

// ProjectDraft asks for a project. The organization's owner is its first member.
type ProjectDraft struct {
	Name                    string
	Organization, Workspace Ref
	// IsDefault is for one project of an organization.
	IsDefault bool
}

// KeyDraft asks for a key of a member of a project.
type KeyDraft struct {
	Project, User Ref
	Name          string
	Purpose       domain.Purpose
	ExpiresAt     *time.Time
	// Key is used instead of a new one; the zero Key means a new one.
	Key credential.Key
}

// KeyMade is a new key, whose it is, and where it is good for.
type KeyMade struct {
	KeyRequest

	Key credential.Key
}

// GraphMade is what a Graph asked for, under the same names.
type GraphMade struct {
	Users         map[string]User
	Organizations map[string]Organization
	Workspaces    map[string]Workspace
	Projects      map[string]Project
	Members       map[Place]map[string]Membership
	Keys          map[string]KeyMade
}

// CreateGraph makes all of it or nothing. An e-mail that has an account is a
// Conflict; a reference to what does not exist is NotFound.
func (r *Registry) CreateGraph(ctx context.Context, g Graph) (GraphMade, error) {
	var made GraphMade
	err := r.rehearse(ctx, "creating accounts", g.DryRun, func(tx pgx.Tx) (err error) {
		made, err = r.build(ctx, tx, g)
		return err
	})
	return made, err
}

func (r *Registry) build(ctx context.Context, tx pgx.Tx, g Graph) (made GraphMade, err error) {
	b := &builder{r: r, tx: tx, seed: g.SeedDefaults, ids: map[[2]string]uuid.UUID{}}
	made.Members = map[Place]map[string]Membership{}
	// In this order each finds what it refers to.
	if made.Users, err = each(ctx, g.Users, b.user); err != nil {
		return made, err
	}
	if made.Organizations, err = each(ctx, g.Organizations, b.organization); err != nil {
		return made, err
	}
	if made.Workspaces, err = each(ctx, g.Workspaces, b.workspace); err != nil {
		return made, err
	}
	if made.Projects, err = each(ctx, g.Projects, b.project); err != nil {
		return made, err
	}
	for _, place := range []Place{InOrganization, InWorkspace, InProject} {
		made.Members[place], err = each(ctx, g.Members[place], func(ctx context.Context, _ string, d MemberDraft) (Membership, error) { return b.member(ctx, place, d) })
		if err != nil {
			return made, err
		}
	}
	made.Keys, err = each(ctx, g.Keys, b.key)
	return made, err
}

// each makes the drafts sorted by their names, so that the same graph always
// does the same things in the same order.
func each[D, M any](ctx context.Context, drafts map[string]D, create func(ctx context.Context, name string, draft D) (M, error)) (map[string]M, error) {
	made := make(map[string]M, len(drafts))
	for _, name := range slices.Sorted(maps.Keys(drafts)) {
		m, err := create(ctx, name, drafts[name])
		if err != nil {
			return nil, err
		}
		made[name] = m
	}
	return made, nil
}
