//go:build embedded

package sink_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/write/stream"
)

// BenchmarkSettleApart settles traces whose root comes in another batch than
// their other spans, 200 at a time: what that costs for each, by what it needs.
func BenchmarkSettleApart(b *testing.B) {
	const traces = 200
	ids := map[string]any{"ag.session.id": "s", "ag.user.id": "u"}
	for _, bb := range []struct {
		name       string
		attributes map[string]any // of the spans below the root, which come first
		links      []byte         // of the root
		apart      int64          // milliseconds between traces
	}{
		{"nothing to do", nil, nil, 1},
		{"ids for roots", ids, nil, 1},
		{"ids for roots half an hour apart", ids, nil, -30 * 60 * 1000},
		{"another type", nil, []byte{250}, 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			h := newFixture(b, 1)
			h.sink.MinLinger, h.sink.FinalizeAfter = 500*time.Millisecond, 5*time.Second
			r := h.start()
			for i := range b.N {
				h.project = domain.ProjectID(uuid.New())
				var below, roots []stream.Record
				for n := byte(1); n <= traces; n++ {
					below = append(below, h.record(stream.Upsert, n, span{trace: n, span: 2, parent: 1, start: bb.apart*int64(n) + 1, name: "below", attributes: bb.attributes}))
					roots = append(roots, h.record(stream.Upsert, n, span{trace: n, span: 1, start: bb.apart * int64(n), name: "root", links: bb.links}))
				}
				h.send(below...)
				h.send(roots...)
				h.eventually("finalized", func() bool { return r.count(b, "colonnade_sink_finalized_traces_total") >= (i+1)*traces })
			}
			b.ReportMetric(r.settleSeconds(b)*1e6/float64(b.N*traces), "us/trace")
		})
	}
}

// settleSeconds is how long settling took altogether.
func (r *running) settleSeconds(t testing.TB) (seconds float64) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "colonnade_sink_finalize_seconds" {
			for _, m := range f.GetMetric() {
				seconds += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return seconds
}
