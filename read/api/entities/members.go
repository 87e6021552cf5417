package entities

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/read/access"
	"colonnade/read/api"
)

// mountMembers mounts the list of who is a member of the caller's project.
func (h accessRoutes) mountMembers(r api.Router) {
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/projects/:project_id/members", Permission: domain.ViewProject, Tag: "projects",
		Summary: "List the members of this project with their roles.", Response: memberList{},
	}, h.members)
}

type memberList struct {
	Count   int             `json:"count"`
	Members []access.Member `json:"members"`
}

func (h accessRoutes) members(c *gin.Context) error {
	if err := ownProject(c); err != nil {
		return err
	}
	found, err := h.access.Members(c.Request.Context(), api.Project(c))
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, memberList{Count: len(found), Members: found})
	return nil
}
