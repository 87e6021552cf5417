package entities

import (
	"context"
	"encoding/json"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// SavedQuery finds the trace query that references to a query, its variant and
// its revision name, and gives the JSON of its data: {formatting, filtering,
// windowing, ...}, checked when it was committed. False when there is none.
// Source: contract §3.1.
func (r *Registry) SavedQuery(ctx context.Context, project domain.ProjectID, query, variant, revision domain.Reference) (data []byte, found bool, err error) {
	retrieved, err := r.Retrieve(ctx, project, entity.Retrieval{
		Family: entity.Queries(), Refs: entity.Refs{Artifact: query, Variant: variant, Revision: revision},
	})
	if err != nil || retrieved.Revision == nil {
		return nil, false, err
	}
	if retrieved.Revision.Data == nil {
		return []byte("{}"), true, nil
	}
	data, err = json.Marshal(retrieved.Revision.Data)
	if err != nil {
		return nil, false, failed(err, "reading a saved query")
	}
	return data, true, nil
}
