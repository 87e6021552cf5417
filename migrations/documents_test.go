//go:build embedded

package migrations

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
	"colonnade/domain/trace/payload"
	"colonnade/migrations/schema"
)

// Documents that were written before 0011 are the same after it, at the places
// that the index of traces names, and so is what else is known of their spans.
func TestDocumentsAreCopied(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	all, err := read(files, "clickhouse")
	require.NoError(t, err)
	n := 0
	for all[n].name < "0011" {
		n++
	}
	_, err = applyClickHouse(t.Context(), conn, Deployment{}, all[:n])
	require.NoError(t, err)

	const project, other = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
	for _, statement := range []string{
		// Two spans of a trace in different records and weeks, one stored twice; one of another project at the same place.
		`INSERT INTO spans (project_id, trace_type, start_time, tie, week, trace_id, span_id, parent_id, start_ns, end_time, end_ns, version, stream_partition, created_at, updated_at, created_by_id, updated_by_id, hash_id,
  span_type, span_type_declared, trace_type_declared, span_kind, status_code, span_name, status_message, session_id, user_id, agent_id) VALUES
('` + project + `', 'annotation', '2026-03-11 12:00:00.000001', 7, '2026-03-09', unhex('0a000000000000000000000000000000'), unhex('0b00000000000000'), unhex('0c00000000000000'), 789, '2026-03-11 12:00:01.000002', 5, 3145730, 2, '2026-03-11 12:00:02.000003', '2026-03-11 12:00:03.000004',
  '01890a5d-0001-774b-bcce-b302099a8057', '01890a5d-0002-774b-bcce-b302099a8000', '01890a5d-0003-774b-bcce-b302099a8057', 'llm', true, 'annotation', 'SPAN_KIND_CLIENT', 'STATUS_CODE_ERROR', 'größe', 'bad', 's', 'u', 'a'),
('` + project + `', 'annotation', '2026-03-02 12:00:00', 8, '2026-03-02', unhex('0a000000000000000000000000000000'), unhex('0d00000000000000'), unhex('0000000000000000'), 0, '2026-03-02 12:00:00', 0, 4194304, 2, '2026-03-11 12:00:02', '1970-01-01 00:00:00',
  '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 'task', false, 'none', 'SPAN_KIND_UNSPECIFIED', 'STATUS_CODE_UNSET', '', '', '', '', ''),
('` + other + `', 'invocation', '2026-03-11 12:00:00.000001', 7, '2026-03-09', unhex('0a000000000000000000000000000000'), unhex('0b00000000000000'), unhex('0000000000000000'), 0, '2026-03-11 12:00:00.000001', 0, 3145730, 2, '2026-03-11 12:00:02', '1970-01-01 00:00:00',
  '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 'task', false, 'none', 'SPAN_KIND_UNSPECIFIED', 'STATUS_CODE_UNSET', 'other', '', '', '', '')`,
		`INSERT INTO span_payloads SELECT project_id, trace_type, start_time, tie, week, trace_id, span_id, version, if(span_name = 'größe', '{"q":"ä"}', ''), '"o"', '{}', '', '{"ag":{}}', '[]', if(span_name = 'größe', '[{}]', ''), '{"service":1}', '{"name":"n"}' FROM spans`,
		`INSERT INTO span_payloads SELECT * FROM span_payloads WHERE project_id = '` + project + `'`,
		`INSERT INTO trace_index (project_id, trace_id, min_start, max_start, created_at, last_version, first_version) SELECT project_id, trace_id, min(start_time), max(start_time), min(created_at), max(version), min(version) FROM spans GROUP BY ALL`,
	} {
		require.NoError(t, conn.Exec(t.Context(), statement), statement)
	}
	for range 2 { // the second as if nothing had been recorded
		_, err = applyClickHouse(t.Context(), conn, Deployment{}, all[:n+1])
		require.NoError(t, err)
		require.NoError(t, conn.Exec(t.Context(), "ALTER TABLE schema_migrations DELETE WHERE name = '"+all[n].name+"' SETTINGS mutations_sync = 2"))
	}
	_, err = applyClickHouse(t.Context(), conn, Deployment{}, all)
	require.NoError(t, err)

	var tables []string
	rows, err := conn.Query(t.Context(), "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'span_payloads%'")
	require.NoError(t, err)
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	require.Empty(t, tables)

	read := func(span string) (texts []string, head payload.Header) {
		texts = make([]string, 10)
		into := make([]any, len(texts))
		for i := range texts {
			into[i] = &texts[i]
		}
		row := conn.QueryRow(t.Context(), `SELECT inputs, outputs, parameters, internals, events, attributes, t.links, t.resource, t.scope, substring(d.head, 1 + length(t.links) + length(t.resource) + length(t.scope))
FROM span_documents AS d FINAL INNER JOIN span_texts AS t USING (project_id, stream_partition, stream_offset, version, span_id)
WHERE project_id = ? AND stream_partition = 2 AND stream_offset = bitShiftRight(version, 20) AND span_id = unhex(?)`, project, span)
		require.NoError(t, row.Scan(into...))
		head, err := payload.ParseHeader(texts[9])
		require.NoError(t, err)
		return texts[:9], head
	}
	texts, head := read("0b00000000000000")
	require.Equal(t, []string{`{"q":"ä"}`, `"o"`, `{}`, ``, `[]`, `{"ag":{}}`, `[{}]`, `{"service":1}`, `{"name":"n"}`}, texts)
	at := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	require.Equal(t, payload.Header{
		Span: trace.Span{
			ParentID: trace.SpanID{0x0c}, SpanType: trace.LLM, Kind: trace.KindClient, Status: trace.StatusError, Name: "größe", StatusMessage: "bad", SessionID: "s", UserID: "u", AgentID: "a",
			Start: at.UnixNano() + 1789, End: at.Add(time.Second).UnixNano() + 2005, CreatedAt: at.Add(2*time.Second + 3*time.Microsecond), UpdatedAt: at.Add(3*time.Second + 4*time.Microsecond),
			CreatedBy: uuid.MustParse("01890a5d-0001-774b-bcce-b302099a8057"), UpdatedBy: uuid.MustParse("01890a5d-0002-774b-bcce-b302099a8000"),
		},
		Declared: trace.Annotation, Hash: uuid.MustParse("01890a5d-0003-774b-bcce-b302099a8057"),
	}, head)
	texts, head = read("0d00000000000000")
	require.Equal(t, `"o"|{}|[]|{"ag":{}}`, strings.Join([]string{texts[1], texts[2], texts[4], texts[5]}, "|"))
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC).UnixNano()
	require.Equal(t, payload.Header{Span: trace.Span{Start: start, End: start, CreatedAt: at.Add(2 * time.Second)}}, head)

	var count uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM span_documents FINAL").Scan(&count))
	require.Equal(t, uint64(3), count)
	var records []uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT arraySort(groupUniqArrayArray(records)) FROM trace_index WHERE project_id = ?", project).Scan(&records))
	require.Equal(t, []uint64{2<<44 | 3, 2<<44 | 4}, records)
}

// What people read of a document is what readers do, found by the key of the
// table; and no table has columns that each of its statements would analyse.
func TestTextsOfDocuments(t *testing.T) {
	t.Parallel()
	conn := openClickHouse(t)
	_, err := ClickHouse(t.Context(), conn, Deployment{})
	require.NoError(t, err)
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO span_documents (project_id, stream_offset, text, head, lengths)
SELECT toUUID('01890a5d-ac96-774b-bcce-b302099a8057'), 7, 'iooppp4444eeeeeaaaaaa', 'lllllllrrrrrrrrsssssssssthe rest', unhex(arrayStringConcat(arrayMap(n -> hex(reinterpretAsFixedString(toUInt32(n))), range(1, 10))))`))
	names := []string{"inputs", "outputs", "parameters", "internals", "events", "attributes", "links", "resource", "scope"}
	for i, want := range []string{"i", "oo", "ppp", "4444", "eeeee", "aaaaaa", "lllllll", "rrrrrrrr", "sssssssss"} {
		var view, expression string
		const where = " WHERE project_id = '01890a5d-ac96-774b-bcce-b302099a8057' AND stream_partition = 0 AND stream_offset = 7"
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+names[i]+" FROM span_texts"+where).Scan(&view))
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT "+schema.DocumentText(names[i])+" FROM span_documents"+where).Scan(&expression))
		require.Equal(t, []string{want, want}, []string{view, expression})
	}
	require.Panics(t, func() { schema.DocumentText("text") })

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
	require.Contains(t, lines("EXPLAIN indexes = 1 SELECT outputs FROM span_texts WHERE project_id = '01890a5d-ac96-774b-bcce-b302099a8057' AND stream_partition = 0 AND stream_offset = 8"), "Granules: 0/1")
	require.Empty(t, lines("SELECT concat(table, '.', name) FROM system.columns WHERE database = currentDatabase() AND default_kind = 'ALIAS'"))
}
