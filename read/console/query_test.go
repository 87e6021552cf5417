package console_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/filter/filterjson"
)

// TestTheFilterParserReadsTheQueries holds both sides to one file: the console's
// tests make these filters of these texts, and the service must take each.
func TestTheFilterParserReadsTheQueries(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("web/src/url/query/testdata/cases.json")
	require.NoError(t, err)
	var cases []struct {
		Text   string          `json:"text"`
		Filter json.RawMessage `json:"filter"`
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Text, func(t *testing.T) {
			t.Parallel()
			expr, err := filterjson.Parse(c.Filter, "body", "filtering")
			require.NoError(t, err)
			require.NotNil(t, expr, "a query asks for something")
		})
	}
}
