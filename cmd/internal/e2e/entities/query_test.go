//go:build embedded

package entities_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain/entity"
)

// shelf creates five applications, each with a second variant.
func newShelf(t *testing.T) (client, []object) {
	t.Helper()
	c := newService(t).owner(t, "a@b.c", false)
	apps := make([]object, 0, 5)
	for i := range 5 {
		app := objectAt(t, c.post("/simple/applications/", object{"application": object{
			"slug": fmt.Sprintf("app-%d", i), "name": fmt.Sprintf("The Äpfel No %d", i), "description": []string{"red", "green"}[i%2],
			"tags": object{"colour": []string{"red", "green"}[i%2], "n": i}, "meta": object{"deep": object{"n": i, "odd": i%2 == 1}},
			"flags": object{"is_evaluator": i == 4},
			"data":  object{"uri": []string{"svc:builtin:chat:v0", "svc:builtin:completion:v0"}[i%2]},
		}}), "application")
		c.post("/applications/variants/", object{"application_variant": object{"application_id": app["id"], "slug": fmt.Sprintf("side-%d", i), "tags": object{"side": true}}})
		apps = append(apps, app)
	}
	return c, apps
}

func TestQueryApplications(t *testing.T) {
	t.Parallel()
	c, apps := newShelf(t)
	filter := func(f object) object { return object{"application": f} }
	refs := func(r ...any) object { return object{"application_refs": r} }
	tests := []struct {
		name string
		body object
		want []string
	}{
		{"all, newest first", object{}, []string{"app-4", "app-3", "app-2", "app-1", "app-0"}},
		{"a filter of nothing", filter(object{}), []string{"app-4", "app-3", "app-2", "app-1", "app-0"}},
		{"a flag", filter(object{"flags": object{"is_evaluator": true}}), []string{"app-4"}},
		{"the family's own flag", filter(object{"flags": object{"is_application": true, "is_snippet": nil}}), []string{"app-4", "app-3", "app-2", "app-1", "app-0"}},
		{"a tag", filter(object{"tags": object{"colour": "green"}}), []string{"app-3", "app-1"}},
		{"two tags", filter(object{"tags": object{"colour": "green", "n": 3}}), []string{"app-3"}},
		{"meta, by containment", filter(object{"meta": object{"deep": object{"odd": true}}}), []string{"app-3", "app-1"}},
		{"a part of the name, in any case", filter(object{"name": "äPFEL no 2"}), []string{"app-2"}},
		{"a per cent sign is no wildcard", filter(object{"name": "%"}), nil},
		{"a part of the description", filter(object{"description": "EE"}), []string{"app-3", "app-1"}},
		{"a slug", filter(object{"slug": "app-2"}), []string{"app-2"}},
		{"slugs", filter(object{"slugs": []any{"app-1", "app-2", "nope"}}), []string{"app-2", "app-1"}},
		{"no slugs", filter(object{"slugs": []any{}}), nil},
		{"a ref by id", refs(object{"id": apps[1]["id"]}), []string{"app-1"}},
		{"refs by slug and id", refs(object{"slug": "app-3"}, object{"id": apps[1]["id"]}), []string{"app-3", "app-1"}},
		{"a ref whose id and slug disagree", refs(object{"id": apps[1]["id"], "slug": "app-3"}), nil},
		{"no refs", object{"application_refs": []any{}}, nil},
		{"refs that are null", object{"application_refs": nil}, []string{"app-4", "app-3", "app-2", "app-1", "app-0"}},
		{"a page", object{"windowing": object{"limit": 2}}, []string{"app-4", "app-3"}},
		{"ascending", object{"windowing": object{"limit": 2, "order": "ascending"}}, []string{"app-0", "app-1"}},
		{"after a cursor", object{"windowing": object{"limit": 2, "next": apps[3]["id"]}}, []string{"app-2", "app-1"}},
		{"newest", object{"windowing": object{"newest": apps[1]["created_at"]}}, []string{"app-1", "app-0"}},
		{"oldest", object{"windowing": object{"oldest": apps[3]["created_at"]}}, []string{"app-4", "app-3"}},
	}
	for _, path := range []string{"/applications/query", "/simple/applications/query"} {
		for _, tt := range tests {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				c.t = t
				reply := c.post(path, tt.body)
				require.Equal(t, tt.want, slugs(t, reply["applications"]))
				require.EqualValues(t, len(tt.want), reply["count"])
			})
		}
	}
}

func slugs(t *testing.T, list any) []string {
	t.Helper()
	var found []string
	for _, item := range listAt(t, list) {
		found = append(found, text(t, item, "slug"))
	}
	return found
}

// Pages have no gap and no duplicate, and the last one has no cursor.
func TestQueryPages(t *testing.T) {
	t.Parallel()
	c, apps := newShelf(t)
	c.post("/applications/"+text(t, apps[2], "id")+"/archive", nil)
	for _, order := range []string{"ascending", "descending"} {
		var seen []string
		window := object{"limit": 2, "order": order}
		for {
			reply := c.post("/applications/query", object{"windowing": window})
			seen = append(seen, slugs(t, reply["applications"])...)
			next, ok := reply["windowing"].(object)
			if !ok {
				break
			}
			require.Equal(t, order, next["order"])
			require.EqualValues(t, 2, next["limit"])
			window = next
		}
		want := []string{"app-0", "app-1", "app-3", "app-4"}
		if order == "descending" {
			want = []string{"app-4", "app-3", "app-1", "app-0"}
		}
		require.Equal(t, want, seen)
	}
}

func TestQueryChildren(t *testing.T) {
	t.Parallel()
	c, apps := newShelf(t)
	id := apps[1]["id"]
	side := objectAt(t, c.post("/applications/variants/query", object{"application_variant": object{"slug": "side-1"}}), "application_variants", 0)
	c.commit(side["id"], object{"n": 1})
	late := c.commit(side["id"], object{"n": 1, "m": 2})
	tests := []struct {
		name, path string
		body       any
		want       int
	}{
		{"all variants", "variants", object{}, 10},
		{"variants of an application by id", "variants", object{"application_id": id}, 2},
		{"variants of an application by slug", "variants", object{"application_slug": "app-1"}, 2},
		{"variants of an application by id and another's slug", "variants", object{"application_id": id, "application_slug": "app-2"}, 0},
		{"variants of several applications", "variants", object{"application_ids": []any{id, apps[2]["id"]}}, 4},
		{"variants by application refs", "variants", object{"application_refs": []any{object{"slug": "app-1"}}}, 2},
		{"refs and parent together", "variants", object{"application_refs": []any{object{"slug": "app-1"}}, "application_id": apps[2]["id"]}, 0},
		{"variants by refs, id or slug", "variants", object{"application_variant_refs": []any{object{"id": side["id"], "slug": "side-2"}}}, 2},
		{"variants by tag", "variants", object{"application_variant": object{"tags": object{"side": true}}}, 5},
		{"variants from the query string", "variants/query?application_id=" + text(t, id), "", 2},
		{"variants by slugs from the query string", "variants/query?application_slug=app-1&include_archived=true", "", 2},
		{"variants with tags from the query string", "variants/query?limit=3&tags=" + url.QueryEscape(`{"side":true}`), "", 3},
		{"a body wins over the query string", "variants/query?application_id=" + text(t, id), object{}, 10},

		{"all revisions", "revisions", object{}, 12},
		{"revisions of an application by id", "revisions", object{"application_id": id}, 4},
		{"revisions of an application by slug", "revisions", object{"application_slug": "app-1"}, 4},
		{"revisions of a variant by id", "revisions", object{"application_variant_id": side["id"]}, 2},
		{"revisions of a variant by slug", "revisions", object{"application_variant_slug": "side-1"}, 2},
		{"revisions by application refs", "revisions", object{"application_refs": []any{object{"slug": "app-1"}}}, 4},
		{"revisions by variant refs", "revisions", object{"application_variant_refs": []any{object{"slug": "side-1"}}}, 2},
		{"revisions by revision refs", "revisions", object{"application_revision_refs": []any{object{"id": late["id"]}}}, 1},
		{"a version of a variant", "revisions", object{"application_variant_refs": []any{object{"slug": "side-1"}}, "application_revision_refs": []any{object{"version": "1"}}}, 1},
		{"revisions by flag", "revisions", object{"application_revision": object{"flags": object{"is_chat": true}}}, 3},
		{"revisions by message", "revisions", object{"application_revision": object{"message": "SET 2"}}, 1},
		{"revisions by author", "revisions", object{"application_revision": object{"author": late["author"]}}, 12},
		{"revisions by another author", "revisions", object{"application_revision": object{"authors": []any{late["id"]}}}, 0},
		{"revisions by date", "revisions", object{"application_revision": object{"dates": []any{late["date"]}}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			path := "/applications/" + tt.path
			if tt.path == "variants" || tt.path == "revisions" {
				path += "/query"
			}
			require.EqualValues(t, tt.want, c.post(path, tt.body)["count"])
		})
	}
}

// A query for a value that Postgres cannot store, in any member, is a client error, and so
// is a query with more values than a statement takes.
func TestListsOfWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	for _, query := range []string{"name=a%00b", "name=%ff", "slugs=%ff,b", "application_slug=%00", "tags=" + url.QueryEscape(`{"a":1e200000}`), "tags=" + url.QueryEscape(`{"a":"\u0000"}`)} {
		c.fails(http.StatusBadRequest, http.MethodPost, "/applications/variants/query?"+query, "")
	}
	c.fails(http.StatusBadRequest, http.MethodGet, "/testcases/?testset_slug=%ff", nil)
	many := make([]any, 70_000)
	for i := range many {
		many[i] = ref("slug", "a")
	}
	require.Contains(t, c.fails(http.StatusBadRequest, http.MethodPost, "/applications/query", object{"application_refs": many}), "too many")
	require.Contains(t, c.fails(http.StatusBadRequest, http.MethodPost, "/testcases/query", object{"testset_refs": many}), "too many")
}

// A query's body is small; only a query that contains a revision may be as large as one.
func TestQuestionsAreSmall(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	large := strings.Repeat("x", 5<<20)
	require.Contains(t, c.fails(http.StatusRequestEntityTooLarge, http.MethodPost, "/applications/query", object{"application": object{"name": large}}), "4194304 bytes")
	c.post("/applications/revisions/resolve", object{"application_revision": object{"data": object{"parameters": object{"text": large}}}})
}

// Every query of every entity kind refuses an empty body and an unknown member, and
// accepts {}. Source: interface.md §7.
func TestEveryListIsStrict(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	for _, f := range entity.Families() {
		for _, path := range []string{"/" + f.Plural + "/query", "/" + f.Plural + "/variants/query", "/" + f.Plural + "/revisions/query", "/simple/" + f.Plural + "/query"} {
			detail := c.fails(http.StatusUnprocessableEntity, "POST", path, "")
			require.Equal(t, object{"type": "missing", "loc": []any{"body"}, "msg": "Field required", "input": nil}, at(t, detail, 0), path)
			require.EqualValues(t, 0, c.post(path, object{})["count"], path)
			for _, bad := range []object{
				{"nope": 1},
				{"windowing": object{"nope": 1}},
				{"windowing": object{"limit": -1}},
				{"windowing": object{"limit": "x"}},
				{"windowing": object{"order": "upwards"}},
				{"windowing": object{"next": "x"}},
				{"windowing": object{"newest": "soon"}},
				{"include_archived": "yes"},
				{f.Name + "_refs": object{}},
				{f.Name + "_refs": []any{object{}}},
				{f.Name + "_refs": []any{object{"id": "x"}}},
			} {
				detail := c.fails(http.StatusUnprocessableEntity, "POST", path, bad)
				require.Equal(t, "body", at(t, detail, 0, "loc", 0), "%s %v", path, bad)
			}
		}
	}
	c.fails(http.StatusUnprocessableEntity, "POST", "/applications/variants/query?nope=1", "")
	c.fails(http.StatusUnprocessableEntity, "POST", "/applications/variants/query?limit=x", "")
	c.fails(http.StatusUnprocessableEntity, "POST", "/applications/query?limit=1", "")
	c.post("/preview/environments/query", object{})
}

// Times have microseconds and are returned with the precision of comparisons.
func TestTimesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	c, apps := newShelf(t)
	for _, app := range apps {
		at1, err := time.Parse(time.RFC3339Nano, text(t, app, "created_at"))
		require.NoError(t, err)
		got := at(t, c.get("/applications/"+text(t, app, "id")), "application", "created_at")
		at2, err := time.Parse(time.RFC3339Nano, text(t, got))
		require.NoError(t, err)
		require.Equal(t, at1, at2)
	}
}
