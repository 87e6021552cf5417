package credential_test

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/credential"
)

func positions(t *testing.T, key string) credential.Positions {
	t.Helper()
	p, err := credential.NewPositions([]byte(key))
	require.NoError(t, err)
	return p
}

func TestPositionsRoundTrip(t *testing.T) {
	t.Parallel()
	p := positions(t, "the key of an installation")
	encrypt := func(plain string) string {
		token, err := domain.ParseToken(plain)
		require.NoError(t, err)
		text, err := p.Encrypt(rand.Reader, token)
		require.NoError(t, err)
		return text
	}
	for in, want := range map[string]string{
		"": "", " ": "", encrypt("0:12"): "0:12", encrypt("3:1,0:7"): "0:7,3:1", encrypt("2147483647:9223372036854775807"): "2147483647:9223372036854775807",
		encrypt("0:12") + "," + encrypt("0:9,1:4"):              "0:12,1:4",
		encrypt("1:1") + " , " + encrypt("1:2,2:2"):             "1:2,2:2",
		strings.Repeat(encrypt("0:1")+",", 15) + encrypt("5:5"): "0:1,5:5",
	} {
		got, err := p.Decrypt(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String())
	}
	first, second := encrypt("0:12"), encrypt("0:12")
	require.NotEqual(t, first, second, "two tokens of one position are not alike")
}

// A client can neither read a token, nor make one up: the answer to one would tell how far
// the log is.
func TestPositionsAreNotReadable(t *testing.T) {
	t.Parallel()
	p := positions(t, "the key of an installation")
	text, err := p.Encrypt(rand.Reader, domain.Token{{Partition: 3, Offset: 1_000_000}})
	require.NoError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	for _, in := range []string{"3:1000000", "0:0", "x", "=", text + "=", text[:len(text)-2], text + "," + "0:1", ",", text + ",", strings.Repeat(text+",", 16) + text} {
		_, err := p.Decrypt(in)
		require.Equal(t, domain.Rejected, domain.KindOf(err), in)
	}
	for i := range raw {
		raw[i] ^= 1
		_, err := p.Decrypt(base64.RawURLEncoding.EncodeToString(raw))
		require.Equal(t, domain.Rejected, domain.KindOf(err), "byte %d", i)
		raw[i] ^= 1
	}
	_, err = positions(t, "the key of another installation").Decrypt(text)
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	_, err = credential.NewPositions([]byte("short"))
	require.Error(t, err)
}

func FuzzPositions(f *testing.F) {
	p, err := credential.NewPositions([]byte("the key of an installation"))
	require.NoError(f, err)
	f.Add("AQID,x")
	f.Fuzz(func(t *testing.T, in string) {
		if token, err := p.Decrypt(in); err == nil {
			require.Empty(t, token, "nobody guesses a token")
		}
	})
}
