//go:build embedded

package entities_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry/entities"
)

func nowUTC() time.Time { return time.Now().UTC() }

// zeroes is a source of zero bytes, for commands whose ids do not matter.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

func idOf(t *testing.T, value any) uuid.UUID {
	t.Helper()
	s, ok := value.(string)
	require.True(t, ok)
	id, err := uuid.Parse(s)
	require.NoError(t, err)
	return id
}

func judgment(slug string, outputs object) entities.Judgment {
	return entities.Judgment{
		Refs: entity.Refs{Artifact: domain.Reference{Slug: slug}}, Data: object{"outputs": outputs},
		Loc: []any{"body", "annotation", "data"}, Check: true,
	}
}

func TestEvaluatorIsMadeFromItsFirstResult(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made, err := w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("taste", object{"score": 1.0, "comment": "fine"}))
	require.NoError(t, err)
	require.Equal(t, "taste", made["evaluator"].Slug)
	require.NotEqual(t, uuid.Nil, made["evaluator_variant"].ID)
	require.Equal(t, "1", made["evaluator_revision"].Version)

	record := c.get("/simple/evaluators/" + made["evaluator"].ID.String())
	require.Equal(t, "agenta:custom:feedback:v0", at(t, record, "evaluator", "data", "uri"))
	require.Equal(t, "number", at(t, record, "evaluator", "data", "schemas", "outputs", "properties", "score", "type"))
	require.Equal(t, true, at(t, record, "evaluator", "flags", "is_feedback"))

	again, err := w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("taste", object{"score": 0.5}))
	require.NoError(t, err)
	require.Equal(t, made, again)

	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("taste", object{"score": "high"}))
	e, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, domain.Invalid, e.Kind)
	require.Equal(t, []any{"body", "annotation", "data", "outputs", "score"}, e.Fields[0].Loc)
	require.Equal(t, "value_error.json_schema", e.Fields[0].Type)

	unchecked := judgment("taste", object{"score": "high"})
	unchecked.Check = false
	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), unchecked)
	require.NoError(t, err)

	byID := entities.Judgment{Refs: entity.Refs{Artifact: domain.Reference{ID: made["evaluator"].ID}}}
	found, err := w.write.EnsureEvaluator(t.Context(), c.principal(), byID)
	require.NoError(t, err)
	require.Equal(t, made, found)
	byID.Refs.Artifact.ID = uuid.New()
	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), byID)
	require.Equal(t, domain.NotFound, domain.KindOf(err))
	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), entities.Judgment{})
	require.Equal(t, domain.Rejected, domain.KindOf(err))
	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("not a slug", nil))
	require.Equal(t, domain.Invalid, domain.KindOf(err))
}

func TestEvaluatorIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	const n = 20
	made := make([]entity.Entities, n)
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			made[i], errs[i] = w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("taste", object{"score": 1.0}))
		})
	}
	wait.Wait()
	for i := range n {
		require.NoError(t, errs[i])
		require.Equal(t, made[0], made[i])
	}
	require.EqualValues(t, 1, c.post("/evaluators/query", object{})["count"])
}

func TestApplicationIsMadeFromItsFirstInvocation(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made, err := w.write.EnsureApplication(t.Context(), c.principal(), judgment("bot", object{"a": 1.0}))
	require.NoError(t, err)
	require.Equal(t, "bot", made["application"].Slug)
	require.EqualValues(t, 1, c.get("/applications/" + made["application"].ID.String())["count"])
	_, err = w.write.EnsureEvaluator(t.Context(), c.principal(), judgment("bot", nil))
	require.Equal(t, domain.Conflict, domain.KindOf(err), "the slug is an application's")
}
