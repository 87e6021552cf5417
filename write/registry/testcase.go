package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// commitTestset decides what a testset's new revision holds and writes the
// testcases that it has not held before, with the revision or not at all.
func (r *Registry) commitTestset(ctx context.Context, s finder, q CommitRequest, revision *entity.Revision) error {
	given := q.Testset
	if q.TestsetDelta != nil || q.Base != uuid.Nil {
		head, _, err := s.latest(ctx, entity.Testsets(), revision.VariantID)
		if err != nil {
			return err
		}
		if err := checkBase(q.Base, head.ID); err != nil {
			return err
		}
		if q.TestsetDelta != nil {
			base, err := s.testcasesOf(ctx, revision.ArtifactID, head.Data)
			if err != nil {
				return err
			}
			changed, err := q.TestsetDelta.Apply(base)
			if err != nil {
				return err
			}
			given = &changed
		}
	}
	if given == nil {
		return nil
	}
	ids := given.IDs
	if given.Testcases != nil {
		if err := testset.Name(revision.ArtifactID, given.Testcases); err != nil {
			return err
		}
		ids = make([]uuid.UUID, len(given.Testcases))
		for i := range given.Testcases {
			ids[i] = given.Testcases[i].ID
		}
		if err := s.addTestcases(ctx, revision, given.Testcases); err != nil {
			return err
		}
	} else if err := s.checkTestcases(ctx, revision.ArtifactID, *given); err != nil {
		return err
	}
	revision.Data = testset.Stored(ids)
	return nil
}

const insertTestcases = `
INSERT INTO testcases (project_id, testset_id, created_at, created_by_id, id, place, data, flags, tags, meta)
SELECT $1, $2, $3, $4, n.id, n.place, n.data::json, n.flags::jsonb, n.tags::jsonb, n.meta::jsonb
FROM unnest($5::uuid[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[]) AS n(id, place, data, flags, tags, meta)
ON CONFLICT (project_id, id) DO NOTHING`

// addTestcases writes those that the testset does not have yet. They go in by
// their ids: two commits that bring the same ones wait for each other in the
// same order, and none for the other's in turn.
func (s finder) addTestcases(ctx context.Context, revision *entity.Revision, testcases []testset.Testcase) error {
	places := make([]int32, len(testcases))
	for i := range places {
		places[i] = int32(i)
	}
	slices.SortStableFunc(places, func(a, b int32) int {
		x, y := testcases[a].ID, testcases[b].ID
		return slices.Compare(x[:], y[:])
	})
	// Of equal rows the first gives the place.
	places = slices.CompactFunc(places, func(a, b int32) bool { return testcases[a].ID == testcases[b].ID })
	ids := make([]uuid.UUID, len(places))
	var columns [4][]*string
	for i, place := range places {
		t := &testcases[place]
		ids[i] = t.ID
		for n, document := range []entity.Document{t.Data, t.Flags, t.Tags, t.Meta} {
			text, err := textOf(document)
			if err != nil {
				return err
			}
			columns[n] = append(columns[n], text)
		}
	}
	_, err := s.tx.Exec(ctx, insertTestcases, uuid.UUID(s.project), revision.ArtifactID, revision.CreatedAt, revision.CreatedByID,
		ids, places, columns[0], columns[1], columns[2], columns[3])
	return err
}

// textOf is a document as the store takes it; nil stays nil.
func textOf(document entity.Document) (*string, error) {
	if document == nil {
		return nil, nil //nolint:nilnil // absent is a value of a column
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("registry: writing a testcase: %w", err)
	}
	written := string(text)
	return &written, nil
}

// checkTestcases refuses ids that name no testcase of the testset.
func (s finder) checkTestcases(ctx context.Context, artifact uuid.UUID, given testset.Data) error {
	rows, err := s.tx.Query(ctx, `SELECT id FROM testcases WHERE project_id = $1 AND testset_id = $2 AND id = ANY($3)`,
		uuid.UUID(s.project), artifact, given.IDs)
	if err != nil {
		return err
	}
	found := map[uuid.UUID]bool{}
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { found[id] = true; return nil }); err != nil {
		return err
	}
	return given.Missing(found)
}

// testcasesByID gives those of the ids that the project has.
func (s lookup) testcasesByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*testset.Testcase, error) {
	rows, err := s.db.Query(ctx, schema.TestcasesByID, uuid.UUID(s.project), ids)
	if err != nil {
		return nil, fmt.Errorf("registry: reading testcases: %w", err)
	}
	defer rows.Close()
	found := make(map[uuid.UUID]*testset.Testcase, len(ids))
	for rows.Next() {
		t := new(testset.Testcase)
		if err := rows.Scan(t.Targets()...); err != nil {
			return nil, fmt.Errorf("registry: reading testcases: %w", err)
		}
		found[t.ID] = t
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("registry: reading testcases: %w", err)
	}
	return found, nil
}

// showTestset puts the testcases into a revision's data.
func (s lookup) showTestset(ctx context.Context, v *entity.Revision, view testset.View) error {
	var found map[uuid.UUID]*testset.Testcase
	if view.Needs(v.Data) {
		var err error
		if found, err = s.testcasesByID(ctx, view.Wanted(v.Data)); err != nil {
			return err
		}
	}
	v.Data = view.Show(v.Data, found)
	return nil
}

// testcasesOf gives the testcases of a stored revision in their order.
func (s lookup) testcasesOf(ctx context.Context, artifact uuid.UUID, data entity.Document) ([]testset.Testcase, error) {
	if testset.Inline(data) {
		return testset.FromInline(artifact, data)
	}
	return s.inOrder(ctx, testset.IDs(data))
}

func (s lookup) inOrder(ctx context.Context, ids []uuid.UUID) ([]testset.Testcase, error) {
	found, err := s.testcasesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	testcases := make([]testset.Testcase, 0, len(ids))
	for _, id := range ids {
		if t := found[id]; t != nil {
			testcases = append(testcases, *t)
		}
	}
	return testcases, nil
}

// Testcases gives the revision of a testset that references lead to and its
// testcases in their order, for commands that run over them; a nil revision
// means that there is none. References that name nothing or contradict each
// other are Rejected. Source: contract §5.3.
func (r *Registry) Testcases(ctx context.Context, caller domain.Principal, refs entity.Refs) (*entity.Revision, []testset.Testcase, error) {
	s := lookup{r.deps.Pool, caller.Project}
	found, err := entity.Retrieve(ctx, s, entity.Retrieval{Family: entity.Testsets(), Refs: refs})
	if err != nil || found.Revision == nil {
		return nil, nil, classify(err, "retrieving a testset")
	}
	testcases, err := s.testcasesOf(ctx, found.Revision.ArtifactID, found.Revision.Data)
	return found.Revision, testcases, classify(err, "reading testcases")
}

// TestcasesByID gives those of the testcases that the project has, in the order of the ids.
func (r *Registry) TestcasesByID(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]testset.Testcase, error) {
	testcases, err := lookup{r.deps.Pool, caller.Project}.inOrder(ctx, ids)
	return testcases, classify(err, "reading testcases")
}

// NewSlug makes one for what a file brought without a name.
func (r *Registry) NewSlug() (string, error) { return entity.NewSlug(r.deps.Random) }
