package client

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepliesOfThisMachineAreNotPacked(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true,
		"https://colonnade.example": false, "http://10.0.0.7:8080": false, "http://localhost.example": false, "%": false,
	} {
		require.Equal(t, want, ofThisMachine(base), base)
	}
	accepted := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { accepted = r.Header.Get("Accept-Encoding") }))
	defer server.Close()
	_, err := New(server.URL, "key").Do(t.Context(), http.MethodGet, "/", "", nil)
	require.NoError(t, err)
	require.Empty(t, accepted)
}
