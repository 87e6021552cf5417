//go:build embedded

package embedded_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
)

// TestEngine runs what the span tables rest on.
func TestEngine(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	ctx := t.Context()
	require.NoError(t, conn.Exec(ctx, `CREATE TABLE spans (
		project UInt64, id FixedString(16), version UInt64, at DateTime64(6), name LowCardinality(String), kv Array(String), body String CODEC(ZSTD(3)), cost Float64,
		INDEX kv kv TYPE text(tokenizer='array'), INDEX words body TYPE text(tokenizer='splitByNonAlpha'))
		ENGINE=ReplacingMergeTree(version) PARTITION BY toMonday(at) ORDER BY (project, at, id) TTL toDateTime(at) + INTERVAL 30 YEAR
		SETTINGS index_granularity=512, non_replicated_deduplication_window=1000`))
	require.NoError(t, conn.Exec(ctx, `CREATE TABLE totals (project UInt64, minute DateTime, n SimpleAggregateFunction(sum, UInt64), costs AggregateFunction(quantiles(0.5), Float64)) ENGINE=AggregatingMergeTree ORDER BY (project, minute)`))
	require.NoError(t, conn.Exec(ctx, `CREATE MATERIALIZED VIEW totals_view TO totals AS SELECT project, toStartOfMinute(at) AS minute, count() AS n, quantilesState(0.5)(cost) AS costs FROM spans GROUP BY project, minute`))
	require.NoError(t, conn.Exec(ctx, `INSERT INTO spans SELECT 1, toFixedString(leftPad(toString(number), 16, '0'), 16), 1, toDateTime64('2026-01-01 00:00:00', 6) + number / 100,
		'chat', ['model=m' || toString(number % 100), 'user=u' || toString(number)], 'the answer ' || toString(number) || ' is here', number FROM numbers(20000)`))

	count := func(query string) (n uint64) {
		t.Helper()
		require.NoError(t, conn.QueryRow(ctx, query).Scan(&n), query)
		return n
	}
	require.Equal(t, uint64(1), count("SELECT count() FROM spans WHERE has(kv, 'user=u777')"))
	require.Equal(t, uint64(1), count("SELECT count() FROM spans WHERE hasAllTokens(body, ['answer', '4242'])"))
	var plan strings.Builder
	rows, err := conn.Query(ctx, "EXPLAIN indexes=1 SELECT count() FROM spans WHERE has(kv, 'user=u777')")
	require.NoError(t, err)
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	require.Contains(t, plan.String(), "Name: kv", "the text index is used")

	require.Equal(t, uint64(20000), count("SELECT sum(n) FROM totals"))
	require.NoError(t, conn.Exec(ctx, "DELETE FROM spans WHERE has(kv, 'user=u777')"))
	require.Equal(t, uint64(19999), count("SELECT count() FROM spans"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO spans SELECT project, id, 2, at, 'edited', kv, body, cost FROM spans WHERE has(kv, 'user=u5')"))
	require.Equal(t, uint64(1), count("SELECT count() FROM spans FINAL WHERE name = 'edited'"))
	require.Equal(t, uint64(19999), count("SELECT count() FROM spans FINAL"))
	require.NoError(t, conn.Exec(ctx, "ALTER TABLE spans ADD COLUMN IF NOT EXISTS extra String"))
	require.NoError(t, conn.Exec(ctx, "OPTIMIZE TABLE spans FINAL"))
	require.Equal(t, uint64(19999), count("SELECT count() FROM spans"))
	require.Equal(t, uint64(3), count("SELECT count() FROM (SELECT name, row_number() OVER (ORDER BY at) AS r FROM spans QUALIFY r <= 3)"))
}

// send sends one plain HTTP request to the test's ClickHouse.
func send(t *testing.T, method, address string, query url.Values, headers map[string]string, body string) (status int, header http.Header, text string) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	query.Set("database", strings.TrimPrefix(u.Path, "/"))
	u.Path, u.RawQuery = "/", query.Encode()
	request, err := http.NewRequestWithContext(t.Context(), method, u.String(), strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(raw)
}

// TestHTTPFormats checks that formats with a head or a foot come out whole, over more than one block.
func TestHTTPFormats(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	for _, c := range []struct{ format, begins, ends string }{
		{"TabSeparated", "0\n1\n", "\n199999\n"},
		{"TSVWithNames", "number\n0\n", "\n199999\n"},
		{"CSVWithNames", "\"number\"\n0\n", "\n199999\n"},
		{"JSONEachRow", `{"number":0}` + "\n", `{"number":199999}` + "\n"},
		{"JSON", "{\n\t\"meta\"", "}\n"},
		{"JSONCompact", "{\n\t\"meta\"", "}\n"},
		{"Markdown", "| number |\n", "|\n"},
	} {
		query := "SELECT number FROM numbers(200000) SETTINGS max_block_size=10000"
		status, header, text := send(t, http.MethodPost, address, url.Values{}, nil, query+" FORMAT "+c.format)
		require.Equal(t, http.StatusOK, status, text)
		require.True(t, strings.HasPrefix(text, c.begins), "%s: %.100q", c.format, text)
		require.True(t, strings.HasSuffix(text, c.ends), "%s: %q", c.format, text[max(0, len(text)-100):])
		require.Equal(t, 1, strings.Count(text, c.begins), c.format)
		require.Equal(t, c.format, header.Get("X-ClickHouse-Format"))
	}
}

func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.UserPassword("default", "wrong")
	for _, c := range []struct {
		name, address, method, body string
		query                       url.Values
		status                      int
		code                        string
	}{
		{"wrong password", u.String(), http.MethodPost, "SELECT 1", url.Values{}, http.StatusForbidden, "516"},
		{"syntax", address, http.MethodPost, "SELEKT", url.Values{}, http.StatusBadRequest, "62"},
		{"empty", address, http.MethodPost, "", url.Values{}, http.StatusBadRequest, "62"},
		{"no such table", address, http.MethodPost, "SELECT * FROM nowhere", url.Values{}, http.StatusNotFound, "60"},
		{"a get only reads", address, http.MethodGet, "", url.Values{"query": {"CREATE TABLE g (a UInt8) ENGINE=Memory"}}, http.StatusInternalServerError, "164"},
		{"a get reads", address, http.MethodGet, "", url.Values{"query": {"SELECT 1"}}, http.StatusOK, ""},
		{"parameter", address, http.MethodPost, "SELECT {a:UInt8} + {b:UInt8}", url.Values{"param_a": {"1"}, "param_b": {"2"}}, http.StatusOK, ""},
		{"missing parameter", address, http.MethodPost, "SELECT {a:UInt8}", url.Values{}, http.StatusBadRequest, "456"},
		{"bad data", address, http.MethodPost, "x", url.Values{"query": {"INSERT INTO FUNCTION null('a UInt8') FORMAT CSV"}}, http.StatusBadRequest, "117"},
		{"whole before the first byte", address, http.MethodPost, "SELECT throwIf(number = 300000) FROM numbers(1000000)", url.Values{"wait_end_of_query": {"1"}}, http.StatusInternalServerError, "395"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, header, text := send(t, c.method, c.address, c.query, nil, c.body)
			require.Equal(t, c.status, status, text)
			require.Equal(t, c.code, header.Get("X-ClickHouse-Exception-Code"), text)
		})
	}
}

// TestHTTPBrokenInsert checks that a client that dies in the middle of its data stores nothing.
func TestHTTPBrokenInsert(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	conn := open(t, address)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE broken (a String) ENGINE=MergeTree ORDER BY a"))
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.RawQuery = url.Values{"query": {"INSERT INTO broken FORMAT CSV"}, "database": {strings.TrimPrefix(u.Path, "/")}}.Encode()
	u.Path = "/"
	body, pipe := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.String(), body)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		ended <- err
	}()
	_, err = io.WriteString(pipe, strings.Repeat("row\n", 1<<20))
	require.NoError(t, err)
	require.NoError(t, pipe.CloseWithError(io.ErrUnexpectedEOF))
	require.Error(t, <-ended)
	// The caller gets the reply before the engine has stored the insert.
	count := func(statement string) (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), statement).Scan(&n))
		return n
	}
	for count("SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO broken%'") > 0 {
		require.NoError(t, t.Context().Err())
	}
	require.Zero(t, count("SELECT count() FROM broken"))
}

func TestHTTPPing(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(embeddedtest.Database(t))
	require.NoError(t, err)
	u.Path, u.User = "/ping", nil
	response, err := http.Get(u.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "Ok.\n", string(text))
}

// The engine swallows the name of an argument that it does not know.
func TestEngineKnowsItsArguments(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	for name, want := range map[string]string{
		"background_merges_mutations_scheduling_policy": "shortest_task_first",
		"background_pool_size":                          "2",
	} {
		var value string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT value FROM system.server_settings WHERE name = ?", name).Scan(&value), name)
		require.Equal(t, want, value, name)
	}
}
