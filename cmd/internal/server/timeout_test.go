package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/server"
	"colonnade/domain"
)

// A client that waits never gets a 499: only its connection's
// context says so. Contract §0 row 61.
func TestWhoEndedARequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fails func(ctx context.Context) error
		// leaves is when the client closes its connection; zero means never.
		leaves time.Duration
		status int
	}{
		{"our timeout", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0, 503},
		{"a driver that calls our timeout a cancellation", func(ctx context.Context) error { <-ctx.Done(); return context.Canceled }, 0, 503},
		{"a timeout of a part", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}, 0, 503},
		{"a cancelled part", func(context.Context) error { return context.Canceled }, 0, 503},
		{"a refusal at our timeout", func(ctx context.Context) error {
			<-ctx.Done()
			return domain.Wrap(domain.Rejected, ctx.Err(), "Narrow it.")
		}, 0, 400},
		{"no slot in time", func(ctx context.Context) error {
			<-ctx.Done()
			return domain.Wrap(domain.TooMany, ctx.Err(), "Wait.")
		}, 0, 429},
		{"the client left", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, time.Second, 499},
		{"the client left, and the store was blamed", func(ctx context.Context) error {
			<-ctx.Done()
			return domain.Wrap(domain.Unavailable, ctx.Err(), "No store.")
		}, time.Second, 499},
		{"another failure after the client left", func(ctx context.Context) error { <-ctx.Done(); return errors.New("broken") }, time.Second, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				s.Handle(get("/slow", domain.Public), func(c *gin.Context) error { return tt.fails(c.Request.Context()) })
				ctx := t.Context()
				if tt.leaves > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					time.AfterFunc(tt.leaves, cancel)
				}
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/slow", nil))
				require.Equal(t, tt.status, w.Code, w.Body.String())
				require.Equal(t, tt.status == 503 || tt.status == 429, w.Header().Get("Retry-After") != "")
			})
		})
	}
}

// A store that hangs and does not notice the end of its context delays neither
// this answer nor the next.
func TestReadinessAnswersWhileAProbeHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		hangs := make(chan struct{})
		s := newServer(t, func(_ *server.Config, d *server.Deps) {
			d.Checks = []server.Check{{Name: "clickhouse", Probe: func(context.Context) error {
				asked.Add(1)
				<-hangs
				return nil
			}}}
		})
		for range 3 {
			start := time.Now()
			w := s.do("GET", "/readyz", "", nil)
			require.Equal(t, 503, w.Code)
			require.Equal(t, 2*time.Second, time.Since(start))
			require.Contains(t, s.do("GET", "/status", "ApiKey viewer", nil).Body.String(), "no answer within 2s")
		}
		require.EqualValues(t, 1, asked.Load())
		close(hangs)
		synctest.Wait()
		require.Equal(t, 200, s.do("GET", "/readyz", "", nil).Code)
	})
}
