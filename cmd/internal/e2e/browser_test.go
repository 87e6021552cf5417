//go:build embedded && console

package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/demo"
)

// A real Chromium drives the console of this service over the demo: read/console/web/e2e
// says what must hold. `make test-console` runs it.
func TestConsoleInBrowser(t *testing.T) {
	s := newService(t)
	web := httptest.NewServer(s.Server.Handler())
	t.Cleanup(web.Close)
	plan := demo.Plan{BaseURL: web.URL, Key: s.keys["ours owner"], Traces: 60, Over: 6 * time.Hour, Seed: 1}
	require.NoError(t, demo.Run(t.Context(), plan, io.Discard, time.Now))
	link := s.as("ours owner", http.MethodPost, "/auth/links", "")
	require.Equal(t, http.StatusOK, link.Code, link.Text)
	url, _ := link.Body["url"].(string)

	cmd := exec.CommandContext(t.Context(), "node", "e2e/run.mjs")
	cmd.Dir = "../../../read/console/web"
	cmd.Env = append(os.Environ(), "COLONNADE_TEST_URL="+web.URL, "COLONNADE_TEST_LINK="+url, "COLONNADE_TEST_KEY="+s.keys["ours owner"], "COLONNADE_TEST_VIEWER="+s.keys["ours viewer"])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(t, cmd.Run())
}
