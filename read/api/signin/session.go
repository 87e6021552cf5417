// Package signin has the endpoints that a page asks first: who is signed in, to which
// projects, in which browsers. Signing in and out is write/api/accounts, what a session
// may do read/access.
package signin

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/read/access"
	"colonnade/read/api"
)

// Config describes this build.
type Config struct {
	Version string
	// Features are the parts of the console that this service has, by name.
	Features map[string]bool
}

// Mount mounts the endpoints. Source: deploy/docs/api.md, Console sessions.
func Mount(r api.Router, a *access.Access, cfg Config) {
	h := sessionRoutes{access: a, cfg: cfg}
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/auth/session", Permission: domain.ViewProject, Tag: "console",
		Summary: "Who calls, and to which projects the caller is signed in.", Response: session{},
	}, h.session)
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/auth/sessions", Permission: domain.Authenticated, Tag: "console",
		Summary: "List the browsers in which the caller's user is signed in.", Response: browserSessions{},
	}, h.sessions)
}

type (
	sessionUser struct {
		ID       string `json:"id"`
		Email    string `json:"email"`
		Username string `json:"username"`
	}
	session struct {
		User      sessionUser              `json:"user"`
		Projects  []access.SignedInProject `json:"projects"`
		ExpiresAt *time.Time               `json:"expires_at,omitempty"`
		Version   string                   `json:"version"`
		Features  map[string]bool          `json:"features"`
	}
	browserSessions struct {
		Count    int                     `json:"count"`
		Sessions []access.BrowserSession `json:"sessions"`
	}
)

type sessionRoutes struct {
	access *access.Access
	cfg    Config
}

func (h sessionRoutes) session(c *gin.Context) error {
	ctx := c.Request.Context()
	caller := domain.PrincipalFrom(ctx)
	profile, err := h.access.Profile(ctx, caller)
	if err != nil {
		return err
	}
	projects, err := h.access.SignedIn(ctx, caller)
	if err != nil {
		return err
	}
	reply := session{
		User:     sessionUser{ID: profile.ID.String(), Email: profile.Email, Username: profile.Username},
		Projects: projects, Version: h.cfg.Version, Features: h.cfg.Features,
	}
	if !caller.Expires.IsZero() {
		reply.ExpiresAt = &caller.Expires
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, reply)
	return nil
}

func (h sessionRoutes) sessions(c *gin.Context) error {
	found, err := h.access.BrowserSessions(c.Request.Context(), domain.PrincipalFrom(c.Request.Context()))
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, browserSessions{Count: len(found), Sessions: found})
	return nil
}
