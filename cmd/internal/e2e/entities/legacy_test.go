//go:build embedded

package entities_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The prompt of an application is accepted under the names of older clients.
func TestLegacyFetchOfAConfiguration(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", true)
	app := c.app("my-app")
	first := object{"prompt": object{"n": 1.0}}
	second := objectAt(t, c.commit(app["variant_id"], object{"prompt": object{"n": 2}}))
	slug := object{"slug": "my-app"}
	c.post("/applications/revisions/deploy", object{"application_revision_ref": object{"id": app["revision_id"]}, "environment_ref": object{"slug": "production"}, "message": "ship it"})
	c.post("/applications/revisions/deploy", object{"application_variant_ref": object{"id": app["variant_id"]}, "environment_ref": object{"slug": "staging"}})
	production := objectAt(t, c.post("/environments/revisions/retrieve", object{"environment_ref": object{"slug": "production"}}), "environment_revision")
	deployed, latest := first, object{"prompt": object{"n": 2.0}}
	tests := []struct {
		name string
		body object
		want object
	}{
		{"a variant by its slug", object{"variant_ref": object{"slug": app["variant_slug"], "version": nil, "id": nil}, "application_ref": slug}, latest},
		{"a variant's version as a number", object{"variant_ref": object{"slug": app["variant_slug"], "version": 1}, "application_ref": slug}, first},
		{"a variant's version as a string", object{"variant_ref": object{"id": app["variant_id"], "version": "1"}}, first},
		{"a variant by its id", object{"variant_ref": object{"id": app["variant_id"]}}, latest},
		{"a revision by its id", object{"variant_ref": object{"id": app["revision_id"]}}, first},
		{"the production environment", object{"application_ref": slug}, deployed},
		{"an environment by its slug", object{"environment_ref": object{"slug": "staging", "commit_message": nil}, "application_ref": slug}, latest},
		{"an environment by its id", object{"environment_ref": object{"id": production["environment_id"]}, "application_ref": object{"id": app["id"]}}, deployed},
		{"an environment's revision by its id", object{"environment_ref": object{"id": production["id"]}, "application_ref": slug}, deployed},
		{"an environment's version", object{"environment_ref": object{"slug": "production", "version": production["version"]}, "application_ref": slug}, deployed},
		{"a variant wins over an environment", object{"variant_ref": object{"id": app["variant_id"]}, "environment_ref": object{"slug": "production"}, "application_ref": slug}, latest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			c.t = t
			require.Equal(t, tt.want, c.post("/variants/configs/fetch", tt.body)["params"])
		})
	}

	status, reply, header := c.do(http.MethodPost, "/api/variants/configs/fetch", object{"environment_ref": object{"slug": "production"}, "application_ref": slug})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "true", header.Get("Deprecation"))
	require.Equal(t, services+"/completion/v0", reply["url"])
	require.Equal(t, object{"slug": "my-app", "id": app["id"], "version": nil, "commit_message": nil}, reply["application_ref"])
	require.Equal(t, object{"slug": app["variant_slug"], "id": app["variant_id"], "version": 1.0, "commit_message": nil}, reply["variant_ref"])
	require.Equal(t, object{"slug": "production", "id": production["id"], "version": 1.0, "commit_message": "ship it"}, reply["environment_ref"])
	require.Nil(t, reply["service_ref"])
	require.NotNil(t, at(t, reply, "application_lifecycle", "created_at"))
	require.NotNil(t, at(t, reply, "environment_lifecycle", "created_at"))
	require.Equal(t, second["created_at"], at(t, c.post("/variants/configs/fetch", object{"variant_ref": object{"id": second["id"]}}), "variant_lifecycle", "created_at"))

	stranger := w.owner(t, "b@b.c", true)
	for _, bad := range []struct {
		as     client
		body   any
		status int
	}{
		{c, "", 422},
		{c, object{"colour": 1}, 422},
		{c, object{"variant_ref": object{"colour": 1}}, 422},
		{c, object{"variant_ref": object{"id": "x"}}, 422},
		{c, object{"variant_ref": object{"slug": "x", "version": 1.5}}, 404},
		{c, object{"variant_ref": object{"slug": "x", "version": true}}, 422},
		{c, object{}, 404},
		{c, object{"variant_ref": object{"id": uuid.New()}}, 404},
		{c, object{"variant_ref": object{"version": 1}}, 400},
		{c, object{"variant_ref": object{"id": app["variant_id"]}, "application_ref": object{"slug": "other"}}, 400},
		{c, object{"environment_ref": object{"slug": "development"}, "application_ref": slug}, 404},
		{c, object{"environment_ref": object{"id": uuid.New()}, "application_ref": slug}, 404},
		{stranger, object{"variant_ref": object{"id": app["variant_id"]}}, 404},
		{stranger, object{"variant_ref": object{"id": app["revision_id"]}}, 404},
		{stranger, object{"application_ref": object{"id": app["id"]}}, 404},
		{stranger, object{"environment_ref": object{"id": production["id"]}, "application_ref": slug}, 404},
	} {
		status, reply, _ := bad.as.do(http.MethodPost, "/variants/configs/fetch", bad.body)
		require.Equal(t, bad.status, status, "%v -> %v", bad.body, reply)
	}
}
