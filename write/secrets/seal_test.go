package secrets

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
)

func TestSealBindsToPlaceAndHosts(t *testing.T) {
	t.Parallel()
	old, next := strings.Repeat("a", leastKey), strings.Repeat("b", leastKey)
	s, err := newSeals(old)
	require.NoError(t, err)
	at := place{domain.ProjectID{1}, "openai"}
	hosts := []string{"api.example.com:443", "b.example:80"}
	secret := credential.Secret{Value: "sk-secret", Hosts: hosts}
	sealed, err := s.seal(rand.Reader, at, secret)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "secret")
	again, err := s.seal(rand.Reader, at, secret)
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "a nonce of its own")

	value, err := s.open(at, hosts, sealed)
	require.NoError(t, err)
	require.Equal(t, "sk-secret", value)
	for _, other := range []place{{domain.ProjectID{2}, "openai"}, {domain.ProjectID{1}, "groq"}} {
		_, err := s.open(other, hosts, sealed)
		require.ErrorIs(t, err, errSeal)
	}
	for _, other := range [][]string{nil, hosts[:1], {"evil.example:443"}, append(hosts[:2:2], "evil.example:443"), {hosts[0] + hosts[1]}} {
		_, err := s.open(at, other, sealed)
		require.ErrorIs(t, err, errSeal)
	}
	rotated, err := newSeals(next, old)
	require.NoError(t, err)
	value, err = rotated.open(at, hosts, sealed)
	require.NoError(t, err)
	require.Equal(t, "sk-secret", value)
	forgotten, err := newSeals(next, "")
	require.NoError(t, err)
	_, err = forgotten.open(at, hosts, sealed)
	require.ErrorIs(t, err, errSeal)
	for n := range sealed {
		broken := append([]byte{}, sealed...)
		broken[n] ^= 1
		_, err := s.open(at, hosts, broken)
		require.ErrorIs(t, err, errSeal)
		_, err = s.open(at, hosts, sealed[:n])
		require.ErrorIs(t, err, errSeal)
	}
	none, err := newSeals("", "")
	require.NoError(t, err)
	require.False(t, none.any())
}

func TestConfigWantsALongKey(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	require.Error(t, Config{EncryptionKey: "short"}.Validate())
	require.Error(t, Config{PreviousEncryptionKey: "short"}.Validate())
}
