//go:build embedded

package e2e_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What many commands bring at once is bounded at every endpoint: one
// that there is no room for may come again, and what is done with gives its room back.
func TestCommandsShareTheMemoryOfRequests(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_INGEST_MAX_IN_FLIGHT_BYTES=16384")
	filler := strings.Repeat("x", 5000)
	var upload bytes.Buffer
	form := multipart.NewWriter(&upload)
	part, err := form.CreateFormFile("file", "a.csv")
	require.NoError(t, err)
	_, err = part.Write([]byte("a\n" + filler + "\n"))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	for _, c := range []struct{ path, body, media string }{
		{"/traces/", `{"trace":{"trace_id":"` + filler + `"}}`, "application/json"},
		{"/simple/traces/", `{"trace":{"data":{"outputs":"` + filler + `"},"references":{},"links":{}}}`, "application/json"},
		{"/applications/", `{"application":{"slug":"big","description":"` + filler + `"}}`, "application/json"},
		{"/applications/revisions/commit", `{"application_revision":{"message":"` + filler + `"}}`, "application/json"},
		{"/simple/testsets/upload", upload.String(), form.FormDataContentType()},
		{"/evaluations/runs/", `{"runs":[{"name":"` + filler + `"}]}`, "application/json"},
		{"/services/completion/v0/invoke", `{"data":{"inputs":{"a":"` + filler + `"}}}`, "application/json"},
	} {
		r := s.as("ours owner", http.MethodPost, c.path, c.body, "Content-Type", c.media)
		require.Equal(t, http.StatusServiceUnavailable, r.Code, "%s: %s", c.path, r.Text)
		require.Equal(t, "1", r.Header.Get("Retry-After"), c.path)
	}
	for _, slug := range []string{"a", "b", "c"} {
		s.ok(http.StatusOK, http.MethodPost, "/applications/", `{"application":{"slug":"`+slug+`","description":"`+filler[:2500]+`"}}`)
	}
}
