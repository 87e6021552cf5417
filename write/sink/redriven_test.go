//go:build embedded

package sink_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
	"colonnade/write/stream/redrive"
)

// TestARedriveUndoesNothing: what was sent, edited or deleted after a record was
// received stays as it is when the record comes back from the dead topic, whether
// that is stored by then or comes in the same batch.
func TestARedriveUndoesNothing(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		name string
		// died are the records that come back, meanwhile what came before that.
		died, meanwhile func(h *fixture) []stream.Record
		names, reasons  []string
	}{
		{
			"nothing came since",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(*fixture) []stream.Record { return nil },
			[]string{"old 1", "old 2"},
			nil,
		},
		{
			"a span was sent",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "new 2"})}
			},
			[]string{"new 2", "old 1"},
			[]string{"1 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"some spans were edited",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.some(h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "new 1", start: 40}))}
			},
			[]string{"new 1", "old 2"},
			[]string{"1 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"the trace was edited",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "new 1"})}
			},
			[]string{"new 1"},
			[]string{"2 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"the trace was deleted",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record { return []stream.Record{h.record(stream.Delete, 1)} },
			nil,
			[]string{"2 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"the trace was deleted, and a span sent then",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.record(stream.Delete, 1), h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "new 1"})}
			},
			[]string{"new 1"},
			[]string{"2 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"a span was deleted",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.record(stream.Delete, 1, span{trace: 1, span: 2, name: "any"})}
			},
			[]string{"old 1"},
			[]string{"1 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"a delete comes back and a span was sent since",
			func(h *fixture) []stream.Record { return []stream.Record{h.record(stream.Delete, 1)} },
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Upsert, "new")} },
			[]string{"new 1", "new 2"},
			[]string{"The trace was sent, edited or deleted since this delete was received."},
		},
		{
			"an edit comes back and another came since",
			func(h *fixture) []stream.Record { return []stream.Record{h.pair(stream.Edit, "old")} },
			func(h *fixture) []stream.Record {
				return []stream.Record{h.some(h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "new 1"}))}
			},
			[]string{"new 1"},
			[]string{"The trace was sent, edited or deleted since this edit was received."},
		},
		{
			"two versions come back, and the later is the first",
			func(h *fixture) []stream.Record {
				early, late := h.pair(stream.Upsert, "early"), h.pair(stream.Upsert, "late")
				return []stream.Record{late, early}
			},
			func(*fixture) []stream.Record { return nil },
			[]string{"late 1", "late 2"},
			[]string{"2 of 2 spans were sent, edited or deleted since they were received."},
		},
		{
			"an edit comes back with its deletes",
			func(h *fixture) []stream.Record {
				return []stream.Record{h.pair(stream.Upsert, "old"), h.record(stream.Delete, 1), h.pair(stream.Upsert, "again"), h.some(h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "edited 1"}))}
			},
			func(*fixture) []stream.Record { return nil },
			[]string{"again 2", "edited 1"},
			nil,
		},
	} {
		for _, stored := range []bool{false, true} {
			if testing.Short() && stored != (i%2 == 0) { // a broker of its own takes seconds for a redrive
				continue
			}
			name := tt.name + ", in one batch"
			if stored {
				name = tt.name + ", stored before"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newFixture(t, 1)
				died, meanwhile := tt.died(h), tt.meanwhile(h)
				require.NoError(t, h.producer.Dead(t.Context(), died, "store: no"))
				var r *running
				if stored {
					r = h.start()
				}
				if token := h.publish(meanwhile...); stored {
					h.wait(token)
				}
				h.redrive(len(died))
				// What comes behind is seen when all before it is.
				token := h.publish(h.record(stream.Upsert, 9, span{trace: 9, span: 1, name: "~"}))
				if !stored {
					r = h.start()
				}
				h.wait(token)
				check := func() {
					require.Equal(t, append(slices.Clone(tt.names), "~"), h.strings("SELECT span_name FROM spans FINAL ORDER BY span_name"))
					require.Equal(t, tt.reasons, h.strings("SELECT reason FROM rejected_spans WHERE stage = 'redrive' AND trace_id = ? AND raw = ''", traceOf(1).String()))
					require.Zero(t, r.count(t, "colonnade_sink_dead_letter_records_total"))
				}
				check()
				// The same is decided again after a death before the commit.
				r.stop()
				h.rewind(stream.Range{First: 0, Last: token[0].Offset})
				require.NoError(t, h.conn.Exec(t.Context(), "TRUNCATE TABLE sink_progress"))
				r = h.start()
				h.wait(token)
				check()
			})
		}
	}
}

// pair is a record of a root and a child, of one name.
func (h *fixture) pair(op stream.Operation, name string) stream.Record {
	return h.record(op, 1, span{trace: 1, span: 1, name: name + " 1"}, span{trace: 1, span: 2, parent: 1, name: name + " 2"})
}

// some makes an edit one of the spans that it names.
func (h *fixture) some(r stream.Record) stream.Record {
	r.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	return r
}

// redrive sends again what is dead.
func (h *fixture) redrive(n int) {
	h.t.Helper()
	sent, err := redrive.Run(h.t.Context(), h.stream, redrive.Options{}, time.Now, h.log)
	require.NoError(h.t, err)
	require.Equal(h.t, int64(n), sent.Done)
}
