//go:build embedded

package migrations

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/migrations/schema"
)

// What people read of a document is what readers do, found by the key of the
// table; and no table has columns that each of its statements would analyse.
func TestTextsOfDocuments(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	_, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO span_payloads_packed (project_id, stream_offset, text, head, lengths)
SELECT toUUID('01890a5d-ac96-774b-bcce-b302099a8057'), 7, 'iooppp4444eeeeeaaaaaa', 'lllllllrrrrrrrrsssssssssthe rest', unhex(arrayStringConcat(arrayMap(n -> hex(reinterpretAsFixedString(toUInt32(n))), range(1, 10))))`))
	names := []string{"inputs", "outputs", "parameters", "internals", "events", "attributes", "links", "resource", "scope"}
	for i, want := range []string{"i", "oo", "ppp", "4444", "eeeee", "aaaaaa", "lllllll", "rrrrrrrr", "sssssssss"} {
		var view, expression string
		const where = " WHERE project_id = '01890a5d-ac96-774b-bcce-b302099a8057' AND stream_partition = 0 AND stream_offset = 7"
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+names[i]+" FROM span_payloads"+where).Scan(&view))
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+schema.PayloadExpression(names[i])+" FROM span_payloads_packed"+where).Scan(&expression))
		require.Equal(t, []string{want, want}, []string{view, expression})
	}
	require.Panics(t, func() { schema.PayloadExpression("text") })

	lines := func(statement string) (out []string) {
		rows, err := conn.Query(t.Context(), statement)
		require.NoError(t, err)
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			out = append(out, strings.TrimSpace(line))
		}
		require.NoError(t, rows.Err())
		return out
	}
	require.Contains(t, lines("EXPLAIN indexes = 1 SELECT outputs FROM span_payloads WHERE project_id = '01890a5d-ac96-774b-bcce-b302099a8057' AND stream_partition = 0 AND stream_offset = 8"), "Granules: 0/1")
	require.Empty(t, lines("SELECT concat(table, '.', name) FROM system.columns WHERE database = currentDatabase() AND default_kind = 'ALIAS'"))
}
