//go:build embedded

package entities_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Concurrent commands on one application neither deadlock nor lose a change, whether
// they lock from the artifact downwards or from the revision upwards.
func TestConcurrentCommandsOnOneApplication(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", true)
	app := c.app("my-app")
	id, vid := text(t, app, "id"), app["variant_id"]
	data := object{"uri": "svc:builtin:chat:v0"}
	requests := []struct {
		method, path string
		body         any
	}{
		{"PUT", "/simple/applications/" + id, object{"application": object{"id": id, "name": "x", "data": data}}},
		{"PUT", "/applications/" + id, object{"application": object{"id": id, "description": "y"}}},
		{"POST", "/applications/revisions/commit", object{"application_revision": object{"application_variant_id": vid, "data": data}}},
		{"POST", "/applications/revisions/commit", object{"application_revision": object{"application_variant_id": vid, "delta": object{"set": object{"parameters.a": 1}}}}},
		{"POST", "/applications/variants/fork", object{"application_variant": object{}, "application_variant_ref": object{"id": vid}}},
		{"POST", "/applications/revisions/deploy", object{"application_variant_ref": object{"id": vid}, "environment_ref": ref("slug", "production")}},
		{"PUT", "/applications/variants/" + text(t, vid), object{"application_variant": object{"id": vid, "name": "z"}}},
	}
	const rounds = 8
	var wait sync.WaitGroup
	codes := make([]int, rounds*len(requests))
	for i := range codes {
		r := requests[i%len(requests)]
		wait.Go(func() { codes[i], _, _ = c.do(r.method, r.path, r.body) })
	}
	wait.Wait()
	for i, code := range codes {
		require.Equal(t, http.StatusOK, code, "%v", requests[i%len(requests)])
	}
	log := c.post("/applications/revisions/log", object{"application_revisions": object{"application_variant_id": vid}})
	require.EqualValues(t, 2+3*rounds, log["count"])
	require.EqualValues(t, 1+rounds, c.post("/applications/variants/query", object{"application_id": id})["count"])
}

// A connection that Postgres closes is a 503 or is retried: never a 500, never an
// empty list.
func TestStoreThatCutsConnections(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", true)
	for range 20 {
		_, err := w.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err != nil {
			continue
		}
		for _, path := range []string{"/environments/query", "/environments/"} {
			status, reply, _ := c.do("POST", path, object{"environment": object{"slug": "x"}})
			switch status {
			case http.StatusOK, http.StatusConflict:
			default:
				require.Equal(t, http.StatusServiceUnavailable, status, "%v", reply)
			}
		}
	}
	w.pool.Close()
	status, _, _ := c.do("POST", "/environments/query", object{})
	require.NotEqual(t, http.StatusOK, status)
}
