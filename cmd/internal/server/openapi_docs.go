package server

import (
	"embed"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
)

// viewer is the page at /docs: see its README.
//
//go:embed viewer
var viewer embed.FS

// docsPolicy lets the page run its own scripts and ask this service, nothing
// else. The viewer sets styles on elements and draws with data: images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) mountDocs() {
	page := domain.Operation{Method: http.MethodGet, Path: "/docs", Permission: domain.Public, Tag: "process", Summary: "This document as a page to browse and try."}
	s.Handle(page, func(c *gin.Context) error {
		text, err := viewer.ReadFile("viewer/index.html")
		if err != nil {
			return err
		}
		html := string(text)
		// What stands beside /docs stands above /docs/.
		if asked, _, _ := strings.Cut(c.Request.RequestURI, "?"); strings.HasSuffix(asked, "/") {
			html = strings.NewReplacer(`"docs/`, `"`, `"openapi.json"`, `"../openapi.json"`).Replace(html)
		}
		return serveDocs(c, "index.html", []byte(html))
	})
	page.Path, page.Summary = "/docs/:file", "The scripts and styles of the page."
	s.Handle(page, func(c *gin.Context) error {
		name := path.Base(c.Param("file"))
		text, err := viewer.ReadFile("viewer/" + name)
		if err != nil {
			return errNoRoute
		}
		c.Header("Cache-Control", "public, max-age=86400")
		return serveDocs(c, name, text)
	})
}

func serveDocs(c *gin.Context, name string, text []byte) error {
	c.Header("Content-Security-Policy", docsPolicy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	c.Data(http.StatusOK, kind, text)
	return nil
}
