//go:build embedded

package embedded_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
)

// TestDriverParameters binds values on the server, where no quoting can go wrong.
func TestDriverParameters(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	ugly := "it's \\ \t\n \"quoted\" `ticked` {x:String} ; DROP"
	var s string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT {x:String}", clickhouse.Named("x", ugly)).Scan(&s))
	require.Equal(t, ugly, s)
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT sum(a) FROM (SELECT arrayJoin({xs:Array(UInt64)}) AS a)", clickhouse.Named("xs", []uint64{1, 2, 39})).Scan(&n))
	require.Equal(t, uint64(42), n)
}

// TestDriverPositional binds values in the client, in the text.
func TestDriverPositional(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	var s string
	var n int64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT ?, toInt64(?)", "it's; \\", 42).Scan(&s, &n))
	require.Equal(t, "it's; \\", s)
	require.Equal(t, int64(42), n)
}

// TestDriverParametersDoNotCross runs parameterised queries side by side.
func TestDriverParametersDoNotCross(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf("%d-%d", worker, i)
				var got string
				if err := conn.QueryRow(t.Context(), "SELECT {v:String}", clickhouse.Named("v", want)).Scan(&got); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wait.Wait()
}

// TestDriverLargeResult streams more blocks than fit in any buffer.
func TestDriverLargeResult(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	rows, err := conn.Query(t.Context(), "SELECT number, repeat('x', 100) FROM numbers(500000)")
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // rows.Err is looked at
	var n, last uint64
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&last, &s))
		n++
	}
	require.NoError(t, rows.Err())
	require.Equal(t, uint64(500000), n)
}

func TestDriverEmptyResult(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	rows, err := conn.Query(t.Context(), "SELECT number FROM numbers(10) WHERE number > 100")
	require.NoError(t, err)
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
	var n uint64
	require.ErrorIs(t, conn.QueryRow(t.Context(), "SELECT number FROM numbers(10) WHERE number > 100").Scan(&n), sql.ErrNoRows)
}

func TestDriverPingAndVersion(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Ping(t.Context()))
	version, err := conn.ServerVersion()
	require.NoError(t, err)
	require.GreaterOrEqual(t, version.Version.Major, uint64(26))
}

// TestDriverStatementsOtherThanSelect reads what the engine cannot stream.
func TestDriverStatementsOtherThanSelect(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (a UInt8) ENGINE=MergeTree ORDER BY a"))
	for _, query := range []string{"SHOW TABLES", "DESCRIBE TABLE t", "EXPLAIN SELECT 1", "EXISTS TABLE t", "CHECK TABLE t", "SHOW CREATE TABLE t", "/* c */ WITH 1 AS x SELECT x", "(SELECT 1) UNION ALL (SELECT 2)"} {
		rows, err := conn.Query(t.Context(), query)
		require.NoError(t, err, query)
		require.NoError(t, exhaust(rows), query)
	}
}

// TestDriverExceptions checks that errors keep their type before the first byte.
func TestDriverExceptions(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	for _, c := range []struct {
		query string
		code  int32
		name  string
	}{
		{"SELECT * FROM no_such_table", 60, "UNKNOWN_TABLE"},
		{"SELECT no_such_column FROM numbers(1)", 47, "UNKNOWN_IDENTIFIER"},
		{"SELEKT 1", 62, "SYNTAX_ERROR"},
		{"SELECT throwIf(1, 'boom')", 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"},
		{"SELECT no_such_function(1)", 46, "UNKNOWN_FUNCTION"},
		{"DROP TABLE no_such_table", 60, "UNKNOWN_TABLE"},
		{"SELECT toUInt8('x')", 6, "CANNOT_PARSE_TEXT"},
	} {
		var scanned uint8
		err := conn.QueryRow(t.Context(), c.query).Scan(&scanned)
		exception, is := errors.AsType[*clickhouse.Exception](err)
		require.True(t, is, "%s: %v", c.query, err)
		require.Equal(t, c.code, exception.Code, c.query)
		require.Equal(t, c.name, exception.CodeName, c.query)
	}
}

// TestDriverExceptionInTheMiddle checks that an error after rows were sent keeps its type, under every compression.
func TestDriverExceptionInTheMiddle(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD, clickhouse.CompressionGZIP, clickhouse.CompressionBrotli, clickhouse.CompressionDeflate} {
		conn := openWith(t, address, func(o *clickhouse.Options) { o.Compression = &clickhouse.Compression{Method: method, Level: 3} })
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 1000, "max_threads": 1, "enable_http_compression": 1}))
		rows, err := conn.Query(ctx, "SELECT number, throwIf(number = 200000, 'boom in the middle') FROM numbers(1000000)")
		require.NoError(t, err, method)
		n := 0
		for rows.Next() {
			n++
		}
		exception, is := errors.AsType[*clickhouse.Exception](rows.Err())
		require.True(t, is, "%v: %v", method, rows.Err())
		require.Equal(t, int32(395), exception.Code, method)
		require.Contains(t, exception.Message, "boom in the middle")
		require.Positive(t, n, method)
	}
}

// TestDriverFailureHoldsNoTable drops tables right after a statement over them
// failed. DROP ... SYNC waits for whoever still holds a table.
func TestDriverFailureHoldsNoTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query    string
		settings clickhouse.Settings
		code     int32
		named    bool // in a session of the client's
	}{
		"memory before the first row": {"SELECT s FROM hold WHERE s LIKE '%x%' ORDER BY s", clickhouse.Settings{"max_memory_usage": 1_000_000, "max_untracked_memory": 1}, 241, false},
		"memory of an aggregate":      {"SELECT s, count() FROM hold GROUP BY s", clickhouse.Settings{"max_memory_usage": 1_000_000, "max_untracked_memory": 1}, 241, false},
		"rows, at the beginning":      {"SELECT s FROM hold", clickhouse.Settings{"max_rows_to_read": 10}, 158, false},
		"time":                        {"SELECT sleepEachRow(0.01), s FROM hold", clickhouse.Settings{"max_execution_time": 0.1, "max_block_size": 10}, 159, false},
		"a function":                  {"SELECT throwIf(n = 0, 'boom') FROM hold", nil, 395, false},
		"a function, in the middle":   {"SELECT s, throwIf(n = 150000, 'boom') FROM hold ORDER BY n", clickhouse.Settings{"max_block_size": 1000, "max_threads": 1}, 395, false},
		"a table that is not there":   {"SELECT s FROM hold, no_such_table", nil, 60, false},
		"memory of a whole result":    {"SELECT s FROM hold WHERE s LIKE '%x%' ORDER BY s", clickhouse.Settings{"max_memory_usage": 1_000_000, "max_untracked_memory": 1, "wait_end_of_query": 1}, 241, false},
		"memory of an insert":         {"INSERT INTO hold SELECT n, s FROM hold ORDER BY s", clickhouse.Settings{"max_memory_usage": 1_000_000, "max_untracked_memory": 1}, 241, false},
		"in a session":                {"SELECT throwIf(n = 150000, 'boom') FROM hold WHERE sleepEachRow(0.00001) = 0 SETTINGS max_block_size=1000", nil, 395, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := open(t, embeddedtest.Database(t))
			require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE hold (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
			require.NoError(t, conn.Exec(t.Context(), "INSERT INTO hold SELECT number, repeat(toString(number), 10) FROM numbers(200000)"))
			var all sync.WaitGroup
			for range 4 { // on a connection of the engine each; the drop takes one of them, which clears it
				all.Go(func() {
					settings := maps.Clone(c.settings)
					if c.named {
						settings = clickhouse.Settings{"session_id": uuid.NewString()}
					}
					rows, err := conn.Query(clickhouse.Context(t.Context(), clickhouse.WithSettings(settings)), c.query)
					if err == nil {
						err = exhaust(rows)
					}
					exception, is := errors.AsType[*clickhouse.Exception](err)
					if assert.True(t, is, "%v", err) {
						assert.Equal(t, c.code, exception.Code, "%v", err)
					}
				})
			}
			all.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			require.NoError(t, conn.Exec(ctx, "DROP TABLE hold SYNC"))
		})
	}
}

// TestDriverCancelHoldsNoTable drops a table right after statements over it were
// cancelled by the hundred, at any moment. None runs on, and the drop waits for none.
func TestDriverCancelHoldsNoTable(t *testing.T) {
	t.Parallel()
	const clients, each = 6, 200
	conn := openWith(t, embeddedtest.Database(t), func(o *clickhouse.Options) { o.MaxOpenConns = clients + 1 })
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE hold (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO hold SELECT number, repeat(toString(number), 10) FROM numbers(20000)"))
	queries := []string{"SELECT n, s FROM hold WHERE s LIKE '%77%' ORDER BY s LIMIT 50", "SELECT s FROM hold", "EXPLAIN indexes = 1 SELECT s FROM hold WHERE n < 40", "SELECT n FROM hold WHERE n IN (SELECT n FROM hold WHERE s LIKE '%1%')"}
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for n := range each {
				ctx, cancel := context.WithCancel(t.Context())
				early := time.AfterFunc(time.Duration(random.IntN(10_000))*time.Microsecond, cancel)
				if rows, err := conn.Query(ctx, queries[n%len(queries)]); err == nil {
					_ = exhaust(rows) // it ends whole or not
				}
				early.Stop()
				cancel()
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, conn.Exec(ctx, "DROP TABLE hold SYNC"))
	var running uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE '%hold%' AND current_database = currentDatabase() AND query NOT LIKE '%system.processes%'").Scan(&running))
	require.Zero(t, running)
}

// TestDriverCompression moves a batch and a result through every method.
func TestDriverCompression(t *testing.T) {
	t.Parallel()
	address := embeddedtest.Database(t)
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionZSTD, clickhouse.CompressionGZIP, clickhouse.CompressionBrotli, clickhouse.CompressionDeflate} {
		t.Run(method.String(), func(t *testing.T) {
			t.Parallel()
			conn := openWith(t, address, func(o *clickhouse.Options) {
				o.Compression = &clickhouse.Compression{Method: method, Level: 3}
				o.Settings = clickhouse.Settings{"enable_http_compression": 1}
			})
			table := "c_" + method.String()
			require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE "+table+" (a UInt64, s String) ENGINE=MergeTree ORDER BY a"))
			batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO "+table)
			require.NoError(t, err)
			for i := range 30000 {
				require.NoError(t, batch.Append(uint64(i), strings.Repeat("text ", i%50)))
			}
			require.NoError(t, batch.Send())
			rows, err := conn.Query(t.Context(), "SELECT a, s FROM "+table+" ORDER BY a")
			require.NoError(t, err)
			var n uint64
			for rows.Next() {
				var a uint64
				var s string
				require.NoError(t, rows.Scan(&a, &s))
				require.Equal(t, n, a)
				n++
			}
			require.NoError(t, rows.Err())
			require.Equal(t, uint64(30000), n)
		})
	}
}

// TestDriverBatches covers what the sink does: columns at once, named columns, known types, tokens.
func TestDriverBatches(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE b (a UInt64, s String DEFAULT 'none', m UInt64 MATERIALIZED a * 2) ENGINE=MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window=100"))
	count := func() (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM b").Scan(&n))
		return n
	}
	send := func(ctx context.Context, rows ...uint64) error {
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO b (a)")
		require.NoError(t, err)
		require.NoError(t, batch.Column(0).Append(rows))
		return batch.Send()
	}
	require.NoError(t, send(t.Context(), 1, 2, 3))
	require.Equal(t, uint64(3), count())

	token := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": "b:topic:0:1-9"}))
	require.NoError(t, send(token, 1, 2, 3))
	require.NoError(t, send(token, 1, 2, 3))
	require.Equal(t, uint64(6), count(), "the same token twice stores its rows once")
	for range 2 {
		require.NoError(t, conn.InsertFormat(t.Context(), "TSV", "INSERT INTO b (a) SETTINGS insert_deduplication_token = 'b:topic:0:10-19'", strings.NewReader("1\n2\n3\n")))
		require.NoError(t, conn.InsertFormat(t.Context(), "TSV", "INSERT INTO b (a) SETTINGS insert_deduplication_token = 'b:topic:0:1-9'", strings.NewReader("1\n2\n3\n")))
	}
	require.Equal(t, uint64(9), count(), "also where the text has it")

	known := clickhouse.Context(t.Context(), clickhouse.WithColumnNamesAndTypes([]clickhouse.ColumnNameAndType{{Name: "a", Type: "UInt64"}}))
	require.NoError(t, send(known, 4, 5, 6))
	require.Equal(t, uint64(12), count())

	empty, err := conn.PrepareBatch(t.Context(), "INSERT INTO b (a)")
	require.NoError(t, err)
	require.NoError(t, empty.Send())
	aborted, err := conn.PrepareBatch(t.Context(), "INSERT INTO b (a)")
	require.NoError(t, err)
	require.NoError(t, aborted.Append(uint64(9)))
	require.NoError(t, aborted.Abort())
	require.Equal(t, uint64(12), count())

	_, err = conn.PrepareBatch(t.Context(), "INSERT INTO no_such_table")
	exception, is := errors.AsType[*clickhouse.Exception](err)
	require.True(t, is, "%v", err)
	require.Equal(t, int32(60), exception.Code)
}

// TestDriverRefusedBatch checks that rows that a constraint refuses are a typed error and store nothing.
func TestDriverRefusedBatch(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE c (a UInt64, CONSTRAINT small CHECK a < 10) ENGINE=MergeTree ORDER BY a"))
	batch, err := conn.PrepareBatch(t.Context(), "INSERT INTO c")
	require.NoError(t, err)
	require.NoError(t, batch.Column(0).Append([]uint64{1, 11}))
	exception, is := errors.AsType[*clickhouse.Exception](batch.Send())
	require.True(t, is)
	require.Equal(t, int32(469), exception.Code)
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM c").Scan(&n))
	require.Zero(t, n)
}

func TestDriverInsertForms(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	ctx := t.Context()
	require.NoError(t, conn.Exec(ctx, "CREATE TABLE f (a UInt64, s String) ENGINE=MergeTree ORDER BY a"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO f VALUES (1, 'one; two'), (2, ?)", "it's"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO f SELECT number, 'FORMAT' FROM numbers(3)"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO f FORMAT CSV\n7,\"seven\"\n8,eight\n"))
	require.NoError(t, conn.Exec(ctx, "INSERT INTO f (a, s) SETTINGS async_insert=0 FORMAT JSONEachRow {\"a\":9,\"s\":\"x;y\"}"))
	require.NoError(t, conn.Exec(clickhouse.Context(ctx, clickhouse.WithAsync(true)), "INSERT INTO f VALUES (10, 'ten')"))
	batch, err := conn.PrepareBatch(clickhouse.Context(ctx, clickhouse.WithAsync(true)), "INSERT INTO f")
	require.NoError(t, err)
	require.NoError(t, batch.Append(uint64(11), "eleven"))
	require.NoError(t, batch.Send())
	var n, sum uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(), sum(a) FROM f").Scan(&n, &sum))
	require.Equal(t, uint64(10), n)
	require.Equal(t, uint64(1+2+0+1+2+7+8+9+10+11), sum)
}

// TestDriverLongStatement sends a text longer than what the HTTP server reads first.
func TestDriverLongStatement(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	var values strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&values, "(%d, 'text;%d'),", i, i)
	}
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE l (a UInt64, s String) ENGINE=MergeTree ORDER BY a"))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO l VALUES "+strings.TrimSuffix(values.String(), ",")))
	var n uint64
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_query_size": 10 << 20}))
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM l WHERE s != '"+strings.Repeat("y", 600000)+"'").Scan(&n))
	require.Equal(t, uint64(40000), n)
}

func TestDriverSettings(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	with := func(s clickhouse.Settings) context.Context {
		return clickhouse.Context(t.Context(), clickhouse.WithSettings(s))
	}
	value := func(ctx context.Context) (v string) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT toString(getSetting('max_block_size'))").Scan(&v))
		return v
	}
	usual := value(t.Context())
	require.Equal(t, "777", value(with(clickhouse.Settings{"max_block_size": 777})))
	require.Equal(t, usual, value(t.Context()), "a setting is for its own statement")
	require.NoError(t, conn.Exec(t.Context(), "SET max_block_size = 555"))
	require.Equal(t, usual, value(t.Context()), "a SET without a session is for nobody")
	err := conn.Exec(with(clickhouse.Settings{"no_such_setting": 1}), "SELECT 1")
	exception, is := errors.AsType[*clickhouse.Exception](err)
	require.True(t, is, "%v", err)
	require.Equal(t, int32(115), exception.Code)
	var comment string
	require.NoError(t, conn.QueryRow(with(clickhouse.Settings{"log_comment": "mine"}), "SELECT getSetting('log_comment')").Scan(&comment))
	require.Contains(t, comment, "mine")
}

func TestDriverReadOnly(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE r (a UInt8) ENGINE=MergeTree ORDER BY a"))
	ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"readonly": 1}))
	for _, query := range []string{"INSERT INTO r VALUES (1)", "DROP TABLE r", "SELECT * FROM file('/etc/passwd', 'LineAsString')", "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", "SET readonly = 0", "SELECT 1 SETTINGS readonly = 0"} {
		exception, is := errors.AsType[*clickhouse.Exception](conn.Exec(ctx, query))
		require.True(t, is, query)
		require.Equal(t, int32(164), exception.Code, query)
	}
	var n uint64
	require.NoError(t, conn.QueryRow(ctx, "SELECT count() FROM r").Scan(&n))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO r VALUES (1)"), "the next statement may write again")
}

func TestDriverSeveralStatementsRefused(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE m (a UInt8) ENGINE=MergeTree ORDER BY a"))
	for _, query := range []string{"SELECT 1; DROP TABLE m", "SELECT 1;\n-- c\nDROP TABLE m;", "INSERT INTO m SELECT 1; DROP TABLE m"} {
		exception, is := errors.AsType[*clickhouse.Exception](conn.Exec(t.Context(), query))
		require.True(t, is, query)
		require.Equal(t, int32(62), exception.Code, query)
	}
	require.NoError(t, conn.Exec(t.Context(), "SELECT 1; -- that is all"))
	require.NoError(t, conn.Exec(t.Context(), "DROP TABLE m;"))
}

// TestDriverFiles checks the ways to the machine's files that the library has and a server has not.
func TestDriverFiles(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	readonly := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"readonly": 1}))
	for _, query := range []string{
		"SELECT file('/etc/passwd')", "SELECT file /* c */ ('/etc/passwd')", "SELECT `file`('/etc/passwd')", `SELECT "file"('/etc/passwd')`,
		"SELECT `fi\\x6ce`('/etc/passwd')", "SELECT arrayMap(file, ['/etc/passwd'])", "SELECT * APPLY file FROM (SELECT '/etc/passwd' AS x)",
		"SELECT * APPLY(file) FROM (SELECT '/etc/passwd' AS x)", "SELECT * FROM default.`/etc/passwd`", "SELECT * FROM `/etc/passwd`", "SELECT * FROM '/etc/passwd'",
		`SELECT * FROM eval('SELECT file(\'/etc/passwd\')')`, "SELECT 1 INTO OUTFILE '/tmp/colonnade-outfile'", "KILL QUERY WHERE 1", "quit", "exit;",
	} {
		err := conn.Exec(readonly, query)
		_, is := errors.AsType[*clickhouse.Exception](err)
		require.True(t, is, "%s: %v", query, err)
	}
	require.Error(t, conn.QueryRow(readonly, "SELECT {f:Identifier}('/etc/passwd')", clickhouse.Named("f", "file")).Err())
	require.NoFileExists(t, "/tmp/colonnade-outfile")
	require.NoError(t, conn.Exec(readonly, "SELECT t.file, 'file', outfile FROM (SELECT 1 AS `t.file`, 2 AS outfile) AS t"), "names and strings are only that")
}

// TestDriverSession checks temporary tables and SETs that last, one request at a time.
func TestDriverSession(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	id := uuid.NewString()
	with := func(s clickhouse.Settings) context.Context {
		s["session_id"] = id
		return clickhouse.Context(t.Context(), clickhouse.WithSettings(s))
	}
	require.NoError(t, conn.Exec(with(clickhouse.Settings{}), "CREATE TEMPORARY TABLE tmp (a UInt64)"))
	require.NoError(t, conn.Exec(with(clickhouse.Settings{}), "INSERT INTO tmp VALUES (42)"))
	require.NoError(t, conn.Exec(with(clickhouse.Settings{}), "SET max_block_size = 333"))
	var a uint64
	var size string
	require.NoError(t, conn.QueryRow(with(clickhouse.Settings{"max_block_size": 444}), "SELECT a, toString(getSetting('max_block_size')) FROM tmp").Scan(&a, &size))
	require.Equal(t, "444", size)
	require.NoError(t, conn.QueryRow(with(clickhouse.Settings{}), "SELECT a, toString(getSetting('max_block_size')) FROM tmp").Scan(&a, &size))
	require.Equal(t, "333", size, "a setting of the session remains after that of a statement")
	require.Error(t, conn.Exec(t.Context(), "SELECT * FROM tmp"), "another session has no such table")

	exception, is := errors.AsType[*clickhouse.Exception](conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"session_id": uuid.NewString(), "session_check": 1})), "SELECT 1"))
	require.True(t, is)
	require.Equal(t, int32(372), exception.Code)

	slow := make(chan error, 1)
	ctx, cancel := context.WithCancel(with(clickhouse.Settings{}))
	busy := func(err error) bool {
		locked, is := errors.AsType[*clickhouse.Exception](err)
		return is && locked.Code == 373
	}
	held := with(clickhouse.Settings{})
	go func() {
		for {
			// A probe of below may hold the session when this one arrives; refused, it asks again.
			err := conn.Exec(ctx, "SELECT sleepEachRow(1) FROM numbers(100) SETTINGS max_block_size=1")
			if !busy(err) {
				slow <- err
				return
			}
		}
	}()
	require.Eventually(t, func() bool { return busy(conn.Exec(held, "SELECT 1")) }, time.Minute, 5*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-slow, context.Canceled)
}

func TestDriverExternalTable(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	table, err := ext.NewTable("wanted", ext.Column("id", "UInt64"), ext.Column("name", "String"))
	require.NoError(t, err)
	for i := range 100 {
		require.NoError(t, table.Append(uint64(i), fmt.Sprint("name ", i)))
	}
	ctx := clickhouse.Context(t.Context(), clickhouse.WithExternalTable(table))
	var n uint64
	var name string
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(), max(name) FROM numbers(1000) AS n JOIN wanted AS w ON n.number = w.id").Scan(&n, &name))
	require.Equal(t, uint64(100), n)
	require.Equal(t, "name 99", name)
	require.Error(t, conn.Exec(t.Context(), "SELECT * FROM wanted"), "it was for one statement")
}

// TestDriverCancel checks that a caller who leaves takes the statement along.
func TestDriverCancel(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	mark := uuid.NewString()
	running := func() (n uint64) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE query LIKE {m:String} AND query NOT LIKE '%system.processes%'", clickhouse.Named("m", "%"+mark+"%")).Scan(&n))
		return n
	}
	for _, query := range []string{
		"SELECT sum(cityHash64(number, '" + mark + "')) FROM numbers(1000000000000)",
		"SELECT number, '" + mark + "' FROM numbers(1000000000000)",
		"SELECT sleepEachRow(1), '" + mark + "' FROM numbers(1000) SETTINGS max_block_size=1",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			rows, err := conn.Query(ctx, query)
			if err == nil {
				err = exhaust(rows)
			}
			ended <- err
		}()
		require.Eventually(t, func() bool { return running() == 1 }, time.Minute, 5*time.Millisecond, query)
		cancel()
		require.Error(t, <-ended)
		require.Eventually(t, func() bool { return running() == 0 }, time.Minute, 5*time.Millisecond, query)
	}
}

func TestDriverDeadline(t *testing.T) {
	t.Parallel()
	conn := open(t, embeddedtest.Database(t))
	ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	require.Error(t, conn.Exec(ctx, "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"))
	limited := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": 1}))
	exception, is := errors.AsType[*clickhouse.Exception](conn.Exec(limited, "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)"))
	require.True(t, is)
	require.Equal(t, int32(159), exception.Code)
}

func TestDriverDatabaseSQL(t *testing.T) {
	t.Parallel()
	options, err := clickhouse.ParseDSN(embeddedtest.Database(t))
	require.NoError(t, err)
	db := clickhouse.OpenDB(options)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.PingContext(t.Context()))
	_, err = db.ExecContext(t.Context(), "CREATE TABLE s (a UInt64, b String) ENGINE=MergeTree ORDER BY a")
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	insert, err := tx.PrepareContext(t.Context(), "INSERT INTO s")
	require.NoError(t, err)
	defer func() { require.NoError(t, insert.Close()) }()
	for i := range 100 {
		_, err := insert.ExecContext(t.Context(), uint64(i), "b")
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
	var n uint64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count() FROM s WHERE a >= @from", clickhouse.Named("from", 50)).Scan(&n))
	require.Equal(t, uint64(50), n)
}

// TestDriverDatabase checks that the address's database is the one that unqualified names mean.
func TestDriverDatabase(t *testing.T) {
	t.Parallel()
	one, two := open(t, embeddedtest.Database(t)), open(t, embeddedtest.Database(t))
	require.NoError(t, one.Exec(t.Context(), "CREATE TABLE only_here (a UInt8) ENGINE=MergeTree ORDER BY a"))
	var n uint64
	require.NoError(t, one.QueryRow(t.Context(), "SELECT count() FROM only_here").Scan(&n))
	require.Error(t, two.Exec(t.Context(), "SELECT count() FROM only_here"))
	_, err := one.PrepareBatch(t.Context(), "INSERT INTO only_here")
	require.NoError(t, err)
	options, err := clickhouse.ParseDSN(embeddedtest.Database(t))
	require.NoError(t, err)
	options.Auth.Database = "no_such_database"
	nowhere, err := clickhouse.Open(options)
	require.NoError(t, err)
	defer func() { require.NoError(t, nowhere.Close()) }()
	exception, is := errors.AsType[*clickhouse.Exception](nowhere.Exec(t.Context(), "SELECT 1"))
	require.True(t, is)
	require.Equal(t, int32(81), exception.Code)
}

func openWith(tb testing.TB, address string, change func(*clickhouse.Options)) clickhouse.Conn {
	tb.Helper()
	options, err := clickhouse.ParseDSN(address)
	require.NoError(tb, err)
	change(options)
	conn, err := clickhouse.Open(options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, conn.Close()) })
	return conn
}

// exhaust reads a result to its end.
func exhaust(rows driver.Rows) error {
	n := 0
	for rows.Next() {
		n++
	}
	return rows.Err()
}
