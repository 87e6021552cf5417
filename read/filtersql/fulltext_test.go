package filtersql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter/filterjson"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// The full-text index is asked for the longest word of a search, and alone
// where the word is all of it; never where there is no such word, below a
// minus, or where there is no index.
func TestFullTextIndexIsAsked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		search string
		words  string // comma-separated
		alone  bool
	}{
		{search: "Paris", words: "paris", alone: true},
		{search: "12345", words: "12345", alone: true},
		{search: "refund-policy", words: "refund"},
		{search: "under_score", words: "under"},
		{search: `"in the mountains"`, words: "mountains"},
		{search: "rain snow hail", words: "rain,snow,hail", alone: true},
		{search: "the"},
		{search: "naïveté"},
		{search: "ÉCOLE", words: "cole"},
		{search: `"rue des écoles"`, words: "coles"},
		{search: "100%"},
		{search: "-paris"},
		{search: "spring -paris", words: "spring"},
	}
	for _, tt := range tests {
		t.Run(tt.search, func(t *testing.T) {
			t.Parallel()
			e, err := filterjson.Parse(fmt.Appendf(nil, `{"conditions":[{"field":"content","operator":"contains","value":%q}]}`, tt.search))
			require.NoError(t, err)
			c, err := filtersql.Filter(e)
			require.NoError(t, err)
			require.Equal(t, tt.words != "", c.FullText)
			c.Types = c.Types[:1]
			scan := statements.Scan{Project: domain.ProjectID(uuid.New()), Condition: c, Range: order.Everything(), Limit: 1, SkipRecheck: true}
			require.NotContains(t, scan.Keys().SQL, "LIKE")
			scan.FullTextIndex = true
			text := scan.Keys().SQL
			for word := range strings.SplitSeq(tt.words, ",") {
				if word != "" {
					require.Contains(t, text, schema.ContentText+" LIKE '%"+word+"%'")
				}
			}
			require.Equal(t, strings.Count(tt.words, ",")+min(len(tt.words), 1), strings.Count(text, "LIKE"))
			require.Equal(t, tt.alone, !strings.Contains(text, "position(") && !strings.Contains(text, "match("))
		})
	}
}
