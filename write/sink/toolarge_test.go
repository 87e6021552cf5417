//go:build embedded

package sink_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// tooLarge has the store run out of memory at statements that hold a text, while told.
func (h *fixture) tooLarge(text string) *atomic.Bool {
	var refuses atomic.Bool
	refuses.Store(true)
	h.front(func(w http.ResponseWriter, statement string) bool {
		if !refuses.Load() || !strings.Contains(statement, text) {
			return false
		}
		outOfMemory(w)
		return true
	})
	return &refuses
}

// What settling and edits read of spans.
const (
	readsToSettle = "arrayStringConcat(groupArray(concat(span_id"
	readsToEdit   = "argMin(created_by_id, created_at)"
)

// A trace that the store cannot compute may be edited all the same: the stream
// goes on, and the totals come when they can, from whoever owns the partition then.
func TestAnEditOfATraceThatCannotBeFinalized(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	quiet := h.sink.FinalizeAfter
	h.sink.FinalizeTimeout = 3 * time.Second
	refuses := h.tooLarge(readsToSettle)
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"}, span{trace: 1, span: 3, parent: 1, name: "c"}))
	h.eventually("finalized from memory", func() bool { return h.finalized() == 1 })
	r.stop() // and forgotten
	h.sink.FinalizeAfter = time.Hour
	r = h.start()
	edit := h.record(stream.Edit, 1, span{trace: 1, span: 2, parent: 1, name: "b2"})
	edit.Headers = map[string]string{stream.HeaderScope: stream.ScopeSpans}
	h.send(edit)
	h.send(h.record(stream.Delete, 1, span{trace: 1, span: 3, parent: 1, name: "c"}))
	h.send(h.record(stream.Upsert, 9, span{trace: 9, span: 1, name: "another"}))
	require.Equal(t, []string{"a", "another", "b2"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	r.stop()
	refuses.Store(false)
	h.sink.FinalizeAfter, h.sink.FinalizeTimeout = quiet, 30*time.Second
	h.start()
	h.eventually("the totals are those of what is left", func() bool {
		return one[uint64](h, "SELECT count() FROM trace_totals FINAL WHERE spans = 2 AND trace_id = unhex('"+traceOf(1).String()+"')") == 1
	})
}

// What is left of a trace is finalized by the next owner, too, where nothing of it
// was written.
func TestAPartialDeleteOfATraceThatCannotBeFinalized(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	quiet := h.sink.FinalizeAfter
	h.sink.FinalizeTimeout, h.sink.MaxClockSkew = 3*time.Second, time.Millisecond
	refuses := h.tooLarge(readsToSettle)
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}, span{trace: 1, span: 2, parent: 1, name: "b"}))
	h.eventually("finalized from memory", func() bool { return h.finalized() == 1 })
	r.stop()
	h.sink.FinalizeAfter = time.Hour
	r = h.start()
	h.send(h.record(stream.Delete, 1, span{trace: 1, span: 2, parent: 1, name: "b"}))
	r.stop()
	refuses.Store(false)
	h.sink.FinalizeAfter, h.sink.FinalizeTimeout = quiet, 30*time.Second
	h.start()
	h.eventually("the totals are those of what is left", func() bool {
		return one[uint64](h, "SELECT count() FROM trace_totals FINAL WHERE spans = 1") == 1
	})
}

// An edit of a trace whose spans the store cannot read is refused with a reason.
func TestAnEditOfATraceThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.FinalizeTimeout = 3 * time.Second
	h.tooLarge(readsToEdit)
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}), h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "gone"}))
	h.send(h.record(stream.Edit, 1, span{trace: 1, span: 1, name: "b"}), h.record(stream.Delete, 2))
	h.send(h.record(stream.Upsert, 9, span{trace: 9, span: 1, name: "another"}))
	require.Equal(t, []string{"a", "another"}, h.strings("SELECT span_name FROM spans ORDER BY span_name"))
	require.Equal(t, []string{"edit"}, h.strings("SELECT stage FROM rejected_spans WHERE position(reason, 'memory limit') > 0"))
}

// rootsOfMinutes stores a root in each of so many minutes. The next sink computes all of them.
func (h *fixture) rootsOfMinutes(minutes int) {
	h.sink.RollupEvery, h.sink.MaxClockSkew = time.Hour, 10*time.Millisecond // this one computes none
	records := make([]stream.Record, minutes)
	for i := range records {
		n := byte(i + 1)
		records[i] = h.record(stream.Upsert, n, span{trace: n, span: 1, name: "root", start: int64(i) * time.Minute.Milliseconds()})
	}
	r := h.start()
	h.send(records...)
	r.stop()
	h.sink.RollupEvery = 50 * time.Millisecond
}

// Minutes that the store cannot compute together are computed, a few at a time: it once asked
// for the same of them for ever, and statistics read spans meanwhile.
func TestMinutesThatAreTooManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.InsertTimeout, h.sink.MaxBackoff = time.Second, 100*time.Millisecond
	const minutes, atOnce = 9, 2
	var most atomic.Int64
	h.front(func(w http.ResponseWriter, statement string) bool {
		if !strings.HasPrefix(statement, "INSERT INTO `trace_metrics_1m`") || !strings.Contains(statement, "arrayJoin([") {
			return false
		}
		asked := strings.Count(statement, "'),toDateTime(")
		most.Store(max(most.Load(), int64(asked)))
		if asked > atOnce {
			outOfMemory(w)
		}
		return asked > atOnce
	})
	h.rootsOfMinutes(minutes)
	h.start()
	h.eventually("all are computed", func() bool {
		return one[uint64](h, "SELECT sum(roots) FROM trace_metrics_1m FINAL WHERE project_id = ?", h.project.String()) == minutes
	})
	require.Equal(t, int64(minutes), most.Load(), "all of them were asked for at once")
}

// A minute that the store cannot compute is left to the spans, and tried again: all others
// are served, which once waited for it.
func TestAMinuteThatIsTooMuch(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.InsertTimeout, h.sink.MaxBackoff = time.Second, 100*time.Millisecond
	const minutes, bad = 9, 4
	var able atomic.Bool
	h.front(func(w http.ResponseWriter, statement string) bool {
		refused := !able.Load() && strings.HasPrefix(statement, "INSERT INTO `trace_metrics_1m`") && strings.Contains(statement, fmt.Sprintf("'),toDateTime(%d,", base.Truncate(time.Minute).Add(bad*time.Minute).Unix()))
		if refused {
			outOfMemory(w)
		}
		return refused
	})
	h.rootsOfMinutes(minutes)
	r := h.start()
	const roots = "SELECT sum(roots) FROM trace_metrics_1m FINAL WHERE NOT needs_rebuild AND project_id = ?"
	h.eventually("all others are claimed", func() bool {
		return one[bool](h, "SELECT max(version) > 0 FROM rollup_watermark") && one[uint64](h, roots, h.project.String()) == minutes-1
	})
	require.Equal(t, uint64(2), one[uint64](h, "SELECT count() FROM trace_metrics_1m FINAL WHERE needs_rebuild"), "of both types")
	h.send(h.record(stream.Upsert, 50, span{trace: 50, span: 1, name: "later", start: time.Hour.Milliseconds()})) // so that there is something to claim
	r.stop()
	able.Store(true)
	h.start()
	h.eventually("and this one, too", func() bool { return one[uint64](h, roots, h.project.String()) == minutes+1 })
}

// A trace is finalized when the store is back, however long that was away.
func TestAnOutageAbandonsNoTrace(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.FinalizeTimeout, h.sink.MaxBackoff = 3*time.Second, 100*time.Millisecond
	var away, begun atomic.Bool
	h.front(func(w http.ResponseWriter, statement string) bool {
		if strings.Contains(statement, "first_version FROM") && begun.CompareAndSwap(false, true) {
			away.Store(true)
		}
		if away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
		}
		return away.Load()
	})
	r := h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}))
	h.eventually("it was tried", func() bool { return r.count(t, "colonnade_sink_finalize_seconds") >= 2 })
	away.Store(false)
	h.eventually("finalized", func() bool { return h.finalized() == 1 })
}

// Documents that were replaced are removed when the store can: a replica that is
// down holds up neither the stream nor the settling of traces.
func TestRemovingDocumentsWaits(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 1)
	h.sink.FinalizeTimeout, h.sink.MaxBackoff = 3*time.Second, 100*time.Millisecond
	var there atomic.Bool
	h.front(func(w http.ResponseWriter, statement string) bool {
		if there.Load() || !strings.HasPrefix(statement, "DELETE FROM `span_payloads_packed`") {
			return false
		}
		http.Error(w, "away", http.StatusServiceUnavailable)
		return true
	})
	h.start()
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "a"}))
	h.send(h.record(stream.Upsert, 1, span{trace: 1, span: 1, name: "b"}))
	h.eventually("finalized", func() bool { return h.finalized() == 1 })
	h.send(h.record(stream.Upsert, 2, span{trace: 2, span: 1, name: "another"}))
	require.Equal(t, uint64(3), one[uint64](h, "SELECT count() FROM span_payloads_packed"))
	there.Store(true)
	h.eventually("removed", func() bool { return one[uint64](h, "SELECT count() FROM span_payloads_packed") == 2 })
}
