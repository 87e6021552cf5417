//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Edits of one trace that come at the same time take effect one after the
// other: none undoes what another was acknowledged for. Source: contract §0 row 11.
func TestEditsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newService(t)
	t.Run("what one edit leaves out another may give", s.editsTogether)
	t.Run("a deleted trace stays deleted", s.editBesideDelete)
	t.Run("what replaces a trace is all of it", s.editBesideReplacement)
}

// call is a request and the statuses that answer it.
type call struct{ method, path, body string }

// together sends requests at the same time and repeats those answered with 503.
func (s *service) together(calls ...call) []reply {
	s.t.Helper()
	replies := make([]reply, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			for replies[i].Code == 0 || replies[i].Code == http.StatusServiceUnavailable {
				replies[i] = s.do(c.method, c.path, c.body)
			}
		})
	}
	all.Wait()
	for i, r := range replies {
		require.Less(s.t, r.Code, 300, "%s %s: %s", calls[i].method, calls[i].path, r.Text)
	}
	return replies
}

func (s *service) simpleTrace() (id string) {
	s.t.Helper()
	r := s.ok(http.StatusAccepted, "POST", "/simple/traces/", `{"trace":{"data":{"outputs":0},"references":{},"links":{}}}`)
	id, _ = r.at("trace", "trace_id").(string)
	return id
}

func (s *service) editsTogether(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	id := s.simpleTrace()
	var calls []call
	for _, edit := range []string{`"tags":{"k":"v"}`, `"meta":{"m":1}`, `"data":{"outputs":7}`, `"links":{"invocation":` + invocation + `}`, `"origin":"human"`, `"kind":"play"`} {
		calls = append(calls, call{"PATCH", "/simple/traces/" + id, `{"trace":{` + edit + `}}`})
	}
	s.together(calls...)
	got := s.ok(http.StatusOK, "GET", "/simple/traces/"+id, "")
	require.JSONEq(t, `{"k":"v"}`, text(t, got.at("trace", "tags")))
	require.JSONEq(t, `{"m":1}`, text(t, got.at("trace", "meta")))
	require.JSONEq(t, `{"outputs":7}`, text(t, got.at("trace", "data")))
	require.JSONEq(t, `{"invocation":`+invocation+`}`, text(t, got.at("trace", "links")))
	require.Equal(t, []any{"human", "play"}, []any{got.at("trace", "origin"), got.at("trace", "kind")})
}

func (s *service) editBesideDelete(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	var calls []call
	var ids []string
	for _, path := range []string{"/simple/traces/", "/traces/", "/simple/traces/"} {
		id := s.simpleTrace()
		ids = append(ids, id)
		calls = append(calls, call{"PATCH", "/simple/traces/" + id, `{"trace":{"tags":{"k":"v"}}}`}, call{"DELETE", path + id, ""})
	}
	s.together(calls...)
	for _, id := range ids {
		require.InDelta(t, 0, s.ok(http.StatusOK, "GET", "/traces/"+id, "").at("count"), 0)
	}
}

func (s *service) editBesideReplacement(t *testing.T) {
	t.Parallel()
	s = s.with(t)
	var calls []call
	var ids []string
	for range 3 {
		id := s.simpleTrace()
		ids = append(ids, id)
		calls = append(calls, call{"PATCH", "/simple/traces/" + id, `{"trace":{"tags":{"k":"v"}}}`},
			call{"PUT", "/traces/" + id, `{"trace":{"trace_id":"` + id + `","spans":[` + jsonSpan(id, 1, "new", "") + `]}}`})
	}
	s.together(calls...)
	for _, id := range ids {
		require.Equal(t, []string{"new"}, s.spanNames(id))
	}
}

// An edit of several records leaves what one of one record does, and a delete
// with it takes all.
func TestEditsOfSeveralRecords(t *testing.T) {
	t.Parallel()
	s := newService(t, "COLONNADE_INGEST_EDIT_RECORD_BYTES=2000")
	long := strings.Repeat("x", 900)
	for name, text := range map[string]string{"one record": "", "several records": long} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.with(t)
			put := func(id string, spans ...string) {
				s.ok(http.StatusAccepted, "PUT", "/traces/"+id, `{"trace":{"trace_id":"`+id+`","spans":[`+strings.Join(spans, ",")+`]}}`)
			}
			id := s.simpleTrace() // an annotation
			put(id, jsonSpan(id, 1, "a", text), jsonSpan(id, 2, "b", text), jsonSpan(id, 3, "c", text))
			require.Equal(t, []string{"a", "b", "c"}, s.spanNames(id))
			first := s.ok(http.StatusOK, "GET", "/spans/"+id+"/00000000000000a1", "")
			require.Equal(t, "invocation", first.at("span", "trace_type"))

			put(id, jsonSpan(id, 1, "a2", text), jsonSpan(id, 2, "b", text), jsonSpan(id, 4, "d", text), jsonSpan(id, 5, "e", text))
			require.Equal(t, []string{"a2", "b", "d", "e"}, s.spanNames(id))
			second := s.ok(http.StatusOK, "GET", "/spans/"+id+"/00000000000000a1", "")
			require.Equal(t, first.at("span", "created_at"), second.at("span", "created_at"))
			require.NotEmpty(t, second.at("span", "updated_at"))

			s.together(call{"PATCH", "/simple/traces/" + id, `{"trace":{"tags":{"k":"v"}}}`}, call{"DELETE", "/traces/" + id, ""})
			require.InDelta(t, 0, s.ok(http.StatusOK, "GET", "/traces/"+id, "").at("count"), 0)
		})
	}
}

// jsonSpan is span n of a trace with a text of its own; that of another than the first is its child.
func jsonSpan(trace string, n int, name, text string) string {
	parent := ""
	if n > 1 {
		parent = `"parent_id":"00000000000000a1",`
	}
	return fmt.Sprintf(`{"trace_id":%q,"span_id":"00000000000000a%d",%s"span_name":%q,"attributes":{"text":%q}}`, trace, n, parent, name, text)
}

// spanNames are the names of a trace's spans, the root's first.
func (s *service) spanNames(id string) (names []string) {
	s.t.Helper()
	spans, _ := s.ok(http.StatusOK, "GET", "/spans/?trace_id="+id, "").Body["spans"].([]any)
	for _, x := range spans {
		span, _ := x.(map[string]any)
		name, _ := span["span_name"].(string)
		names = append(names, name)
	}
	return names
}
