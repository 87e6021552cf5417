//go:build embedded

package entities_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	readregistry "colonnade/read/entities"
	"colonnade/write/registry"
	"colonnade/write/registry/entities"
)

// model holds versioned entities in memory: the expected result of each sequence of commands.
type model struct {
	variants []*modelVariant
	// environments holds the references of each version, nil for a placeholder.
	environments []*modelVariant
}

type modelVariant struct {
	id, artifact uuid.UUID
	archived     bool
	revisions    []*modelRevision
}

type modelRevision struct {
	id       uuid.UUID
	n        int
	archived bool // by itself
	with     bool // with its variant
	held     map[string]uuid.UUID
}

func (v *modelVariant) latest() *modelRevision {
	for _, v0 := range slices.Backward(v.revisions) {
		if r := v0; !r.archived && !r.with {
			return r
		}
	}
	return nil
}

func (v *modelVariant) archive(on bool) {
	if v.archived == on {
		return
	}
	v.archived = on
	for _, r := range v.revisions {
		// A revision archived before its variant stays archived when the variant is restored.
		r.with = on && !r.archived
	}
}

func (v *modelVariant) deploy(id uuid.UUID, key string, revision uuid.UUID) {
	held := map[string]uuid.UUID{}
	if head := v.latest(); head != nil {
		maps.Copy(held, head.held)
	}
	held[key] = revision
	v.revisions = append(v.revisions, &modelRevision{id: id, held: held})
}

// defaultOf returns the oldest variant of an artifact that is not archived.
func (m *model) defaultOf(artifact uuid.UUID) *modelVariant {
	for _, v := range m.variants {
		if v.artifact == artifact && !v.archived {
			return v
		}
	}
	return nil
}

// walk applies one random sequence of commands to the model and the service.
type walk struct {
	t      *testing.T
	c      client
	rng    *rand.Rand
	model  model
	n      int
	caller domain.Principal
}

func (w *walk) pick(from []*modelVariant) *modelVariant { return from[w.rng.IntN(len(from))] }

func (w *walk) create() {
	w.n++
	made, err := w.c.w.write.CreateSimple(w.t.Context(), w.caller, entity.Applications(), entities.SimpleDraft{
		ArtifactDraft: entities.ArtifactDraft{RecordFields: registry.RecordFields{Slug: fmt.Sprint("app-", w.n)}}, Data: w.data(),
	})
	require.NoError(w.t, err)
	log, err := w.c.w.read.Log(w.t.Context(), w.caller.Project, entity.Applications(), logOf(made.Revision.VariantID))
	require.NoError(w.t, err)
	w.model.variants = append(w.model.variants, &modelVariant{id: made.Revision.VariantID, artifact: made.Artifact.ID, revisions: []*modelRevision{
		{id: log[1].ID, n: -1}, {id: made.Revision.ID, n: w.n},
	}})
}

func (w *walk) data() entity.Document { return entity.Document{"parameters": map[string]any{"n": w.n}} }

func (w *walk) commit() {
	v := w.pick(w.model.variants)
	w.n++
	made, err := w.c.w.write.Commit(w.t.Context(), w.caller, entity.Applications(), entities.CommitRequest{Variant: v.id, Data: w.data()})
	if v.archived {
		require.Equal(w.t, domain.Conflict, domain.KindOf(err))
		return
	}
	require.NoError(w.t, err)
	require.Equal(w.t, len(v.revisions), made.Version)
	v.revisions = append(v.revisions, &modelRevision{id: made.ID, n: w.n})
}

func (w *walk) fork() {
	source := w.pick(w.model.variants)
	upTo := w.rng.IntN(len(source.revisions))
	w.n++
	made, err := w.c.w.write.Fork(w.t.Context(), w.caller, entity.Applications(), entities.ForkRequest{
		RecordFields: registry.RecordFields{Slug: fmt.Sprint("fork-", w.n)}, Variant: domain.Reference{ID: source.id},
		Revision: domain.Reference{Version: strconv.Itoa(upTo)},
	})
	require.NoError(w.t, err)
	fork := &modelVariant{id: made.ID, artifact: source.artifact}
	log, err := w.c.w.read.Log(w.t.Context(), w.caller.Project, entity.Applications(), archivedLogOf(made.ID))
	require.NoError(w.t, err)
	require.Len(w.t, log, upTo+1)
	for i, r := range source.revisions[:upTo+1] {
		fork.revisions = append(fork.revisions, &modelRevision{id: log[upTo-i].ID, n: r.n, archived: r.archived})
	}
	w.model.variants = append(w.model.variants, fork)
}

func (w *walk) archiveVariant() {
	v, on := w.pick(w.model.variants), w.rng.IntN(2) == 0
	_, err := w.c.w.write.SetVariantArchived(w.t.Context(), w.caller, entity.Applications(), v.id, on)
	require.NoError(w.t, err)
	v.archive(on)
}

func (w *walk) archiveRevision() {
	family, all := entity.Applications(), w.model.variants
	if w.rng.IntN(3) == 0 {
		family, all = entity.Environments(), w.model.environments
	}
	v := w.pick(all)
	if v.archived {
		return
	}
	r := v.revisions[w.rng.IntN(len(v.revisions))]
	_, err := w.c.w.write.SetRevisionArchived(w.t.Context(), w.caller, family, r.id, !r.archived)
	require.NoError(w.t, err)
	r.archived = !r.archived
}

func (w *walk) deploy() {
	v, env := w.pick(w.model.variants), w.pick(w.model.environments)
	key := fmt.Sprint("key-", w.rng.IntN(4))
	deployed, err := w.c.w.write.Deploy(w.t.Context(), w.caller, entities.Deployment{Retrieval: entity.Retrieval{
		Family: entity.Applications(), Refs: entity.Refs{Variant: domain.Reference{ID: v.id}},
		Environment: entity.Refs{Variant: domain.Reference{ID: env.id}}, Key: key,
	}})
	if v.latest() == nil {
		require.Equal(w.t, domain.NotFound, domain.KindOf(err))
		return
	}
	require.NoError(w.t, err)
	require.Equal(w.t, v.latest().id, deployed.ID)
	log, err := w.c.w.read.Log(w.t.Context(), w.caller.Project, entity.Environments(), archivedLogOf(env.id))
	require.NoError(w.t, err)
	env.deploy(log[0].ID, key, deployed.ID)
	require.Len(w.t, env.revisions, len(log))
}

// check compares the replies of all queries with the model.
func (w *walk) check() {
	for _, v := range w.model.variants {
		w.same(entity.Retrieval{Refs: entity.Refs{Variant: domain.Reference{ID: v.id}}}, v.latest())
		var byDefault *modelRevision
		if d := w.model.defaultOf(v.artifact); d != nil {
			byDefault = d.latest()
		}
		w.same(entity.Retrieval{Refs: entity.Refs{Artifact: domain.Reference{ID: v.artifact}}}, byDefault)
		version := w.rng.IntN(len(v.revisions))
		w.same(entity.Retrieval{Refs: entity.Refs{Variant: domain.Reference{ID: v.id}, Revision: domain.Reference{Version: strconv.Itoa(version)}}}, v.revisions[version])
	}
	for _, env := range w.model.environments {
		for version, r := range env.revisions {
			got, err := w.c.w.read.Revision(w.t.Context(), w.caller.Project, entity.Environments(), r.id)
			require.NoError(w.t, err)
			require.Equal(w.t, version, got.Version)
			held := map[string]uuid.UUID{}
			if references, ok := got.Data["references"].(map[string]entity.Entities); ok {
				for key, e := range references {
					held[key] = e["application_revision"].ID
				}
			}
			require.Len(w.t, held, len(r.held))
			for key, id := range r.held {
				require.Equal(w.t, id, held[key])
			}
		}
	}
}

func (w *walk) same(q entity.Retrieval, want *modelRevision) {
	q.Family = entity.Applications()
	got, err := w.c.w.read.Retrieve(w.t.Context(), w.caller.Project, q)
	require.NoError(w.t, err)
	if want == nil {
		require.Nil(w.t, got.Revision)
		return
	}
	require.NotNil(w.t, got.Revision)
	require.Equal(w.t, want.id, got.Revision.ID)
	if want.n >= 0 {
		require.Equal(w.t, strconv.Itoa(want.n), fmt.Sprint(objectAt(w.t, got.Revision.Data["parameters"])["n"]))
	}
}

func TestRandomSequencesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	service := newService(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c := service.owner(t, fmt.Sprint(seed, "@b.c"), false)
			w := &walk{t: t, c: c, rng: rand.New(rand.NewPCG(seed, 1)), caller: c.principal()}
			for _, slug := range []string{"staging", "production"} {
				made, err := service.write.CreateSimple(t.Context(), w.caller, entity.Environments(), entities.SimpleDraft{ArtifactDraft: entities.ArtifactDraft{RecordFields: registry.RecordFields{Slug: slug}}})
				require.NoError(t, err)
				w.model.environments = append(w.model.environments, &modelVariant{id: made.Revision.VariantID, revisions: []*modelRevision{{id: made.Revision.ID}}})
			}
			w.create()
			steps := []func(){w.create, w.commit, w.commit, w.commit, w.fork, w.archiveVariant, w.archiveRevision, w.deploy, w.deploy, w.deploy}
			for i := range 120 {
				steps[w.rng.IntN(len(steps))]()
				if i%20 == 19 {
					w.check()
				}
			}
		})
	}
}

func logOf(variant uuid.UUID) readregistry.LogQuery { return readregistry.LogQuery{Variant: variant} }

func archivedLogOf(variant uuid.UUID) readregistry.LogQuery {
	return readregistry.LogQuery{Variant: variant, Archived: true}
}
