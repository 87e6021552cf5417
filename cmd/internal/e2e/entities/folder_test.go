//go:build embedded

package entities_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// folder creates a folder and returns its record.
func (c client) folder(slug string, parent any) object {
	c.t.Helper()
	return objectAt(c.t, c.post("/folders/", object{"folder": object{"slug": slug, "parent_id": parent}}), "folder")
}

// Folders are created, moved with their subfolders, listed by each filter, and deleted
// without the applications in them.
func TestFolders(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	a := c.folder("a", nil)
	b := c.folder("b", a["id"])
	d := c.folder("d", b["id"])
	other := c.folder("a-b", nil) // begins with the same letters, and lies elsewhere
	require.Equal(t, "a/b/d", d["path"])
	require.Equal(t, "applications", d["kind"])
	require.Equal(t, b["id"], d["parent_id"])
	require.NotContains(t, a, "parent_id")
	require.Equal(t, d, at(t, c.get("/folders/"+text(t, d, "id")), "folder"))
	require.Equal(t, object{"count": 0.0}, c.get("/folders/"+uuid.NewString()))

	app := objectAt(t, c.post("/applications/", object{"application": object{"slug": "kept", "folder_id": d["id"]}}), "application")
	require.Equal(t, d["id"], app["folder_id"])
	require.EqualValues(t, 1, c.post("/applications/query", object{"application": object{"folder_id": d["id"]}})["count"])

	lists := []struct {
		name string
		body object
		want []string
	}{
		{"all, newest first", object{}, []string{"a-b", "a/b/d", "a/b", "a"}},
		{"those at the root", object{"folder": object{"parent_id": nil}}, []string{"a-b", "a"}},
		{"those in a folder", object{"folder": object{"parent_id": a["id"]}}, []string{"a/b"}},
		{"one by its path", object{"folder": object{"path": "a/b"}}, []string{"a/b"}},
		{"a folder with all below it", object{"folder": object{"prefix": "a"}}, []string{"a/b/d", "a/b", "a"}},
		{"by slug", object{"folder": object{"slug": "d", "kind": "applications"}}, []string{"a/b/d"}},
		{"by refs", object{"folder_refs": []any{object{"id": b["id"]}, object{"slug": "a-b"}}}, []string{"a-b", "a/b"}},
		{"a page", object{"windowing": object{"limit": 1, "order": "ascending"}}, []string{"a"}},
	}
	for _, tt := range lists {
		reply := c.post("/folders/query", tt.body)
		got := make([]string, 0, len(tt.want))
		for _, f := range listAt(t, reply, "folders") {
			got = append(got, text(t, f, "path"))
		}
		require.Equal(t, tt.want, got, tt.name)
	}

	// A move includes the subfolders; null is the root.
	moved := at(t, c.put("/folders/"+text(t, b, "id"), object{"folder": object{"id": b["id"], "name": "Bee", "parent_id": other["id"]}}), "folder")
	require.Equal(t, "a-b/b", at(t, moved, "path"))
	require.Equal(t, "Bee", at(t, moved, "name"))
	require.Equal(t, "a-b/b/d", at(t, c.get("/folders/"+text(t, d, "id")), "folder", "path"))
	renamed := at(t, c.put("/folders/"+text(t, b, "id"), object{"folder": object{"id": b["id"], "description": "buzz"}}), "folder")
	require.Equal(t, "a-b/b", at(t, renamed, "path"), "what is not given stays")
	require.Equal(t, "b", at(t, c.put("/folders/"+text(t, b, "id"), object{"folder": object{"id": b["id"], "parent_id": nil}}), "folder", "path"))

	gone := at(t, c.expect(http.StatusOK, http.MethodDelete, "/folders/"+text(t, b, "id"), nil), "folder")
	require.Equal(t, b["id"], at(t, gone, "id"))
	require.Equal(t, object{"count": 0.0}, c.get("/folders/"+text(t, d, "id")))
	require.NotContains(t, at(t, c.get("/applications/"+text(t, app, "id")), "application"), "folder_id")
	require.Equal(t, object{"count": 0.0}, c.expect(http.StatusOK, http.MethodDelete, "/folders/"+text(t, b, "id"), nil))
	require.EqualValues(t, 2, c.post("/folders/query", object{})["count"])
}

func TestFoldersRefuse(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	a := c.folder("a", nil)
	b := c.folder("b", a["id"])
	tests := []struct {
		name, method, path string
		body               object
		status             int
	}{
		{"no slug", "POST", "/folders/", object{"folder": object{"name": "x"}}, 422},
		{"a slug with a slash", "POST", "/folders/", object{"folder": object{"slug": "a/b"}}, 422},
		{"an unknown member", "POST", "/folders/", object{"folder": object{"slug": "x", "colour": "red"}}, 422},
		{"an unknown kind", "POST", "/folders/", object{"folder": object{"slug": "x", "kind": "testsets"}}, 422},
		{"a slug that is taken", "POST", "/folders/", object{"folder": object{"slug": "a"}}, 409},
		{"a slug that is taken in a folder", "POST", "/folders/", object{"folder": object{"slug": "b", "parent_id": a["id"]}}, 409},
		{"an unknown parent", "POST", "/folders/", object{"folder": object{"slug": "x", "parent_id": uuid.New()}}, 400},
		{"an id that is another", "PUT", "/folders/" + text(t, a, "id"), object{"folder": object{"id": b["id"]}}, 400},
		{"another slug", "PUT", "/folders/" + text(t, a, "id"), object{"folder": object{"id": a["id"], "slug": "z"}}, 400},
		{"into itself", "PUT", "/folders/" + text(t, a, "id"), object{"folder": object{"id": a["id"], "parent_id": a["id"]}}, 400},
		{"into what lies in it", "PUT", "/folders/" + text(t, a, "id"), object{"folder": object{"id": a["id"], "parent_id": b["id"]}}, 400},
		{"an application in no folder", "POST", "/applications/", object{"application": object{"slug": "x", "folder_id": uuid.New()}}, 400},
		{"an application of no folder, simply", "POST", "/simple/applications/", object{"application": object{"slug": "x", "folder_id": uuid.New()}}, 400},
	}
	for _, tt := range tests {
		c.fails(tt.status, tt.method, tt.path, tt.body)
	}
	require.EqualValues(t, 2, c.post("/folders/query", object{})["count"])
	require.EqualValues(t, 0, c.post("/applications/query", object{})["count"])

	// A folder is neither created nor moved below the maximum depth.
	parent := a["id"]
	for n := range 31 {
		parent = c.folder(fmt.Sprint("n", n), parent)["id"]
	}
	c.fails(http.StatusBadRequest, http.MethodPost, "/folders/", object{"folder": object{"slug": "deep", "parent_id": parent}})
	top := c.folder("top", nil)
	c.fails(http.StatusBadRequest, http.MethodPut, "/folders/"+text(t, a, "id"), object{"folder": object{"id": a["id"], "parent_id": top["id"]}})
	require.Equal(t, "a", at(t, c.get("/folders/"+text(t, a, "id")), "folder", "path"), "nothing half moved")
}

// After twenty concurrent moves every path is its parent's path and its own slug.
func TestConcurrentMovesOfFolders(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	var ids []any
	for n := range 5 {
		ids = append(ids, c.folder(fmt.Sprint("f", n), nil)["id"])
	}
	var wait sync.WaitGroup
	for n := range 20 {
		wait.Go(func() {
			id, to := ids[n%5], ids[(n*3+1)%5]
			status, _, _ := c.do(http.MethodPut, "/folders/"+fmt.Sprint(id), object{"folder": object{"id": id, "parent_id": to}})
			if status != http.StatusOK && status != http.StatusBadRequest {
				t.Errorf("moving: %d", status)
			}
		})
	}
	wait.Wait()
	paths := map[any]string{}
	list := listAt(t, c.post("/folders/query", object{}), "folders")
	require.Len(t, list, 5)
	for _, f := range list {
		paths[at(t, f, "id")] = text(t, f, "path")
	}
	for _, f := range list {
		want := text(t, f, "slug")
		if parent, ok := objectAt(t, f)["parent_id"]; ok {
			want = paths[parent] + "/" + want
		}
		require.Equal(t, want, text(t, f, "path"))
		require.LessOrEqual(t, strings.Count(want, "/"), 4)
	}
}

// An application put into a folder that is being deleted ends up without a folder, like the others in it.
func TestAnApplicationDoesNotLieInAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	f := c.folder("f", nil)
	c.app("first")
	// The insert waits for the slug of another transaction after it has read its folder.
	tx, err := c.w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO artifacts (project_id, id, kind, slug, created_at, created_by_id)
SELECT project_id, $1, kind, 'late', created_at, created_by_id FROM artifacts WHERE slug = 'first'`, uuid.New())
	require.NoError(t, err)
	gone := make(chan struct{})
	await := func(commands int) {
		for waiting := 0; waiting < commands; {
			require.NoError(t, c.w.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
			select {
			case <-gone:
				return
			default:
			}
		}
	}
	var made object
	var both sync.WaitGroup
	both.Go(func() {
		_, made, _ = c.do("POST", "/applications/", object{"application": object{"slug": "late", "folder_id": f["id"]}})
	})
	await(1)
	both.Go(func() {
		c.do("DELETE", "/folders/"+text(t, f, "id"), nil)
		close(gone)
	})
	await(2)
	require.NoError(t, tx.Rollback(t.Context()))
	both.Wait()
	require.Equal(t, f["id"], at(t, made, "application", "folder_id"))
	require.NotContains(t, at(t, c.get("/applications/"+text(t, made, "application", "id")), "application"), "folder_id")
}
