//go:build embedded

package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// hookCall is a request as a hook got it.
type hookCall struct {
	header http.Header
	body   string
}

// Contract §6: a hook revision is run by a signed POST to its URL, and leaves a
// trace like any other; an address of this machine is called only where the
// configuration allows it.
func TestInvokeHook(t *testing.T) {
	t.Parallel()
	calls := make(chan hookCall, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- hookCall{r.Header, string(body)}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"outputs":{"city":"Paris"}}`)
	}))
	t.Cleanup(receiver.Close)
	const byName = `{"data":{"inputs":{"country":"France"}},"references":{"application":{"slug":"hooked"}}}`
	application := `{"application":{"slug":"hooked","name":"hooked","data":{"uri":"svc:custom:hook:v0","url":"` + receiver.URL + `/run"}}}`

	s := newService(t, "COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true", "COLONNADE_SECRETS_ENCRYPTION_KEY=a key of more than thirty-two characters")
	s.ok(http.StatusOK, http.MethodPost, "/simple/applications/", application)
	s.ok(http.StatusOK, http.MethodPut, "/secrets/hook", `{"secret":{"value":"to sign with"}}`)
	got := s.ok(http.StatusOK, http.MethodPost, "/services/invoke", byName)
	require.Equal(t, map[string]any{"city": "Paris"}, got.at("outputs"))
	call := <-calls
	require.Contains(t, call.body, `"country":"France"`)
	require.Contains(t, call.header.Get("traceparent"), got.at("trace_id"))
	mac := hmac.New(sha256.New, []byte("to sign with"))
	mac.Write([]byte(call.header.Get("X-Colonnade-Timestamp") + "." + call.body))
	require.Equal(t, "v1="+hex.EncodeToString(mac.Sum(nil)), call.header.Get("X-Colonnade-Signature"))
	root := s.traceOf(got)["hooked"]
	require.Equal(t, map[string]any{"city": "Paris"}, at(root, "attributes", "ag", "data", "outputs"))
	require.Equal(t, "hooked", at(root, "attributes", "ag", "references", "application", "slug"))

	closed := newService(t)
	closed.ok(http.StatusOK, http.MethodPost, "/simple/applications/", application)
	refused := closed.do(http.MethodPost, "/services/invoke", byName)
	require.Equal(t, http.StatusBadRequest, refused.Code, refused.Text)
	require.Contains(t, refused.Text, "an address that hooks may not reach")
	require.Equal(t, "STATUS_CODE_ERROR", at(closed.traceOf(refused)["hooked"], "status_code"))
	require.Empty(t, calls)
}
