//go:build embedded

package sink_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// mixed are records of every kind, and what the store holds after them.
func (h *fixture) mixed() []stream.Record {
	broken := h.record(stream.Upsert, 5)
	broken.Value = []byte("\xff\xff")
	refused := h.record(stream.Reject, 6)
	refused.Value = []byte(`{"stage":"scan","reason":"no"}`)
	return []stream.Record{
		h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "old"}, span{trace: 2, span: 2, parent: 1, name: "gone"}),
		h.record(stream.Edit, 2, span{trace: 2, span: 1, name: "new", start: 9}),
		h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "deleted"}),
		h.record(stream.Delete, 3),
		broken, refused,
		h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "b2", start: 3}),
	}
}

func (h *fixture) checkMixed() {
	h.t.Helper()
	require.Equal(h.t, []string{"a", "b2", "new"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(h.t, uint64(3), one[uint64](h, "SELECT uniqExact(trace_id, span_id) FROM span_payloads_packed"))
	require.Equal(h.t, uint64(2), one[uint64](h, "SELECT count() FROM rejected_spans"))
	require.Equal(h.t, uint64(2), one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_index"))
}

// A sink that died after its intent, and before anything else.
func TestReplayFromTheIntent(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	token := h.publish(h.mixed()...)
	h.rewind(stream.Range{First: 0, Last: 4})
	r := h.start()
	h.wait(token)
	h.checkMixed()
	h.eventually("the range that was named is done, and the rest", func() bool { return r.count(t, "colonnade_sink_batches_total") == 2 })
}

// A sink that died before its commit; what it inserted is there already.
func TestReplayBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		forget []string
	}{
		{"tokens known", nil},
		{"tokens forgotten", []string{
			"ALTER TABLE spans MODIFY SETTING non_replicated_deduplication_window = 0",
			"ALTER TABLE rejected_spans MODIFY SETTING non_replicated_deduplication_window = 0",
		}},
		{"spans not yet inserted", []string{"TRUNCATE TABLE spans", "TRUNCATE TABLE rejected_spans"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, 1)
			token := h.publish(h.mixed()...)
			r := h.start()
			h.wait(token)
			h.checkMixed()
			h.eventually("finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 2 })
			r.stop()
			for _, statement := range tt.forget {
				require.NoError(t, h.conn.Exec(t.Context(), statement))
			}
			h.rewind(stream.Range{First: 0, Last: 7})
			require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
			h.start()
			h.wait(token)
			h.checkMixed()
		})
	}
}

// A broker that died may have forgotten what the sink before intended and
// committed: its rows are there, and no range names them. The next sink takes
// them with what came since, under a token that nobody knows.
func TestRowsThatNoCommitNamesAreStoredOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	// Merges would hide what is there twice.
	require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE spans MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1"))
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}), h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "b"}))
	r.stop()
	h.committed(func(ctx context.Context, p *consumer.Partition) error { return p.Commit(ctx, 0) })
	token := h.publish(h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "c"}))
	require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
	h.start()
	h.wait(token)
	require.Equal(t, []string{"a", "b", "c"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
}

// unanswered loses the answer of the first insert into each table, after after has run.
func (h *fixture) unanswered(after func(table string)) (lost func() []string) {
	h.t.Helper()
	var mu sync.Mutex
	seen := map[string]bool{}
	h.between(func(*http.Request, string) {}, func(table string) {
		mu.Lock()
		first := !seen[table]
		seen[table] = true
		mu.Unlock()
		if first {
			after(table)
			panic(http.ErrAbortHandler) // the store is done, and the connection gone
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(seen))
	}
}

// between puts a proxy between sinks and the store, which calls before and after at
// every insert into a table.
func (h *fixture) between(before func(r *http.Request, table string), after func(table string)) {
	h.t.Helper()
	store, err := url.Parse(h.url)
	require.NoError(h.t, err)
	inserted := func(r *http.Request) (table string, ok bool) {
		rest, inserts := strings.CutPrefix(r.URL.Query().Get("query"), "INSERT INTO `")
		table, _, named := strings.Cut(rest, "` (")
		return table, inserts && named
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", store.Host },
		ModifyResponse: func(r *http.Response) error {
			if table, ok := inserted(r.Request); ok {
				after(table)
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if table, ok := inserted(r); ok {
			before(r, table)
		}
		proxy.ServeHTTP(w, r)
	}))
	h.t.Cleanup(server.Close)
	through := *store
	through.Host = strings.TrimPrefix(server.URL, "http://")
	h.through = open(h.t, through.String())
}

// front puts before the store what may answer a statement in its place.
func (h *fixture) front(answer func(w http.ResponseWriter, statement string) bool) {
	h.t.Helper()
	store, err := url.Parse(h.url)
	require.NoError(h.t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", store.Host }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		statement := r.URL.Query().Get("query")
		if statement == "" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler) // the sink was stopped
			}
			r.Body, statement = io.NopCloser(bytes.NewReader(body)), string(body)
		}
		if !answer(w, statement) {
			proxy.ServeHTTP(w, r)
		}
	}))
	h.t.Cleanup(server.Close)
	through := *store
	through.Host = strings.TrimPrefix(server.URL, "http://")
	h.through = open(h.t, through.String())
}

// outOfMemory is the store's answer to what is too much for it.
func outOfMemory(w http.ResponseWriter) {
	w.Header().Set("X-ClickHouse-Exception-Code", "241")
	http.Error(w, "Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)", http.StatusInternalServerError)
}

// An insert that is done while its answer is lost, and whose token is not
// remembered, is not done again.
func TestAnInsertWithoutAnswerIsDoneOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	for _, table := range []string{"spans", "rejected_spans"} {
		for _, setting := range []string{"non_replicated_deduplication_window = 0", "max_bytes_to_merge_at_max_space_in_pool = 1"} {
			require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE "+table+" MODIFY SETTING "+setting))
		}
	}
	lost := h.unanswered(func(string) {})
	h.start()
	h.send(h.mixed()...)
	h.checkMixed()
	require.Subset(t, lost(), []string{"rejected_spans", "span_payloads_packed", "spans", "trace_index"})
}

// A store that was killed in the middle of an insert may know its token and not
// have its rows: they are stored all the same.
func TestATokenWithoutItsRowsLosesNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	lost := h.unanswered(func(table string) {
		if err := h.conn.Exec(context.Background(), "DELETE FROM "+table+" WHERE true SETTINGS lightweight_deletes_sync = 2"); err != nil {
			t.Error(err)
		}
	})
	h.start()
	h.send(h.mixed()...)
	h.checkMixed()
	require.Subset(t, lost(), []string{"attribute_keys", "rejected_spans", "span_payloads_packed", "spans", "trace_index"})
	require.NotZero(t, one[uint64](h, "SELECT count() FROM attribute_keys"))
}

// Looks may come to a replica that is behind the one that took the insert: what
// they do not see yet is waited for, not stored again.
func TestALaggingReplicaIsWaitedFor(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.Deployment.Replicated = true
	h.sink.MinBackoff, h.sink.MaxBackoff = time.Millisecond, 10*time.Millisecond
	require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE spans MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1"))
	var inserts, looks atomic.Int64
	h.front(func(w http.ResponseWriter, statement string) bool {
		switch {
		case strings.HasPrefix(statement, "INSERT INTO `spans` ("):
			if inserts.Add(1) > 1 {
				return false
			}
			http.Error(w, "away", http.StatusServiceUnavailable) // from here on it looks
			return true
		case strings.Contains(statement, "SELECT version, content_hash FROM"):
			return looks.Add(1) <= 20 // with no rows
		default:
			return false
		}
	})
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "once"}))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM spans"))
	require.Equal(t, int64(2), inserts.Load())
	require.Equal(t, int64(21), looks.Load())
}

// Two sinks share the partitions; one leaves, and the other goes on.
func TestRebalance(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 4)
	first := h.start()
	n := byte(0)
	some := func() {
		for range 20 {
			n++
			h.publish(h.record(stream.Upsert, n, span{trace: n, span: 1, name: "x"}))
		}
	}
	some()
	second := h.start()
	some()
	h.eventually("both work", func() bool {
		return first.count(t, "colonnade_stream_assigned_partitions") > 0 && second.count(t, "colonnade_stream_assigned_partitions") > 0
	})
	some()
	first.stop()
	some()
	h.eventually("all is there", func() bool { return one[uint64](h, "SELECT count() FROM spans") >= 80 })
	require.Equal(t, uint64(80), one[uint64](h, "SELECT count() FROM spans"))
	h.eventually("all is finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 80 })
}

// Traces whose sink stopped before they were quiet are finalized by the next one.
func TestSettleAfterRestart(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	quiet := h.sink.FinalizeAfter
	h.sink.FinalizeAfter = 1 << 40 // not in this life
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}), h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "b"}))
	r.stop()
	require.Zero(t, one[uint64](h, "SELECT count() FROM trace_totals"))
	h.sink.FinalizeAfter = quiet
	h.start()
	h.eventually("both are finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 2 })

	// A late span opens its trace again; duplicates from elsewhere count once.
	require.NoError(t, h.conn.Exec(t.Context(), "INSERT INTO spans SELECT * FROM spans WHERE span_name = 'a' SETTINGS insert_deduplicate = 0"))
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "late", failed: true}))
	h.eventually("finalized again", func() bool {
		return one[uint64](h, "SELECT count() FROM trace_totals FINAL WHERE spans = 2") == 1
	})
}

// A topic that is deleted and made again begins anew: its offsets are those of
// other records, which the store must not take for repetitions.
func TestATopicMadeAgainIsAnotherLog(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	r := h.start()
	refused := func(reason string) stream.Record {
		r := h.record(stream.Reject, 6)
		r.Value = []byte(`{"stage":"scan","reason":"` + reason + `"}`)
		return r
	}
	// Equal places lie in two weeks, each time in the other: whichever is looked
	// at last, it has the row of before for one of them.
	const week = 7 * 24 * 3600 * 1000
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "before"}, span{trace: 1, span: 2, name: "before", start: -week}), refused("before"))
	r.stop()
	h.remakeTopic()
	token := h.publish(h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "after", start: -week}, span{trace: 2, span: 2, name: "after"}), refused("after"))
	require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
	h.start()
	h.wait(token)
	require.Equal(t, []string{"after", "after", "before", "before"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT uniqExact(trace_id) FROM span_payloads_packed"))
	require.Equal(t, []string{"after", "before"}, h.strings("SELECT reason FROM rejected_spans ORDER BY reason"))
}

// What is deleted or edited after that is gone, though its offsets are later.
func TestRowsOfAnotherLogAreRemoved(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	r := h.start()
	before := make([]stream.Record, 4)
	for i := range before {
		n := byte(i + 1)
		before[i] = h.record(stream.Upsert, n, span{trace: n, span: 1, name: "before"}, span{trace: n, span: 2, parent: 1, name: "stays", links: []byte{200}})
		before[i].ReceivedAt = before[i].ReceivedAt.Add(-time.Hour)
	}
	h.send(before...)
	h.eventually("finalized", func() bool { return h.finalized() == len(before) })
	r.stop()
	h.remakeTopic()
	some := h.record(stream.Edit, 3, span{trace: 3, span: 1, name: "after"})
	some.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	token := h.publish(h.record(stream.Delete, 1), h.record(stream.Delete, 4), h.record(stream.Edit, 2, span{trace: 2, span: 1, name: "after"}), some)
	require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
	h.sink.MaxClockSkew = time.Millisecond // the machine may have finalized a moment ago
	h.start()
	h.wait(token)
	const names = "SELECT toString(reinterpretAsUInt8(substring(trace_id, 16))) || ' ' || span_name FROM spans ORDER BY 1"
	require.Equal(t, []string{"2 after", "3 after", "3 stays"}, h.strings(names))
	require.Equal(t, uint64(3), one[uint64](h, "SELECT uniqExact(trace_id, span_id) FROM span_payloads_packed"))
	require.Equal(t, uint64(3), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM annotation_index"))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_index"))
	require.Equal(t, []string{"1", "2"}, h.strings("SELECT toString(spans) FROM trace_totals FINAL ORDER BY spans"))
}

// remakeTopic deletes the topic and has a producer that makes it again.
func (h *fixture) remakeTopic() {
	h.t.Helper()
	client, err := kgo.NewClient(embeddedtest.KafkaOptions(h.t)...)
	require.NoError(h.t, err)
	defer client.Close()
	adm := kadm.NewClient(client)
	_, err = adm.DeleteTopic(h.t.Context(), h.stream.Topic)
	require.NoError(h.t, err)
	// A broker deletes a topic after it has answered: a producer that still finds it does not make it.
	h.eventually("the topic is gone", func() bool {
		topics, err := adm.ListTopics(h.t.Context(), h.stream.Topic)
		return err == nil && errors.Is(topics[h.stream.Topic].Err, kerr.UnknownTopicOrPartition)
	})
	h.producer, err = stream.NewProducer(h.stream, time.Now, h.log, prometheus.NewRegistry())
	require.NoError(h.t, err)
	h.t.Cleanup(func() { require.NoError(h.t, h.producer.Close()) })
}

// A log that ends before what is stored is another one, and that is logged as an error.
func TestAShorterLogIsTold(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	logged := &bytes.Buffer{}
	h.log = slog.New(slog.NewTextHandler(logged, nil))
	r := h.start()
	for n := byte(1); n <= 3; n++ {
		h.send(h.record(stream.Upsert, n, span{trace: n, span: 1, name: "before"}))
	}
	r.stop()
	r = h.start()
	r.stop()
	require.NotContains(t, logged.String(), "because it was created again", "a log that goes on")
	h.remakeTopic()
	token := h.publish(h.record(stream.Upsert, 4, span{trace: 4, span: 1, name: "after"}))
	require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
	r = h.start()
	h.wait(token)
	r.stop()
	require.Contains(t, logged.String(), "because it was created again")
	require.Contains(t, logged.String(), "next_offset=1 stored_until=2")
	require.Equal(t, uint64(4), one[uint64](h, "SELECT count() FROM spans"))
}
