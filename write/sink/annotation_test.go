//go:build embedded

package sink_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

const (
	evaluatorID = "01890a5d-ac96-774b-bcce-b302099a8057"
	revisionID  = "01890a5d-ac96-774b-bcce-b302099a8058"
	testcaseID  = "01890a5d-ac96-774b-bcce-b302099a8059"
)

// judgment is what an evaluator sends about other traces.
func judgment(id byte, links ...byte) span {
	return span{trace: id, span: 1, name: "judge", links: links, attributes: map[string]any{
		"ag.refs.evaluator.slug": "quality", "ag.refs.evaluator.id": evaluatorID, "ag.refs.evaluator_revision.version": "2",
		"ag.refs.application.slug": "my-app", "ag.refs.application_revision.id": revisionID, "ag.refs.testset.slug": "golden", "ag.refs.testset_revision.version": "7",
		"ag.refs.testcase.id": testcaseID, "ag.flags.is_feedback": true, "ag.flags.is_evaluation": true, "ag.flags.is_web": true,
		"ag.data.outputs": `@ag.type=json:{"score":0.5,"verdict":"good","passed":true,"deep":{"n":[1,2]}}`, "ag.data.inputs": `@ag.type=json:{"score":9}`,
	}}
}

// rowsOf counts what both tables hold, each row in its latest version.
func (h *fixture) rowsOf(table, where string) uint64 {
	h.t.Helper()
	return one[uint64](h, "SELECT count() FROM "+table+" FINAL WHERE "+where)
}

func TestAnnotationsHaveRows(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	h.start()
	about := judgment(1, 8, 9, 8)
	h.send(h.record(stream.Upsert, 1, about, span{trace: 1, span: 2, parent: 1, name: "child"}),
		h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "plain"}),
		h.record(stream.Upsert, 3, span{trace: 3, span: 1, name: "loose", attributes: map[string]any{"ag.type.trace": "annotation", "ag.data.outputs": 3}}),
		h.record(stream.Upsert, 4, span{trace: 4, span: 1, name: "declared", links: []byte{8}, attributes: map[string]any{"ag.type.trace": "invocation"}}))
	require.Equal(t, []string{
		"00000000000000000000000000000000  annotation custom",
		"01000000000000000000000000000008  invocation",
		"01000000000000000000000000000008 quality annotation human",
		"01000000000000000000000000000009 quality annotation human",
	}, trimmed(h.strings("SELECT concat(lower(hex(link_trace_id)), ' ', evaluator_key, ' ', toString(trace_type), ' ', if(trace_type = 'invocation', '', replaceOne(toString(origin), 'auto', 'custom'))) FROM annotation_index ORDER BY link_trace_id, evaluator_key")))
	const facts = "concat(evaluator_slug, ' ', evaluator_revision, ' ', application_slug, ' ', application_revision, ' ', testset_revision, ' ', testcase, ' ', toString(origin), ' ', toString(kind), ' ', toString(channel), ' ', " +
		"toString(numbers), ' ', toString(strings), ' ', toString(bools), ' ', outputs)"
	want := "quality quality@2 my-app " + revisionID + " golden@7 " + testcaseID + ` human eval web {'deep.n.0':1,'deep.n.1':2,'score':0.5} {'verdict':'good'} {'passed':true} {"deep":{"n":[1,2]},"passed":true,"score":0.5,"verdict":"good"}`
	require.Equal(t, []string{want, want}, h.strings("SELECT "+facts+" FROM annotation_index WHERE whole AND evaluator_key != ''"))
	require.Equal(t, []string{evaluatorID + " quality " + revisionID + " golden@7 " + testcaseID},
		h.strings("SELECT concat(toString(evaluator_id), ' ', evaluator_key, ' ', application_revision, ' ', testset_revision, ' ', testcase) FROM evaluation_index"))
	require.Equal(t, []string{"{'':3}"}, h.strings("SELECT toString(numbers) FROM annotation_index WHERE link_trace_id = toFixedString('', 16)"))
	// Where a row leads.
	require.Equal(t, uint64(4), one[uint64](h, "SELECT count() FROM annotation_index WHERE (trace_id, span_id, start_time, version) IN (SELECT trace_id, span_id, start_time, version FROM span_payloads_packed)"))
}

func trimmed(in []string) []string {
	for i := range in {
		in[i] = strings.TrimSpace(in[i])
	}
	return in
}

// Large outputs are not copied, and those of a span with many links not for every link.
func TestLargeOutputsAreNotCopied(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.start()
	large, wide := judgment(1, 7), judgment(2)
	large.attributes["ag.data.outputs"] = `@ag.type=json:{"text":"` + strings.Repeat("x", 40<<10) + `","score":1}`
	for i := range byte(20) {
		wide.links = append(wide.links, 100+i)
	}
	h.send(h.record(stream.Upsert, 1, large), h.record(stream.Upsert, 2, wide))
	require.Equal(t, uint64(1), h.rowsOf("annotation_index", "NOT whole AND outputs = '' AND link_trace_id = unhex('01000000000000000000000000000007')"))
	require.Equal(t, uint64(16), h.rowsOf("annotation_index", "whole"))
	require.Equal(t, uint64(20), h.rowsOf("annotation_index", "length(numbers) <= 3 AND link_trace_id != unhex('01000000000000000000000000000007')"))
	require.Equal(t, uint64(2), h.rowsOf("evaluation_index", "1"))
}

// A root that names an evaluator has a row among its results, whatever its
// trace is.
func TestResultsOfAllThatNameAnEvaluator(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.start()
	child := judgment(2)
	child.span, child.parent = 2, 1
	h.send(h.record(stream.Upsert, 1, judgment(1)), h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "plain"}, child))
	row := "01000000000000000000000000000001 invocation quality"
	rows := func() []string {
		return h.strings("SELECT concat(lower(hex(trace_id)), ' ', toString(trace_type), ' ', evaluator_key) FROM evaluation_index FINAL")
	}
	require.Equal(t, []string{row}, rows())
	require.Zero(t, h.rowsOf("annotation_index", "1"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT toUInt64(max(has_evaluator)) FROM trace_index WHERE trace_id = unhex('01000000000000000000000000000001')"))
	// A late link of another span makes the trace an annotation.
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "late", links: []byte{9}}))
	h.eventually("moved", func() bool {
		return slices.Equal(rows(), []string{"01000000000000000000000000000001 annotation quality"})
	})
	require.Equal(t, uint64(1), h.rowsOf("annotation_index", "1"))
}

// Rows follow their span: edited, replaced, deleted, and moved to the type of their trace.
func TestAnnotationsFollowTheirSpans(t *testing.T) {
	t.Parallel()
	of := func(n int) string {
		return fmt.Sprintf("link_trace_id = unhex('010000000000000000000000000000%02x')", n)
	}
	tests := []struct {
		name string
		then func(h *fixture) stream.Record
		// want is what both tables hold of links to 8, 9 and of the trace.
		eight, nine, all, results uint64
	}{
		{"the same again", func(h *fixture) stream.Record { return h.record(stream.Upsert, 1, judgment(1, 8)) }, 1, 0, 1, 1},
		{"replaced", func(h *fixture) stream.Record { return h.record(stream.Upsert, 1, judgment(1, 9)) }, 0, 1, 1, 1},
		{"replaced by less", func(h *fixture) stream.Record {
			return h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "plain"})
		}, 0, 0, 0, 0},
		{"edited", func(h *fixture) stream.Record { return h.record(stream.Edit, 1, judgment(1, 9)) }, 0, 1, 1, 1},
		{"one span edited", func(h *fixture) stream.Record {
			r := h.record(stream.Edit, 1, judgment(1, 9))
			r.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
			return r
		}, 0, 1, 1, 1},
		{"deleted", func(h *fixture) stream.Record { return h.record(stream.Delete, 1) }, 0, 0, 0, 0},
		{"one span deleted", func(h *fixture) stream.Record { return h.record(stream.Delete, 1, judgment(1)) }, 0, 0, 0, 0},
		{"replaced by one without links", func(h *fixture) stream.Record { return h.record(stream.Upsert, 1, judgment(1)) }, 0, 0, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, 1)
			h.start()
			other := judgment(2, 7)
			h.send(h.record(stream.Upsert, 1, judgment(1, 8), span{trace: 1, span: 2, parent: 1, name: "child"}), h.record(stream.Upsert, 2, other))
			h.send(tt.then(h))
			require.Equal(t, tt.eight, h.rowsOf("annotation_index", of(8)))
			require.Equal(t, tt.nine, h.rowsOf("annotation_index", of(9)))
			require.Equal(t, tt.all, h.rowsOf("annotation_index", "trace_id = unhex('01000000000000000000000000000001')"))
			require.Equal(t, tt.results, h.rowsOf("evaluation_index", "trace_id = unhex('01000000000000000000000000000001')"))
			require.Equal(t, uint64(1), h.rowsOf("annotation_index", of(7)), "others stay")
		})
	}
}

// The same for the row of a root that only names its evaluator.
func TestResultsFollowTheirSpans(t *testing.T) {
	t.Parallel()
	renamed := judgment(1)
	renamed.attributes["ag.refs.evaluator.slug"] = "other"
	tests := []struct {
		name string
		then func(h *fixture) stream.Record
		want []string
	}{
		{"the same again", func(h *fixture) stream.Record { return h.record(stream.Upsert, 1, judgment(1)) }, []string{"quality"}},
		{"replaced", func(h *fixture) stream.Record { return h.record(stream.Upsert, 1, renamed) }, []string{"other"}},
		{"replaced by less", func(h *fixture) stream.Record {
			return h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "plain"})
		}, nil},
		{"edited", func(h *fixture) stream.Record { return h.record(stream.Edit, 1, renamed) }, []string{"other"}},
		{"deleted", func(h *fixture) stream.Record { return h.record(stream.Delete, 1) }, nil},
		{"one span deleted", func(h *fixture) stream.Record { return h.record(stream.Delete, 1, judgment(1)) }, nil},
	}
	for _, forgetting := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.name, " forgotten ", forgetting), func(t *testing.T) {
				t.Parallel()
				h := newFixture(t, 1)
				if forgetting {
					h.sink.RecentSpans = 1
				}
				h.start()
				h.send(h.record(stream.Upsert, 1, judgment(1), span{trace: 1, span: 2, parent: 1, name: "child"}))
				h.eventually("finalized", func() bool { return one[uint64](h, "SELECT count() FROM trace_totals") == 1 })
				for i := byte(3); i < 6; i++ {
					h.send(h.record(stream.Upsert, i, span{trace: i, span: 1, name: "plain"}))
				}
				h.eventually("finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 4 })
				h.send(tt.then(h))
				h.eventually("rows as the span is", func() bool {
					return slices.Equal(tt.want, h.strings("SELECT evaluator_key FROM evaluation_index FINAL WHERE trace_id = unhex('01000000000000000000000000000001')"))
				})
			})
		}
	}
}

func TestAnnotationsFollowTheTypeOfTheirTrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.start()
	h.send(h.record(stream.Upsert, 1, judgment(1, 8)))
	require.Equal(t, uint64(1), h.rowsOf("annotation_index", "trace_type = 'annotation'"))
	// A span that comes later declares the trace an invocation.
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "late", attributes: map[string]any{"ag.type.trace": "invocation"}}))
	h.eventually("moved", func() bool { return h.rowsOf("spans", "trace_type = 'invocation'") == 2 })
	h.eventually("moved in both", func() bool {
		return one[uint64](h, "SELECT count() FROM annotation_index WHERE trace_type = 'annotation'")+one[uint64](h, "SELECT count() FROM evaluation_index WHERE trace_type = 'annotation'") == 0
	})
	require.Equal(t, uint64(1), h.rowsOf("annotation_index", "trace_type = 'invocation'"))
	require.Equal(t, uint64(1), h.rowsOf("evaluation_index", "trace_type = 'invocation'"))
}

// What a worker has forgotten is found when the trace is finalized.
func TestForgottenAnnotationsAreCleanedUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.RecentSpans = 1
	h.start()
	h.send(h.record(stream.Upsert, 1, judgment(1, 8)))
	h.eventually("finalized", func() bool { return one[uint64](h, "SELECT count() FROM trace_totals") == 1 })
	for i := byte(2); i < 6; i++ {
		h.send(h.record(stream.Upsert, i, judgment(i, 7)))
	}
	h.eventually("finalized", func() bool { return one[uint64](h, "SELECT uniqExact(trace_id) FROM trace_totals") == 5 })
	h.send(h.record(stream.Upsert, 1, judgment(1, 9)))
	h.eventually("the row of the earlier version is gone", func() bool {
		return h.rowsOf("annotation_index", "trace_id = unhex('01000000000000000000000000000001')") == 1
	})
	require.Equal(t, uint64(1), h.rowsOf("annotation_index", "link_trace_id = unhex('01000000000000000000000000000009')"))
	require.Equal(t, uint64(5), h.rowsOf("annotation_index", "1"))
	require.Equal(t, uint64(5), h.rowsOf("evaluation_index", "1"))
}

// A replay writes no row twice, whether or not the store remembers the tokens.
func TestAnnotationsExactlyOnce(t *testing.T) {
	t.Parallel()
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprint("forgotten ", forget), func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, 1)
			token := h.publish(h.record(stream.Upsert, 1, judgment(1, 8)), h.record(stream.Upsert, 2, judgment(2, 8)),
				h.record(stream.Edit, 2, judgment(2, 9)), h.record(stream.Delete, 3))
			r := h.start()
			h.wait(token)
			r.stop()
			if forget {
				for _, table := range []string{"annotation_index", "evaluation_index"} {
					require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE "+table+" MODIFY SETTING non_replicated_deduplication_window = 0"))
					require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE "+table+" MODIFY SETTING non_replicated_deduplication_window = 1000"))
				}
			}
			h.rewind(stream.Range{First: 0, Last: 3})
			require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
			h.start()
			h.wait(token)
			for table, row := range map[string]string{
				"annotation_index": "trace_id, span_id, version, link_trace_id",
				"evaluation_index": "trace_id, span_id, version, evaluator_key",
			} {
				count := "count()"
				if forget {
					count = "uniqExact(" + row + ")"
				}
				require.Equal(t, uint64(2), one[uint64](h, "SELECT "+count+" FROM "+table))
			}
		})
	}
}
