package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/write/invoke/handler"
)

// receiver is a host that answers with the header X-Key that it got, or sends the caller on.
func receiver(t *testing.T, redirectTo string) (address, host string, reached *[]string) {
	t.Helper()
	reached = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reached = append(*reached, r.Header.Get("X-Key"))
		if redirectTo != "" {
			http.Redirect(w, r, redirectTo, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, strings.TrimPrefix(server.URL, "http://"), reached
}

// An editor who writes a revision chooses its address. A secret goes only to the hosts that it
// names, whatever leads elsewhere.
func TestSecretGoesToItsHostsOnly(t *testing.T) {
	t.Parallel()
	theirs, theirHost, stolen := receiver(t, "")
	named, namedHost, got := receiver(t, "")
	leading, leadingHost, first := receiver(t, theirs)
	onward, onwardHost, between := receiver(t, named)
	cfg := DefaultConfig()
	cfg.AllowPrivate = true
	i := hooked(cfg, map[string]credential.Secret{
		"hook": {Value: "sign-12345", Hosts: []string{theirHost}}, "openai": {Value: "sk-12345678", Hosts: []string{theirHost}},
		"token": {Value: "token-12345", Hosts: []string{namedHost, leadingHost, onwardHost}}, "unbound": {Value: "token-67890"},
	})
	call := func(address, slug string) error {
		c := near(t, address)
		c.Redactor = &handler.Redactor{}
		c.Revision.Headers = map[string]any{"X-Key": map[string]any{"slug": slug}}
		_, err := i.hook(t.Context(), c)
		return err
	}
	for _, tt := range []struct{ address, slug, says string }{
		{theirs, "token", `The secret "token" may not be sent to ` + theirHost},
		{theirs, "unbound", `The secret "unbound" may not be sent to ` + theirHost},
		{theirs, "hook", "never sent in a header"},
		{theirs, "openai", "never sent in a header"},
		{strings.Replace(theirs, "//", "//"+namedHost+"@", 1), "token", "must not hold credentials"},
		{"http://localhost" + named[strings.LastIndexByte(named, ':'):], "token", "may not be sent to localhost"},
	} {
		err := call(tt.address, tt.slug)
		require.Equal(t, domain.Rejected, domain.KindOf(err), "%s to %s: %v", tt.slug, tt.address, err)
		require.Contains(t, handler.Message(err), tt.says)
	}
	require.Empty(t, *stolen)
	require.Empty(t, *got)

	require.NoError(t, call(named, "token"))
	require.Equal(t, []string{"token-12345"}, *got)
	require.NoError(t, call(leading, "token"))
	require.Equal(t, []string{"token-12345"}, *first)
	require.Equal(t, []string{""}, *stolen, "a redirect leads to a host that the secret does not name")
	require.NoError(t, call(onward, "token"))
	require.Equal(t, []string{"token-12345"}, *between)
	require.Equal(t, []string{"token-12345", "token-12345"}, *got, "a redirect leads to a host that the secret names")
}

// A request that has lost its TLS gets no secret, even if its host is named.
func TestSecretIsNotSentInTheClearAfterTLS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to string
		kept     bool
	}{
		{"https://a.example/x", "https://a.example/y", true},
		{"http://a.example/x", "https://a.example/y", true},
		{"https://a.example/x", "https://b.example/y", true},
		{"https://a.example/x", "http://a.example/y", false},
		{"https://a.example/x", "https://c.example/y", false},
	} {
		ctx, lent := withLent(t.Context())
		lent.headers = []lentHeader{{"X-Key", credential.Secret{Value: "token-12345", Hosts: []string{"a.example:443", "a.example:80", "b.example:443"}}}}
		first, err := http.NewRequestWithContext(ctx, http.MethodPost, tt.from, nil)
		require.NoError(t, err)
		next, err := http.NewRequestWithContext(ctx, http.MethodPost, tt.to, nil)
		require.NoError(t, err)
		next.Header.Set("X-Key", "token-12345")
		require.NoError(t, DefaultConfig().client().CheckRedirect(next, []*http.Request{first}))
		require.Equal(t, tt.kept, next.Header.Get("X-Key") != "", "%s to %s", tt.from, tt.to)
	}
}
