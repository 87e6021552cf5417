//go:build embedded

package sink_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/write/stream"
)

// What traces need when they are finalized costs the store a few statements for
// all of them, not some for each: a group of thousands must not hold up the stream.
func TestTracesAreRepairedTogether(t *testing.T) {
	t.Parallel()
	const traces = 120
	each := func(h *fixture, spans func(n byte) []span) (records []stream.Record) {
		for n := byte(1); n <= traces; n++ {
			records = append(records, h.record(stream.Upsert, n, spans(n)...))
		}
		return records
	}
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		h := patientFixture(t)
		r := h.start()
		h.send(each(h, func(n byte) []span {
			first := span{trace: n, span: n, name: "root"}
			if n%3 == 0 {
				first.links = []byte{200}
			}
			return []span{first}
		})...)
		h.send(each(h, func(n byte) []span {
			late := span{trace: n, span: n + 1, parent: n, name: "late"}
			if n%3 == 0 {
				late.attributes = map[string]any{"ag.type.trace": "invocation"}
			} else {
				late.links = []byte{200}
			}
			return []span{late}
		})...)
		h.eventually("every trace has one type", func() bool { return r.count(t, "colonnade_sink_moved_traces_total") == traces })
		h.eventually("finalized", func() bool { return h.finalized() == traces })
		require.Equal(t, uint64(2*traces), one[uint64](h, "SELECT count() FROM spans"))
		require.Equal(t, uint64(2*traces/3), one[uint64](h, "SELECT count() FROM spans WHERE trace_type = 'invocation'"))
		require.Equal(t, uint64(2*traces*2/3), one[uint64](h, "SELECT count() FROM spans WHERE trace_type = 'annotation'"))
		require.Equal(t, uint64(traces/3), one[uint64](h, "SELECT count() FROM annotation_index WHERE trace_type = 'invocation'"))
		require.Equal(t, uint64(traces), one[uint64](h, "SELECT count() FROM annotation_index"))
		for _, what := range []string{"move spans to their type", "move annotation_index to their type", "count rows of annotation_index"} {
			require.LessOrEqual(t, r.statements(t, what), traces/5, what)
		}
	})
	for name, apart := range map[string]int64{"identifiers": 0, "identifiers of traces half an hour apart": -30 * 60 * 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := patientFixture(t)
			r := h.start()
			h.send(each(h, func(n byte) []span { return []span{{trace: n, span: n, name: "root", start: apart * int64(n)}} })...)
			h.send(each(h, func(n byte) []span {
				ids := map[string]any{"ag.session.id": "s'" + string('a'+rune(n%20)), "ag.user.id": "u"}
				return []span{{trace: n, span: n + 1, parent: n, start: apart*int64(n) + 1, name: "child", attributes: ids}}
			})...)
			h.eventually("finalized", func() bool { return h.finalized() == traces })
			require.Equal(t, uint64(2*traces), one[uint64](h, "SELECT count() FROM spans"))
			require.Equal(t, uint64(traces), one[uint64](h, "SELECT count() FROM spans WHERE span_name = 'root' AND user_id = 'u' AND session_id = 's\\'' || char(97 + reinterpretAsUInt8(substring(trace_id, 16, 1)) % 20) AND has(search_terms, '@session=' || session_id) AND has(search_terms, '@user=u')"))
			for _, what := range []string{"find identifiers", "promote roots"} {
				require.LessOrEqual(t, r.statements(t, what), traces/5, what)
			}
		})
	}
	for name, apart := range map[string]int64{"removed traces": 1, "removed traces half an hour apart": -30 * 60 * 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := patientFixture(t)
			r := h.start()
			h.send(each(h, func(n byte) []span {
				return []span{{trace: n, span: n, name: "root", start: apart * int64(n), links: []byte{200}}}
			})...)
			project := h.project
			h.project = domain.ProjectID(uuid.New()) // a trace of the same id in another project stays
			h.send(h.record(stream.Upsert, 7, span{trace: 7, span: 7, name: "other", links: []byte{200}}))
			h.project = project
			var records []stream.Record
			for n := byte(1); n <= traces; n++ {
				if n%2 == 0 {
					records = append(records, h.record(stream.Edit, n, span{trace: n, span: 1, name: "edited", start: apart * int64(n), links: []byte{201}}))
				} else {
					records = append(records, h.record(stream.Delete, n))
				}
			}
			h.send(records...)
			for _, table := range []string{"spans", "span_payloads_packed", "annotation_index"} {
				require.Equal(t, uint64(traces/2+1), one[uint64](h, "SELECT count() FROM "+table), table)
			}
			require.Equal(t, uint64(traces/2), one[uint64](h, "SELECT count() FROM spans WHERE span_name = 'edited'"))
			require.Equal(t, uint64(traces/2+1), one[uint64](h, "SELECT uniqExact(project_id, trace_id) FROM trace_index"))
			for _, what := range []string{"read replaced spans", "find rollup buckets of removed spans", "delete from spans", "delete from annotation_index"} {
				require.LessOrEqual(t, r.statements(t, what), traces/20, what)
			}
		})
	}
	t.Run("replaced rows", func(t *testing.T) {
		t.Parallel()
		h := patientFixture(t)
		r := h.start()
		h.send(each(h, func(n byte) []span { return []span{{trace: n, span: n, name: "root"}} })...)
		h.eventually("finalized", func() bool { return h.finalized() == traces })
		r.stop() // the next one does not know that these are replaced
		h.sink.RecentSpans = 1
		r = h.start()
		h.send(h.record(stream.Upsert, traces+1, span{trace: traces + 1, span: 1, name: "moved"}))
		h.send(each(h, func(n byte) []span { return []span{{trace: n, span: n, name: "moved", start: 3000}} })...)
		h.eventually("the rows before are gone", func() bool { return one[uint64](h, "SELECT count() FROM spans") == traces+1 })
		require.Equal(t, uint64(traces+1), one[uint64](h, "SELECT count() FROM spans WHERE span_name = 'moved'"))
		require.LessOrEqual(t, r.statements(t, "find stale rows")+r.statements(t, "delete from spans"), traces/5)
	})
}

// A group that the store cannot finalize comes again in parts, also where fewer
// traces were due than a group may hold, and the stream goes on before that.
func TestAFailedGroupIsSettledInParts(t *testing.T) {
	t.Parallel()
	h := patientFixture(t)
	logged := &bytes.Buffer{}
	h.log = slog.New(slog.NewJSONHandler(logged, nil))
	require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE trace_totals ADD CONSTRAINT none CHECK spans = 0"))
	r := h.start()
	var records []stream.Record
	for n := byte(1); n <= 40; n++ {
		records = append(records, h.record(stream.Upsert, n, span{trace: n, span: 1, name: "root"}))
	}
	h.send(records...)
	h.eventually("a second attempt", func() bool { return r.count(t, "colonnade_sink_finalize_seconds") >= 2 })
	r.stop()
	var attempts []failedGroup
	for decoder := json.NewDecoder(logged); ; {
		var line failedGroup
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if strings.Contains(line.Message, "finalization of traces failed") {
			attempts = append(attempts, line)
		}
	}
	require.Len(t, attempts, 2)
	require.Greater(t, attempts[0].Traces, 8)
	require.LessOrEqual(t, attempts[1].Traces, attempts[0].Traces/4)
	require.Greater(t, attempts[1].Time.Sub(attempts[0].Time), 10*time.Second, "batches come in between")
}

// failedGroup is the log line of a group whose finalization failed.
type failedGroup struct {
	Time    time.Time `json:"time"`
	Message string    `json:"msg"`
	Traces  int       `json:"traces"`
}

// patientFixture gathers for long enough that traces are finalized together.
func patientFixture(t *testing.T) *fixture {
	t.Helper()
	h := newFixture(t, 1)
	h.sink.MinLinger, h.sink.FinalizeAfter = 500*time.Millisecond, 3*time.Second
	return h
}

// finalized counts the traces of which the latest version is finalized.
func (h *fixture) finalized() int {
	h.t.Helper()
	return int(one[uint64](h, `SELECT count() FROM (SELECT trace_id, max(version) AS v FROM trace_totals GROUP BY trace_id) AS r
		INNER JOIN (SELECT trace_id, max(last_version) AS l FROM trace_index GROUP BY trace_id) AS i USING trace_id WHERE v > l`))
}

// statements counts how often a statement was made.
func (r *running) statements(t *testing.T, what string) (n int) {
	t.Helper()
	families, err := r.registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "colonnade_sink_statement_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetLabel()[0].GetValue() == what {
				n += int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}
