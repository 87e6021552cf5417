package credential_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/credential"
)

func TestParseHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"api.example.com": "api.example.com:443", "API.Example.com.": "api.example.com:443", "api.example.com:8443": "api.example.com:8443",
		"localhost:80": "localhost:80", "10.0.0.7": "10.0.0.7:443", "[::1]:80": "[::1]:80", "[2001:DB8::1]": "[2001:db8::1]:443", "2001:db8::1": "[2001:db8::1]:443",
		"xn--exmple-cua.com": "xn--exmple-cua.com:443", "a_b.internal": "a_b.internal:443",
	} {
		got, err := credential.ParseHost(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{
		"", ".", "*", "*.example.com", "https://example.com", "example.com/path", "user@example.com", "example.com:", "example.com:0", "example.com:65536",
		"example.com:+80", "example.com:080", "exa mple.com", "exämple.com", "a..b", "example.com,b.com", strings.Repeat("a.", 127) + "com",
	} {
		_, err := credential.ParseHost(in)
		require.Error(t, err, in)
	}
}

// What a URL says in another spelling is compared as what net/http connects to.
func TestSecretReachesItsHostsOnly(t *testing.T) {
	t.Parallel()
	secret := credential.Secret{Hosts: []string{"api.example.com:443", "hooks.internal:8080", "[2001:db8::1]:443"}}
	for address, want := range map[string]bool{
		"https://api.example.com/x": true, "https://API.example.com./x": true, "https://api.example.com:443": true, "http://hooks.internal:8080": true,
		"https://[2001:DB8:0::1]/": true,
		"http://api.example.com/x": false, "https://api.example.com:8443": false, "http://hooks.internal": false, "https://example.com": false,
		"https://api.example.com.evil.example": false, "https://api.example.com@evil.example": false, "https://xapi.example.com": false,
		"https://evil.example/api.example.com": false, "https://evil.example#api.example.com": false, "https://\uff41pi.example.com": false,
	} {
		u, err := url.Parse(address)
		require.NoError(t, err, address)
		require.Equal(t, want, secret.MayReach(u), address)
	}
	u, err := url.Parse("https://api.example.com")
	require.NoError(t, err)
	require.False(t, credential.Secret{}.MayReach(u))
}
