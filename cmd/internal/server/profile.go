package server

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
)

// mountProfiles lets an administrator see where time and memory go, in the
// format of go tool pprof. A profile shows names of code, never data.
func (s *Server) mountProfiles() {
	s.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/admin/profiles/:name", Permission: domain.Admin, Tag: "process",
		Summary: "A profile of the process: cpu, heap, allocs, goroutine, mutex or block.",
		Query:   []domain.Parameter{{Name: "seconds", Type: "integer", Doc: "How long to look; for cpu, 1 to 20, default 10."}},
	}, s.profile)
}

func (s *Server) profile(c *gin.Context) error {
	name := c.Param("name")
	c.Header("Content-Type", "application/octet-stream")
	if name != "cpu" {
		p := pprof.Lookup(name)
		if p == nil {
			return domain.E(domain.NotFound, "There is no profile %q.", name)
		}
		return p.WriteTo(c.Writer, 0)
	}
	seconds, err := strconv.Atoi(c.DefaultQuery("seconds", "10"))
	if err != nil || seconds < 1 || seconds > 20 {
		return domain.E(domain.Rejected, "seconds must be between 1 and 20.")
	}
	if err := pprof.StartCPUProfile(c.Writer); err != nil {
		return domain.Wrap(domain.Conflict, fmt.Errorf("server: %w", err), "Another CPU profile is being taken.")
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-c.Request.Context().Done():
	}
	return nil
}
