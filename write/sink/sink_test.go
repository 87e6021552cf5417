//go:build embedded

package sink_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace/payload"
	"colonnade/write/stream"
)

func TestSpansBecomeRows(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	r := h.start()
	h.send(h.record(stream.Upsert, 1,
		span{trace: 1, span: 1, name: "root", attributes: map[string]any{
			"ag.type.node": "workflow", "ag.data.inputs": `@ag.type=json:{"country":"France"}`, "ag.data.outputs": "Paris",
			"ag.metrics.unit.tokens.prompt": 10, "ag.metrics.unit.tokens.total": 15, "ag.session.id": "s1", "ag.user.id": "u1",
			"ag.refs.application.slug": "my-app", "ag.meta.x.y": 1, "service": "x", "gen_ai.request.model": "gpt-4o", "gen_ai.system": "openai",
		}},
		span{trace: 1, span: 2, parent: 1, name: "child", start: 1, failed: true},
	))
	require.Equal(t, []string{"root", "child"}, h.strings("SELECT span_name FROM spans WHERE project_id = ? ORDER BY start_time", h.project.String()))
	require.Equal(t, "workflow invocation checkout gpt-4o openai s1 u1 my-app SPAN_KIND_CLIENT 10 nan 7",
		one[string](h, `SELECT concat(toString(span_type), ' ', toString(trace_type), ' ', service, ' ', model, ' ', provider, ' ', session_id, ' ', user_id, ' ', application_slug, ' ', toString(span_kind), ' ', toString(tokens_prompt), ' ', toString(tokens_completion), ' ', toString(start_ns)) FROM spans WHERE span_name = 'root'`))
	require.JSONEq(t, `{"country":"France"}`, one[string](h, "SELECT inputs FROM span_payloads WHERE outputs = '\"Paris\"'"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM spans WHERE has(search_terms, '@ref.application.slug=my-app') AND has(search_terms, '@session=s1') AND attributes_string['service'] = 'x' AND attributes_number['ag.meta.x.y'] = 1"))
	require.Equal(t, "{'ag.meta.request.model':'gpt-4o','ag.meta.system':'openai','gen_ai.request.model':'gpt-4o','gen_ai.system':'openai'}", one[string](h, "SELECT toString(attributes_enum) FROM spans WHERE span_name = 'root'"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM trace_index WHERE length(records) = 1 AND min_start < max_start"))
	require.NotZero(t, one[uint64](h, "SELECT count() FROM attribute_keys WHERE path = 'ag.meta.x.y' AND type = 'number'"))
	require.Equal(t, []string{"span_payloads_packed.stream_offset", "spans.start_time"}, h.strings("SELECT DISTINCT concat(table, '.', column) AS name FROM system.parts_columns WHERE database = currentDatabase() AND level = 0 AND notEmpty(statistics) ORDER BY name"), "read before anything is merged")
	require.Equal(t, 2, r.count(t, "colonnade_sink_spans_total"))
	require.NoError(t, r.Ready(t.Context()))

	h.eventually("the trace is finalized", func() bool {
		return one[uint64](h, "SELECT count() FROM trace_totals WHERE spans = 2 AND tokens_total = 10 AND isNaN(costs_total) AND root_name = 'root'") == 1
	})
}

// A batch's memory goes by its rows, however short its spans are.
func TestShortSpansMakeMoreBatches(t *testing.T) {
	t.Parallel()
	const traces, spans = 10, 200
	h := newFixture(t, 1)
	h.sink.BatchBytes, h.sink.MinLinger = 2*spans*512, h.sink.MaxLinger
	var records []stream.Record
	bytes := 0
	for id := range byte(traces) {
		var all []span
		for i := range byte(spans) {
			all = append(all, span{trace: id + 1, span: i + 1, name: "s"})
		}
		records = append(records, h.record(stream.Upsert, id+1, all...))
		bytes += len(records[id].Value)
	}
	require.Less(t, bytes, h.sink.BatchBytes, "by bytes it is one batch")
	token := h.publish(records...)
	r := h.start()
	h.wait(token)
	require.Equal(t, uint64(traces*spans), one[uint64](h, "SELECT count() FROM spans"))
	h.eventually("all are counted", func() bool { return r.count(t, "colonnade_sink_batches_total") >= traces/2 })
}

func TestRetriesAreDropped(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	r := h.start()
	record := h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"})
	h.send(record)
	token := h.send(record)
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM spans"))
	require.Equal(t, 2, r.count(t, "colonnade_sink_dropped_spans_total"))
	h.eventually("the sink knows what is visible", func() bool { return r.Visible()[token[0].Partition] > token[0].Offset })

	// Still known to the next owner of the partition.
	r.stop()
	require.Empty(t, r.Visible(), "it works on no partition")
	r = h.start()
	h.send(record)
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM spans"))
	require.Equal(t, 2, r.count(t, "colonnade_sink_dropped_spans_total"))
}

func TestANewVersionReplaces(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "first"}))
	created := one[string](h, "SELECT toString(created_at) FROM spans")
	// Another start is another key: the old row must go.
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "second", start: 50}))
	require.Equal(t, []string{"second"}, h.strings("SELECT span_name FROM spans"))
	h.eventually("so do its documents", func() bool { return one[uint64](h, "SELECT count() FROM span_payloads_packed") == 1 })
	require.Equal(t, created, one[string](h, "SELECT toString(created_at) FROM spans"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM spans WHERE updated_at > created_at AND updated_by_id = created_by_id"))
	// Two versions in one batch: the last wins.
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "x"}), h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "y"}))
	require.Equal(t, []string{"y"}, h.strings("SELECT span_name FROM spans FINAL WHERE span_id = unhex('0200000000000002')"))
}

func TestEditReplacesTheTrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	h.send(h.record(stream.Upsert, 1,
		span{trace: 1, span: 1, name: "a", links: []byte{9}}, span{trace: 1, span: 2, parent: 1, name: "b"}, span{trace: 1, span: 3, parent: 1, name: "c"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "other"}))
	created := one[string](h, "SELECT toString(created_at) FROM spans WHERE span_name = 'a'")
	require.Equal(t, uint64(3), one[uint64](h, "SELECT count() FROM spans WHERE trace_type = 'annotation'"))
	// The edited trace has no link any more: an invocation again.
	h.send(h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "a2"}, span{trace: 1, span: 2, parent: 1, name: "b"}))
	require.Equal(t, []string{"a2", "b", "other"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, uint64(3), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, uint64(3), one[uint64](h, "SELECT count() FROM spans WHERE trace_type = 'invocation'"))
	require.Equal(t, created, one[string](h, "SELECT toString(created_at) FROM spans WHERE span_name = 'a2'"))
	require.Equal(t, uint32(2), one[uint32](h, "SELECT spans FROM trace_totals FINAL WHERE trace_id = unhex('01000000000000000000000000000001')"))
	require.Equal(t, uint8(8), one[uint8](h, "SELECT max(finalized_flags) % 16 FROM trace_index WHERE trace_id = unhex('01000000000000000000000000000001')"), "finalized, no type declared, no link")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	h.send(
		h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "keep"}, span{trace: 2, span: 2, parent: 1, name: "drop"}))
	h.eventually("both are finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 2 })

	h.send(h.record(stream.Delete, 1), h.record(stream.Delete, 2, span{trace: 2, span: 2}))
	require.Equal(t, []string{"keep"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_index"))
	require.Equal(t, []uint32{1}, []uint32{one[uint32](h, "SELECT sum(spans)::UInt32 FROM trace_totals FINAL")})

	// Deleting what is not there does nothing; a deleted span may come again.
	h.send(h.record(stream.Delete, 7))
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}))
	require.Equal(t, []string{"a", "keep"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))

	// Written and deleted in one batch: never there.
	h.send(h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "gone"}), h.record(stream.Delete, 3))
	require.Equal(t, uint64(0), one[uint64](h, "SELECT count() FROM spans WHERE span_name = 'gone'"))
}

// What was deleted leaves the disk, not only the view.
func TestDeletedRowsLeaveTheDisk(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.CleanUpEvery = 100 * time.Millisecond
	h.start()
	h.send(
		h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "gone"}, span{trace: 1, span: 2, parent: 1, name: "gone too"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "stays"}))
	h.send(h.record(stream.Delete, 1))
	require.Equal(t, []string{"stays"}, h.strings("SELECT span_name FROM spans"))
	for _, table := range []string{"spans", "span_payloads_packed", "trace_index"} {
		h.eventually(table+" is clean", func() bool {
			return one[uint64](h, "SELECT sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = ? AND NOT startsWith(partition_id, 'patch-')", table) == 1
		})
	}
	require.Equal(t, []string{"stays"}, h.strings("SELECT span_name FROM spans"))
}

func TestLateLinksMoveATrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a", attributes: map[string]any{"ag.data.inputs": `{"q":1}`}}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "declared", attributes: map[string]any{"ag.type.trace": "invocation"}}))
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM spans WHERE trace_type = 'invocation'"))
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "b", links: []byte{9}}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 2, parent: 1, name: "linked", links: []byte{9}}))
	require.Equal(t, []string{"b"}, h.strings("SELECT span_name FROM spans WHERE trace_type = 'annotation'"))
	h.eventually("the whole trace is an annotation", func() bool {
		return one[uint64](h, "SELECT count() FROM trace_totals WHERE trace_type = 'annotation' AND spans = 2") == 1
	})
	require.Equal(t, []string{"a", "b"}, h.strings("SELECT span_name FROM spans WHERE trace_type = 'annotation' ORDER BY span_name"))
	require.Equal(t, []string{"declared", "linked"}, h.strings("SELECT span_name FROM spans WHERE trace_type = 'invocation' ORDER BY span_name"))
	require.Equal(t, uint64(1), one[uint64](h, `SELECT count() FROM span_payloads WHERE inputs = '{"q":1}'`))
	require.Equal(t, uint64(4), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, 1, r.count(t, "colonnade_sink_moved_traces_total"))
}

func TestRejectsAndPoison(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	r := h.start()
	refused := h.record(stream.Reject, 1)
	refused.Value = []byte(`{"stage":"scan","reason":"too deep","trace_id":"ab","span_id":"cd","span_name":"n","raw":"AAEC"}`)
	broken := h.record(stream.Upsert, 2)
	broken.Value = []byte("\xff\xff\xff no protobuf")
	zero := h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "good"}, span{trace: 3, span: 2, name: "good too"})
	stray := h.record(stream.Upsert, 4, span{trace: 4, span: 1, name: "under its key"}, span{trace: 5, span: 1, name: "not under its key"})
	h.send(refused, broken, zero, stray)
	require.Equal(t, []string{"good", "good too"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, []string{"fit", "fit", "scan"}, h.strings("SELECT stage FROM rejected_spans ORDER BY stage"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM rejected_spans WHERE reason LIKE '%a record of trace 01000000000000000000000000000004 with spans of another'"))
	require.Equal(t, "too deep ab cd n 000102", one[string](h, "SELECT concat(reason, ' ', trace_id, ' ', span_id, ' ', span_name, ' ', lower(hex(raw))) FROM rejected_spans WHERE stage = 'scan'"))
	require.Equal(t, 2, r.count(t, "colonnade_sink_dead_letter_records_total"))
}

// A batch goes through its records trace by trace: what later ones say of a
// trace counts for the earlier ones, whatever lies between them.
func TestRecordsOfATraceWithinABatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	token := h.publish( // before the start: one batch
		h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "first"}, span{trace: 1, span: 2, parent: 1, name: "early"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "to go"}),
		h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "alone"}),
		h.record(stream.Upsert, 1, span{trace: 1, span: 3, parent: 1, name: "links", links: []byte{9}}, span{trace: 1, span: 2, parent: 1, name: "late"}),
		h.record(stream.Delete, 2),
		h.record(stream.Upsert, 2, span{trace: 2, span: 2, name: "after the delete"}),
		h.record(stream.Edit, 3, span{trace: 3, span: 2, name: "instead"}),
		h.record(stream.Upsert, 1, span{trace: 1, span: 4, parent: 1, name: "last"}),
	)
	h.start()
	h.wait(token)
	require.Equal(t, []string{"after the delete invocation", "first annotation", "instead invocation", "last annotation", "late annotation", "links annotation"},
		h.strings("SELECT concat(span_name, ' ', trace_type) AS s FROM spans ORDER BY s"))
	require.Equal(t, uint64(6), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, []string{"1 1 1", "2 0 1", "3 0 1"}, h.strings("SELECT concat(toString(reinterpretAsUInt8(substring(reverse(trace_id::String), 1, 1))), ' ', toString(max(is_annotation)), ' ', toString(count())) AS s FROM trace_index GROUP BY trace_id ORDER BY s"))
}

// Documents of a version that another took the place of go when traces are
// finalized, whether or not the new version stands at the same place.
func TestOutdatedDocumentsGo(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	for _, outputs := range []string{"first", "second", "third"} {
		h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a", attributes: map[string]any{"ag.data.outputs": outputs}}, span{trace: 1, span: 2, parent: 1, name: "b"}))
	}
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a", start: 9, attributes: map[string]any{"ag.data.outputs": "fourth"}}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "other"}))
	h.eventually("the documents of earlier versions are gone", func() bool { return one[uint64](h, "SELECT count() FROM span_payloads_packed") == 3 })
	require.Equal(t, []string{"", "", `"fourth"`}, h.strings("SELECT outputs FROM span_payloads ORDER BY outputs"))
}

// What the store refuses for good is halved down to the record at fault.
func TestRefusedRowsAreHalved(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"spans", "span_payloads_packed"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, 1)
			column := map[string]string{"spans": "span_name", "span_payloads_packed": "text"}[table]
			require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE "+table+" ADD CONSTRAINT no_poison CHECK position("+column+", 'poison') = 0"))
			var records []stream.Record
			for i := byte(1); i <= 9; i++ {
				name := "fine"
				if i == 6 {
					name = "poison"
				}
				records = append(records, h.record(stream.Upsert, i, span{trace: i, span: 1, name: name, attributes: map[string]any{"ag.data.outputs": name}}))
			}
			token := h.publish(records...) // before the start: one batch
			r := h.start()
			h.wait(token)
			require.Equal(t, uint64(8), one[uint64](h, "SELECT count() FROM spans"))
			require.Equal(t, uint64(8), one[uint64](h, "SELECT uniqExact(trace_id) FROM span_payloads_packed"), "none of the record that is refused")
			require.Equal(t, uint64(8), one[uint64](h, "SELECT count() FROM spans s JOIN (SELECT DISTINCT span_id, trace_id FROM span_payloads_packed) p ON s.trace_id = p.trace_id AND s.span_id = p.span_id"))
			require.Equal(t, []string{"store"}, h.strings("SELECT stage FROM rejected_spans"))
			require.Equal(t, 1, r.count(t, "colonnade_sink_dead_letter_records_total"))
			require.NotZero(t, r.count(t, "colonnade_sink_bisections_total"))
		})
	}
}

// textsInHead is the length of the texts before a span's own head (schema.PayloadExpression).
const textsInHead = "reinterpretAsUInt32(substring(lengths, 25, 4)) + reinterpretAsUInt32(substring(lengths, 29, 4)) + reinterpretAsUInt32(substring(lengths, 33, 4))"

// A head says of a span's metrics what its row of spans does, and nothing of those it has not.
func TestHeadsHaveMetrics(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.start()
	h.wait(h.publish(
		h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "measured", attributes: map[string]any{"ag.metrics.unit.tokens.prompt": 3, "ag.metrics.unit.costs.total": 0.25}}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "none"}),
	))
	for n, want := range map[byte]map[int]float64{1: {1: 3, 3: 3, 6: 0.25}, 2: {}} {
		head, err := payload.ParseHeader(one[string](h, "SELECT substring(head, 1 + "+textsInHead+") FROM span_payloads_packed WHERE trace_id = unhex(?)", fmt.Sprintf("01%030x", n)))
		require.NoError(t, err)
		got := map[int]float64{}
		for k, v := range head.Metrics {
			if !math.IsNaN(v) {
				got[k] = v
			}
		}
		require.Equal(t, want, got)
	}
}

// Rows that are made a second time, of records fitted again, are those of the first.
func TestRowsMadeAgainAreTheSame(t *testing.T) {
	t.Parallel()
	first, again := newFixture(t, 1), newFixture(t, 1)
	again.project, again.user = first.project, first.user
	tables := map[string]string{
		"spans":                "span_name, trace_type, session_id, user_id, content_hash, version, attributes_string, attributes_number, attributes_bool, arraySort(search_terms), event_names, service, link_trace_ids, payload_bytes",
		"span_payloads_packed": "stream_partition, stream_offset, version, span_id, text, lengths, substring(head, 1, " + textsInHead + "), substring(head, 42 + " + textsInHead + ")",
		"annotation_index":     "trace_id, link_trace_id, outputs, numbers, evaluator_key",
		"evaluation_index":     "trace_id, evaluator_key, start_time, version",
	}
	stored := func(h *fixture) map[string][]string {
		rows := map[string][]string{}
		for table, columns := range tables {
			rows[table] = h.strings("SELECT toString(tuple(" + columns + ")) AS row FROM " + table + " WHERE trace_id != unhex('0100000000000000000000000000006F') ORDER BY row")
		}
		return rows
	}
	for table := range tables {
		require.NoError(t, again.conn.Exec(t.Context(), "ALTER TABLE "+table+" ADD CONSTRAINT no_poison CHECK trace_id != unhex('0100000000000000000000000000006F')"))
	}
	for _, h := range []*fixture{first, again} {
		var records []stream.Record
		for id := byte(1); id <= 7; id++ {
			if id == 4 {
				records = append(records, h.record(stream.Upsert, 0x6f, span{trace: 0x6f, span: 1, name: "poison", links: []byte{1}}))
			}
			records = append(records,
				h.record(stream.Upsert, id,
					span{trace: id, span: 1, name: "root", attributes: map[string]any{"ag.data.inputs": `@ag.type=json:{"q":["a",{"b":1.5}]}`, "n": 1, "ok": true}, events: []string{"exception", "retry"}, failed: true},
					span{trace: id, span: 2, parent: 1, name: "child", attributes: map[string]any{"ag.session.id": "s", "ag.user.id": "u", "gen_ai.request.model": "gpt-4o"}}),
				h.record(stream.Upsert, 0x40+id, span{trace: 0x40 + id, span: 1, name: "score", links: []byte{id}, attributes: map[string]any{
					"ag.type.trace": "annotation", "ag.data.outputs": `@ag.type=json:{"score":0.5}`, "ag.references.evaluator.slug": "exact",
				}}))
		}
		token := h.publish(records...) // before the start: one batch
		r := h.start()
		h.wait(token)
		require.Equal(t, h == again, r.count(t, "colonnade_sink_bisections_total") > 0)
	}
	want := stored(first)
	require.Len(t, want["spans"], 21)
	require.Len(t, want["evaluation_index"], 7)
	require.Equal(t, want, stored(again))
}

// A store that is away is waited for and told of; nothing is committed meanwhile.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.MaxBackoff, h.sink.MinBackoff, h.sink.DrainTimeout = 50*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	there := h.conn
	h.conn = open(t, "http://127.0.0.1:1/none")
	r := h.start()
	token := h.publish(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "waits"}))
	h.eventually("a retry, not ready", func() bool { // before it has its partitions it is not ready either
		err := r.Ready(t.Context())
		return r.count(t, "colonnade_sink_retries_total") > 0 && err != nil && domain.KindOf(err) == domain.Unavailable
	})
	require.Empty(t, r.Visible())
	r.stop()

	h.conn = there
	r = h.start()
	h.wait(token)
	require.NoError(t, r.Ready(t.Context()))
	require.Equal(t, []string{"waits"}, h.strings("SELECT span_name FROM spans"))
}
