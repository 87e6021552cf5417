package accounts

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/write/api"
	"colonnade/write/registry/accounts"
)

// MountRetention mounts the command that sets how long a project keeps its spans. Source:
// deploy/docs/api.md, Retention.
func MountRetention(r api.Router, commands *accounts.Registry) {
	r.Handle(domain.Operation{
		Method: http.MethodPut, Path: "/projects/current/retention", Permission: domain.EditProject, Tag: "projects",
		Summary: "Set for how many days this project keeps its spans and their payloads; 0 keeps them. What is older is deleted each night (UTC).",
		Request: retention{}, Response: retention{},
	}, func(c *gin.Context) error {
		var body retention
		if err := api.Decode(c, &body); err != nil {
			return err
		}
		caller := api.Caller(c)
		err := commands.SetRetention(c.Request.Context(), caller, domain.Retention{Project: caller.Project, Days: body.Days, PayloadDays: body.PayloadDays})
		if err != nil {
			return err
		}
		domain.NoteTarget(c.Request.Context(), "retention", body)
		c.JSON(http.StatusOK, body)
		return nil
	})
}

type retention struct {
	// Days and PayloadDays count from the start of a span; 0 keeps it.
	Days        int `json:"days" minimum:"0"`
	PayloadDays int `json:"payload_days" minimum:"0"`
}
