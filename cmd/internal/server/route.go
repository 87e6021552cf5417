package server

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
)

// Handler serves every mounted operation.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		normalise(r)
		s.engine.ServeHTTP(w, r)
	})
}

// normalise strips leading /api segments and one trailing slash, so that
// every spelling of a route is the same to the router. Source: contract §1.1.
func normalise(r *http.Request) {
	path := r.URL.Path
	for {
		rest, ok := strings.CutPrefix(path, "/api")
		if !ok || rest != "" && rest[0] != '/' {
			break
		}
		path = rest
	}
	if path == "" {
		path = "/"
	}
	if isConsole(path) {
		if _, raw, ok := strings.Cut(r.URL.RawPath, consoleRoot+"/"); ok {
			r.URL.RawPath = consoleRoot + "/" + raw
		}
		r.URL.Path = path
		return
	}
	r.URL.Path, r.URL.RawPath = withoutSlash(path), ""
}

// noRoute answers a path that is no route. Below the address of another product's API the
// reply lists what is served there.
func (s *Server) noRoute(c *gin.Context) {
	const foreign = "/public/"
	err := errNoRoute
	if strings.HasPrefix(c.Request.URL.Path, foreign) {
		var served []string
		for _, op := range s.operations {
			if strings.HasPrefix(op.Path, foreign) {
				served = append(served, op.Method+" /api"+op.Path)
			}
		}
		err = domain.E(domain.NotFound, "Of the API of Langfuse, Colonnade serves %s.", strings.Join(served, ", "))
	}
	fails(err)(c)
}

func withoutSlash(path string) string {
	if len(path) > 1 {
		return strings.TrimSuffix(path, "/")
	}
	return path
}
