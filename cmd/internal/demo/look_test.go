package demo

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands to go on with are printed wherever the output goes, the key is not.
func TestTheDemoPrintsNoKey(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"data/api-key": `export COLONNADE_API_KEY="$(cat 'data/api-key')"`, "": `export COLONNADE_API_KEY="your API key"`} {
		var out strings.Builder
		whereNext(&out, Plan{BaseURL: "http://127.0.0.1:8080", Key: "prefix00.secret", KeyFile: file}, "0af7651916cd43dd8448eb211c80319c")
		require.NotContains(t, out.String(), "secret")
		require.Contains(t, out.String(), want)
		require.Contains(t, out.String(), "http://127.0.0.1:8080/api/traces/0af7651916cd43dd8448eb211c80319c -H \"Authorization: ApiKey $COLONNADE_API_KEY\"")
	}
}
