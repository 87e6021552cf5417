//go:build embedded

package entities_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimpleApplication(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", true)
	app := c.app("my-app")
	require.Equal(t, services+"/completion/v0", at(t, app, "data", "url"))
	require.Equal(t, "svc:builtin:completion:v0", at(t, app, "data", "uri"))
	require.NotNil(t, at(t, app, "data", "schemas", "parameters"))
	require.NotNil(t, at(t, app, "data", "schemas", "inputs"))
	require.NotNil(t, at(t, app, "data", "schemas", "outputs"))
	require.Equal(t, true, at(t, app, "flags", "is_application"))
	require.Equal(t, true, at(t, app, "flags", "is_managed"))
	require.NotEmpty(t, app["variant_id"])
	require.NotEmpty(t, app["revision_id"])

	log := c.post("/applications/revisions/log", object{"application": object{"application_id": app["id"]}})
	require.EqualValues(t, 2, log["count"])
	require.Equal(t, "1", at(t, log, "application_revisions", 0, "version"))
	require.Equal(t, "Initial commit", at(t, log, "application_revisions", 1, "message"))

	got := c.get("/simple/applications/" + text(t, app, "id"))
	require.Equal(t, app, at(t, got, "application"))

	edited := c.put("/simple/applications/"+text(t, app, "id"), object{"application": object{"id": app["id"], "name": "New", "data": object{"uri": "svc:builtin:chat:v0"}}})
	require.Equal(t, "New", at(t, edited, "application", "name"))
	require.Equal(t, true, at(t, edited, "application", "flags", "is_chat"))
	require.NotEqual(t, app["revision_id"], at(t, edited, "application", "revision_id"))

	require.EqualValues(t, 1, c.post("/simple/applications/query", object{})["count"])
	require.EqualValues(t, 1, c.post("/simple/applications/query", object{"application": object{"flags": object{"is_chat": true}}})["count"])
	require.EqualValues(t, 0, c.post("/simple/applications/query", object{"application": object{"flags": object{"is_chat": false}}})["count"])

	archived := c.post("/simple/applications/"+text(t, app, "id")+"/archive", nil)
	require.NotEmpty(t, at(t, archived, "application", "deleted_at"))
	require.EqualValues(t, 0, c.post("/simple/applications/query", object{})["count"])
	require.EqualValues(t, 1, c.post("/simple/applications/query", object{"include_archived": true})["count"])
	require.EqualValues(t, 0, c.put("/simple/applications/"+text(t, app, "id"), object{"application": object{"id": app["id"], "name": "X"}})["count"])
	back := c.post("/simple/applications/"+text(t, app, "id")+"/unarchive", nil)
	require.NotContains(t, at(t, back, "application"), "deleted_at")
	require.EqualValues(t, 1, c.post("/simple/applications/query", object{})["count"])
}

// Renaming an entity that was created without data commits no revision.
func TestASimpleApplicationWithoutDataIsRenamed(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	bare := objectAt(t, c.post("/simple/applications/", object{"application": object{"slug": "bare"}}), "application")
	path := "/simple/applications/" + text(t, bare, "id")
	renamed := objectAt(t, c.put(path, object{"application": object{"id": bare["id"], "name": "New"}}), "application")
	require.Equal(t, "New", renamed["name"])
	require.Equal(t, bare["revision_id"], renamed["revision_id"])
	flagged := objectAt(t, c.put(path, object{"application": object{"id": bare["id"], "tags": object{"a": "b"}}}), "application")
	require.Equal(t, "1", flagged["version"], "tags are part of its history")
}

func TestSeededProject(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", true)
	list := c.post("/simple/environments/query", object{"windowing": object{"order": "ascending"}})
	require.EqualValues(t, 3, list["count"])
	for i, slug := range []string{"development", "staging", "production"} {
		require.Equal(t, slug, at(t, list, "environments", i, "slug"))
		require.Equal(t, false, at(t, list, "environments", i, "flags", "is_guarded"))
	}
	evaluators := c.post("/simple/evaluators/query", object{"windowing": object{"order": "ascending"}})
	require.EqualValues(t, 3, evaluators["count"])
	require.Equal(t, "svc:custom:feedback:v0", at(t, evaluators, "evaluators", 2, "data", "uri"))
	require.Equal(t, "boolean", at(t, evaluators, "evaluators", 2, "data", "schemas", "outputs", "properties", "approved", "type"))

	empty := w.owner(t, "b@b.c", false)
	require.EqualValues(t, 0, empty.post("/simple/environments/query", object{})["count"])
	require.EqualValues(t, 0, empty.post("/simple/evaluators/query", object{})["count"])
}
