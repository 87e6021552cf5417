//go:build embedded

package traces_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
	"colonnade/read/traces"
)

// A refusal of the store says what to narrow; no failure is an empty page.
func TestRefusals(t *testing.T) {
	t.Parallel()
	slow, small, narrow := traces.DefaultConfig(), traces.DefaultConfig(), traces.DefaultConfig()
	slow.QueryTimeout, small.QueryMemoryBytes, narrow.MaxExamined = time.Millisecond, 10_000, 50
	tests := []struct {
		name string
		cfg  traces.Config
		says string
	}{
		{"time", slow, "takes longer"},
		{"memory", small, "more memory"},
		{"documents", narrow, "documents of 50 spans were read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStoreWith(t, tt.cfg)
			var all []trace.Span
			for n := range uint64(500) {
				one := span(n, 1, now.Add(-time.Duration(n)*time.Second))
				one.Attributes["text"] = strings.Repeat("long text ", 100)
				all = append(all, one)
			}
			s.insert(all...)
			e := where(t, `{"field":"attributes","key":"text","operator":"endswith","value":"Long text "}`, `{"field":"attributes","key":"text","operator":"not_in","value":["long text"],"options":{"all":true}}`, `{"field":"attributes","key":"text","operator":"contains","value":"text long"}`)
			e = filter.And{e, filter.Not{Expr: e}} // nothing, but no statement knows
			page, err := s.reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 10})
			require.Equal(t, domain.Rejected, domain.KindOf(err), "%v %v", page, err)
			require.ErrorContains(t, err, tt.says)
			_, err = s.reader.Traces(t.Context(), s.project, e, domain.Window{Limit: 10})
			require.Equal(t, domain.Rejected, domain.KindOf(err))
		})
	}
}

// counted is a connection that counts what was read from it.
type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// What is refused for its size is not read to its end first.
func TestRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	const each, count = 256 << 10, 160
	cfg := traces.DefaultConfig()
	cfg.MaxPageBytes, cfg.MaxReadBytes = 2<<20, 2<<20
	read := new(atomic.Int64)
	s := newStoreOver(t, cfg, func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return counted{conn, read}, err
	})
	var all []trace.Span
	for n := range uint64(count) {
		one := span(1, n+1, now.Add(time.Duration(n)*time.Second))
		one.Attributes["text"] = strings.Repeat("a long text. ", each/13)
		all = append(all, one)
	}
	s.batched = true
	s.insert(all...)
	traceID := all[0].TraceID
	tests := []struct {
		name string
		ask  func() error
	}{
		{"a trace", func() error {
			_, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{traceID})
			return err
		}},
		{"a page of traces", func() error {
			_, err := s.reader.Traces(t.Context(), s.project, nil, domain.Window{Limit: 1})
			return err
		}},
	}
	for _, tt := range tests { //nolint:paralleltest // they count the same bytes
		t.Run(tt.name, func(t *testing.T) {
			before := read.Load()
			err := tt.ask()
			require.Equal(t, domain.Rejected, domain.KindOf(err), "%v", err)
			require.ErrorContains(t, err, "more than 2 MiB")
			require.NotErrorIs(t, err, context.Canceled)
			require.Less(t, read.Load()-before, int64(each*count/2))
		})
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	conn, err := clickhouse.Open(&clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"127.0.0.1:1"}})
	require.NoError(t, err)
	reader, err := traces.New(traces.DefaultConfig(), conn, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	project := domain.ProjectID(uuid.New())
	_, err = reader.Spans(t.Context(), project, nil, domain.Window{Limit: 1})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	_, err = reader.TracesByID(t.Context(), project, []trace.TraceID{{1}})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
	_, err = reader.Wait(t.Context(), domain.Token{{Partition: 1, Offset: 1}})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
}

// hanging is a store that answers nothing until its caller has left.
type hanging struct {
	driver.Conn
	asked chan struct{}
}

func (h hanging) Query(ctx context.Context, _ string, _ ...any) (driver.Rows, error) {
	close(h.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// failing is a store that fails once it is let to, and counts how often.
type failing struct {
	driver.Conn
	asked *atomic.Int64
	fail  chan struct{}
}

func (f failing) Query(context.Context, string, ...any) (driver.Rows, error) {
	f.asked.Add(1)
	<-f.fail
	return nil, errors.New("the store is away")
}

// Those who wait for their writes learn together that the store fails, not one
// after the other.
func TestWhoWaitsFailsTogether(t *testing.T) {
	t.Parallel()
	store := failing{asked: new(atomic.Int64), fail: make(chan struct{})}
	reader, err := traces.New(traces.DefaultConfig(), store, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	const callers = 50
	done := make(chan error, callers)
	for range callers {
		go func() {
			_, err := reader.Wait(context.Background(), domain.Token{{Partition: 1, Offset: 7}})
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return store.asked.Load() == 1 }, 30*time.Second, time.Millisecond)
	close(store.fail)
	for range callers {
		require.Equal(t, domain.Unavailable, domain.KindOf(<-done))
	}
	require.Less(t, store.asked.Load(), int64(callers/2))
}

// A caller who leaves takes the statement along.
func TestCancellationReachesTheStore(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	reader, err := traces.New(traces.DefaultConfig(), hanging{asked: asked}, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err = reader.Spans(ctx, domain.ProjectID(uuid.New()), nil, domain.Window{Limit: 1})
	require.ErrorIs(t, err, context.Canceled)
}

func TestDeadlineReachesTheStore(t *testing.T) {
	t.Parallel()
	cfg := traces.DefaultConfig()
	cfg.QueryTimeout = time.Millisecond
	reader, err := traces.New(cfg, hanging{asked: make(chan struct{})}, time.Now, prometheus.NewRegistry())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = reader.Spans(ctx, domain.ProjectID(uuid.New()), nil, domain.Window{Limit: 1})
	require.Equal(t, domain.Unavailable, domain.KindOf(err))
}

// What a statement asks for is in force where it runs, and so are the bounds of all of them.
func TestSettingsReachTheStore(t *testing.T) {
	t.Parallel()
	cfg := traces.DefaultConfig()
	cfg.QueryTimeout, cfg.QueryMemoryBytes, cfg.QueryThreads = 7*time.Second, 123<<20, 3
	s := newStoreWith(t, cfg)
	always := map[string]string{
		"max_execution_time": "7", "max_memory_usage": "128974848", "local_filesystem_read_method": "pread",
		"distributed_product_mode": "local", "use_top_k_dynamic_filtering": "false", "use_skip_indexes_for_top_k": "false",
	}
	plain := map[string]string{
		"max_threads": "3", "max_rows_to_read": "0", "max_bytes_to_read": "0", "enable_multiple_prewhere_read_steps": "true", "use_skip_indexes_on_data_read": "true",
		"merge_tree_min_rows_for_concurrent_read": "163840", "merge_tree_min_bytes_for_concurrent_read": "251658240",
	}
	for name, tt := range map[string]struct {
		in   sqltext.Statement
		want map[string]string
	}{
		"nothing":           {sqltext.Statement{}, nil},
		"bounds":            {sqltext.Statement{MaxRows: 5, MaxBytes: 6000}, map[string]string{"max_rows_to_read": "5", "max_bytes_to_read": "6000"}},
		"one step":          {sqltext.Statement{OneStep: true}, map[string]string{"enable_multiple_prewhere_read_steps": "false"}},
		"starts first":      {sqltext.Statement{StartsFirst: true}, map[string]string{"use_skip_indexes_on_data_read": "false"}},
		"one thread":        {sqltext.Statement{OneThread: true}, map[string]string{"max_threads": "1"}},
		"rows for a thread": {sqltext.Statement{RowsPerThread: 512}, map[string]string{"merge_tree_min_rows_for_concurrent_read": "512", "merge_tree_min_bytes_for_concurrent_read": "1048576"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := maps.Clone(plain)
			maps.Copy(want, always)
			maps.Copy(want, tt.want)
			got := map[string]string{}
			for setting := range want {
				tt.in.SQL = "SELECT toString(getSetting('" + setting + "'))"
				require.NoError(t, s.reader.Run(t.Context(), s.project, "test", tt.in, func(rows driver.Rows) error {
					var value string
					err := rows.Scan(&value)
					got[setting] = value
					return err
				}))
			}
			require.Equal(t, want, got)
		})
	}
}

// Statements are answered from the primary key and the inverted index, not by reading everything.
func TestIndexesAreUsed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const spans = 40_000
	var all []trace.Span
	for n := range uint64(spans) {
		one := span(n/10, n, now.Add(-time.Duration(spans-n)*time.Second))
		if n == 777 {
			one.SessionID = "rare"
			one.Attributes["customer"] = "rare"
			one.Attributes["model"] = "rare"
			one.Attributes["score"] = 0.5
			one.Attributes["seen"] = true
			one.Attributes["nothing"] = nil
			one.Name, one.AgentID = "rare", "rare"
			one.Events = []trace.Event{{Name: "rare"}}
		}
		all = append(all, one)
	}
	all = append(all, span(spans, spans, now.AddDate(0, 0, -21)))
	s.insert(all...)
	require.NoError(t, s.conn.Exec(t.Context(), "OPTIMIZE TABLE spans FINAL"))
	keys := func(e filter.Expr, r order.Range) sqltext.Statement {
		c, err := filtersql.Filter(e)
		require.NoError(t, err)
		c.Types = c.Types[:1]
		return statements.Scan{Project: s.project, Condition: c, Range: r, Limit: 51}.Keys()
	}
	hour := order.Starts(now.Add(-time.Hour).UnixMicro(), now.UnixMicro())
	id := all[12345].TraceID
	at := statements.Bounds{Trace: id, Min: all[12340].Start / 1000, Max: all[12349].Start / 1000, Records: []uint64{schema.Record(0, all[12345].Version)}}
	tests := []struct {
		name  string
		s     sqltext.Statement
		index string
	}{
		{"a window", keys(nil, hour), "PrimaryKey"},
		{"a week", keys(nil, hour), "Min-Max"},
		{"a week's documents", statements.Payloads(s.project, []statements.Version{{Version: all[12340].Version, Start: at.Min}}), "Min-Max"},
		{"a session", keys(where(t, `{"field":"session_id","value":"rare"}`), order.Everything()), "search_terms_index"},
		{"an attribute", keys(where(t, `{"field":"attributes","key":"customer","value":"rare"}`), order.Everything()), "search_terms_index"},
		{"one of two", keys(where(t, `{"operator":"or","conditions":[{"field":"attributes","key":"customer","value":"rare"},{"field":"session_id","value":"rare"}]}`), order.Everything()), "search_terms_index"},
		{"a text of few kinds", keys(where(t, `{"field":"attributes","key":"model","value":"rare"}`), order.Everything()), "attribute_value_index"},
		{"one of few kinds", keys(where(t, `{"field":"attributes","key":"model","operator":"in","value":["rare","none"]}`), order.Everything()), "attribute_value_index"},
		{"a number", keys(where(t, `{"field":"attributes","key":"score","operator":"lt","value":1}`), order.Everything()), "attribute_value_index"},
		{"a boolean or a number", keys(where(t, `{"operator":"or","conditions":[{"field":"attributes","key":"seen","value":true},{"field":"attributes","key":"score","value":0.5}]}`), order.Everything()), "attribute_value_index"},
		{"null", keys(where(t, `{"field":"attributes","key":"nothing","value":null}`), order.Everything()), "attribute_value_index"},
		{"a name", keys(where(t, `{"field":"span_name","operator":"in","value":["rare","none"]}`), order.Everything()), "attribute_value_index"},
		{"an agent", keys(where(t, `{"field":"agent_id","value":"rare"}`), order.Everything()), "attribute_value_index"},
		{"an event", keys(where(t, `{"field":"events","operator":"in","value":[{"name":"rare"}]}`), order.Everything()), "attribute_value_index"},
		{"a service", keys(where(t, `{"field":"resource","key":"service.name","value":"rare"}`), order.Everything()), "attribute_value_index"},
		{"a trace", statements.OfTraces(s.project, statements.Metrics, []statements.Bounds{at}, nil), "PrimaryKey"},
		{"a trace's documents", statements.TracePayloads(s.project, []statements.Bounds{at}), "PrimaryKey"},
		{"a whole trace", statements.PayloadsByTraceID(s.project, []trace.TraceID{id}), "PrimaryKey"},
		{"heads", statements.PayloadHeaders(s.project, []statements.Bounds{at}, []uint64{all[12345].Version}, 0), "PrimaryKey"},
		{"documents", statements.Payloads(s.project, []statements.Version{{Version: all[12340].Version, Start: at.Min}}), "PrimaryKey"},
		{"keys", statements.ByKeys(s.project, statements.Keys, []statements.Key{{Type: trace.Invocation, Position: order.Position{Start: at.Min, SortHash: tieOf(&all[12340])}}}), "PrimaryKey"},
		{"a span id", statements.SpansNamed(s.project, []trace.SpanID{all[12345].SpanID}, 10), "span_id_index"},
		{"bounds", statements.TraceBounds(s.project, []trace.TraceID{id}), "PrimaryKey"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, err := s.conn.Query(t.Context(), "EXPLAIN indexes = 1 "+tt.s.SQL, tt.s.Args...)
			require.NoError(t, err)
			var plan []string
			for rows.Next() {
				var line string
				require.NoError(t, rows.Scan(&line))
				plan = append(plan, strings.Trim(line, " │├└─"))
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
			require.True(t, narrows(plan, tt.index), "%s does not narrow:\n%s", tt.index, strings.Join(plan, "\n"))
		})
	}
}

// narrows tells whether an index left fewer granules than it was given.
func narrows(plan []string, index string) bool {
	inside := false
	for _, line := range plan {
		switch {
		case line == "PrimaryKey" || line == "Min-Max" || strings.HasPrefix(line, "Name: "):
			inside = strings.TrimPrefix(line, "Name: ") == index
		case line == "Skip" || line == "Partition":
			inside = false
		case inside && strings.HasPrefix(line, "Granules: "):
			left, of, ok := strings.Cut(strings.TrimPrefix(line, "Granules: "), "/")
			return ok && left != of
		}
	}
	return false
}
