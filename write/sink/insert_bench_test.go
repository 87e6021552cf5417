//go:build embedded

package sink

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	clickhousego "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/migrations/migrationstest"
	"colonnade/migrations/schema"
	"colonnade/write/normalize"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/deletion"
	"colonnade/write/sink/rows"
)

// BenchmarkInsert is what the store pays for a row, merges included, by the
// processor time of its process.
func BenchmarkInsert(b *testing.B) {
	conn := openDatabase(b)
	for statement := range strings.SplitSeq(os.Getenv("BENCH_DDL"), ";") {
		if strings.TrimSpace(statement) != "" {
			require.NoError(b, conn.Exec(b.Context(), statement))
		}
	}
	if change := os.Getenv("BENCH_REPLACE"); change != "" { // old=>new in the DDL of spans
		from, to, _ := strings.Cut(change, "=>")
		script, err := migrations.Script(migrations.Deployment{})
		require.NoError(b, err)
		require.NoError(b, conn.Exec(b.Context(), "DROP TABLE spans"))
		ddl := script[strings.Index(script, "CREATE TABLE IF NOT EXISTS `spans`"):]
		ddl = ddl[:strings.IndexByte(ddl, ';')]
		require.Contains(b, ddl, from)
		require.NoError(b, conn.Exec(b.Context(), strings.Replace(ddl, from, to, 1)))
	}
	pid := embeddedtest.PID("clickhouse")
	f := normalizer(b)
	s := clickhouse.New(conn, DefaultConfig().store(), prometheus.NewRegistry(), time.Now)
	r := rows.NewBuffer(newKeySet(100_000).has)
	var d rows.Content
	var id uint64
	const perBatch = 400
	tables := map[string]time.Duration{}
	inserted := 0
	begun := processTime(b, pid)
	for b.Loop() {
		r.Reset()
		now := time.Now()
		var groups []*group
		for range perBatch {
			id++
			spans, _, err := f.Spans(normalize.Meta{Source: "otlp", ReceivedAt: now}, llmTrace(b, id, 10, now.Add(time.Duration(id)*time.Millisecond)))
			require.NoError(b, err)
			all := make([]*trace.Span, len(spans))
			for i := range spans {
				all[i] = &spans[i]
			}
			normalize.Trace(all)
			g := &group{Trace: deletion.Trace{Key: rows.TraceKey{Project: domain.ProjectID{byte(id % 3)}, Trace: spans[0].TraceID}}}
			for _, sp := range all {
				e := &entry{Entry: rows.Entry{Key: g.Key, Span: sp, Version: id<<20 | uint64(len(g.written)), SortHash: rows.SortHash(sp), PartitionWeek: rows.PartitionWeek(sp.Start, now), CreatedAt: now}}
				e.Start, e.StartNS = rows.SplitTime(sp.Start)
				d.Render(sp, 0)
				e.ContentHash = d.Hash
				r.Append(&e.Entry, 0, &d)
				g.written = append(g.written, e)
			}
			groups = append(groups, g)
		}
		inserted += perBatch * 10
		timed := func(table string, insert func() error) {
			before := processTime(b, pid)
			require.NoError(b, insert())
			tables[table] += processTime(b, pid) - before
		}
		timed("payloads", func() error {
			return s.Insert(b.Context(), clickhouse.Insertion{Table: schema.SpanPayloads, Block: &r.Payloads.Block, Token: fmt.Sprint("p", id)})
		})
		timed("index", func() error {
			return s.Insert(b.Context(), clickhouse.Insertion{Table: schema.TraceIndex, Block: rows.TraceIndex(indexOf(groups, 0), 0, now), Token: fmt.Sprint("i", id)})
		})
		timed("spans", func() error {
			return s.Insert(b.Context(), clickhouse.Insertion{Table: schema.Spans, Block: &r.Spans.Block, Token: fmt.Sprint("s", id)})
		})
	}
	for table, took := range tables {
		b.ReportMetric(float64(took.Microseconds())/float64(inserted), table+"-cpu-us/row")
	}
	for {
		var merges uint64
		require.NoError(b, conn.QueryRow(b.Context(), "SELECT count() FROM system.merges").Scan(&merges))
		if merges == 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	b.ReportMetric(float64((processTime(b, pid)-begun).Microseconds())/float64(inserted), "total-cpu-us/row")
	var parts uint64
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT count() FROM system.parts WHERE active AND table = 'spans' AND database = currentDatabase()").Scan(&parts))
	b.ReportMetric(float64(parts), "parts")
	finalized := processTime(b, pid)
	for _, t := range []string{"spans", "span_payloads_packed", "trace_index"} {
		require.NoError(b, conn.Exec(b.Context(), "OPTIMIZE TABLE "+t+" FINAL"))
	}
	b.ReportMetric(float64((processTime(b, pid)-finalized).Microseconds())/float64(inserted), "finalmerge-cpu-us/row")
	sizes, err := conn.Query(b.Context(), "SELECT table, sum(bytes_on_disk)::Float64 FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table")
	require.NoError(b, err)
	for sizes.Next() {
		var table string
		var bytes float64
		require.NoError(b, sizes.Scan(&table, &bytes))
		if table == "spans" || table == "span_payloads_packed" {
			b.ReportMetric(bytes/float64(inserted), table+"-B/row")
		}
	}
	if os.Getenv("BENCH_COLUMNS") != "" {
		columns, err := conn.Query(b.Context(), "SELECT concat(name, ' ', toString(round(data_compressed_bytes / ?, 2))) FROM system.columns WHERE database = currentDatabase() AND table = 'spans' ORDER BY data_compressed_bytes DESC LIMIT 25 UNION ALL SELECT concat('index ', name, ' ', toString(round(data_compressed_bytes / ?, 2))) FROM system.data_skipping_indices WHERE database = currentDatabase() AND table = 'spans'", inserted, inserted)
		require.NoError(b, err)
		for columns.Next() {
			var line string
			require.NoError(b, columns.Scan(&line))
			b.Log(line)
		}
	}
}

// processTime is the processor time a process has used.
func processTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// openDatabase opens a database of its own that has all tables.
func openDatabase(t testing.TB) driver.Conn {
	t.Helper()
	opts, err := clickhousego.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	conn, err := clickhousego.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}
