package credential_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/credential"
)

func TestKeyRoundTrip(t *testing.T) {
	t.Parallel()
	key, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9]{8}\.[0-9a-f]{64}$`, key.Reveal())
	again, ok := credential.ParseKey(key.Reveal())
	require.True(t, ok)
	require.Equal(t, key, again)
	require.True(t, again.Matches(key.Digest()))
	other, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	require.False(t, other.Matches(key.Digest()))
	require.False(t, key.Matches(nil))
}

func TestKeyPrintsNoSecret(t *testing.T) {
	t.Parallel()
	key, err := credential.NewKey(rand.Reader)
	require.NoError(t, err)
	_, secret, _ := strings.Cut(key.Reveal(), ".")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(verb, key), secret, verb)
	}
}

func TestNewKeyWithoutRandomness(t *testing.T) {
	t.Parallel()
	_, err := credential.NewKey(bytes.NewReader(make([]byte, 33)))
	require.Error(t, err)
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("a1", 32)
	for _, in := range []string{"", ".", "abcdefgh", "abcdefgh.", "abcdefg." + secret, "abcdefg!." + secret, "abcdefgh." + secret + "00", "abcdefgh." + strings.Repeat("g", 64), "abcdefgh " + secret} {
		_, ok := credential.ParseKey(in)
		require.False(t, ok, in)
	}
}

func TestTicket(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	secret := []byte("secret")
	ticket := credential.Ticket{Project: uuid.New(), User: uuid.New(), KeyPrefix: "abcdefgh", Expires: now.Add(credential.TicketLifetime).Unix()}
	signed, err := ticket.Sign(secret)
	require.NoError(t, err)

	got, err := credential.ParseTicket(signed, secret, now)
	require.NoError(t, err)
	require.Equal(t, ticket, got)

	_, err = credential.ParseTicket(signed, secret, now.Add(credential.TicketLifetime))
	require.ErrorIs(t, err, credential.ErrExpiredTicket)
	_, err = credential.ParseTicket(signed, []byte("other"), now)
	require.ErrorIs(t, err, credential.ErrInvalidTicket)
	parts := strings.Split(signed, ".")
	for _, forged := range []string{"", "a.b", parts[0] + "." + parts[1] + ".", "eyJhbGciOiJub25lIn0." + parts[1] + ".", signed + "x"} {
		_, err = credential.ParseTicket(forged, secret, now)
		require.ErrorIs(t, err, credential.ErrInvalidTicket, forged)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("abcdefgh." + strings.Repeat("a1", 32))
	f.Fuzz(func(t *testing.T, in string) {
		key, ok := credential.ParseKey(in)
		if !ok {
			return
		}
		again, ok := credential.ParseKey(key.Reveal())
		require.True(t, ok)
		require.Equal(t, key, again)
	})
}

func FuzzParseTicket(f *testing.F) {
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, in string) {
		_, err := credential.ParseTicket(in, []byte("secret"), time.Unix(0, 0))
		require.Error(t, err, "nobody signed this")
	})
}
