//go:build embedded && sdk

package e2e_test

import (
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Python SDK of the reference runs against this service: testdata/sdk/program.py says what
// must work. `make test-sdk` installs the SDK and runs it.
func TestReferenceSDK(t *testing.T) {
	s := newService(t, "COLONNADE_INVOKE_WEBHOOK_ALLOW_PRIVATE=true", "COLONNADE_INVOKE_HOOK_TICKET_HOSTS=127.0.0.1",
		"COLONNADE_ACCESS_TICKET_SECRET="+strings.Repeat("t", 32), "COLONNADE_SECRETS_ENCRYPTION_KEY="+strings.Repeat("k", 32))
	web := httptest.NewServer(s.Server.Handler())
	t.Cleanup(web.Close)

	cmd := exec.CommandContext(t.Context(), os.Getenv("COLONNADE_TEST_PYTHON"), "program.py")
	cmd.Dir = "testdata/sdk"
	cmd.Env = append(os.Environ(), "AGENTA_HOST="+web.URL, "AGENTA_API_KEY="+s.keys["ours owner"], "SDK_PORT="+strconv.Itoa(freePort(t)), "PYTHONUNBUFFERED=1", "LITELLM_LOCAL_MODEL_COST_MAP=True")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(t, cmd.Run())
}

// freePort returns a port of this machine on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	address, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return address.Port
}
