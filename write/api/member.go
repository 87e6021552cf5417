package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/form"
	"colonnade/write/registry"
)

// mountMembers mounts the administration of who else may use a project. Source: contract §5.8.
func (a accounts) mountMembers(r Router) {
	op := domain.Operation{Permission: domain.Admin, Tag: "accounts", Method: http.MethodPost}
	op.Path, op.Summary = "/admin/simple/accounts/projects/memberships/", "Give a person a role in a project, or another one."
	op.Request, op.Response = memberRequest{}, membersReply{}
	r.Handle(op, a.setMember)
	op.Path, op.Summary = "/admin/simple/accounts/api-keys/", "Make an API key for a member of a project; the reply shows it, once."
	op.Request, op.Response = memberKeyRequest{}, memberKeysReply{}
	r.Handle(op, a.createMemberKey)
	op.Method, op.Path = http.MethodDelete, "/admin/simple/accounts/projects/:project_id/memberships/:membership_id"
	op.Summary = "End a membership, named by its user's id; its keys end with it."
	op.Request, op.Response = nil, membersDeleted{}
	r.Handle(op, a.removeMember)
}

// The bodies for the document; requests are read member by member.
type (
	entityRef struct {
		ID uuid.UUID `json:"id"`
		// Slug is a user's e-mail address.
		Slug string `json:"slug"`
	}
	memberRequest struct {
		Membership struct {
			ProjectRef entityRef `json:"project_ref" body:"required"`
			UserRef    entityRef `json:"user_ref" body:"required"`
			Role       string    `json:"role" body:"required"`
		} `json:"membership" body:"required"`
		Options accountOptions `json:"options"`
	}
	memberKeyRequest struct {
		APIKey struct {
			ProjectRef entityRef `json:"project_ref" body:"required"`
			UserRef    entityRef `json:"user_ref" body:"required"`
			Name       string    `json:"name"`
			ExpiresAt  time.Time `json:"expires_at"`
		} `json:"api_key" body:"required"`
		Options accountOptions `json:"options"`
	}
	membershipJSON struct {
		ID        uuid.UUID `json:"id"`
		ProjectID uuid.UUID `json:"project_id"`
		UserID    uuid.UUID `json:"user_id"`
		Role      string    `json:"role"`
		CreatedAt time.Time `json:"created_at"`
	}
	membersReply struct {
		Accounts []memberAccount `json:"accounts"`
	}
	memberAccount struct {
		ProjectMemberships map[string]membershipJSON `json:"project_memberships"`
	}
	memberKeysReply struct {
		Accounts []memberKeyAccount `json:"accounts"`
	}
	memberKeyAccount struct {
		APIKeys map[string]memberKeyJSON `json:"api_keys"`
	}
	memberKeyJSON struct {
		Prefix       string     `json:"prefix"`
		Name         string     `json:"name,omitempty"`
		ProjectID    uuid.UUID  `json:"project_id"`
		UserID       uuid.UUID  `json:"user_id"`
		ExpiresAt    *time.Time `json:"expires_at,omitempty"`
		Value        string     `json:"value"`
		ReturnedOnce bool       `json:"returned_once"`
	}
	membersDeleted struct {
		Deleted deletedMembers `json:"deleted"`
	}
	deletedMembers struct {
		ProjectMemberships []deletedEntity `json:"project_memberships"`
	}
	deletedEntity struct {
		ID uuid.UUID `json:"id"`
	}
)

func (a accounts) setMember(c *gin.Context) error {
	body, record, err := memberForm(c, "membership")
	if err != nil {
		return err
	}
	project, person := memberRefs(record)
	record.Require("role")
	role := record.Enum("role", domain.RoleOwner, domain.RoleAdmin, domain.RoleDeveloper, domain.RoleEditor, domain.RoleAnnotator, domain.RoleViewer)
	record.Close()
	if err := body.Err(); err != nil {
		return err
	}
	m, err := a.deps.Registry.SetMember(c.Request.Context(), project, person, role)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, membersReply{Accounts: []memberAccount{{ProjectMemberships: map[string]membershipJSON{
		"mem": {ID: m.User, ProjectID: uuid.UUID(m.Project), UserID: m.User, Role: m.Role, CreatedAt: m.CreatedAt},
	}}}})
	return nil
}

func (a accounts) createMemberKey(c *gin.Context) error {
	body, record, err := memberForm(c, "api_key")
	if err != nil {
		return err
	}
	q := registry.KeyRequest{Name: record.String("name")}
	var person domain.Reference
	q.Project, person = memberRefs(record)
	if expires := record.Time("expires_at"); !expires.IsZero() {
		q.ExpiresAt = &expires
	}
	record.Close()
	if err := body.Err(); err != nil {
		return err
	}
	made, err := a.deps.Registry.PersonKey(c.Request.Context(), person, q)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, memberKeysReply{Accounts: []memberKeyAccount{{APIKeys: map[string]memberKeyJSON{"key": {
		Prefix: made.Key.Prefix, Name: q.Name, ProjectID: uuid.UUID(q.Project), UserID: made.User, ExpiresAt: q.ExpiresAt, Value: made.Key.Reveal(), ReturnedOnce: true,
	}}}}})
	return nil
}

func (a accounts) removeMember(c *gin.Context) error {
	project, err := pathID(c, "project_id")
	if err != nil {
		return err
	}
	user, err := pathID(c, "membership_id")
	if err != nil {
		return err
	}
	if err := a.deps.Registry.RemoveMember(c.Request.Context(), domain.ProjectID(project), user); err != nil {
		return err
	}
	c.JSON(http.StatusOK, membersDeleted{Deleted: deletedMembers{ProjectMemberships: []deletedEntity{{ID: user}}}})
	return nil
}

// memberForm reads a body of one record and options, which mean nothing here.
func memberForm(c *gin.Context, member string) (body, record *form.Object, err error) {
	body, err = readForm(c)
	if err != nil {
		return nil, nil, err
	}
	body.Require(member)
	record = body.Object(member)
	closeOptions(body.Object("options"))
	body.Close()
	return body, record, nil
}

// memberRefs reads which project, by id, and which person, by id or e-mail.
func memberRefs(record *form.Object) (domain.ProjectID, domain.Reference) {
	record.Require("project_ref", "user_ref")
	project, user := record.Object("project_ref"), record.Object("user_ref")
	project.Require("id")
	person := domain.Reference{ID: user.UUID("id"), Slug: user.String("slug")}
	if user != nil && person.IsZero() {
		user.Require("id")
	}
	id := project.UUID("id")
	project.Close()
	user.Close()
	return domain.ProjectID(id), person
}
