//go:build embedded

package e2e_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations/schema"
	analystsql "colonnade/read/sql"
)

// analysts is a service with SQL, and the address of its listener for tools.
type analysts struct {
	*service
	addr string
}

// newAnalysts opens a service whose views are made and whose listener for tools is open.
func newAnalysts(t testing.TB) analysts {
	t.Helper()
	s := newService(t, "COLONNADE_SQL_CLICKHOUSE_URL="+embeddedtest.Database(t), "COLONNADE_SQL_MAX_CONCURRENT_PER_PROJECT=1",
		"COLONNADE_SINK_FINALIZE_AFTER=500ms", "COLONNADE_SINK_FINALIZE_EVERY=100ms")
	require.NoError(t, s.Views.Sync(t.Context()))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	atWork(t, func(ctx context.Context) error { return s.Server.RunBelow(ctx, analystsql.ClickHousePath, listener) })
	return analysts{s, listener.Addr().String()}
}

// get sends a request to the listener for tools.
func (a analysts) get(t testing.TB, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.addr+path, strings.NewReader(body))
	require.NoError(t, err)
	if body == "" {
		r.Method = http.MethodGet
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{Code: resp.StatusCode, Header: resp.Header, Text: string(text)}
}

// driver opens clickhouse-go over HTTP, as Grafana's data source does.
func (a analysts) driver(t testing.TB, key string, compression clickhouse.CompressionMethod) driver.Conn {
	t.Helper()
	conn, err := clickhouse.Open(&clickhouse.Options{
		Protocol: clickhouse.HTTP, Addr: []string{a.addr}, Auth: clickhouse.Auth{Username: "grafana", Password: a.keys[key], Database: "default"},
		Settings: clickhouse.Settings{"max_execution_time": 30}, Compression: &clickhouse.Compression{Method: compression},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// Tools reach the views of the key's project through ClickHouse's HTTP interface, whichever
// way they send the key, and nothing of another project.
func TestClickHouseInterface(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	a := newAnalysts(t)
	for _, name := range []string{"ours", "theirs"} {
		r := a.as(name+" owner", "POST", "/traces/", `{"trace":{"trace_id":"`+newTraceID()+`","spans":{"`+name+`":{"span_id":"1000000000000001","start_time":"2026-11-01T10:00:00Z","end_time":"2026-11-01T10:00:01Z"}}}}`)
		require.Equal(t, http.StatusAccepted, r.Code, r.Text)
		require.Equal(t, http.StatusOK, a.as(name+" owner", "POST", "/spans/query", `{}`, "Colonnade-Token", r.Header.Get("Colonnade-Token")).Code)
	}
	key := a.keys["ours owner"]
	names := "?query=" + url.QueryEscape("SELECT name FROM spans")
	t.Run("credentials", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "Ok.\n", a.get(t, "/ping", "").Text)
		for _, headers := range [][]string{{"X-ClickHouse-User", "x", "X-ClickHouse-Key", key}, {"Authorization", "ApiKey " + key}} {
			require.Equal(t, "ours\n", a.get(t, "/"+names, "", headers...).Text, headers[0])
		}
		require.Equal(t, "ours\n", a.get(t, "/"+names+"&user=x&database=system&password="+url.QueryEscape(key), "").Text)
		for _, wrong := range []string{"", "nonsense", strings.Replace(key, ".", ".x", 1)} {
			r := a.get(t, "/"+names+"&password="+wrong, "")
			require.Equal(t, http.StatusUnauthorized, r.Code, r.Text)
			require.Equal(t, "516", r.Header.Get("X-ClickHouse-Exception-Code"))
			require.Contains(t, r.Text, "Code: 516. DB::Exception: ")
		}
		r := a.get(t, "/"+names, "", "X-ClickHouse-Key", a.keys["ours viewer"])
		require.Equal(t, http.StatusForbidden, r.Code, "a viewer")
		require.Equal(t, "497", r.Header.Get("X-ClickHouse-Exception-Code"))
	})
	t.Run("requests", func(t *testing.T) {
		t.Parallel()
		ask := func(path, body string) reply { return a.get(t, path, body, "X-ClickHouse-Key", key) }
		r := ask("/?default_format=CSVWithNames&session_id=1&param_n=ours&send_progress_in_http_headers=1", "SELECT name, count() AS n FROM default.spans WHERE name = {n:String} GROUP BY name;")
		require.Equal(t, "\"name\",\"n\"\n\"ours\",1\n", r.Text)
		require.Equal(t, "CSVWithNames", r.Header.Get("X-ClickHouse-Format"))
		require.NotEmpty(t, r.Header.Get("X-ClickHouse-Query-Id"))
		require.Contains(t, r.Header.Get("X-ClickHouse-Summary"), "read_rows")
		require.Equal(t, `{"n":1}`+"\n", ask("/?query=SELECT", "1 AS n FORMAT JSONEachRow").Text)
		require.Equal(t, "[1,2]\n", ask("/", "SELECT groupArray(number + 1) FROM numbers(2) SETTINGS max_threads = 1").Text)
		require.Equal(t, schema.ViewsDatabase(a.accounts["ours"].Project.ID)+"\n", ask("/", "SHOW DATABASES").Text)
		require.Len(t, strings.Fields(ask("/", "SHOW TABLES FROM anything").Text), len(schema.ViewNames()))
		require.Equal(t, "1\n", ask("/", "EXISTS TABLE default.traces").Text)
		require.Contains(t, ask("/", "DESCRIBE TABLE system.columns").Text, "position")
		r = ask("/?max_result_rows=10&result_overflow_mode=break&max_block_size=10", "SELECT number FROM numbers(100000)")
		require.Equal(t, http.StatusOK, r.Code, r.Text)
		require.Less(t, len(strings.Fields(r.Text)), 100_000, "the client's own limit cuts")
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		for text, code := range map[string]string{
			"SELECT FROM WHERE": "62", "SELECT nothing_of_it FROM spans": "47", "SELECT * FROM system.query_log": "497", "SELECT sleep(3)": "497", "INSERT INTO spans SELECT 1": "497",
			"SELECT count() FROM numbers(10000000000)": "158",
		} {
			r := a.get(t, "/", text, "X-ClickHouse-Key", key)
			require.Equal(t, code, r.Header.Get("X-ClickHouse-Exception-Code"), "%s: %s", text, r.Text)
			require.Contains(t, r.Text, "Code: "+code+". DB::Exception: ")
			require.GreaterOrEqual(t, r.Code, 400)
		}
		r := a.get(t, "/", "SELECT 1", "X-ClickHouse-Key", key, "Content-Encoding", "gzip")
		require.Equal(t, "36", r.Header.Get("X-ClickHouse-Exception-Code"))
	})
	t.Run("one listener, one path", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/profile/", "/../profile", "/..%2fprofile", "//profile", "/api/profile/"} {
			require.Equal(t, http.StatusNotFound, a.get(t, path, "", "Authorization", "ApiKey "+key).Code, path)
		}
		require.Equal(t, "ours\n", a.as("ours owner", "GET", "/sql/clickhouse/"+names, "").Text)
	})
	for _, compression := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionGZIP} {
		t.Run("clickhouse-go "+compression.String(), func(t *testing.T) {
			t.Parallel()
			for _, who := range []string{"ours", "theirs"} {
				conn := a.driver(t, who+" owner", compression)
				require.NoError(t, conn.Ping(t.Context()))
				var name, database string
				var duration *float64
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT name, duration_ms, currentDatabase() FROM spans WHERE start_time > {from:DateTime64(6)}", clickhouse.Named("from", "2026-10-01 00:00:00")).Scan(&name, &duration, &database))
				require.Equal(t, who, name)
				require.InDelta(t, 1000, *duration, 0)
				require.Equal(t, schema.ViewsDatabase(a.accounts[who].Project.ID), database)
				require.Equal(t, schema.ViewNames(), list(t, conn, "SELECT name FROM system.tables t JOIN system.databases d ON system.tables.database = d.name ORDER BY indexOf(?, name)", schema.ViewNames()))
				require.Empty(t, list(t, conn, "SELECT name FROM system.columns WHERE database != currentDatabase()"))
				require.Error(t, conn.QueryRow(t.Context(), "SELECT sleep(1)").Scan(&name))
			}
		})
	}
}

// list returns the first column of a result.
func list(t testing.TB, conn driver.Conn, text string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), text, args...)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	out := []string{}
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	return out
}
