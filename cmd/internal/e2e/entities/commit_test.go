//go:build embedded

package entities_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/write/registry"
	"colonnade/write/registry/entities"
)

func TestCommitDelta(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("my-app")
	commit := func(family string, more object) object {
		revision := object{family + "_variant_id": app["variant_id"]}
		maps.Copy(revision, more)
		return object{family + "_revision": revision}
	}
	const path = "/applications/revisions/commit"
	made := at(t, c.post(path, commit("application", object{"delta": object{"set": object{"parameters": object{"prompt": object{"m": "x"}}}}, "base_revision_id": app["revision_id"]})), "application_revision")
	require.Equal(t, object{"prompt": object{"n": 1.0, "m": "x"}}, at(t, made, "data", "parameters"))
	require.Equal(t, "svc:builtin:completion:v0", at(t, made, "data", "uri"))
	require.Equal(t, services+"/completion/v0", at(t, made, "data", "url"))

	stale := c.fails(http.StatusConflict, "POST", path, commit("application", object{"delta": object{"remove": []any{"parameters.prompt"}}, "base_revision_id": app["revision_id"]}))
	require.Equal(t, "revision_conflict", at(t, stale, "code"))
	require.Equal(t, at(t, made, "id"), at(t, stale, "details", "latest_revision_id"))
	require.NotEmpty(t, at(t, stale, "next_step"))
	require.Equal(t, false, at(t, stale, "retryable"))

	// The result of a delta can be sent as a body, so it is at most as deep as one. Without this bound a path as long as a body ends the process.
	for _, deep := range []object{{"parameters" + strings.Repeat(".a", 120): 1}, {"parameters" + strings.Repeat(".a", 90): nested(20)}} {
		c.fails(http.StatusUnprocessableEntity, "POST", path, commit("application", object{"delta": object{"set": deep}}))
	}

	same := object{"delta": object{"set": object{"parameters": object{"prompt": object{"m": "x"}}}}}
	require.Equal(t, "no_change", at(t, c.fails(http.StatusConflict, "POST", "/workflows/revisions/commit", commit("workflow", same)), "code"))
	c.post(path, commit("application", same))
	require.Equal(t, "Workflow variant not found.", c.fails(http.StatusNotFound, "POST", "/workflows/revisions/commit",
		object{"workflow_revision": object{"workflow_variant_id": app["id"], "data": object{}}}))
	require.EqualValues(t, 0, c.post(path, object{"application_revision": object{"application_variant_id": app["id"], "data": object{}}})["count"])
}

// nested returns an object inside n others.
func nested(depth int) object {
	o := object{}
	for range depth {
		o = object{"a": o}
	}
	return o
}

func TestRevisionDataIsEchoedExactly(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	status, reply, _ := c.do("POST", "/simple/applications/", `{"application":{"slug":"x","meta":{"big":9007199254740993},"data":{"uri":"user:custom:mine:v1","parameters":{"html":"<b>&","n":0.1,"u":"☃","deep":{"a":[{}]}}}}}`)
	require.Equal(t, 200, status)
	require.Equal(t, object{"html": "<b>&", "n": 0.1, "u": "☃", "deep": object{"a": []any{object{}}}}, at(t, reply, "application", "data", "parameters"))
	var stored, meta string
	require.NoError(t, c.w.pool.QueryRow(t.Context(), `SELECT data::text FROM revisions WHERE version = 1`).Scan(&stored))
	require.NoError(t, c.w.pool.QueryRow(t.Context(), `SELECT meta::text FROM artifacts`).Scan(&meta))
	require.Contains(t, stored, "0.1")
	require.Contains(t, meta, "9007199254740993")
}

// Twenty concurrent commits to one variant lose no commit, and versions have no gaps.
func TestConcurrentCommits(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("my-app")
	const n = 20
	codes := make([]int, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			codes[i], _, _ = c.do("POST", "/applications/revisions/commit", object{"application_revision": object{
				"application_variant_id": app["variant_id"], "message": strconv.Itoa(i), "data": object{"parameters": object{"i": i}},
			}})
		})
	}
	wait.Wait()
	for _, code := range codes {
		require.Equal(t, http.StatusOK, code)
	}
	log := c.post("/applications/revisions/log", object{"application_revisions": object{"application_variant_id": app["variant_id"]}})
	require.EqualValues(t, n+2, log["count"])
	messages := map[any]bool{}
	for i := range n + 2 {
		require.Equal(t, strconv.Itoa(n+1-i), at(t, log, "application_revisions", i, "version"))
		messages[at(t, log, "application_revisions", i, "message")] = true
	}
	for i := range n {
		require.True(t, messages[strconv.Itoa(i)])
	}
}

// Of twenty commits with the same base, one succeeds and the others are conflicts.
func TestConcurrentCommitsOnOneBase(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("my-app")
	const n = 20
	codes := make([]int, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			codes[i], _, _ = c.do("POST", "/applications/revisions/commit", object{"application_revision": object{
				"application_variant_id": app["variant_id"], "base_revision_id": app["revision_id"], "delta": object{"set": object{"parameters.i": i}},
			}})
		})
	}
	wait.Wait()
	won := 0
	for _, code := range codes {
		if code == http.StatusOK {
			won++
		} else {
			require.Equal(t, http.StatusConflict, code)
		}
	}
	require.Equal(t, 1, won)
}

// Twenty concurrent deployments to one environment lose none, and versions have no gaps.
func TestConcurrentDeploys(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", true)
	const n = 20
	for i := range n {
		c.app(fmt.Sprint("app-", i))
	}
	codes := make([]int, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			codes[i], _, _ = c.do("POST", "/applications/revisions/deploy", object{
				"application_ref": object{"slug": fmt.Sprint("app-", i)}, "environment_ref": object{"slug": "production"},
			})
		})
	}
	wait.Wait()
	for _, code := range codes {
		require.Equal(t, http.StatusOK, code)
	}
	log := c.post("/environments/revisions/log", object{"environment_revisions": object{
		"environment_id": at(t, c.post("/environments/query", object{"environment": object{"slug": "production"}}), "environments", 0, "id"),
	}})
	require.EqualValues(t, n+1, log["count"])
	for i := range n {
		require.Equal(t, strconv.Itoa(n-i), at(t, log, "environment_revisions", i, "version"))
		require.Len(t, at(t, log, "environment_revisions", i, "data", "references"), n-i, "each builds on the one before")
	}
}

// A command that waits too long for a lock is a 503 and changes nothing.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	app := c.app("my-app")
	cfg := registry.DefaultConfig()
	cfg.LockTimeout = 50e6
	db, err := registry.New(cfg, registry.Deps{Pool: w.pool, Now: nowUTC, Random: zeroes{}})
	require.NoError(t, err)
	impatient, err := entities.New(db, services)
	require.NoError(t, err)
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT 1 FROM variants FOR UPDATE`)
	require.NoError(t, err)
	before := census(t, w)
	_, err = impatient.Commit(t.Context(), c.principal(), entity.Applications(), entities.CommitRequest{Variant: idOf(t, app["variant_id"]), Data: entity.Document{}})
	require.Equal(t, domain.Unavailable, domain.KindOf(err), "%v", err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, before, census(t, w))
}

func TestResolveOverHTTP(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", true)
	leaf := c.app("leaf")
	c.post("/applications/revisions/deploy", object{"application_ref": ref("slug", "leaf"), "environment_ref": ref("slug", "production")})
	embed := func(references, selector object) object {
		return object{"@ag.embed": object{"@ag.references": references, "@ag.selector": selector}}
	}
	c.post("/simple/applications/", object{"application": object{"slug": "host", "data": object{"parameters": object{
		"by_variant":     embed(object{"application_variant": ref("id", leaf["variant_id"])}, object{"path": "parameters.prompt"}),
		"by_environment": embed(object{"environment": ref("slug", "production")}, object{"key": "leaf.revision", "path": "parameters.prompt.n"}),
		"by_text":        "n = @ag.embed[@ag.references[application.slug=leaf], @ag.selector[path:parameters.prompt.n]]",
	}}}})
	want := object{"by_variant": object{"n": 1.0}, "by_environment": 1.0, "by_text": "n = 1"}

	plain := c.post("/applications/revisions/retrieve", object{"application_ref": ref("slug", "host")})
	require.Contains(t, at(t, plain, "application_revision", "data", "parameters", "by_variant"), "@ag.embed")
	retrieved := c.post("/applications/revisions/retrieve", object{"application_ref": ref("slug", "host"), "resolve": true})
	require.Equal(t, want, at(t, retrieved, "application_revision", "data", "parameters"))
	require.EqualValues(t, 3, at(t, retrieved, "resolution_info", "embeds_resolved"))
	require.EqualValues(t, 1, at(t, retrieved, "resolution_info", "depth_reached"))
	resolved := c.post("/applications/revisions/resolve", object{"application_ref": ref("slug", "host")})
	require.Equal(t, want, at(t, resolved, "application_revision", "data", "parameters"))

	inline := object{"application_revision": object{"data": object{"parameters": object{"x": embed(object{"application": ref("slug", "nope")}, object{})}}}}
	c.fails(http.StatusBadRequest, "POST", "/applications/revisions/resolve", inline)
	inline["error_policy"] = "placeholder"
	require.Equal(t, "<error:EmbedNotFoundError>", at(t, c.post("/applications/revisions/resolve", inline), "application_revision", "data", "parameters", "x"))
	c.fails(http.StatusUnprocessableEntity, "POST", "/applications/revisions/resolve", object{"application_ref": ref("slug", "host"), "max_depth": 11})
	c.fails(http.StatusUnprocessableEntity, "POST", "/applications/revisions/resolve", object{"application_ref": ref("slug", "host"), "error_policy": "hope"})
	require.EqualValues(t, 0, c.post("/applications/revisions/resolve", object{"application_ref": ref("slug", "nope")})["count"])
}

func TestCatalogOverHTTP(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	templates := c.get("/applications/catalog/templates/")
	require.EqualValues(t, 8, templates["count"])
	require.EqualValues(t, 24, c.get("/evaluators/catalog/templates")["count"])
	require.EqualValues(t, 24, c.get("/simple/evaluators/templates")["count"])
	require.EqualValues(t, 16, c.get("/workflows/catalog/types")["count"])
	one := c.get("/applications/catalog/templates/completion")
	require.Equal(t, "svc:builtin:completion:v0", at(t, one, "template", "data", "uri"))
	require.Equal(t, "prompt-template", at(t, one, "template", "data", "schemas", "parameters", "properties", "prompt", "x-ag-type-ref"))
	require.Equal(t, object{"count": 0.0}, c.get("/applications/catalog/templates/nope"))
	require.EqualValues(t, 1, c.get("/evaluators/catalog/templates/feedback/presets")["count"])
	require.Equal(t, "quality-rating", at(t, c.get("/evaluators/catalog/templates/feedback/presets/quality-rating"), "preset", "key"))

	// Each template of the catalog can be committed unchanged.
	for _, t2 := range listAt(t, templates, "templates") {
		key := text(t, t2, "key")
		made := c.post("/simple/applications/", object{"application": object{"slug": "from-" + key, "data": at(t, t2, "data")}})
		require.NotEmpty(t, at(t, made, "application", "data", "url"), key)
	}
}

func TestSavedQueries(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	c.post("/simple/queries/", object{"query": object{"slug": "errors", "data": object{
		"formatting": object{"focus": "span"},
		"filtering":  object{"conditions": []any{object{"field": "status_code", "value": "STATUS_CODE_ERROR"}}},
		"windowing":  object{"limit": 5, "newest": "2026-01-01"},
	}}})
	data, found, err := w.read.SavedQuery(t.Context(), c.account.Project.ID, domain.Reference{Slug: "errors"}, domain.Reference{}, domain.Reference{})
	require.NoError(t, err)
	require.True(t, found)
	require.JSONEq(t, `{"formatting":{"focus":"span"},"filtering":{"conditions":[{"field":"status_code","value":"STATUS_CODE_ERROR"}]},"windowing":{"limit":5,"newest":"2026-01-01T00:00:00Z"}}`, string(data))
	_, found, err = w.read.SavedQuery(t.Context(), c.account.Project.ID, domain.Reference{Slug: "nope"}, domain.Reference{}, domain.Reference{})
	require.NoError(t, err)
	require.False(t, found)
	other := w.owner(t, "b@b.c", false)
	_, found, err = w.read.SavedQuery(t.Context(), other.account.Project.ID, domain.Reference{Slug: "errors"}, domain.Reference{}, domain.Reference{})
	require.NoError(t, err)
	require.False(t, found, "another project's query")
}
