//go:build embedded

package entities_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
	readregistry "colonnade/read/entities"
	"colonnade/write/registry/entities"
)

// Queries of testcases use indexes, however many testcases another testset has.
func TestReadsOfTestcasesUseIndexes(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made, other := c.testset("golden", rows(1)), c.testset("silver", rows(1))
	project := uuid.UUID(c.account.Project.ID)
	_, err := w.pool.Exec(t.Context(), `INSERT INTO testcases (project_id, id, testset_id, place, data, created_at, created_by_id)
	SELECT $1, gen_random_uuid(), CASE WHEN i % 100 = 0 THEN $2::uuid ELSE $3::uuid END, i, '{}', now() + i * interval '1 second', $1 FROM generate_series(1, 20000) i`,
		project, text(t, made, "id"), text(t, other, "id"))
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(), `ANALYZE testcases`)
	require.NoError(t, err)
	golden, id := uuid.MustParse(text(t, made, "id")), uuid.MustParse(text(t, made, "data", "testcase_ids", 0))
	const all = `SELECT ` + schema.TestcaseColumns + ` FROM testcases t `
	const newest = ` ORDER BY t.created_at DESC, t.place DESC, t.id DESC LIMIT 51`
	const beyond = ` AND (t.created_at, t.place, t.id) < (SELECT n.created_at, n.place, n.id FROM testcases n WHERE n.project_id = $1 AND n.id = $2)`
	for _, r := range []struct {
		name, sql string
		args      []any
		index     string
	}{
		{"those of a revision", schema.TestcasesByID, []any{project, []uuid.UUID{id, golden}}, "testcases_pkey"},
		{"a page of all", all + `WHERE t.project_id = $1` + newest, []any{project}, "testcases_page"},
		{"the next page", all + `WHERE t.project_id = $1` + beyond + newest, []any{project, id}, "testcases_page"},
		{"a page of a testset", all + `WHERE t.project_id = $1 AND t.testset_id = $2` + newest, []any{project, golden}, "testcases_testset"},
		{"by tags", all + `WHERE t.project_id = $1 AND t.tags @> '{"k": "v"}'` + newest, []any{project}, "testcases_tags"},
		{"in the order of ids", all + `JOIN unnest($2::uuid[]) WITH ORDINALITY AS w(id, place) ON w.id = t.id WHERE t.project_id = $1 ORDER BY w.place LIMIT 51`, []any{project, []uuid.UUID{id}}, "testcases_pkey"},
	} {
		p := plan(t, w, r.sql, r.args...)
		require.Contains(t, p, r.index, "%s: %s", r.name, p)
		require.NotContains(t, p, "Seq Scan on testcases", "%s: %s", r.name, p)
	}
}

// Concurrent commits to two variants with the same rows in different orders do not
// deadlock, and lose no row.
func TestCommitsOfTheSameRowsAtOnce(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made := c.testset("golden", rows(0))
	fork := objectAt(t, c.post("/testsets/variants/fork", object{"testset_variant": object{"slug": "other"}, "testset_variant_ref": object{"id": made["variant_id"]}}), "testset_variant")
	const each, size = 10, 200
	group, ctx := errgroup.WithContext(t.Context())
	for _, variant := range []any{made["variant_id"], fork["id"]} {
		for n := range each {
			group.Go(func() error { return commitRows(ctx, w, c, variant, n, size) })
		}
	}
	require.NoError(t, group.Wait())
	var stored int
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) FROM testcases`).Scan(&stored))
	require.Equal(t, size+each-1, stored, "every row once")
	for _, variant := range []any{made["variant_id"], fork["id"]} {
		log := c.post("/testsets/revisions/log", object{"testset_revisions": object{"testset_variant_id": variant}})
		require.EqualValues(t, each+2, log["count"])
		for i, e := range listAt(t, log, "testset_revisions") {
			require.Equal(t, strconv.Itoa(each+1-i), at(t, e, "version"))
			if i < each {
				require.Len(t, listAt(t, e, "data", "testcases"), size)
			}
		}
	}
}

// commitRows commits the rows n to n+size-1 in ascending or descending order.
func commitRows(ctx context.Context, w *service, c client, variant any, n, size int) error {
	id, err := uuid.Parse(fmt.Sprint(variant))
	if err != nil {
		return err
	}
	data := testset.Data{Testcases: make([]testset.Testcase, size)}
	for i := range size {
		value := n + i
		if n%2 == 1 {
			value = n + size - 1 - i
		}
		data.Testcases[i].Data = entity.Document{"n": value}
	}
	_, err = w.write.Commit(ctx, c.principal(), entity.Testsets(), entities.CommitRequest{Variant: id, Testset: &data})
	return err
}

// A testset of the maximum number of rows is stored and read.
func TestTheLongestTestset(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	var csv strings.Builder
	csv.WriteString("n\n")
	for i := range testset.MaxTestcases {
		fmt.Fprintln(&csv, i)
	}
	path := "/testsets/revisions/" + text(t, c.testset("long", rows(1)), "revision_id")
	fields := map[string]string{"include_testcases": "false"} // the reply would be held to the document for seconds
	made := objectAt(t, c.uploaded(path+"/upload", "long.csv", csv.String(), fields), "testset_revision")
	require.Len(t, listAt(t, made, "data", "testcase_ids"), testset.MaxTestcases)
	file := c.download("/testsets/revisions/" + text(t, made, "id") + "/download")
	require.Equal(t, testset.MaxTestcases+1, strings.Count(file.Body.String(), "\n"))
	again := objectAt(t, c.uploaded(path+"/upload", "long.csv", file.Body.String(), fields), "testset_revision")
	require.Equal(t, made["data"], again["data"])
}

// A page ends before its testcases exceed their maximum; the first revision of a page
// is always complete.
func TestRepliesWithTestcasesAreBounded(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	wide := func(n int) []any { return []any{object{"data": object{"n": n, "text": strings.Repeat("x", 1000)}}} }
	made := c.testset("golden", wide(1))
	for n := 2; n <= 4; n++ {
		c.commitTestset(made["variant_id"], object{"data": object{"testcases": wide(n)}})
	}
	c.testset("silver", wide(5))
	c.testset("bronze", wide(6))
	cfg := readregistry.DefaultConfig()
	cfg.MaxTestcaseBytes = 2500
	read, err := readregistry.New(cfg, readregistry.Deps{Pool: w.pool})
	require.NoError(t, err)
	project, f := c.account.Project.ID, entity.Testsets()
	golden := domain.Reference{ID: uuid.MustParse(text(t, made, "id"))}

	query := readregistry.Query{Artifacts: []domain.Reference{golden}}
	var pages []int
	for range 5 {
		page, err := read.Revisions(t.Context(), project, f, query)
		require.NoError(t, err)
		pages = append(pages, len(page.Items))
		if query.Window.Next = page.Next; page.Next == uuid.Nil {
			break
		}
	}
	require.Equal(t, []int{2, 3}, pages, "two with data, then two and the placeholder")
	simples, err := read.Simples(t.Context(), project, f, readregistry.Query{})
	require.NoError(t, err)
	require.Len(t, simples.Items, 2)
	require.Equal(t, simples.Items[1].Artifact.ID, simples.Next)
	listed, err := read.Testcases(t.Context(), project, readregistry.TestcaseQuery{})
	require.NoError(t, err)
	require.Len(t, listed.Items, 2)
	require.Equal(t, listed.Items[1].ID, listed.Next)
	log, err := read.Log(t.Context(), project, f, readregistry.LogQuery{Artifact: golden.ID})
	require.NoError(t, err)
	require.Len(t, log, 5)
	require.Contains(t, log[1].Data, "testcases")
	require.NotContains(t, log[2].Data, "testcases", "a log has no next page: what does not fit shows its ids")
	require.Contains(t, log[2].Data, "testcase_ids")

	cfg.MaxTestcaseBytes = 1
	read, err = readregistry.New(cfg, readregistry.Deps{Pool: w.pool})
	require.NoError(t, err)
	page, err := read.Revisions(t.Context(), project, f, readregistry.Query{Artifacts: []domain.Reference{golden}})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Contains(t, page.Items[0].Data, "testcases")
}

// A page ends before it exceeds the maximum size, and the next page continues there. One
// record is always complete.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	wide := object{"text": strings.Repeat("x", 1000)}
	for _, slug := range []string{"one", "two", "three"} {
		made := c.app(slug)
		c.put("/applications/"+text(t, made, "id"), object{"application": object{"id": made["id"], "meta": wide}})
		c.commit(made["variant_id"], wide)
		c.commit(made["variant_id"], object{"text": wide["text"], "more": 1})
	}
	cfg := readregistry.DefaultConfig()
	cfg.MaxPageBytes = 3000
	read, err := readregistry.New(cfg, readregistry.Deps{Pool: w.pool})
	require.NoError(t, err)
	project, f := c.account.Project.ID, entity.Applications()
	walk := func(list func(q readregistry.Query) (ids []uuid.UUID, next uuid.UUID, err error)) (pages []int) {
		seen := map[uuid.UUID]bool{}
		for q := (readregistry.Query{}); len(pages) < 20; {
			ids, next, err := list(q)
			require.NoError(t, err)
			require.NotEmpty(t, ids)
			for _, id := range ids {
				require.False(t, seen[id], "each once")
				seen[id] = true
			}
			pages = append(pages, len(ids))
			if q.Window.Next = next; next == uuid.Nil {
				break
			}
		}
		return pages
	}
	require.Equal(t, []int{2, 1}, walk(func(q readregistry.Query) (ids []uuid.UUID, next uuid.UUID, err error) {
		page, err := read.Artifacts(t.Context(), project, f, q)
		for _, a := range page.Items {
			ids = append(ids, a.ID)
		}
		return ids, page.Next, err
	}))
	require.NotEqual(t, []int{3}, walk(func(q readregistry.Query) (ids []uuid.UUID, next uuid.UUID, err error) {
		page, err := read.Simples(t.Context(), project, f, q)
		for _, s := range page.Items {
			require.NotNil(t, s.Revision)
			ids = append(ids, s.Artifact.ID)
		}
		return ids, page.Next, err
	}))
	total := 0
	for _, n := range walk(func(q readregistry.Query) (ids []uuid.UUID, next uuid.UUID, err error) {
		page, err := read.Revisions(t.Context(), project, f, q)
		for _, v := range page.Items {
			ids = append(ids, v.ID)
		}
		return ids, page.Next, err
	}) {
		require.Less(t, n, 6)
		total += n
	}
	whole, err := w.read.Revisions(t.Context(), project, f, readregistry.Query{})
	require.NoError(t, err)
	require.Len(t, whole.Items, total)
	log, err := read.Log(t.Context(), project, f, readregistry.LogQuery{Variant: whole.Items[0].VariantID})
	require.NoError(t, err)
	require.Len(t, log, 1, "the latest is whole, the next one would be too much")
}
