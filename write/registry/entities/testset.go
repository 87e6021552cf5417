package entities

import (
	"context"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/write/registry"
	"colonnade/write/registry/testcases"
)

// commitTestset decides what a testset's new revision holds and writes the
// testcases that it has not held before, with the revision or not at all.
func (s finder) commitTestset(ctx context.Context, q CommitRequest, revision *entity.Revision) error {
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
			base, err := testcases.OfRevision(ctx, s.tx, s.project, revision.ArtifactID, head.Data)
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
		if err := testcases.Add(ctx, s.tx, s.project, revision, given.Testcases); err != nil {
			return err
		}
	} else if err := testcases.Check(ctx, s.tx, s.project, revision.ArtifactID, *given); err != nil {
		return err
	}
	revision.Data = testset.Stored(ids)
	return nil
}

// Testcases gives the revision of a testset that references lead to and its
// testcases in their order, for commands that run over them; a nil revision
// means that there is none. References that name nothing or contradict each
// other are Rejected. Source: contract §5.3.
func (r *Registry) Testcases(ctx context.Context, caller domain.Principal, refs entity.Refs) (*entity.Revision, []testset.Testcase, error) {
	s := lookup{r.db.Pool(), caller.Project}
	found, err := entity.Retrieve(ctx, s, entity.Retrieval{Family: entity.Testsets(), Refs: refs})
	if err != nil || found.Revision == nil {
		return nil, nil, registry.Classify(err, "retrieving a testset")
	}
	list, err := testcases.OfRevision(ctx, s.db, s.project, found.Revision.ArtifactID, found.Revision.Data)
	return found.Revision, list, registry.Classify(err, "reading testcases")
}

// TestcasesByID gives those of the testcases that the project has, in the order of the ids.
func (r *Registry) TestcasesByID(ctx context.Context, caller domain.Principal, ids []uuid.UUID) ([]testset.Testcase, error) {
	list, err := testcases.ByID(ctx, r.db.Pool(), caller.Project, ids)
	return list, registry.Classify(err, "reading testcases")
}

// NewSlug makes one for what a file brought without a name.
func (r *Registry) NewSlug() (string, error) { return entity.NewSlug(r.db.Random()) }
