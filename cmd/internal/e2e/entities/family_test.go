//go:build embedded

package entities_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/entity"
)

// dataOf returns valid data of an entity kind, different for each n.
func dataOf(f entity.Family, n int) object {
	switch f.Kind {
	case entity.Environment:
		return object{"references": object{}}
	case entity.Query:
		return object{"filtering": object{"conditions": []any{object{"field": "span_name", "value": fmt.Sprint("s", n)}}}}
	case entity.Testset:
		return object{"testcases": []any{object{"data": object{"n": n}}}}
	default:
		return object{"uri": "svc:builtin:completion:v0", "parameters": object{"n": n}}
	}
}

// All entity kinds follow the same life cycle.
func TestEveryFamilyHasTheSameLife(t *testing.T) {
	t.Parallel()
	w := newService(t)
	for _, f := range entity.Families() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			c := w.owner(t, f.Name+"@b.c", false)
			c.t = t
			lifeOf(t, c, f)
		})
	}
}

func lifeOf(t *testing.T, c client, f entity.Family) {
	t.Helper()
	base, name, variantName, revisionName := "/"+f.Plural, f.Name, f.Name+"_variant", f.Name+"_revision"

	// Create, get, edit.
	artifact := objectAt(t, c.post(base+"/", object{name: object{"slug": "thing", "name": "A thing", "tags": object{"a": "b"}, "meta": object{"n": 1.5}}}), name)
	id := text(t, artifact, "id")
	require.Equal(t, artifact, at(t, c.get(base+"/"+id), name))
	edited := at(t, c.put(base+"/"+id, object{name: object{"id": id, "description": "Better"}}), name)
	require.Equal(t, "A thing", at(t, edited, "name"), "what is not given stays")
	require.Equal(t, "Better", at(t, edited, "description"))
	require.NotEmpty(t, at(t, edited, "updated_at"))

	// A variant is named after its slug.
	variant := objectAt(t, c.post(base+"/variants/", object{variantName: object{name + "_id": id, "slug": "main"}}), variantName)
	vid := text(t, variant, "id")
	require.Equal(t, "main", variant["name"])
	require.Equal(t, id, variant[name+"_id"])
	require.Equal(t, "thing", variant[name+"_slug"])
	require.Equal(t, id, variant["artifact_id"])
	if f.Kind == entity.Workflow {
		require.Equal(t, id, variant["workflow_id"])
	}
	require.Equal(t, variant, at(t, c.get(base+"/variants/"+vid), variantName))
	replaced := at(t, c.put(base+"/variants/"+vid, object{variantName: object{"id": vid, "name": "Main"}}), variantName)
	require.Equal(t, "Main", at(t, replaced, "name"))

	// Revisions: the first one, then commits; versions have no gaps.
	first := at(t, c.post(base+"/revisions/", object{revisionName: object{variantName + "_id": vid}}), revisionName)
	require.Equal(t, "0", at(t, first, "version"))
	require.Equal(t, "Initial revision", at(t, first, "message"))
	require.NotContains(t, first, "data")
	c.fails(http.StatusConflict, http.MethodPost, base+"/revisions/", object{revisionName: object{variantName + "_id": vid}})
	var last object
	for n := 1; n <= 3; n++ {
		last = objectAt(t, c.post(base+"/revisions/commit", object{revisionName: object{variantName + "_id": vid, "message": "m", "data": dataOf(f, n)}}), revisionName)
		require.EqualValues(t, []string{"0", "1", "2", "3"}[n], last["version"])
		require.Equal(t, vid, last["variant_id"])
		require.Equal(t, vid, last[variantName+"_id"])
	}
	rid := text(t, last, "id")
	require.Equal(t, last, at(t, c.get(base+"/revisions/"+rid), revisionName))

	// Retrieve, log, query.
	require.Equal(t, last, at(t, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"slug": "main"}}), revisionName))
	require.Equal(t, last, at(t, c.post(base+"/revisions/retrieve", object{name + "_ref": object{"slug": "thing"}}), revisionName))
	log := c.post(base+"/revisions/log", object{name + "_revisions": object{variantName + "_id": vid}})
	require.EqualValues(t, 4, log["count"])
	require.Equal(t, last, at(t, log, name+"_revisions", 0))
	require.EqualValues(t, 2, c.post(base+"/revisions/log", object{name + "_revisions": object{name + "_revision_id": at(t, log, name+"_revisions", 2, "id")}})["count"])
	require.EqualValues(t, 1, c.post(base+"/revisions/log", object{name: object{variantName + "_id": vid, "depth": 1}})["count"])
	require.EqualValues(t, 1, c.post(base+"/query", object{})["count"])
	require.EqualValues(t, 1, c.post(base+"/variants/query", object{name + "_id": id})["count"])
	require.EqualValues(t, 4, c.post(base+"/revisions/query", object{variantName + "_refs": []any{object{"id": vid}}})["count"])

	// Fork: the history up to a revision.
	fork := at(t, c.post(base+"/variants/fork", object{
		variantName: object{"slug": "forked"}, variantName + "_ref": object{"id": vid}, revisionName + "_ref": object{"version": "2"},
	}), variantName)
	forked := c.post(base+"/revisions/log", object{name + "_revisions": object{variantName + "_id": at(t, fork, "id")}})
	require.EqualValues(t, 3, forked["count"])
	require.Equal(t, at(t, log, name+"_revisions", 1, "data"), at(t, forked, name+"_revisions", 0, "data"))
	next := at(t, c.post(base+"/revisions/commit", object{revisionName: object{variantName + "_id": at(t, fork, "id"), "data": dataOf(f, 9)}}), revisionName)
	require.Equal(t, "3", at(t, next, "version"), "a fork goes on where it left")
	require.Equal(t, last, at(t, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"id": vid}}), revisionName), "and leaves its source alone")

	archiveLife(t, c, f, id, vid, rid)
}

func archiveLife(t *testing.T, c client, f entity.Family, id, vid, rid string) {
	t.Helper()
	base, name, variantName, revisionName := "/"+f.Plural, f.Name, f.Name+"_variant", f.Name+"_revision"
	before := at(t, c.get(base+"/revisions/"+rid), revisionName)

	// An archived revision is no longer the latest, and is still found by its id.
	archived := at(t, c.post(base+"/revisions/"+rid+"/archive", nil), revisionName)
	require.NotEmpty(t, at(t, archived, "deleted_at"))
	require.Equal(t, "2", at(t, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"id": vid}}), revisionName, "version"))
	require.Equal(t, rid, at(t, c.post(base+"/revisions/retrieve", object{revisionName + "_ref": object{"id": rid}}), revisionName, "id"))
	require.Equal(t, rid, at(t, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"id": vid}, revisionName + "_ref": object{"version": "3"}}), revisionName, "id"))
	require.EqualValues(t, 0, c.put(base+"/revisions/"+rid, object{revisionName: object{"id": rid, "name": "x"}})["count"])

	// A variant is archived and restored with its revisions; a revision archived before stays archived.
	c.post(base+"/variants/"+vid+"/archive", nil)
	require.EqualValues(t, 0, c.post(base+"/revisions/query", object{variantName + "_refs": []any{object{"id": vid}}})["count"])
	require.EqualValues(t, 4, c.post(base+"/revisions/query", object{variantName + "_refs": []any{object{"id": vid}}, "include_archived": true})["count"])
	require.EqualValues(t, 0, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"id": vid}})["count"])
	require.EqualValues(t, 1, c.post(base+"/variants/query", object{})["count"], "the fork alone")
	c.fails(http.StatusConflict, http.MethodPost, base+"/revisions/commit", object{revisionName: object{variantName + "_id": vid, "data": dataOf(f, 5)}})
	copied := at(t, c.post(base+"/variants/fork", object{variantName: object{"slug": "of-archived"}, variantName + "_ref": object{"id": vid}}), variantName, "id")
	require.Equal(t, "2", at(t, c.post(base+"/revisions/retrieve", object{variantName + "_ref": object{"id": copied}}), revisionName, "version"), "a copy is no archived variant")
	c.post(base+"/variants/"+text(t, copied)+"/archive", nil)
	c.post(base+"/variants/"+vid+"/unarchive", nil)
	require.EqualValues(t, 3, c.post(base+"/revisions/query", object{variantName + "_refs": []any{object{"id": vid}}})["count"])
	restored := at(t, c.post(base+"/revisions/"+rid+"/unarchive", nil), revisionName)
	require.NotContains(t, restored, "deleted_at")
	require.Equal(t, at(t, before, "slug"), at(t, restored, "slug"))

	// An archived artifact is hidden from queries; its revisions resolve and its slug stays taken.
	c.post(base+"/"+id+"/archive", nil)
	require.EqualValues(t, 0, c.post(base+"/query", object{})["count"])
	require.EqualValues(t, 1, c.post(base+"/query", object{"include_archived": true})["count"])
	require.NotEmpty(t, at(t, c.get(base+"/"+id), name, "deleted_at"))
	if edit := (object{name: object{"id": id, "name": "x"}}); f.Name == string(entity.Workflow) {
		c.fails(http.StatusNotFound, http.MethodPut, base+"/"+id, edit)
	} else {
		require.EqualValues(t, 0, c.put(base+"/"+id, edit)["count"])
	}
	require.EqualValues(t, 1, c.post(base+"/revisions/retrieve", object{revisionName + "_ref": object{"id": rid}})["count"])
	conflict := c.fails(http.StatusConflict, http.MethodPost, base+"/", object{name: object{"slug": "thing"}})
	require.Equal(t, object{"message": "A resource with slug 'thing' already exists in this project.", "conflict": object{"slug": "thing"}}, conflict)
	c.post(base+"/"+id+"/archive", nil)
	c.post(base+"/"+id+"/unarchive", nil)
	require.EqualValues(t, 1, c.post(base+"/query", object{})["count"])
}

// Applications and evaluators share the workflows table: a slug is unique among both,
// and each kind lists its own.
func TestFamiliesOfWorkflows(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("shared")
	id := text(t, app, "id")
	c.fails(http.StatusConflict, http.MethodPost, "/evaluators/", object{"evaluator": object{"slug": "shared"}})
	c.fails(http.StatusConflict, http.MethodPost, "/workflows/", object{"workflow": object{"slug": "shared"}})
	c.post("/environments/", object{"environment": object{"slug": "shared"}})

	require.EqualValues(t, 1, c.get("/workflows/" + id)["count"])
	require.EqualValues(t, 0, c.get("/evaluators/" + id)["count"])
	require.EqualValues(t, 0, c.get("/environments/" + id)["count"])
	require.EqualValues(t, 0, c.post("/evaluators/"+id+"/archive", nil)["count"])
	require.EqualValues(t, 0, c.post("/evaluators/revisions/retrieve", object{"evaluator_ref": object{"slug": "shared"}})["count"])
	require.EqualValues(t, 1, c.post("/workflows/revisions/retrieve", object{"workflow_ref": object{"slug": "shared"}})["count"])
	require.EqualValues(t, 0, c.post("/evaluators/query", object{})["count"])
	require.EqualValues(t, 0, c.post("/evaluators/revisions/query", object{})["count"])
	require.EqualValues(t, 2, c.post("/workflows/revisions/query", object{})["count"])
	require.EqualValues(t, 0, c.post("/evaluators/revisions/commit", object{"evaluator_revision": object{"evaluator_variant_id": app["variant_id"], "data": object{}}})["count"])

	both := c.put("/applications/"+id, object{"application": object{"id": id, "flags": object{"is_evaluator": true, "is_application": false, "is_chat": true}}})
	require.Equal(t, object{"is_application": true, "is_evaluator": true, "is_snippet": false}, at(t, both, "application", "flags"))
	require.EqualValues(t, 1, c.get("/evaluators/" + id)["count"])
}

func TestBadInputIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	app := c.app("my-app")
	id, vid, rid := text(t, app, "id"), text(t, app, "variant_id"), text(t, app, "revision_id")
	other := c.app("other")
	commit := func(more object) object {
		revision := object{"application_variant_id": vid}
		maps.Copy(revision, more)
		return object{"application_revision": revision}
	}
	post, put, get := http.MethodPost, http.MethodPut, http.MethodGet
	tests := []struct {
		name, method, path string
		body               any
		status             int
	}{
		{"create without a body", post, "/applications/", "", 422},
		{"create with a broken body", post, "/applications/", "{", 422},
		{"create without the record", post, "/applications/", object{}, 422},
		{"create without a slug", post, "/applications/", object{"application": object{"name": "x"}}, 422},
		{"create with a bad slug", post, "/applications/", object{"application": object{"slug": "a b"}}, 422},
		{"create with a slug that begins with a dot", post, "/applications/", object{"application": object{"slug": ".a"}}, 422},
		{"create with a reserved slug", post, "/applications/", object{"application": object{"slug": "__ag__x"}}, 400},
		{"create with an unknown member", post, "/applications/", object{"application": object{"slug": "x", "colour": 1}}, 422},
		{"create with flags that are no booleans", post, "/applications/", object{"application": object{"slug": "x", "flags": object{"is_application": "yes"}}}, 422},
		{"create with tags that are a list", post, "/applications/", object{"application": object{"slug": "x", "tags": []any{1}}}, 422},
		{"create with NUL", post, "/applications/", `{"application":{"slug":"x","name":"a\u0000b"}}`, 422},
		{"simple create with a taken slug", post, "/simple/applications/", object{"application": object{"slug": "my-app", "data": object{}}}, 409},
		{"simple create with unknown data", post, "/simple/applications/", object{"application": object{"slug": "x", "data": object{"nope": 1}}}, 422},
		{"simple create with a bad schema", post, "/simple/applications/", object{"application": object{"slug": "x", "data": object{"schemas": object{"inputs": object{"type": 7}}}}}, 422},
		{"simple create without a slug", post, "/simple/applications/", object{"application": object{"data": object{}}}, 422},
		{"edit with another id", put, "/applications/" + id, object{"application": object{"id": vid}}, 400},
		{"edit without an id", put, "/applications/" + id, object{"application": object{"name": "x"}}, 400},
		{"edit of the slug", put, "/applications/" + id, object{"application": object{"id": id, "slug": "new"}}, 400},
		{"a path that is no id", get, "/applications/nonsense", nil, 422},
		{"archive of what is no id", post, "/applications/nonsense/archive", nil, 422},
		{"variant without an artifact", post, "/applications/variants/", object{"application_variant": object{"slug": "v"}}, 422},
		{"variant of an unknown artifact", post, "/applications/variants/", object{"application_variant": object{"slug": "v", "application_id": uuid.New()}}, 404},
		{"variant with a taken slug", post, "/applications/variants/", object{"application_variant": object{"slug": app["variant_slug"], "application_id": id}}, 409},
		{"commit without a variant", post, "/applications/revisions/commit", object{"application_revision": object{"data": object{}}}, 422},
		{"commit of nothing", post, "/applications/revisions/commit", commit(nil), 400},
		{"commit of data and delta", post, "/applications/revisions/commit", commit(object{"data": object{}, "delta": object{"remove": []any{"uri"}}}), 400},
		{"commit of unknown data", post, "/applications/revisions/commit", commit(object{"data": object{"nope": 1}}), 422},
		{"commit of an unknown handler", post, "/applications/revisions/commit", commit(object{"data": object{"uri": "svc:builtin:nope:v0"}}), 422},
		{"commit for another application", post, "/applications/revisions/commit", commit(object{"data": object{}, "application_id": other["id"]}), 400},
		{"commit with a stale base", post, "/applications/revisions/commit", commit(object{"data": object{}, "base_revision_id": other["revision_id"]}), 409},
		{"commit with a taken slug", post, "/applications/revisions/commit", commit(object{"data": object{}, "slug": app["revision_slug"]}), 409},
		{"an empty delta", post, "/applications/revisions/commit", commit(object{"delta": object{}}), 422},
		{"a delta that removes what is not there", post, "/applications/revisions/commit", commit(object{"delta": object{"remove": []any{"script"}}}), 400},
		{"a delta that makes bad data", post, "/applications/revisions/commit", commit(object{"delta": object{"set": object{"url": "ftp://x"}}}), 422},
		{"fork of nothing", post, "/applications/variants/fork", object{"application_variant": object{"slug": "f"}}, 422},
		{"fork of an unknown variant", post, "/applications/variants/fork", object{"application_variant": object{"slug": "f"}, "application_variant_ref": object{"id": uuid.New()}}, 400},
		{"fork up to another variant's revision", post, "/applications/variants/fork", object{"application_variant": object{"slug": "f"}, "application_variant_ref": object{"id": vid}, "application_revision_ref": object{"id": other["revision_id"]}}, 400},
		{"log of nothing", post, "/applications/revisions/log", object{"application_revisions": object{}}, 400},
		{"log without its member", post, "/applications/revisions/log", object{}, 422},
		{"edit of a revision with another id", put, "/applications/revisions/" + rid, object{"application_revision": object{"id": vid}}, 400},
		{"a saved query with an unknown operator", post, "/simple/queries/", object{"query": object{"slug": "q", "data": object{"filtering": object{"conditions": []any{object{"field": "span_name", "operator": "resembles", "value": "x"}}}}}}, 422},
		{"a saved query with an unknown focus", post, "/simple/queries/", object{"query": object{"slug": "q", "data": object{"formatting": object{"focus": "all"}}}}, 422},
	}
	before := census(t, c.w)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			detail := c.fails(tt.status, tt.method, tt.path, tt.body)
			require.NotEmpty(t, detail)
			if tt.status == http.StatusUnprocessableEntity {
				require.NotEmpty(t, at(t, detail, 0, "loc"))
				require.NotEmpty(t, at(t, detail, 0, "msg"))
			}
		})
	}
	require.Equal(t, before, census(t, c.w), "nothing half written")
}

// census counts the rows of the versioned entities' tables and their assigned versions.
func census(t *testing.T, w *service) [5]int {
	t.Helper()
	var n [5]int
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM artifacts), (SELECT count(*) FROM variants),
(SELECT count(*) FROM revisions), (SELECT count(*) FROM environment_references), (SELECT sum(next_version) FROM variants)`).
		Scan(&n[0], &n[1], &n[2], &n[3], &n[4]))
	return n
}
