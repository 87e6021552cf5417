package secrets

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestSealBindsToItsPlace(t *testing.T) {
	t.Parallel()
	old, next := strings.Repeat("a", leastKey), strings.Repeat("b", leastKey)
	s, err := newSeals(old)
	require.NoError(t, err)
	at := place{domain.ProjectID{1}, "openai"}
	sealed, err := s.seal(rand.Reader, at, "sk-secret")
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "secret")
	again, err := s.seal(rand.Reader, at, "sk-secret")
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "a nonce of its own")

	value, err := s.open(at, sealed)
	require.NoError(t, err)
	require.Equal(t, "sk-secret", value)
	for _, other := range []place{{domain.ProjectID{2}, "openai"}, {domain.ProjectID{1}, "groq"}} {
		_, err := s.open(other, sealed)
		require.ErrorIs(t, err, errSeal)
	}
	rotated, err := newSeals(next, old)
	require.NoError(t, err)
	value, err = rotated.open(at, sealed)
	require.NoError(t, err)
	require.Equal(t, "sk-secret", value)
	forgotten, err := newSeals(next, "")
	require.NoError(t, err)
	_, err = forgotten.open(at, sealed)
	require.ErrorIs(t, err, errSeal)
	for n := range sealed {
		broken := append([]byte{}, sealed...)
		broken[n] ^= 1
		_, err := s.open(at, broken)
		require.ErrorIs(t, err, errSeal)
		_, err = s.open(at, sealed[:n])
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
