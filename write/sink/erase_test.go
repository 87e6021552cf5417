//go:build embedded

package sink_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/stream"
)

// gone is a list of deleted projects that grows.
type gone struct {
	mu   sync.Mutex // guards list
	list []domain.ProjectID
}

func (g *gone) add(p domain.ProjectID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, p)
}

func (g *gone) since(context.Context, time.Time) ([]domain.ProjectID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]domain.ProjectID(nil), g.list...), nil
}

// spanTables are all that hold something of a project.
func spanTables() []string {
	return []string{
		schema.Spans, schema.SpanPayloads, schema.SpanPayloadNgrams, schema.TraceIndex, schema.TraceTotals, schema.AnnotationIndex, schema.EvaluationIndex, schema.AttributeKeys, schema.RejectedSpans, schema.Tombstones,
	}
}

// Everything of a deleted project goes, in every table, and what comes later
// goes as well; another project keeps all of its own.
func TestDeletedProjectsAreErased(t *testing.T) {
	t.Parallel()
	h := newFixture(t, 2)
	var deleted gone
	h.erased, h.sink.PurgeEvery = deleted.since, 20*time.Millisecond
	r := h.start()
	removed, other := h.project, domain.ProjectID(uuid.New())
	records := func(project domain.ProjectID, id byte) []stream.Record {
		h.project = project
		judged := h.record(stream.Upsert, id, span{trace: id, span: 1, name: "root", links: []byte{77}, attributes: map[string]any{"ag.meta.x": 1, "ag.refs.evaluator.slug": "judge", "ag.data.outputs": `@ag.type=json:{"score":1}`}})
		refused := h.record(stream.Reject, id)
		refused.Value = []byte(`{"stage":"receive","reason":"no span id"}`)
		return []stream.Record{judged, refused, h.record(stream.Delete, 100+id)}
	}
	count := func(table string, project domain.ProjectID) uint64 {
		return one[uint64](h, "SELECT count() FROM "+table+" WHERE project_id = ?", project.String())
	}
	full := func(project domain.ProjectID) bool {
		for _, table := range spanTables() {
			if count(table, project) == 0 {
				return false
			}
		}
		return true
	}
	h.send(append(records(removed, 1), records(other, 1)...)...)
	h.eventually("both projects have rows in every table", func() bool { return full(removed) && full(other) })

	empty := func() bool {
		for _, table := range spanTables() {
			if count(table, removed) > 0 {
				return false
			}
		}
		return true
	}
	deleted.add(removed)
	h.eventually("the project is erased", empty)
	h.send(records(removed, 2)...)
	h.eventually("what came later is erased", empty)
	h.eventually("nothing is finalized that is gone", func() bool { return r.count(t, "colonnade_sink_pending_traces") == 0 })
	h.eventually("and settling brought nothing back", empty)
	require.True(t, full(other))
	require.Positive(t, r.count(t, "colonnade_sink_purges_total"))
}
