//go:build embedded

package entities_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/migrations/schema"
	readregistry "colonnade/read/entities"
	"colonnade/write/registry/entities"
)

// populate inserts applications of two variants with revisions each, all deployed to
// production, by plain SQL, because commands would take minutes.
func populate(tb testing.TB, c client, applications, revisions int) {
	tb.Helper()
	project := c.account.Project.ID.String()
	production := objectAt(tb, c.post("/environments/revisions/retrieve", object{"environment_ref": ref("slug", "production")}), "environment_revision")
	data, err := json.Marshal(object{"uri": "svc:builtin:completion:v0", "parameters": object{"prompt": object{"messages": []any{object{"role": "system", "content": strings.Repeat("You are an expert. ", 60)}}}}})
	require.NoError(tb, err)
	// Ids ascend with i, as ids of commands ascend with time.
	const id = `('0190f3a0-%s-7000-8000-' || lpad(to_hex(%s), 12, '0'))::uuid`
	artifact, variant := fmt.Sprintf(id, "0001", "i"), fmt.Sprintf(id, "0002", "i")
	for _, sql := range []string{
		`INSERT INTO artifacts (project_id, id, kind, slug, name, flags, tags, created_at, created_by_id)
		SELECT $1, ` + artifact + `, 'workflow', 'app-' || i, 'Application ' || i, '{"is_application": true, "is_evaluator": false, "is_snippet": false}', jsonb_build_object('n', i), now(), $1 FROM generate_series(1, ` + strconv.Itoa(applications) + `) i`,
		`INSERT INTO variants (project_id, id, kind, artifact_id, slug, name, next_version, created_at, created_by_id)
		SELECT $1, ` + variant + `, 'workflow', ` + artifact + `, 'main-' || i, 'main', ` + strconv.Itoa(revisions) + `, now(), $1 FROM generate_series(1, ` + strconv.Itoa(applications) + `) i`,
		`INSERT INTO revisions (project_id, id, kind, artifact_id, variant_id, version, slug, flags, author_id, date, data, created_at, created_by_id)
		SELECT $1, ` + fmt.Sprintf(id, "0003", fmt.Sprintf("(n * %d + i)", applications)) + `, 'workflow', ` + artifact + `, ` + variant + `, n, 'rev-' || i || '-' || n, '{}', $1, now(), '` + string(data) + `', now(), $1
		FROM generate_series(0, ` + strconv.Itoa(revisions-1) + `) n, generate_series(1, ` + strconv.Itoa(applications) + `) i`,
	} {
		_, err := c.w.pool.Exec(tb.Context(), strings.ReplaceAll(sql, "$1", "'"+project+"'"))
		require.NoError(tb, err)
	}
	_, err = c.w.pool.Exec(tb.Context(), `INSERT INTO environment_references (project_id, variant_id, key, from_version, entities)
	SELECT a.project_id, $2, a.slug || '.revision', 0, json_build_object('application', json_build_object('id', a.id, 'slug', a.slug), 'application_revision', json_build_object('id', r.id, 'slug', r.slug, 'version', r.version::text))
	FROM artifacts a JOIN revisions r ON r.project_id = a.project_id AND r.artifact_id = a.id AND r.version = $3 WHERE a.project_id = $1 AND a.kind = 'workflow'`,
		project, production["variant_id"], revisions/2)
	require.NoError(tb, err)
	for _, sql := range []string{`ANALYZE`, `CHECKPOINT`} {
		_, err = c.w.pool.Exec(tb.Context(), sql)
		require.NoError(tb, err)
	}
}

// plan returns the text of a statement's plan.
func plan(t *testing.T, w *service, sql string, args ...any) string {
	t.Helper()
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	rows, err := tx.Query(t.Context(), "EXPLAIN "+sql, args...)
	require.NoError(t, err)
	var lines []string
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	return strings.Join(lines, "\n")
}

// The frequent queries use indexes and scan no table.
func TestHotReadsUseIndexes(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", true)
	populate(t, c, 2000, 8)
	project := uuid.UUID(c.account.Project.ID)
	find := func(level entity.Level, ref domain.Reference, version *int) (string, []any) {
		sql, args := schema.FindRevision(int(level), ref.ID, ref.Slug, version)
		return sql, append([]any{project, entity.Workflow}, args...)
	}
	id, err := uuid.Parse("0190f3a0-0001-7000-8000-00000000000a")
	require.NoError(t, err)
	one := 1
	type read struct {
		name, sql string
		args      []any
		index     string
	}
	reads := make([]read, 0, 16)
	for _, r := range []struct {
		name    string
		level   entity.Level
		ref     domain.Reference
		version *int
		index   string
	}{
		{"revision by id", entity.LevelRevision, domain.Reference{ID: id}, nil, "revisions_"},
		{"revision by slug", entity.LevelRevision, domain.Reference{Slug: "rev-3-4"}, nil, "revisions_slug"},
		{"latest of a variant by id", entity.LevelVariant, domain.Reference{ID: id}, nil, "revisions_version"},
		{"latest of a variant by slug", entity.LevelVariant, domain.Reference{Slug: "main-3"}, nil, "revisions_version"},
		{"version of a variant", entity.LevelVariant, domain.Reference{Slug: "main-3"}, &one, "revisions_version"},
		{"latest of an application by id", entity.LevelArtifact, domain.Reference{ID: id}, nil, "variants_artifact"},
		{"latest of an application by slug", entity.LevelArtifact, domain.Reference{Slug: "app-3"}, nil, "artifacts_slug"},
	} {
		sql, args := find(r.level, r.ref, r.version)
		reads = append(reads, read{r.name, sql, args, r.index})
	}
	reads = append(reads,
		read{"what is deployed under a key", schema.ReferenceAt, []any{project, id, 0, "app-3.revision"}, "environment_references"},
		read{
			"a key's holder", `SELECT k.digest FROM api_keys k JOIN memberships m ON m.project_id = k.project_id AND m.user_id = k.user_id
			JOIN projects p ON p.id = k.project_id WHERE k.prefix = $1 AND k.revoked_at IS NULL`, []any{"abcdefgh"}, "",
		},
		read{"a page of applications", `SELECT ` + schema.ArtifactColumns + ` FROM artifacts a WHERE a.project_id = $1 AND a.kind = 'workflow' AND a.flags @> '{"is_application": true}' AND a.deleted_at IS NULL ORDER BY a.id DESC LIMIT 51`, []any{project}, "artifacts_page"},
		read{"a page of revisions", `SELECT ` + schema.RevisionColumns + ` FROM ` + schema.RevisionTables + ` WHERE r.project_id = $1 AND r.kind = 'workflow' AND r.deleted_at IS NULL ORDER BY r.id DESC LIMIT 51`, []any{project}, "revisions_"},
		read{"the log of a variant", `SELECT ` + schema.RevisionColumns + ` FROM ` + schema.RevisionTables + ` WHERE r.project_id = $1 AND r.kind = 'workflow' AND r.variant_id = $2 ORDER BY r.version DESC LIMIT 51`, []any{project, id}, "revisions_version"},
	)
	for _, r := range reads {
		t.Run(r.name, func(t *testing.T) {
			p := plan(t, w, r.sql, r.args...)
			require.Contains(t, p, r.index)
			for _, table := range []string{"artifacts", "variants", "revisions", "environment_references"} {
				require.NotContains(t, p, "Seq Scan on "+table, "%s\n%s", r.sql, p)
			}
		})
	}
}

// quantiles runs a call in a benchmark and reports its median and 99th percentile.
func quantiles(b *testing.B, call func(i int)) {
	b.Helper()
	var took []time.Duration
	i := 0
	for b.Loop() {
		start := time.Now()
		call(i)
		took = append(took, time.Since(start))
		i++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// At 10 000 applications of 50 revisions, all of them deployed.
func BenchmarkRegistry(b *testing.B) {
	w := newService(b)
	c := w.owner(b, "a@b.c", true)
	populate(b, c, 10_000, 50)
	caller := c.principal()
	rng := rand.New(rand.NewPCG(1, 2))
	app := func() string { return fmt.Sprint("app-", 1+rng.IntN(10_000)) }
	environment := entity.Refs{Artifact: domain.Reference{Slug: "production"}}
	b.Run("retrieve by environment", func(b *testing.B) {
		quantiles(b, func(int) {
			found, err := w.read.Retrieve(b.Context(), caller.Project, entity.Retrieval{
				Family: entity.Applications(), Environment: environment, Refs: entity.Refs{Artifact: domain.Reference{Slug: app()}},
			})
			require.NoError(b, err)
			require.Equal(b, 25, found.Revision.Version)
		})
	})
	b.Run("retrieve by environment over HTTP", func(b *testing.B) {
		quantiles(b, func(int) {
			c.post("/applications/revisions/retrieve", object{"environment_ref": ref("slug", "production"), "application_ref": ref("slug", app())})
		})
	})
	b.Run("retrieve by variant", func(b *testing.B) {
		quantiles(b, func(int) {
			_, err := w.read.Retrieve(b.Context(), caller.Project, entity.Retrieval{
				Family: entity.Applications(), Refs: entity.Refs{Variant: domain.Reference{Slug: fmt.Sprint("main-", 1+rng.IntN(10_000))}},
			})
			require.NoError(b, err)
		})
	})
	b.Run("page of applications", func(b *testing.B) {
		quantiles(b, func(int) {
			_, err := w.read.Simples(b.Context(), caller.Project, entity.Applications(), readregistry.Query{Window: domain.Window{Limit: 50}})
			require.NoError(b, err)
		})
	})
	b.Run("commit", func(b *testing.B) {
		quantiles(b, func(i int) {
			variant, err := uuid.Parse(fmt.Sprintf("0190f3a0-0002-7000-8000-%012x", 1+rng.IntN(10_000)))
			require.NoError(b, err)
			made, err := w.write.Commit(b.Context(), caller, entity.Applications(), entities.CommitRequest{
				Variant: variant, Data: entity.Document{"uri": "svc:builtin:completion:v0", "parameters": map[string]any{"i": i}},
			})
			require.NoError(b, err)
			require.NotNil(b, made)
		})
	})
	b.Run("deploy", func(b *testing.B) {
		quantiles(b, func(int) {
			_, err := w.write.Deploy(b.Context(), caller, entities.Deployment{Retrieval: entity.Retrieval{
				Family: entity.Applications(), Refs: entity.Refs{Artifact: domain.Reference{Slug: app()}}, Environment: environment,
			}})
			require.NoError(b, err)
		})
	})
}
