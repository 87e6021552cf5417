//go:build embedded

package entities_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
)

// rows returns testcases as a commit has them, each with the column n.
func rows(n ...int) []any {
	out := make([]any, len(n))
	for i, v := range n {
		out[i] = object{"data": object{"n": v}}
	}
	return out
}

// testset creates a testset of these rows and returns its simple record.
func (c client) testset(slug string, testcases []any) object {
	c.t.Helper()
	return objectAt(c.t, c.post("/simple/testsets/", object{"testset": object{"slug": slug, "name": slug, "data": object{"testcases": testcases}}}), "testset")
}

// commitTestset commits data or a delta to a variant of a testset.
func (c client) commitTestset(variant any, more object) object {
	c.t.Helper()
	revision := object{"testset_variant_id": variant}
	maps.Copy(revision, more)
	return objectAt(c.t, c.post("/testsets/revisions/commit", object{"testset_revision_commit": revision}), "testset_revision")
}

// dataRows returns the data of a revision's testcases in order.
func dataRows(tb testing.TB, revision any) []any {
	tb.Helper()
	var out []any
	for _, e := range listAt(tb, revision, "data", "testcases") {
		out = append(out, at(tb, e, "data"))
	}
	return out
}

// A revision of a testset holds ids; its revisions share the rows of testcases.
func TestTestcasesOfATestset(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", []any{
		object{"data": object{"country": "France", "capital": "Paris", "population": 68.1}, "tags": object{"continent": "europe"}},
		object{"data": object{"country": "Peru"}, "meta": object{"by": "hand"}, "flags": object{"hard": true}},
		object{"data": object{"country": "Peru"}, "meta": object{"by": "hand"}, "flags": object{"hard": true}},
	})
	id, variant := made["id"], made["variant_id"]
	ids := listAt(t, made, "data", "testcase_ids")
	require.Len(t, ids, 3)
	require.Equal(t, ids[1], ids[2], "equal rows are one testcase")
	first := objectAt(t, made, "data", "testcases", 0)
	require.Equal(t, object{"country": "France", "capital": "Paris", "population": 68.1}, first["data"])
	require.Equal(t, object{"continent": "europe"}, first["tags"])
	require.Equal(t, []any{ids[0], id}, []any{first["id"], first["testset_id"]})
	require.Equal(t, object{"hard": true}, at(t, made, "data", "testcases", 1, "flags"))

	// One testcase by id, and an id that does not exist.
	alone := objectAt(t, c.get("/testcases/"+text(t, first, "id")), "testcase")
	require.Equal(t, id, alone["set_id"])
	delete(alone, "set_id")
	require.Empty(t, cmp.Diff(first, alone))
	require.EqualValues(t, 0, c.get("/testcases/" + uuid.NewString())["count"])
	c.fails(http.StatusUnprocessableEntity, http.MethodGet, "/testcases/nonsense", nil)

	// The next revision has a new row and shares the others; ids may stand for rows.
	next := c.commitTestset(variant, object{"data": object{"testcases": append([]any{object{"data": object{"country": "Chad"}}}, object{"data": first["data"], "tags": first["tags"]})}})
	require.Equal(t, ids[0], at(t, next, "data", "testcase_ids", 1))
	back := c.commitTestset(variant, object{"data": object{"testcase_ids": ids}})
	require.Empty(t, cmp.Diff(at(t, made, "data"), at(t, back, "data")))
	echoed := c.commitTestset(variant, object{"data": back["data"]})
	require.Empty(t, cmp.Diff(back["data"], echoed["data"]), "what was read can be sent back")
	require.EqualValues(t, 3, c.post("/testcases/query", object{"testset_id": id})["count"], "two of the first, one of the second")

	// Another testset has testcases of its own, even where they are equal.
	other := c.testset("silver", []any{object{"data": object{"country": "Peru"}}})
	detail := c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/testsets/revisions/commit", object{"testset_revision": object{
		"testset_variant_id": variant, "data": object{"testcase_ids": []any{ids[0], at(t, other, "data", "testcase_ids", 0)}},
	}})
	require.Equal(t, []any{"body", "testset_revision", "data", "testcase_ids", 1.0}, at(t, detail, 0, "loc"))

	// An empty revision differs from one without data.
	empty := c.commitTestset(variant, object{"data": object{"testcases": []any{}}})
	require.Equal(t, object{"testcase_ids": []any{}, "testcases": []any{}}, empty["data"])
}

func TestViewsOfATestset(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", rows(1, 2, 3, 4))
	ids := listAt(t, made, "data", "testcase_ids")
	revision := "/testsets/revisions/" + text(t, made, "revision_id")
	idsOnly := object{"testcase_ids": ids}
	ref := object{"id": made["revision_id"]}
	retrieve := func(more object) object {
		body := object{"testset_revision_ref": ref}
		maps.Copy(body, more)
		data, _ := objectAt(t, c.post("/testsets/revisions/retrieve", body), "testset_revision")["data"].(object)
		return data
	}
	require.Equal(t, made["data"], retrieve(nil))
	require.Equal(t, idsOnly, retrieve(object{"include_testcases": false}))
	require.Equal(t, object{}, retrieve(object{"include_testcases": false, "include_testcase_ids": false}))
	require.Equal(t, object{"testcases": at(t, made, "data", "testcases")}, retrieve(object{"include_testcase_ids": false}))
	require.Equal(t, object{"testcase_ids": ids[1:3]}, retrieve(object{"include_testcases": false, "windowing": object{"next": ids[0], "limit": 2}}))
	require.Equal(t, object{"testcase_ids": []any{ids[3]}}, retrieve(object{"include_testcases": false, "windowing": object{"order": "descending", "limit": 1}}))
	require.Len(t, retrieve(object{"windowing": object{"limit": 3}})["testcases"], 3)
	require.Equal(t, object{"testcase_ids": []any{}}, retrieve(object{"include_testcases": false, "windowing": object{"next": uuid.New()}}))

	require.Equal(t, idsOnly, at(t, c.get(revision+"?include_testcases=false"), "testset_revision", "data"))
	require.Equal(t, made["data"], at(t, c.get(revision), "testset_revision", "data"))
	c.fails(http.StatusUnprocessableEntity, http.MethodGet, revision+"?include_testcases=perhaps", nil)
	require.Equal(t, idsOnly, at(t, c.post("/testsets/revisions/query", object{"testset_revision_refs": []any{ref}, "include_testcases": false}), "testset_revisions", 0, "data"))
	require.Equal(t, made["data"], at(t, c.post("/testsets/revisions/query", object{"testset_revision_refs": []any{ref}}), "testset_revisions", 0, "data"))
	require.Equal(t, idsOnly, at(t, c.post("/testsets/revisions/log", object{"testset_revision": object{"testset_revision_id": made["revision_id"]}, "include_testcases": false}), "testset_revisions", 0, "data"))
	put := object{"testset_revision": object{"id": made["revision_id"], "name": "named"}}
	require.Equal(t, made["data"], at(t, c.put(revision, put), "testset_revision", "data"))
	put["include_testcases"] = false
	require.Equal(t, idsOnly, at(t, c.put(revision, put), "testset_revision", "data"))
	committed := c.post("/testsets/revisions/commit", object{
		"testset_revision_commit": object{"testset_variant_id": made["variant_id"], "data": object{"testcases": rows(9)}}, "include_testcases": false,
	})
	require.NotContains(t, at(t, committed, "testset_revision", "data"), "testcases")
	require.Len(t, listAt(t, c.get("/simple/testsets/"+text(t, made, "id")), "testset", "data", "testcases"), 1)
	require.Len(t, listAt(t, c.post("/simple/testsets/query", object{}), "testsets", 0, "data", "testcases"), 1)
}

// pageIDs reads all pages of a query and returns their ids.
func (c client) pageIDs(body object) []any {
	c.t.Helper()
	window, _ := body["windowing"].(object)
	var ids []any
	for range 100 {
		reply := c.post("/testcases/query", body)
		for _, e := range listAt(c.t, reply, "testcases") {
			ids = append(ids, at(c.t, e, "id"))
		}
		next, more := reply["windowing"].(object)
		if !more {
			return ids
		}
		if last := ids[len(ids)-1]; next["next"] != last {
			require.Regexp(c.t, "^0{8}-0000-8000-8000-", next["next"], "a position, because the list has %v again", last)
		}
		turned := object{"next": next["next"]}
		for k, v := range window {
			if k != "next" {
				turned[k] = v
			}
		}
		body["windowing"] = turned
	}
	require.Fail(c.t, "the list has no end")
	return nil
}

func TestListsOfTestcases(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", []any{
		object{"data": object{"n": 1}, "tags": object{"k": "a", "l": 1}},
		object{"data": object{"n": 2}, "tags": object{"k": "b"}},
		object{"data": object{"n": 3}},
		object{"data": object{"n": 1}, "tags": object{"k": "a", "l": 1}},
	})
	second := c.commitTestset(made["variant_id"], object{"data": object{"testcases": rows(5, 3, 4)}})
	other := c.testset("silver", rows(7))
	id := listAt(t, made, "data", "testcase_ids")
	new1 := listAt(t, second, "data", "testcase_ids")
	seven := at(t, other, "data", "testcase_ids", 0)
	oldest := []any{id[0], id[1], id[2], new1[0], new1[2]}
	newest := []any{new1[2], new1[0], id[2], id[1], id[0]}
	window := func(order string, limit int) object { return object{"order": order, "limit": limit} }
	tests := []struct {
		name string
		body object
		want []any
	}{
		{"all, newest first", object{}, append([]any{seven}, newest...)},
		{"a testset", object{"testset_id": made["id"]}, newest},
		{"a testset by its slug, oldest first", object{"testset_slug": "golden", "windowing": window("ascending", 2)}, oldest},
		{"testsets by references", object{"testset_refs": []any{object{"slug": "golden"}, object{"slug": "silver"}}, "windowing": window("descending", 4)}, append([]any{seven}, newest...)},
		{"no testsets", object{"testset_refs": []any{}}, nil},
		{"a revision in its order, a row as often as it has it", object{"testset_revision_ref": object{"id": made["revision_id"]}, "windowing": window("", 1)}, id},
		{"a revision backwards", object{"testset_revision_id": made["revision_id"], "windowing": window("descending", 2)}, []any{id[3], id[2], id[1], id[0]}},
		{"the latest of a testset", object{"testset_ref": object{"slug": "golden"}}, new1},
		{"the latest of a variant", object{"testset_variant_id": made["variant_id"]}, new1},
		{"an older version", object{"testset_ref": object{"slug": "golden"}, "testset_revision_ref": object{"version": "1"}}, id},
		{"an unknown revision", object{"testset_revision_id": uuid.New()}, nil},
		{"ids in their order", object{"testcase_ids": []any{seven, id[1], uuid.New(), id[0], seven}}, []any{seven, id[1], id[0], seven}},
		{"ids as references", object{"testcase_refs": []any{object{"id": id[1]}, object{"slug": "no"}}}, []any{id[1]}},
		{"ids of a testset", object{"testcase_ids": []any{seven, id[1]}, "testset_id": made["id"]}, []any{id[1]}},
		{"ids of a revision", object{"testcase_ids": []any{seven, id[1], new1[0]}, "testset_revision_id": second["id"]}, []any{new1[0]}},
		{"no ids", object{"testcase_ids": []any{}}, nil},
		{"tags", object{"testcase": object{"tags": object{"k": "a"}}}, id[:1]},
		{"tags of a revision", object{"testcase": object{"tags": object{"k": "b"}}, "testset_revision_id": made["revision_id"]}, id[1:2]},
		{"archived ones as well", object{"testset_id": other["id"], "include_archived": true}, []any{seven}},
		{"from the second commit on", object{"testset_id": made["id"], "windowing": object{"oldest": second["created_at"]}}, newest[:2]},
		{"up to long ago", object{"windowing": object{"newest": "2001-01-01T00:00:00Z"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			c.t = t
			if w, ok := tt.body["windowing"].(object); ok && w["order"] == "" {
				delete(w, "order")
			}
			require.Empty(t, cmp.Diff(tt.want, c.pageIDs(tt.body)))
		})
	}

	t.Run("the query string says the same", func(t *testing.T) {
		c := c
		c.t = t
		require.EqualValues(t, 6, c.get("/testcases/")["count"])
		require.EqualValues(t, 5, c.get("/testcases?testset_slug=golden")["count"])
		require.EqualValues(t, 2, c.get(fmt.Sprintf("/testcases/?testcase_ids=%s,%s", id[0], seven))["count"])
		require.EqualValues(t, 1, c.get(`/testcases/?tags={"k":"b"}`)["count"])
		page := c.get(fmt.Sprintf("/testcases/?testset_revision_id=%s&limit=1", second["id"]))
		require.Equal(t, new1[0], at(t, page, "testcases", 0, "id"))
		require.Equal(t, new1[1], at(t, c.get(fmt.Sprintf("/testcases/?testset_revision_id=%s&limit=1&next=%s", second["id"], at(t, page, "windowing", "next"))), "testcases", 0, "id"))
		for _, bad := range []string{"?colour=red", "?limit=x", "?testset_id=x", "?order=up", "?tags=x", "?name=x", "?include_archived=x"} {
			c.fails(http.StatusUnprocessableEntity, http.MethodGet, "/testcases/"+bad, nil)
		}
	})
	for _, bad := range []any{"", object{"colour": 1}, object{"testcase": object{"name": "x"}}, object{"testcase_ids": "x"}, object{"testset_ref": object{}}, object{"windowing": object{"limit": -1}}, object{"testset_revision_id": second["id"], "testset_revision_ref": object{"id": made["revision_id"]}}} {
		c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/testcases/query", bad)
	}
	c.fails(http.StatusBadRequest, http.MethodPost, "/testcases/query", object{"testset_revision_ref": object{"version": "1"}})
}

func TestDeltaOfATestset(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", []any{
		object{"data": object{"q": "one", "a": 1}, "tags": object{"kept": true}}, object{"data": object{"q": "two", "a": 2}}, object{"data": object{"q": "three"}},
	})
	variant := made["variant_id"]
	id := listAt(t, made, "data", "testcase_ids")
	delta := func(d object) object { return object{"delta": d} }

	changed := c.commitTestset(variant, object{"base_revision_id": made["revision_id"], "delta": object{
		"columns": object{"add": []any{"note"}, "remove": []any{"a"}, "replace": []any{[]any{"q", "question"}}},
		"rows":    object{"remove": []any{id[1]}, "replace": []any{object{"id": id[2], "data": object{"question": "drei"}}}, "add": rows(4)},
	}})
	require.Equal(t, []any{object{"question": "one", "note": ""}, object{"question": "drei"}, object{"n": 4.0}}, dataRows(t, changed))
	require.Equal(t, object{"kept": true}, at(t, changed, "data", "testcases", 0, "tags"))

	// The delta of the other entity kinds works on the data as it is read.
	set := c.commitTestset(variant, delta(object{"operations": []any{object{"op": "set", "path": "/testcases/0/data/question", "value": "eins"}, object{"op": "remove", "path": "testcases.2"}}}))
	require.Equal(t, []any{object{"question": "eins", "note": ""}, object{"question": "drei"}}, dataRows(t, set))
	ids := c.commitTestset(variant, delta(object{"set": object{"testcase_ids": id[:2]}}))
	require.Equal(t, []any{object{"q": "one", "a": 1.0}, object{"q": "two", "a": 2.0}}, dataRows(t, ids))

	// A delta's base revision names the variant too; a newer revision is a conflict.
	named := objectAt(t, c.post("/testsets/revisions/commit", object{"testset_revision": object{
		"testset_id": made["id"], "testset_revision_id": ids["id"], "delta": object{"rows": object{"remove": id[:1]}},
	}}), "testset_revision")
	require.Equal(t, []any{object{"q": "two", "a": 2.0}}, dataRows(t, named))
	stale := c.fails(http.StatusConflict, http.MethodPost, "/testsets/revisions/commit", object{"testset_revision": object{
		"testset_id": made["id"], "testset_revision_id": ids["id"], "delta": object{"rows": object{"remove": id[:1]}},
	}})
	require.Equal(t, "revision_conflict", text(t, stale, "code"))

	refused := []struct {
		name  string
		delta any
		loc   []any
	}{
		{"nothing", object{}, []any{"delta"}},
		{"an unknown key", object{"rows": object{}, "cells": object{}}, []any{"delta", "cells"}},
		{"an unknown key of rows", object{"rows": object{"drop": []any{}}}, []any{"delta", "rows", "drop"}},
		{"an unknown key of columns", object{"columns": object{"rename": []any{}}}, []any{"delta", "columns", "rename"}},
		{"rows beside set", object{"rows": object{}, "set": object{}}, []any{"delta", "set"}},
		{"an unknown row to remove", object{"rows": object{"remove": []any{id[1], uuid.New()}}}, []any{"delta", "rows", "remove", 1.0}},
		{"an unknown row to replace", object{"rows": object{"replace": []any{object{"id": uuid.New(), "data": object{}}}}}, []any{"delta", "rows", "replace", 0.0, "id"}},
		{"a row to replace without an id", object{"rows": object{"replace": []any{object{"data": object{}}}}}, []any{"delta", "rows", "replace", 0.0, "id"}},
		{"a row that is removed and replaced", object{"rows": object{"remove": []any{id[1]}, "replace": []any{object{"id": id[1], "data": object{}}}}}, []any{"delta", "rows", "replace", 0.0, "id"}},
		{"an id that is none", object{"rows": object{"remove": []any{"x"}}}, []any{"delta", "rows", "remove", 0.0}},
		{"an unknown column to remove", object{"columns": object{"remove": []any{"zz"}}}, []any{"delta", "columns", "remove", 0.0}},
		{"an unknown column to rename", object{"columns": object{"replace": []any{[]any{"zz", "y"}}}}, []any{"delta", "columns", "replace", 0.0}},
		{"a name that is taken", object{"columns": object{"replace": []any{[]any{"q", "a"}}}}, []any{"delta", "columns", "replace", 0.0}},
		{"a column that is there", object{"columns": object{"add": []any{"q"}}}, []any{"delta", "columns", "add", 0.0}},
		{"a column twice", object{"columns": object{"remove": []any{"q", "q"}}}, []any{"delta", "columns", "remove", 1.0}},
		{"a column without a name", object{"columns": object{"add": []any{""}}}, []any{"delta", "columns", "add", 0.0}},
		{"a name that files keep", object{"columns": object{"add": []any{"__id__"}}}, []any{"delta", "columns", "add", 0.0}},
		{"half a pair", object{"columns": object{"replace": []any{[]any{"q"}}}}, []any{"delta", "columns", "replace", 0.0}},
		{"a result that is no testset", object{"set": object{"testcases": []any{object{"data": 1}}}}, []any{"delta", "testcases", 0.0, "data"}},
	}
	before := testcaseCount(t, c.w)
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			c.t = t
			detail := c.fails(http.StatusUnprocessableEntity, http.MethodPost, "/testsets/revisions/commit", object{"testset_revision": object{"testset_variant_id": variant, "delta": tt.delta}})
			require.Equal(t, append([]any{"body", "testset_revision"}, tt.loc...), at(t, detail, 0, "loc"), "%v", detail)
		})
	}
	require.Equal(t, before, testcaseCount(t, c.w), "nothing half written")
}

func testcaseCount(t *testing.T, w *service) (n int) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM testcases) + (SELECT count(*) FROM revisions)`).Scan(&n))
	return n
}

func TestBadTestcasesAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", rows(1))
	long := make([]any, testset.MaxTestcases+1)
	for i := range long {
		long[i] = object{"data": object{"n": i}}
	}
	wide := object{}
	for i := range testset.MaxColumns + 1 {
		wide[fmt.Sprint("c", i)] = i
	}
	tests := []struct {
		name      string
		testcases any
		status    int
	}{
		{"a row that is no object", []any{1}, 422},
		{"data that is a list", []any{object{"data": []any{}}}, 422},
		{"an unknown member", []any{object{"data": object{}, "colour": 1}}, 422},
		{"flags that are no booleans", []any{object{"data": object{}, "flags": object{"x": 1}}}, 422},
		{"a column without a name", []any{object{"data": object{"": 1}}}, 422},
		{"a name that files keep", []any{object{"data": object{"__tags__": 1}}}, 422},
		{"two names of one column", []any{object{"data": object{"__dedup_id__": 1, "testcase_dedup_id": 2}}}, 422},
		{"more than a list may have", long, 422},
		{"more columns than a testset may have", []any{object{"data": wide}}, 413},
		{"more bytes than a testset may have", []any{object{"data": object{"x": strings.Repeat("x", testset.MaxBytes)}}}, 413},
	}
	before := testcaseCount(t, c.w)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			c.t = t
			require.NotEmpty(t, c.fails(tt.status, http.MethodPost, "/testsets/revisions/commit", object{"testset_revision": object{"testset_variant_id": made["variant_id"], "data": object{"testcases": tt.testcases}}}))
			require.NotEmpty(t, c.fails(tt.status, http.MethodPost, "/simple/testsets/", object{"testset": object{"slug": "bad", "data": object{"testcases": tt.testcases}}}))
		})
	}
	require.Equal(t, before, testcaseCount(t, c.w), "nothing half written")
	named := c.commitTestset(made["variant_id"], object{"data": object{"testcases": []any{object{"data": object{"__dedup_id__": "x"}}}}})
	require.Equal(t, []any{object{"testcase_dedup_id": "x"}}, dataRows(t, named))
}

// A revision that contains its testcases is read unchanged, and the next one builds on it.
func TestInlineTestcasesOfBefore(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	made := c.testset("golden", rows(1))
	own := uuid.NewString()
	inline := object{"testcases": []any{object{"id": own, "data": object{"q": "one"}, "colour": "red"}, object{"q": "bare"}}}
	store := func(data string) {
		_, err := w.pool.Exec(t.Context(), `UPDATE revisions SET data = $2::json WHERE id = $1`, text(t, made, "revision_id"), data)
		require.NoError(t, err)
	}
	store(`{"testcases":[{"id":"` + own + `","data":{"q":"one"},"colour":"red"},{"q":"bare"}]}`)
	revision := "/testsets/revisions/" + text(t, made, "revision_id")
	require.Equal(t, inline, at(t, c.get(revision), "testset_revision", "data"))
	require.Equal(t, object{}, at(t, c.get(revision+"?include_testcases=false"), "testset_revision", "data"))
	require.Equal(t, inline, at(t, c.get("/simple/testsets/"+text(t, made, "id")), "testset", "data"))

	found, testcases, err := w.write.Testcases(t.Context(), c.principal(), entity.Refs{Artifact: domain.Reference{Slug: "golden"}})
	require.NoError(t, err)
	require.Equal(t, made["revision_id"], found.ID.String())
	require.Len(t, testcases, 2)
	require.Equal(t, own, testcases[0].ID.String())
	require.Equal(t, entity.Document{"q": "bare"}, testcases[1].Data)
	require.Contains(t, c.fails(http.StatusBadRequest, http.MethodPost, "/testcases/query", object{"testset_ref": object{"slug": "golden"}}), "of before")

	next := c.commitTestset(made["variant_id"], object{"delta": object{"rows": object{"replace": []any{object{"id": own, "data": object{"q": "eins"}}}}}})
	require.Equal(t, []any{object{"q": "eins"}, object{"q": "bare"}}, dataRows(t, next))
	require.Len(t, listAt(t, next, "data", "testcase_ids"), 2)

	store(`{"testcase_ids":["` + own + `"]}`)
	require.Equal(t, object{"testcase_ids": []any{own}}, at(t, c.get(revision), "testset_revision", "data"), "ids of before that name nothing")
}

// An evaluation finds its testcases by the references of retrieve.
func TestTestcasesForARun(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c, other := w.owner(t, "a@b.c", false), w.owner(t, "b@b.c", false)
	made := c.testset("golden", rows(2, 1, 2))
	revision := uuid.MustParse(text(t, made, "revision_id"))
	refs := entity.Refs{Revision: domain.Reference{ID: revision}}
	found, testcases, err := w.write.Testcases(t.Context(), c.principal(), refs)
	require.NoError(t, err)
	require.Equal(t, revision, found.ID)
	var got []any
	for _, tc := range testcases {
		got = append(got, tc.ID.String())
	}
	require.Equal(t, listAt(t, made, "data", "testcase_ids"), got)
	byID, err := w.write.TestcasesByID(t.Context(), c.principal(), []uuid.UUID{testcases[1].ID, uuid.New(), testcases[0].ID})
	require.NoError(t, err)
	require.Len(t, byID, 2)
	require.Equal(t, testcases[1].Data, byID[0].Data)

	found, testcases, err = w.write.Testcases(t.Context(), other.principal(), refs)
	require.NoError(t, err)
	require.Nil(t, found)
	require.Empty(t, testcases)
	theirs, err := w.write.TestcasesByID(t.Context(), other.principal(), []uuid.UUID{byID[0].ID})
	require.NoError(t, err)
	require.Empty(t, theirs)
	_, _, err = w.write.Testcases(t.Context(), c.principal(), entity.Refs{})
	require.Error(t, err)
}
