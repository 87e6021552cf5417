package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
)

// A caller who sends no token is lent that of its own last writes, for a while.
func TestACallerReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(_ *server.Config, d *server.Deps) {
			d.Authenticate = func(_ context.Context, header string) (domain.Principal, error) {
				key := strings.TrimPrefix(header, "ApiKey ")
				return domain.Principal{Project: domain.ProjectID{1}, Role: domain.RoleEditor, KeyPrefix: key}, nil
			}
		})
		write := func(path string, remember bool) {
			op := domain.Operation{Method: http.MethodPost, Path: path, Permission: domain.EditSpans, Remember: remember}
			s.Handle(op, func(c *gin.Context) error {
				c.Header(domain.TokenHeader, c.Query("token"))
				return nil
			})
		}
		write("/edit", true)
		write("/export", false)
		s.Handle(get("/read", domain.ViewSpans), func(c *gin.Context) error {
			c.String(http.StatusOK, c.GetHeader(domain.TokenHeader))
			return nil
		})
		read := func(key string, headers ...string) string {
			return s.do(http.MethodGet, "/read", "ApiKey "+key, nil, headers...).Body.String()
		}
		s.do(http.MethodPost, "/export?token=9:9", "ApiKey a", nil)
		require.Empty(t, read("a"), "what streams in without end is not waited for")
		s.do(http.MethodPost, "/edit?token=0:5,1:2", "ApiKey a", nil)
		s.do(http.MethodPost, "/edit?token=1:7", "ApiKey a", nil)
		require.Equal(t, "0:5,1:7", read("a"))
		require.Empty(t, read("b"), "another key")
		require.Equal(t, "3:3", read("a", domain.TokenHeader, encrypted(t, "3:3")), "the caller's own token goes before")
		time.Sleep(11 * time.Second)
		require.Empty(t, read("a"))
		s.do(http.MethodPost, "/edit?token=2:1", "ApiKey a", nil)
		require.Equal(t, "2:1", read("a"))
	})
}
