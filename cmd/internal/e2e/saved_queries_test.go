//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestSavedQueries walks contract §3.1 over the routes, on running stores: a
// query that was committed chooses spans and traces as if its text had been
// sent, in its own project and nowhere else.
func TestSavedQueries(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	s := newService(t)
	// Eight traces, one a minute; of each an even and an odd one is an error.
	var ids []string
	for n := range 8 {
		id := newTraceID()
		ids = append(ids, id)
		status := "STATUS_CODE_OK"
		if n%4 > 1 {
			status = "STATUS_CODE_ERROR"
		}
		s.ok(http.StatusAccepted, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{"root":{"span_id":"100000000000000%d","start_time":"2026-11-01T10:0%d:00Z","end_time":"2026-11-01T10:0%d:01Z",
			"spans":{"leaf":{"span_id":"200000000000000%d","start_time":"2026-11-01T10:0%d:00.5Z","end_time":"2026-11-01T10:0%d:00.6Z","status_code":%q}}}}}}`, id, n, n, n, n, n, n, status))
	}
	s.as("theirs owner", "POST", "/traces/", `{"trace":{"trace_id":"`+ids[2]+`","spans":{"root":{"span_id":"1000000000000009","start_time":"2026-11-01T10:02:00Z","status_code":"STATUS_CODE_ERROR"}}}}`)
	q := s.saveQueries(t)

	failed := []string{ids[7], ids[6], ids[3], ids[2]}
	t.Run("spans", func(t *testing.T) {
		s := s.with(t)
		tests := []struct {
			name, refs string
			want       []string
		}{
			{"by the query's slug, its latest revision", `"query_ref":{"slug":"failures"}`, failed[:3]},
			{"by the query's id", `"query_ref":{"id":"` + q.query + `"}`, failed[:3]},
			{"by the variant's id", `"query_variant_ref":{"id":"` + q.variant + `"}`, failed[:3]},
			{"by the variant's slug", `"query_variant_ref":{"slug":"` + q.variantSlug + `"}`, failed[:3]},
			{"by the variant and a version", `"query_variant_ref":{"id":"` + q.variant + `"},"query_revision_ref":{"version":"1"}`, []string{ids[2], ids[3], ids[6], ids[7]}},
			{"by the query and a version", `"query_ref":{"slug":"failures"},"query_revision_ref":{"version":"1"}`, []string{ids[2], ids[3], ids[6], ids[7]}},
			{"by the revision's id", `"query_revision_ref":{"id":"` + q.first + `"}`, []string{ids[2], ids[3], ids[6], ids[7]}},
			{"by the revision's slug", `"query_revision_ref":{"slug":"` + q.firstSlug + `"}`, []string{ids[2], ids[3], ids[6], ids[7]}},
			{"by all three", `"query_ref":{"slug":"failures"},"query_variant_ref":{"id":"` + q.variant + `"},"query_revision_ref":{"id":"` + q.second + `"}`, failed[:3]},
			{"with a limit of the request", `"query_ref":{"slug":"failures"},"windowing":{"limit":1}`, failed[:1]},
			{"its placeholder, which says nothing", `"query_ref":{"slug":"failures"},"query_revision_ref":{"version":"0"},"windowing":{"limit":1}`, ids[7:]},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				s := s.with(t)
				r := s.ok(http.StatusOK, "POST", "/spans/query", `{`+tt.refs+`}`)
				require.Equal(t, tt.want, column(r.at("spans"), "trace_id"), r.Text)
			})
		}
	})
	t.Run("pages go on by the request's cursor", func(t *testing.T) {
		s := s.with(t)
		var seen []string
		body := `{"query_ref":{"slug":"failures"},"windowing":{"limit":2}}`
		for range 3 {
			r := s.ok(http.StatusOK, "POST", "/spans/query", body)
			seen = append(seen, column(r.at("spans"), "trace_id")...)
			next, more := r.at("windowing", "next").(string)
			if !more {
				break
			}
			body = `{"query_ref":{"slug":"failures"},"windowing":{"limit":2,"next":"` + next + `"}}`
		}
		require.Equal(t, failed, seen, "the page size is the request's, everything else is stored")
	})
	t.Run("pages go on by the reply's windowing", func(t *testing.T) {
		s := s.with(t)
		for ref, want := range map[string][]string{
			`"query_ref":{"slug":"failures"}`:                                               failed,
			`"query_ref":{"slug":"failures"},"query_revision_ref":{"id":"` + q.first + `"}`: {ids[2], ids[3], ids[6], ids[7]},
			`"query_ref":{"slug":"any-focus"}`:                                              {ids[2], ids[3], ids[6]},
			`"query_ref":{"slug":"failures"},"query_revision_ref":{"version":"0"}`:          nil, // stores no window: the reply's order is the default
		} {
			var seen []string
			windowing := any(map[string]any{"limit": 1})
			for windowing != nil {
				text, err := json.Marshal(windowing)
				require.NoError(t, err)
				r := s.ok(http.StatusOK, "POST", "/spans/query", `{`+ref+`,"windowing":`+string(text)+`}`)
				seen = append(seen, column(r.at("spans"), "trace_id")...)
				windowing = r.at("windowing")
			}
			if want == nil {
				require.Len(t, seen, 16, "every span")
				continue
			}
			require.Equal(t, want, seen, ref)
		}
	})
	t.Run("traces", func(t *testing.T) {
		s := s.with(t)
		r := s.ok(http.StatusOK, "POST", "/traces/query", `{"query_ref":{"slug":"any-focus"}}`)
		require.Equal(t, []string{ids[2], ids[3], ids[6]}, column(r.at("traces"), "trace_id"), r.Text)
		r = s.ok(http.StatusOK, "POST", "/spans/query", `{"query_ref":{"slug":"any-focus"}}`)
		require.Equal(t, []string{ids[2], ids[3], ids[6]}, column(r.at("spans"), "trace_id"), "a query without a focus serves both")
		r = s.ok(http.StatusOK, "POST", "/tracing/spans/query", `{"query_ref":{"slug":"any-focus"},"focus":"span"}`)
		require.InDelta(t, 3, r.at("count"), 0)
	})
	t.Run("refusals", func(t *testing.T) {
		s := s.with(t)
		s.ok(http.StatusConflict, "POST", "/traces/query", `{"query_ref":{"slug":"failures"}}`)
		s.ok(http.StatusConflict, "POST", "/tracing/spans/query", `{"query_ref":{"slug":"failures"},"focus":"trace"}`)
		for _, body := range []string{
			`{"query_ref":{"slug":"failures"},"filtering":{"conditions":[]}}`,
			`{"query_ref":{"slug":"failures"},"windowing":{"order":"ascending"}}`,
			`{"query_ref":{"slug":"failures"},"windowing":{"newest":"2026-11-02T00:00:00Z"}}`,
			`{"query_ref":{"slug":"any-focus"},"windowing":{"newest":"2026-11-01T10:06:31Z"}}`,
			`{"query_ref":{"slug":"any-focus"},"windowing":{"oldest":"2026-11-01T10:06:30Z"}}`,
			`{"query_ref":{"slug":"any-focus"},"windowing":{"order":"descending"}}`,
			`{"query_ref":{"slug":"failures"},"windowing":{"rate":1}}`,
			`{"query_ref":{"slug":"failures"},"windowing":{"interval":1}}`,
			`{"query_ref":{}}`,
			`{"query_revision_ref":{"version":"1"}}`,
			`{"query_ref":{"slug":"any-focus"},"query_revision_ref":{"id":"` + q.first + `"}}`,
		} {
			s.ok(http.StatusBadRequest, "POST", "/spans/query", body)
		}
		for _, body := range []string{`{"query_ref":{"slug":"failures","name":"x"}}`, `{"query_ref":"failures"}`, `{"query_ref":{"id":"no-uuid"}}`} {
			s.ok(http.StatusUnprocessableEntity, "POST", "/spans/query", body)
		}
	})
	t.Run("what does not exist chooses nothing", func(t *testing.T) {
		s := s.with(t)
		for _, refs := range []string{
			`"query_ref":{"slug":"nobody"}`, `"query_ref":{"id":"` + uuid.NewString() + `"}`, `"query_variant_ref":{"slug":"nobody"}`, `"query_revision_ref":{"id":"` + uuid.NewString() + `"}`,
			`"query_ref":{"slug":"failures"},"query_revision_ref":{"version":"9"}`,
		} {
			r := s.ok(http.StatusOK, "POST", "/spans/query", `{`+refs+`}`)
			require.JSONEq(t, `{"count":0,"spans":[]}`, r.Text, refs)
			r = s.ok(http.StatusOK, "POST", "/traces/query", `{`+refs+`}`)
			require.JSONEq(t, `{"count":0,"traces":[]}`, r.Text, refs)
		}
	})
	t.Run("another project's query is not found", func(t *testing.T) {
		s := s.with(t)
		for _, refs := range []string{
			`"query_ref":{"slug":"failures"}`, `"query_ref":{"id":"` + q.query + `"}`, `"query_variant_ref":{"id":"` + q.variant + `"}`, `"query_revision_ref":{"id":"` + q.first + `"}`,
		} {
			r := s.as("theirs owner", "POST", "/spans/query", `{`+refs+`}`)
			require.Equal(t, http.StatusOK, r.Code, r.Text)
			require.JSONEq(t, `{"count":0,"spans":[]}`, r.Text, refs)
		}
	})
}

// savedIDs name the query "failures" at every level.
type savedIDs struct{ query, variant, variantSlug, first, firstSlug, second string }

// saveQueries commits "failures" twice, the second time with a window, and "any-focus".
func (s *service) saveQueries(t *testing.T) savedIDs {
	t.Helper()
	const filtering = `"filtering":{"conditions":[{"field":"status_code","value":"STATUS_CODE_ERROR"}]}`
	r := s.ok(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"failures","data":{"formatting":{"focus":"span"},`+filtering+`,"windowing":{"order":"ascending"}}}}`)
	word := func(r reply, keys ...string) string {
		v, _ := r.at(keys...).(string)
		require.NotEmpty(t, v, r.Text)
		return v
	}
	q := savedIDs{query: word(r, "query", "id"), variant: word(r, "query", "variant_id"), first: word(r, "query", "revision_id")}
	r = s.ok(http.StatusOK, "GET", "/queries/variants/"+q.variant, "")
	q.variantSlug = word(r, "query_variant", "slug")
	r = s.ok(http.StatusOK, "GET", "/queries/revisions/"+q.first, "")
	q.firstSlug = word(r, "query_revision", "slug")
	r = s.ok(http.StatusOK, "POST", "/queries/revisions/commit", `{"query_revision_commit":{"query_variant_id":"`+q.variant+`","message":"the latest three",
		"data":{"formatting":{"focus":"span"},`+filtering+`,"windowing":{"limit":3,"order":"descending"}}}}`)
	q.second = word(r, "query_revision", "id")
	s.ok(http.StatusOK, "POST", "/simple/queries/", `{"query":{"slug":"any-focus","data":{`+filtering+`,"windowing":{"order":"ascending","newest":"2026-11-01T10:06:30Z"}}}}`)
	return q
}

// column reads one member of every entry of a list.
func column(list any, member string) []string {
	entries, _ := list.([]any)
	out := make([]string, len(entries))
	for i, e := range entries {
		object, _ := e.(map[string]any)
		out[i], _ = object[member].(string)
	}
	return out
}

// A saved query runs when it is retrieved with what it finds.
func TestSavedQueriesAreRunWhenRetrieved(t *testing.T) {
	t.Parallel()
	s := newService(t)
	q := s.saveQueries(t)
	var ids []any
	for minute := range 3 {
		id := newTraceID()
		ids = append(ids, id)
		s.ok(http.StatusAccepted, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{"failed":{"span_id":"1000000000000001","start_time":"2026-11-01T10:0%d:00Z","status_code":"STATUS_CODE_ERROR"}}}}`, id, minute))
	}
	s.ok(http.StatusAccepted, "POST", "/traces/", `{"trace":{"trace_id":"`+newTraceID()+`","spans":{"fine":{"span_id":"1000000000000001","start_time":"2026-11-01T10:00:00Z"}}}}`)
	retrieve := func(who, body string) reply {
		r := s.as(who, "POST", "/queries/revisions/retrieve", body)
		require.Equal(t, http.StatusOK, r.Code, r.Text)
		return r
	}
	of := func(revision, more string) string {
		return `{"query_revision_ref":{"id":"` + revision + `"}` + more + `}`
	}
	require.Nil(t, retrieve("ours owner", of(q.first, "")).at("query_revision", "data", "trace_ids"), "it does not run unasked")
	found := retrieve("ours owner", of(q.first, `,"include_trace_ids":true`))
	require.Equal(t, ids, found.at("query_revision", "data", "trace_ids"))
	require.Nil(t, found.at("query_revision", "data", "traces"))
	require.NotNil(t, found.at("query_revision", "data", "filtering"))

	page := retrieve("ours owner", of(q.first, `,"include_traces":true,"windowing":{"limit":2}`))
	require.Equal(t, ids[:2], page.at("query_revision", "data", "trace_ids"))
	require.Equal(t, []string{ids[0].(string), ids[1].(string)}, column(page.at("query_revision", "data", "traces"), "trace_id"))
	next, _ := page.at("windowing", "next").(string)
	require.NotEmpty(t, next, page.Text)
	rest := retrieve("ours owner", of(q.first, `,"include_trace_ids":true,"windowing":{"next":"`+next+`"}`))
	require.Equal(t, ids[2:], rest.at("query_revision", "data", "trace_ids"))

	require.Zero(t, retrieve("theirs owner", of(q.first, `,"include_traces":true`)).at("count"))
	s.ok(http.StatusUnprocessableEntity, "POST", "/queries/revisions/retrieve", of(q.first, `,"include_traces":true,"windowing":{"limit":0}`))
	s.ok(http.StatusUnprocessableEntity, "POST", "/applications/revisions/retrieve", `{"application_ref":{"slug":"x"},"include_traces":true}`)
}
