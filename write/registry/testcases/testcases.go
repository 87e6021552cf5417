// Package testcases stores the testcases of testsets: it adds those of a new
// revision, checks that a revision refers to testcases that exist, and reads them
// by id. A revision holds the ids of its testcases alone, so that revisions share
// the rows. write/registry/entities calls it within its commands; the rules of
// testset data are domain/testset.
package testcases

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

// Querier runs statements that read, within a transaction or outside of one.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const insertTestcases = `
INSERT INTO testcases (project_id, testset_id, created_at, created_by_id, id, place, data, flags, tags, meta)
SELECT $1, $2, $3, $4, n.id, n.place, n.data::json, n.flags::jsonb, n.tags::jsonb, n.meta::jsonb
FROM unnest($5::uuid[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[]) AS n(id, place, data, flags, tags, meta)
ON CONFLICT (project_id, id) DO NOTHING`

// Add writes those that the testset does not have yet. They go in by
// their ids: two commits that bring the same ones wait for each other in the
// same order, and none for the other's in turn.
func Add(ctx context.Context, tx pgx.Tx, project domain.ProjectID, revision *entity.Revision, testcases []testset.Testcase) error {
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
	_, err := tx.Exec(ctx, insertTestcases, uuid.UUID(project), revision.ArtifactID, revision.CreatedAt, revision.CreatedByID,
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

// Check refuses ids that name no testcase of the testset.
func Check(ctx context.Context, tx pgx.Tx, project domain.ProjectID, artifact uuid.UUID, given testset.Data) error {
	rows, err := tx.Query(ctx, `SELECT id FROM testcases WHERE project_id = $1 AND testset_id = $2 AND id = ANY($3)`,
		uuid.UUID(project), artifact, given.IDs)
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

// byID returns those of the ids that the project has.
func byID(ctx context.Context, db Querier, project domain.ProjectID, ids []uuid.UUID) (map[uuid.UUID]*testset.Testcase, error) {
	rows, err := db.Query(ctx, schema.TestcasesByID, uuid.UUID(project), ids)
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

// Show puts the testcases into a revision's data.
func Show(ctx context.Context, db Querier, project domain.ProjectID, v *entity.Revision, view testset.View) error {
	var found map[uuid.UUID]*testset.Testcase
	if view.Needs(v.Data) {
		var err error
		if found, err = byID(ctx, db, project, view.Wanted(v.Data)); err != nil {
			return err
		}
	}
	v.Data = view.Show(v.Data, found)
	return nil
}

// OfRevision returns the testcases of a stored revision in their order.
func OfRevision(ctx context.Context, db Querier, project domain.ProjectID, artifact uuid.UUID, data entity.Document) ([]testset.Testcase, error) {
	if testset.Inline(data) {
		return testset.FromInline(artifact, data)
	}
	return ByID(ctx, db, project, testset.IDs(data))
}

// ByID returns the testcases that the project has, in the order of the ids.
func ByID(ctx context.Context, db Querier, project domain.ProjectID, ids []uuid.UUID) ([]testset.Testcase, error) {
	found, err := byID(ctx, db, project, ids)
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
