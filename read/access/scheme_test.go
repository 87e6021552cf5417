package access

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchemes(t *testing.T) {
	t.Parallel()
	basic := func(pair string) string { return base64.StdEncoding.EncodeToString([]byte(pair)) }
	tests := []struct {
		name, header, key string
		ok                bool
	}{
		{"ApiKey", "ApiKey k.1", "k.1", true},
		{"in any letters", " apikey   k.1 ", "k.1", true},
		{"the key alone", "k.1", "k.1", true},
		{"an escaped blank", "ApiKey%20k.1", "k.1", true},
		{"Bearer", "Bearer k.1", "k.1", true},
		{"Bearer with an escaped blank", "Bearer%20k.1", "k.1", true},
		{"Basic", "Basic " + basic("pk-lf-public:k.1"), "k.1", true},
		{"Basic without a user", "Basic " + basic(":k.1"), "k.1", true},
		{"Basic of an URL's alphabet", "Basic " + base64.URLEncoding.EncodeToString([]byte("~~~???:k.1")), "k.1", true},
		{"Basic, escaped", "Basic%20" + base64.RawStdEncoding.EncodeToString([]byte("ab:k.1")) + "%3D", "k.1", true},
		{"Basic without a colon", "Basic " + basic("k.1"), "", false},
		{"Basic that is no base64", "Basic *", "", false},
		{"another scheme", "Digest k.1", "", false},
		{"a bad escape stays", "ApiKey%20k%zz", "ApiKey%20k%zz", true},
		{"nothing", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, ok := apiKeyOf(splitScheme(tt.header))
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.key, key)
		})
	}
}
