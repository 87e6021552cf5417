package server

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"colonnade/cmd/internal/server/cors"
)

// allowPages writes the headers for pages of configured origins, on errors too, and answers
// preflight requests. Source: contract §0 row 50.
func (s *Server) allowPages(c *gin.Context) {
	if len(s.pages.Origins) == 0 {
		return
	}
	c.Writer.Header().Add("Vary", "Origin")
	origin := s.pages.Foreign(c.Request)
	method := cors.Preflight(c.Request)
	if origin == "" || method != "" && !s.opensPath(method, c.Request.URL.Path) ||
		method == "" && c.FullPath() != "" && !s.pages.Opens(s.permissions[c.Request.Method+" "+c.FullPath()]) {
		return
	}
	cors.Allow(c.Writer.Header(), c.Request, origin)
	if method != "" {
		c.AbortWithStatus(http.StatusNoContent)
	}
}

// opensPath reports whether pages may call a path. With reads, a path that is no route
// without parameters is open: the request that follows is checked by its route.
func (s *Server) opensPath(method, path string) bool {
	if _, known := s.static[path]; known {
		return s.pages.Opens(s.permissions[method+" "+path])
	}
	return s.pages.Reads
}
