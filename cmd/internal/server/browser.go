package server

import (
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
)

// ProjectHeader names the project of a request that a browser session authenticates.
const ProjectHeader = "Colonnade-Project"

// signInPath is the one route that a browser calls without a credential in its headers, to
// get its cookie.
const signInPath = "/auth/session"

// checkOrigin refuses what a page of another origin makes a browser send: a request that
// changes something, with the cookie and without Authorization. Signing in is checked
// always: another page must not choose who is signed in.
func (s *Server) checkOrigin(r *http.Request) error {
	signsIn := r.Method == http.MethodPost && r.URL.Path == signInPath
	if r.Header.Get("Authorization") != "" && !signsIn || len(r.Header["Cookie"]) == 0 && !signsIn {
		return nil
	}
	if err := s.origins.Check(r); err != nil {
		return domain.Wrap(domain.Forbidden, err, "The request comes from a page of another origin.")
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.ContentLength == 0 {
		return nil
	}
	// A form of another page cannot send these, even from a browser that says nothing of origins.
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && (signsIn || kind != "multipart/form-data") {
		return domain.E(domain.Rejected, "The body of a request with a session's cookie is application/json or multipart/form-data.")
	}
	return nil
}

// authenticate returns the caller of the Authorization header or, without one, of the
// browser session of the cookie.
func (s *Server) authenticate(r *http.Request) (domain.Principal, error) {
	authorization := r.Header.Get("Authorization")
	if authorization == "" && s.deps.Browser != nil {
		if principal, found, err := s.deps.Browser(r, r.Header.Get(ProjectHeader)); found || err != nil {
			return principal, err
		}
	}
	return s.deps.Authenticate(r.Context(), authorization)
}

// consoleRoot is where the console lives.
const consoleRoot = "/ui"

// mountConsole mounts the console below /ui/ and sends a browser there from the root.
func (s *Server) mountConsole() {
	if s.deps.Console == nil {
		return
	}
	file := func(c *gin.Context) error { return s.deps.Console(c.Writer, c.Request) }
	for path, summary := range map[string]string{
		consoleRoot: "The web console.", consoleRoot + "/*file": "The pages and files of the web console.",
	} {
		op := domain.Operation{Method: http.MethodGet, Path: path, Permission: domain.Public, Summary: summary, Tag: "console", Produces: []string{"text/html"}}
		s.Handle(op, file)
		op.Method = http.MethodHead
		s.mount(op, path, file)
	}
	start := domain.Operation{Method: http.MethodGet, Path: "/", Permission: domain.Public, Summary: "Send a browser to the web console.", Tag: "console", Status: http.StatusFound}
	redirect := func(c *gin.Context) error {
		c.Writer.Header().Add("Vary", "Accept")
		if !prefersHTML(c.GetHeader("Accept")) {
			return domain.E(domain.NotFound, "The routes are listed at /openapi.json; the console for browsers is at /ui/.")
		}
		// Relative, because only the browser knows the prefix of a proxy.
		c.Header("Location", strings.TrimPrefix(consoleRoot, "/")+"/")
		c.Status(http.StatusFound)
		return nil
	}
	s.Handle(start, redirect)
	start.Method = http.MethodHead
	s.mount(start, "/", redirect)
}

// prefersHTML reports whether a client names HTML, as browsers do and programs do not.
func prefersHTML(accept string) bool { return strings.Contains(accept, "text/html") }

// isConsole reports whether a path without /api belongs to the console, which takes it as
// it was sent: its base depends on each slash.
func isConsole(path string) bool { return strings.HasPrefix(path, consoleRoot+"/") }
