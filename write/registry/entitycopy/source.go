package entitycopy

import (
	"time"

	"github.com/google/uuid"
)

// source reads the entities of a kind that changed since $1, in the order of their changes,
// as rows.
type source struct{ kind, sql string }

// The kinds of the table entities.
const (
	kindArtifact = "artifact"
	kindRevision = "revision"
	kindTestcase = "testcase"
	kindRun      = "run"
)

const (
	// changedAt is the time of the last change, for which artifacts, revisions and runs have indexes.
	changedArtifact = `greatest(a.created_at, a.updated_at, a.deleted_at)`
	changedRevision = `greatest(r.created_at, r.updated_at, r.deleted_at)`
	changedRun      = `greatest(e.created_at, e.updated_at)`

	zeroID = `'00000000-0000-0000-0000-000000000000'::uuid`

	isApplication = `coalesce(a.flags @> '{"is_application": true}', false)`
	isEvaluator   = `coalesce(a.flags @> '{"is_evaluator": true}', false)`
)

func sources() []source {
	return []source{
		{kindArtifact, `SELECT a.project_id, a.id, a.kind, ` + isApplication + `, ` + isEvaluator + `, a.slug, coalesce(a.name, ''), coalesce(a.description, ''),
	coalesce(a.flags::text, ''), coalesce(a.tags::text, ''), coalesce(a.meta::text, ''), ` + zeroID + `, '', ` + zeroID + `, '', NULL::int, '', '', '',
	a.created_at, a.updated_at, a.deleted_at, ` + changedArtifact + `
FROM artifacts a WHERE ` + changedArtifact + ` >= $1 ORDER BY ` + changedArtifact},
		{kindRevision, `SELECT r.project_id, r.id, r.kind, ` + isApplication + `, ` + isEvaluator + `, r.slug, coalesce(r.name, ''), coalesce(r.description, ''),
	coalesce(r.flags::text, ''), coalesce(r.tags::text, ''), coalesce(r.meta::text, ''), a.id, a.slug, v.id, v.slug, r.version, '', coalesce(r.message, ''), '',
	r.created_at, r.updated_at, r.deleted_at, ` + changedRevision + `
FROM revisions r JOIN variants v ON v.project_id = r.project_id AND v.id = r.variant_id JOIN artifacts a ON a.project_id = r.project_id AND a.id = r.artifact_id
WHERE ` + changedRevision + ` >= $1 ORDER BY ` + changedRevision},
		// A test case never changes. Its index begins with the project.
		{kindTestcase, `SELECT t.project_id, t.id, 'testset', false, false, '', '', '',
	coalesce(t.flags::text, ''), coalesce(t.tags::text, ''), coalesce(t.meta::text, ''), t.testset_id, a.slug, ` + zeroID + `, '', NULL::int, '', '', t.data::text,
	t.created_at, NULL::timestamptz, NULL::timestamptz, t.created_at
FROM projects p CROSS JOIN LATERAL (SELECT * FROM testcases c WHERE c.project_id = p.id AND c.created_at >= $1) t
JOIN artifacts a ON a.project_id = t.project_id AND a.id = t.testset_id ORDER BY t.created_at, t.place, t.id`},
		{kindRun, `SELECT e.project_id, e.id, 'run', false, false, '', coalesce(e.name, ''), coalesce(e.description, ''),
	coalesce(e.flags::text, ''), coalesce(e.tags::text, ''), coalesce(e.meta::text, ''), ` + zeroID + `, '', ` + zeroID + `, '', NULL::int, e.status, '', e.refs::text,
	e.created_at, e.updated_at, NULL::timestamptz, ` + changedRun + `
FROM evaluation_runs e WHERE ` + changedRun + ` >= $1 ORDER BY ` + changedRun},
	}
}

// row is a row of the table entities, in the order of the sources and of columns.
type row struct {
	ProjectID, ID              uuid.UUID
	Family                     string
	IsApplication, IsEvaluator bool
	Slug, Name, Description    string
	Flags, Tags, Meta          string
	ParentID                   uuid.UUID
	Parent                     string
	VariantID                  uuid.UUID
	Variant                    string
	Version                    *int32
	Status, Message, Data      string
	CreatedAt                  time.Time
	UpdatedAt, ArchivedAt      *time.Time
	ChangedAt                  time.Time
}

const columns = `project_id, id, family, is_application, is_evaluator, slug, name, description, flags, tags, meta, parent_id, parent, variant_id, variant,
	version, status, message, data, created_at, updated_at, archived_at, changed_at, kind, deleted`

func (r row) key(kind string) key { return key{r.ProjectID, r.ID, kind} }

func (r row) values(kind string, deleted bool) []any {
	return []any{
		r.ProjectID, r.ID, r.Family, r.IsApplication, r.IsEvaluator, r.Slug, r.Name, r.Description, r.Flags, r.Tags, r.Meta, r.ParentID, r.Parent, r.VariantID, r.Variant,
		r.Version, r.Status, r.Message, r.Data, r.CreatedAt, r.UpdatedAt, r.ArchivedAt, r.ChangedAt, kind, deleted,
	}
}
