//go:build embedded

package sink_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// held holds back the first insert into a table until release: begun is closed when it has come.
func (h *fixture) held(table string) (begun chan struct{}, release func()) {
	h.t.Helper()
	h.sink.FinalizeAfter = time.Hour // settling waits for what is written
	begun = make(chan struct{})
	released := make(chan struct{})
	var once sync.Once
	h.between(func(r *http.Request, into string) {
		if into == table {
			once.Do(func() { close(begun) })
			select {
			case <-released:
			case <-r.Context().Done(): // the sink was stopped
			}
		}
	}, func(string) {})
	release = sync.OnceFunc(func() { close(released) })
	h.t.Cleanup(release)
	return begun, release
}

// made waits until rows of so many batches are made.
func (h *fixture) made(r *running, batches int) {
	h.t.Helper()
	h.eventually("rows are made", func() bool { return r.count(h.t, "colonnade_sink_build_seconds") == batches })
}

// While a batch is written rows of the next are made, and nothing of them is
// stored before it is done.
func TestRowsAreMadeWhileABatchIsWritten(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	begun, release := h.held("spans")
	r := h.start()
	h.publish(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}))
	<-begun
	token := h.publish(h.record(stream.Upsert, 1, span{trace: 1, span: 2, parent: 1, name: "b"}, span{trace: 1, span: 1, name: "a"}))
	h.made(r, 2)
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, uint64(0), one[uint64](h, "SELECT max(next_offset) FROM sink_progress"))
	release()
	h.wait(token)
	require.Equal(t, []string{"a", "b"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"), "what is sent again is known from the batch before")
}

// Rows that were made while the store refused a record took its spans for stored.
func TestASpanIsStoredThatWasRefusedWithAnother(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE spans ADD CONSTRAINT no_poison CHECK position(span_name, 'poison') = 0"))
	begun, release := h.held("spans")
	r := h.start()
	fine := span{trace: 1, span: 1, name: "fine"}
	h.publish(h.record(stream.Upsert, 1, fine, span{trace: 1, span: 2, parent: 1, name: "poison"}))
	<-begun
	token := h.publish(h.record(stream.Upsert, 1, fine))
	h.made(r, 2)
	release()
	h.wait(token)
	require.Equal(t, []string{"fine"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	require.Equal(t, []string{"store"}, h.strings("SELECT stage FROM rejected_spans"))
}

// A record that another table refused takes all of its spans along, also those of
// which that table has no rows.
func TestASpanIsStoredThatDiedWithAnother(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	require.NoError(t, h.conn.Exec(t.Context(), "ALTER TABLE annotation_index ADD CONSTRAINT none CHECK link_trace_id != unhex('01000000000000000000000000000009')"))
	h.start()
	fine := span{trace: 1, span: 1, name: "fine"}
	h.send(h.record(stream.Upsert, 1, fine, span{trace: 1, span: 2, parent: 1, name: "poison", links: []byte{9}, failed: true}))
	require.Equal(t, uint64(0), one[uint64](h, "SELECT count() FROM spans"))
	h.send(h.record(stream.Upsert, 1, fine))
	require.Equal(t, []string{"fine"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, []string{"store"}, h.strings("SELECT stage FROM rejected_spans"))
}

// A delete removes what is on its way when it comes.
func TestADeleteWaitsForWhatIsWritten(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	begun, release := h.held("trace_index")
	r := h.start()
	h.publish(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}))
	<-begun
	token := h.publish(h.record(stream.Delete, 1), h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "b"}))
	h.eventually("the delete is taken", func() bool { return r.count(t, "colonnade_sink_records_total") == 3 })
	release()
	h.wait(token)
	require.Equal(t, []string{"b"}, h.strings("SELECT span_name FROM spans"))
	require.Equal(t, uint64(1), one[uint64](h, "SELECT count() FROM trace_index"))
}
