package accounts

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// MountMembers mounts the commands of owners and admins on the members of their project.
func MountMembers(r api.Router, commands *accounts.Registry) {
	m := members{registry: commands}
	op := domain.Operation{Permission: domain.EditProject, Tag: "projects", Path: "/projects/:project_id/members", Method: http.MethodPost}
	op.Request, op.Response = memberCreation{}, memberReply{}
	op.Summary = "Make a person a member of this project. One who has no account gets one, and the reply shows their first key, once."
	r.Handle(op, m.add)
	op.Method, op.Path, op.Request = http.MethodPatch, "/projects/:project_id/members/:user_id", memberEdition{}
	op.Summary = "Give a member another role, of at most the caller's own."
	r.Handle(op, m.change)
	op.Method, op.Request, op.Response = http.MethodDelete, nil, memberRemoved{}
	op.Summary = "End a membership; the member's keys of this project end with it."
	r.Handle(op, m.remove)
	op.Method, op.Path, op.Tag, op.Response = http.MethodPost, "/organizations/:organization_id/transfer/:user_id", "organizations", organizationJSON{}
	op.Summary = "Make a member the owner of the organization and of its projects; the owner until now stays as an admin."
	r.Handle(op, m.transfer)
}

type members struct{ registry *accounts.Registry }

type (
	memberCreation struct {
		Email    string `json:"email" request:"required"`
		Username string `json:"username"`
		Role     string `json:"role" request:"required"`
	}
	memberEdition struct {
		Role string `json:"role" request:"required"`
	}
	memberRecord struct {
		UserID    uuid.UUID `json:"user_id"`
		Email     string    `json:"email,omitempty"`
		Username  string    `json:"username,omitempty"`
		Role      string    `json:"role"`
		CreatedAt time.Time `json:"created_at"`
	}
	memberReply struct {
		Count  int          `json:"count"`
		Member memberRecord `json:"member"`
		// Key is the first key of a new person.
		Key string `json:"key,omitempty"`
	}
	memberRemoved struct {
		Count  int       `json:"count"`
		UserID uuid.UUID `json:"user_id"`
	}
)

// own refuses any project but the caller's, which the word current means as well.
func own(c *gin.Context) error {
	name := c.Param("project_id")
	if name == "current" {
		return nil
	}
	if id, err := uuid.Parse(name); err != nil || domain.ProjectID(id) != api.Caller(c).Project {
		return domain.E(domain.NotFound, "Project not found")
	}
	return nil
}

func (m members) add(c *gin.Context) error {
	var b memberCreation
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	if err := own(c); err != nil {
		return err
	}
	added, err := m.registry.AddMember(c.Request.Context(), api.Caller(c), accounts.MemberRequest{Email: b.Email, Username: b.Username, Role: b.Role})
	if err != nil {
		return err
	}
	reply := memberReply{Count: 1, Member: memberRecord{
		UserID: added.User.ID, Email: added.User.Email, Username: added.User.Username, Role: b.Role, CreatedAt: added.Membership.CreatedAt,
	}}
	if added.Key != (credential.Key{}) {
		reply.Key = added.Key.Reveal()
	}
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, reply)
	return nil
}

func (m members) change(c *gin.Context) error {
	var b memberEdition
	if err := api.Decode(c, &b); err != nil {
		return err
	}
	if err := own(c); err != nil {
		return err
	}
	user, err := api.PathID(c, "user_id")
	if err != nil {
		return err
	}
	changed, err := m.registry.ChangeMember(c.Request.Context(), api.Caller(c), user, b.Role)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, memberReply{Count: 1, Member: memberRecord{UserID: user, Role: changed.Role, CreatedAt: changed.CreatedAt}})
	return nil
}

func (m members) remove(c *gin.Context) error {
	if err := own(c); err != nil {
		return err
	}
	user, err := api.PathID(c, "user_id")
	if err != nil {
		return err
	}
	if err := m.registry.EndMember(c.Request.Context(), api.Caller(c), user); err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, memberRemoved{Count: 1, UserID: user})
	return nil
}

func (m members) transfer(c *gin.Context) error {
	organization, err := api.PathID(c, "organization_id")
	if err != nil {
		return err
	}
	user, err := api.PathID(c, "user_id")
	if err != nil {
		return err
	}
	o, err := m.registry.TransferOrganization(c.Request.Context(), api.Caller(c), organization, user)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, organizationOut(o))
	return nil
}
