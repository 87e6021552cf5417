package deletion

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/write/sink/clickhouse"
)

// The spans of a large edit are named by conditions that each fit a statement,
// and none calls a function for each: the store takes fifty thousand nodes.
func TestManySpansFitStatements(t *testing.T) {
	t.Parallel()
	tr := &Trace{Stored: true, Annotated: true, Spans: map[trace.SpanID]bool{}}
	for n := range 30_000 {
		tr.Spans[trace.SpanID{1, byte(n >> 8), byte(n)}] = true
	}
	var r removals
	r.spans(tr, 7)
	r.ofAnnotations(tr, 7)
	for _, conditions := range [][]string{r.Spans, r.Payloads, r.Annotations} {
		named := 0
		for _, which := range conditions {
			require.LessOrEqual(t, len(which), clickhouse.ConditionBytes)
			require.LessOrEqual(t, strings.Count(which, "("), 20)
			named += strings.Count(which, `'\x01`)
		}
		require.Equal(t, len(tr.Spans), named)
	}
	require.Len(t, r.Buckets, 1)
	require.Len(t, r.Totals, 1)
}
