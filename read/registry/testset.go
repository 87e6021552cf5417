package registry

import (
	"context"

	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// testcasesByID gives those of the ids that the project has.
func (s store) testcasesByID(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*testset.Testcase, error) {
	rows, err := s.pool.Query(ctx, schema.TestcasesByID, uuid.UUID(s.project), ids)
	if err != nil {
		return nil, failed(err, "reading testcases")
	}
	defer rows.Close()
	found := make(map[uuid.UUID]*testset.Testcase, len(ids))
	for rows.Next() {
		t := new(testset.Testcase)
		if err := rows.Scan(t.Targets()...); err != nil {
			return nil, failed(err, "reading testcases")
		}
		found[t.ID] = t
	}
	if err := rows.Err(); err != nil {
		return nil, failed(err, "reading testcases")
	}
	return found, nil
}

// showTestsets puts testcases into the data of revisions.
func (s store) showTestsets(ctx context.Context, view testset.View, revisions []*entity.Revision) error {
	for _, v := range revisions {
		var found map[uuid.UUID]*testset.Testcase
		if view.Needs(v.Data) {
			var err error
			if found, err = s.testcasesByID(ctx, view.Wanted(v.Data)); err != nil {
				return err
			}
		}
		v.Data = view.Show(v.Data, found)
	}
	return nil
}
