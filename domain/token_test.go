package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"one", "0:12", "0:12"},
		{"sorted by partition", "3:1,0:7", "0:7,3:1"},
		{"the later position of a partition wins", "1:5,1:9,1:2", "1:9"},
		{"blanks around a pair", "0:1, 2:3", "0:1,2:3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := domain.ParseToken(tt.in)
			require.NoError(t, err)
			require.Equal(t, tt.want, got.String())
		})
	}
}

func TestTokenRefusesWhatIsNotOne(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"x", "1", "1:", ":1", "-1:3", "1:-3", "1:2,,", "99999999999:1"} {
		_, err := domain.ParseToken(in)
		require.Equal(t, domain.Rejected, domain.KindOf(err), in)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("0:12,3:4")
	f.Fuzz(func(t *testing.T, in string) {
		tok, err := domain.ParseToken(in)
		if err != nil {
			return
		}
		again, err := domain.ParseToken(tok.String())
		require.NoError(t, err)
		require.Equal(t, tok, again)
	})
}
