package runs

import (
	"context"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/read/entities"
)

// unpublished is the highest version among the results of runs that ClickHouse does not
// have in any form, and their number.
type unpublished struct {
	version int64
	count   int
}

// Targets are the addresses of the columns of selectUnpublished.
func (u *unpublished) Targets() []any { return []any{&u.version, &u.count} }

// Results that were published and wait for their traces have more than 0 attempts.
const selectUnpublished = `SELECT coalesce(max(o.version), 0), count(*) FROM evaluation_outbox o
WHERE o.project_id = $1 AND o.run_id = ANY($2) AND o.attempts = 0 AND ($3::bigint = 0 OR o.version <= $3::bigint)`

// The pauses between two looks whether results are published.
const publishedPause = 25 * time.Millisecond

// AwaitPublished waits until the results that were written before the call can be read from
// ClickHouse, at most for a while; ok is false if some cannot be read then.
func (r *Reader) AwaitPublished(ctx context.Context, project domain.ProjectID, runs []uuid.UUID, most time.Duration) (ok bool, err error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	version := int64(0)
	for {
		found, err := entities.All[unpublished](ctx, r.registry, "looking for results that are not published", selectUnpublished, uuid.UUID(project), runs, version)
		if err != nil {
			return false, err
		}
		if len(found) == 0 || found[0].count == 0 {
			return true, nil
		}
		if version == 0 {
			version = found[0].version
		}
		timer := time.NewTimer(publishedPause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return false, ctx.Err()
		}
	}
}

// OutputSchemas returns the JSON Schemas of the outputs of the evaluators of runs, by the
// keys of their steps. Steps of evaluators without a schema are absent.
func (r *Reader) OutputSchemas(ctx context.Context, project domain.ProjectID, runs []uuid.UUID) (map[string]any, error) {
	out := map[string]any{}
	for _, id := range runs {
		run, err := r.Run(ctx, project, id)
		if err != nil {
			return nil, err
		}
		if run == nil || run.Data == nil {
			continue
		}
		for _, s := range run.Data.Steps {
			ref := s.References["evaluator_revision"]
			if s.Type != evaluation.Annotation || ref.ID == uuid.Nil || out[s.Key] != nil {
				continue
			}
			found, err := r.registry.Retrieve(ctx, project, entity.Retrieval{Family: entity.Evaluators(), Refs: entity.Refs{Revision: domain.Reference{ID: ref.ID}}})
			if err != nil || found.Revision == nil {
				if domain.KindOf(err) == domain.NotFound || err == nil {
					continue
				}
				return nil, err
			}
			schemas, _ := found.Revision.Data["schemas"].(map[string]any)
			if outputs, ok := schemas["outputs"].(map[string]any); ok {
				out[s.Key] = outputs
			}
		}
	}
	return out, nil
}
