package entities

import (
	"github.com/google/uuid"

	"colonnade/domain/entity"
	"colonnade/domain/request"
	"colonnade/domain/testset"
	"colonnade/write/registry/entities"
)

// readView reads how much of a testset's revision the reply shows; of other
// families it shows all.
func readView(body *request.Object, f entity.Family) testset.View {
	if f.Kind != entity.Testset {
		return testset.View{}
	}
	return testset.ReadView(body)
}

// readTestsetBase reads the revision that the commit of a testset names. It
// determines the variant of a commit that names none. A delta applies to this
// revision, so that a revision that is not the latest is a conflict, as with
// base_revision_id; beside data it is only an echo of an earlier reply.
func readTestsetBase(record *request.Object, q *entities.CommitRequest) {
	q.Named = record.UUID(record.OneOf("testset_revision_id", "revision_id"))
	if record.Has("delta") && q.Base == uuid.Nil {
		q.Base = q.Named
	}
}
