package entities

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// known are testcases that were read for one reply, with their sizes in bytes:
// the revisions of a testset share most of theirs.
type known struct {
	testcases map[uuid.UUID]*testset.Testcase
	sizes     map[uuid.UUID]int
}

func newKnown() known {
	return known{testcases: map[uuid.UUID]*testset.Testcase{}, sizes: map[uuid.UUID]int{}}
}

// add reads those of the ids that are not known yet.
func (k known) add(ctx context.Context, s store, ids []uuid.UUID) error {
	missing := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		if k.testcases[id] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, schema.TestcasesByID, uuid.UUID(s.project), missing)
	if err != nil {
		return failed(err, "reading testcases")
	}
	defer rows.Close()
	for rows.Next() {
		t := new(testset.Testcase)
		if err := rows.Scan(t.Targets()...); err != nil {
			return failed(err, "reading testcases")
		}
		k.testcases[t.ID], k.sizes[t.ID] = t, sizeOf(rows)
	}
	if err := rows.Err(); err != nil {
		return failed(err, "reading testcases")
	}
	return nil
}

// sizeOf is what the row at hand takes on the wire, about.
func sizeOf(rows pgx.Rows) int {
	size := 0
	for _, value := range rows.RawValues() {
		size += len(value)
	}
	return size
}

// showTestsets puts testcases into the data of revisions, in their order,
// until a reply has as many bytes of them as it may; whole is how many of the
// revisions are shown, the first always. A nil revision has nothing to show.
func (s store) showTestsets(ctx context.Context, view testset.View, revisions []*entity.Revision) (whole int, err error) {
	found, size := newKnown(), 0
	for i, v := range revisions {
		if v == nil {
			continue
		}
		if view.Needs(v.Data) {
			ids := view.Wanted(v.Data)
			if err := found.add(ctx, s, ids); err != nil {
				return 0, err
			}
			for _, id := range ids {
				size += found.sizes[id]
			}
			if i > 0 && size > s.maxTestcaseBytes {
				return i, nil
			}
		}
		v.Data = view.Show(v.Data, found.testcases)
	}
	return len(revisions), nil
}

// showHistory is showTestsets for a list that has no next page: what does not
// fit shows the ids alone.
func (s store) showHistory(ctx context.Context, view testset.View, revisions []*entity.Revision) error {
	whole, err := s.showTestsets(ctx, view, revisions)
	if err != nil {
		return err
	}
	view.WithoutTestcases, view.WithoutIDs = true, false
	for _, v := range revisions[whole:] {
		v.Data = view.Show(v.Data, nil)
	}
	return nil
}

// TestsetRevision gives a testset's revision with as much of it as is wanted;
// nil when there is none.
func (r *Registry) TestsetRevision(ctx context.Context, project domain.ProjectID, id uuid.UUID, view testset.View) (*entity.Revision, error) {
	found, err := r.revision(ctx, project, entity.Testsets(), id)
	if err != nil || found == nil {
		return nil, err
	}
	_, err = r.in(project).showTestsets(ctx, view, []*entity.Revision{found})
	return found, err
}

// RetrieveTestset is Retrieve with as much of the revision as is wanted.
func (r *Registry) RetrieveTestset(ctx context.Context, project domain.ProjectID, q entity.Retrieval, view testset.View) (entity.Retrieved, error) {
	s := r.in(project)
	found, err := entity.Retrieve(ctx, s, q)
	if err != nil || found.Revision == nil {
		return found, err
	}
	_, err = s.showTestsets(ctx, view, []*entity.Revision{found.Revision})
	return found, err
}

// Rows gives the testset revision of this id, or with a testset's id its
// latest one, and all its testcases in their order; a nil revision when there
// is none. It is what a file is made of.
func (r *Registry) Rows(ctx context.Context, project domain.ProjectID, level entity.Level, id uuid.UUID) (*entity.Revision, []testset.Testcase, error) {
	s := r.in(project)
	found, ok, err := s.Find(ctx, entity.Testsets(), entity.Target{Level: level, Ref: domain.Reference{ID: id}})
	if err != nil || !ok {
		return nil, nil, err
	}
	testcases, err := s.testcasesOf(ctx, &found)
	return &found, testcases, err
}

// testcasesOf gives the testcases of a stored revision in their order.
func (s store) testcasesOf(ctx context.Context, v *entity.Revision) ([]testset.Testcase, error) {
	if testset.Inline(v.Data) {
		return testset.FromInline(v.ArtifactID, v.Data)
	}
	ids, found := testset.IDs(v.Data), newKnown()
	if err := found.add(ctx, s, ids); err != nil {
		return nil, err
	}
	testcases := make([]testset.Testcase, 0, len(ids))
	for _, id := range ids {
		if t := found.testcases[id]; t != nil {
			testcases = append(testcases, *t)
		}
	}
	return testcases, nil
}
