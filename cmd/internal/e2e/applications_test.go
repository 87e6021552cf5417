//go:build embedded

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shop is an application on its way from a template to production.
type shop struct {
	*service
	id, variant, revision string
}

// TestApplications walks what interface.md says of applications, paragraph by
// paragraph, on running stores. Each step builds on the ones before.
func TestApplications(t *testing.T) {
	t.Parallel()
	s := &shop{service: newService(t)}
	for _, step := range []struct {
		name string
		run  func(s *shop, t *testing.T)
	}{
		{"§4.4 the catalog of templates", (*shop).templates},
		{"§2.10 a simple application from a template", (*shop).create},
		{"§4.4 POST /simple/applications/query", (*shop).simpleQuery},
		{"§4.4 POST /applications/revisions/commit, §9 versions", (*shop).commits},
		{"§4.4 POST /applications/revisions/deploy and retrieve", (*shop).deploys},
		{"§2.10 what an environment holds", (*shop).holds},
		{"§2.11 the query envelope and its window", (*shop).envelope},
		{"§4.2 the query pattern", (*shop).pattern},
		{"§3, §4.3 archive and unarchive", (*shop).archives},
		{"§5 who may do what", (*shop).authenticates},
		{"§7 errors leave nothing behind", (*shop).refuses},
	} {
		t.Run(step.name, func(t *testing.T) {
			now := *s
			now.service = s.with(t)
			step.run(&now, t)
			now.service = s.service
			*s = now
		})
	}
}

// word reads a string that must be there.
func word(t *testing.T, r reply, keys ...string) string {
	t.Helper()
	v, _ := r.at(keys...).(string)
	require.NotEmpty(t, v, "%v in %s", keys, r.Text)
	return v
}

func (s *shop) templates(t *testing.T) {
	t.Helper()
	r := s.ok(http.StatusOK, "GET", "/applications/catalog/templates/", "")
	keys := column(r.at("templates"), "key")
	for _, key := range []string{"completion", "chat", "hook", "code", "llm", "feedback", "mock"} {
		require.Contains(t, keys, key)
	}
	r = s.ok(http.StatusOK, "GET", "/applications/catalog/templates/completion", "")
	require.Contains(t, word(t, r, "template", "data", "uri"), ":builtin:completion:v0")
	require.NotNil(t, r.at("template", "data", "schemas", "parameters"))
	require.NotNil(t, r.at("template", "data", "parameters", "prompt", "messages"))
}

func (s *shop) create(t *testing.T) {
	t.Helper()
	r := s.ok(http.StatusOK, "POST", "/simple/applications/", `{"application":{"slug":"capitals","name":"Capitals","flags":{"is_application":true},"tags":{"team":"geo"},"data":{"uri":"svc:builtin:completion:v0",
		"parameters":{"prompt":{"messages":[{"role":"user","content":"What is the capital of {{country}}?"}],"llm_config":{"model":"gpt-4o-mini"}}}}}}`)
	s.id, s.variant, s.revision = word(t, r, "application", "id"), word(t, r, "application", "variant_id"), word(t, r, "application", "revision_id")
	require.True(t, strings.HasSuffix(word(t, r, "application", "data", "url"), "/services/completion/v0"), r.Text)
	require.NotNil(t, r.at("application", "data", "schemas", "outputs"))
	require.Equal(t, true, r.at("application", "flags", "is_application"))
	again := s.ok(http.StatusOK, "GET", "/simple/applications/"+s.id, "")
	require.Equal(t, r.Body, again.Body)
	s.ok(http.StatusConflict, "POST", "/simple/applications/", `{"application":{"slug":"capitals"}}`)
}

func (s *shop) simpleQuery(t *testing.T) {
	t.Helper()
	s.ok(http.StatusOK, "POST", "/simple/applications/", `{"application":{"slug":"chatter","data":{"uri":"svc:builtin:chat:v0"}}}`)
	r := s.ok(http.StatusOK, "POST", "/simple/applications/query", `{}`)
	require.Equal(t, []string{"chatter", "capitals"}, column(r.at("applications"), "slug"), "one flat row for each, newest first")
	r = s.ok(http.StatusOK, "POST", "/simple/applications/query", `{"application":{"tags":{"team":"geo"}}}`)
	require.Equal(t, []string{"capitals"}, column(r.at("applications"), "slug"))
	require.Equal(t, []string{s.revision}, column(r.at("applications"), "revision_id"))
}

func (s *shop) commits(t *testing.T) {
	t.Helper()
	r := s.ok(http.StatusOK, "POST", "/applications/revisions/commit", `{"application_revision_commit":{"application_variant_id":"`+s.variant+`","message":"colder","data":{"uri":"svc:builtin:completion:v0","parameters":{"temperature":0.1}}}}`)
	require.Equal(t, "2", r.at("application_revision", "version"), "a version is a string")
	require.Equal(t, "colder", r.at("application_revision", "message"))
	second := word(t, r, "application_revision", "id")
	stale := s.ok(http.StatusConflict, "POST", "/applications/revisions/commit", `{"application_revision":{"application_variant_id":"`+s.variant+`","base_revision_id":"`+s.revision+`","data":{"uri":"svc:builtin:completion:v0"}}}`)
	require.Equal(t, "revision_conflict", stale.at("detail", "code"))
	r = s.ok(http.StatusOK, "POST", "/applications/revisions/commit", `{"application_revision":{"application_variant_id":"`+s.variant+`","base_revision_id":"`+second+`","delta":{"set":{"parameters.temperature":0.9}}}}`)
	require.Equal(t, "3", r.at("application_revision", "version"))
	require.InDelta(t, 0.9, r.at("application_revision", "data", "parameters", "temperature"), 1e-9)
	r = s.ok(http.StatusOK, "GET", "/applications/revisions/"+second, "")
	require.InDelta(t, 0.1, r.at("application_revision", "data", "parameters", "temperature"), 1e-9, "a commit never changes")
	r = s.ok(http.StatusOK, "POST", "/applications/revisions/log", `{"application_revisions":{"application_variant_id":"`+s.variant+`"}}`)
	require.Equal(t, []string{"3", "2", "1", "0"}, column(r.at("application_revisions"), "version"))
	s.revision = second
}

func (s *shop) deploys(t *testing.T) {
	t.Helper()
	for _, slug := range []string{"staging", "production"} {
		s.ok(http.StatusOK, "POST", "/simple/environments/", `{"environment":{"slug":"`+slug+`"}}`)
	}
	r := s.ok(http.StatusOK, "POST", "/applications/revisions/deploy", `{"application_variant_ref":{"id":"`+s.variant+`"},"application_revision_ref":{"id":"`+s.revision+`"},"environment_ref":{"slug":"production"}}`)
	require.Equal(t, s.revision, r.at("application_revision", "id"))
	s.ok(http.StatusOK, "POST", "/applications/revisions/deploy", `{"application_variant_ref":{"id":"`+s.variant+`"},"environment_ref":{"slug":"staging"}}`)
	for _, tt := range []struct{ body, version string }{
		{`{"application_variant_ref":{"id":"` + s.variant + `"}}`, "3"},
		{`{"environment_ref":{"slug":"production"},"application_ref":{"slug":"capitals"}}`, "2"},
		{`{"environment_ref":{"slug":"production"},"key":"capitals.revision"}`, "2"},
		{`{"environment_ref":{"slug":"staging"},"application_ref":{"id":"` + s.id + `"}}`, "3"},
		{`{"application_variant_ref":{"id":"` + s.variant + `"},"application_revision_ref":{"version":"1"}}`, "1"},
	} {
		r := s.ok(http.StatusOK, "POST", "/applications/revisions/retrieve", tt.body)
		require.Equal(t, tt.version, r.at("application_revision", "version"), tt.body)
		for _, member := range []string{"url", "parameters", "schemas"} {
			require.NotNil(t, r.at("application_revision", "data", member), tt.body)
		}
	}
}

func (s *shop) holds(t *testing.T) {
	t.Helper()
	r := s.ok(http.StatusOK, "POST", "/environments/revisions/retrieve", `{"environment_ref":{"slug":"production"}}`)
	held := r.at("environment_revision", "data", "references", "capitals.revision")
	entry, _ := held.(map[string]any)
	require.Len(t, entry, 3, r.Text)
	revision, _ := entry["application_revision"].(map[string]any)
	require.Equal(t, s.revision, revision["id"])
	require.Equal(t, "2", revision["version"])
}

func (s *shop) envelope(t *testing.T) {
	t.Helper()
	r := s.ok(http.StatusOK, "POST", "/applications/query", `{"windowing":{"limit":1,"order":"ascending"}}`)
	require.InDelta(t, 1, r.at("count"), 0)
	require.Equal(t, []string{"capitals"}, column(r.at("applications"), "slug"))
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{"windowing":{"limit":1,"order":"ascending","next":"`+word(t, r, "windowing", "next")+`"}}`)
	require.Equal(t, []string{"chatter"}, column(r.at("applications"), "slug"))
	require.Nil(t, r.at("windowing"), "there is no further page")
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{"application_refs":[{"slug":"capitals"},{"slug":"nobody"}]}`)
	require.Equal(t, []string{s.id}, column(r.at("applications"), "id"))
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{"windowing":{"newest":"2020-01-01T00:00:00Z"}}`)
	require.InDelta(t, 0, r.at("count"), 0)
}

func (s *shop) pattern(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/applications/query", "/applications/revisions/query", "/simple/applications/query", "/environments/query"} {
		r := s.ok(http.StatusUnprocessableEntity, "POST", path, "")
		require.Contains(t, r.Text, `"loc":["body"]`)
		s.ok(http.StatusOK, "POST", path, `{}`)
		s.ok(http.StatusUnprocessableEntity, "POST", path, `{"unknown":1}`)
	}
	for _, scope := range []string{`"application_id":"` + s.id + `"`, `"application_slug":"capitals"`, `"application_refs":[{"id":"` + s.id + `"}]`} {
		r := s.ok(http.StatusOK, "POST", "/applications/variants/query", `{`+scope+`}`)
		require.Equal(t, []string{s.variant}, column(r.at("application_variants"), "id"), scope)
	}
	r := s.ok(http.StatusOK, "POST", "/applications/revisions/query", `{"application_refs":[{"slug":"capitals"}],"application_variant_refs":[{"id":"`+s.variant+`"}],"application_revision_refs":[{"id":"`+s.revision+`"}]}`)
	require.Equal(t, []string{"2"}, column(r.at("application_revisions"), "version"))
}

func (s *shop) archives(t *testing.T) {
	t.Helper()
	// What ran leaves a trace that names its revision.
	id := newTraceID()
	s.ok(http.StatusAccepted, "POST", "/traces/", fmt.Sprintf(`{"trace":{"trace_id":%q,"spans":{"run":{"span_id":"1000000000000001","attributes":{"ag":{"references":{"application_revision":{"id":%q,"version":"2"},"application":{"slug":"capitals"}}}}}}}}`, id, s.revision))
	r := s.ok(http.StatusOK, "POST", "/applications/"+s.id+"/archive", "")
	word(t, r, "application", "deleted_at")
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{}`)
	require.Equal(t, []string{"chatter"}, column(r.at("applications"), "slug"))
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{"include_archived":true}`)
	require.Equal(t, []string{"chatter", "capitals"}, column(r.at("applications"), "slug"))

	r = s.ok(http.StatusOK, "POST", "/spans/query", `{"filtering":{"conditions":[{"field":"references","operator":"in","value":[{"id":"`+s.revision+`"}]}]}}`)
	require.Equal(t, []string{id}, column(r.at("spans"), "trace_id"))
	for _, body := range []string{`{"application_revision_ref":{"id":"` + s.revision + `"}}`, `{"environment_ref":{"slug":"production"},"key":"capitals.revision"}`} {
		r = s.ok(http.StatusOK, "POST", "/applications/revisions/retrieve", body)
		require.Equal(t, s.revision, r.at("application_revision", "id"), "revision ids stay resolvable")
	}
	r = s.ok(http.StatusOK, "POST", "/applications/"+s.id+"/unarchive", "")
	require.Nil(t, r.at("application", "deleted_at"))
	r = s.ok(http.StatusOK, "POST", "/applications/query", `{}`)
	require.InDelta(t, 2, r.at("count"), 0)
}

func (s *shop) authenticates(t *testing.T) {
	t.Helper()
	commit := `{"application_revision":{"application_variant_id":"` + s.variant + `","data":{"uri":"svc:builtin:completion:v0"}}}`
	require.Equal(t, http.StatusUnauthorized, s.as("nobody", "POST", "/applications/query", `{}`).Code)
	require.Equal(t, http.StatusOK, s.as("ours viewer", "POST", "/applications/query", `{}`).Code)
	require.Equal(t, http.StatusForbidden, s.as("ours viewer", "POST", "/applications/revisions/commit", commit).Code)
	r := s.as("theirs owner", "POST", "/applications/query", `{}`)
	require.InDelta(t, 0, r.at("count"), 0, "the key's project is the only one")
	r = s.as("theirs owner", "POST", "/applications/revisions/commit", commit)
	require.JSONEq(t, `{"count":0}`, r.Text)
}

func (s *shop) refuses(t *testing.T) {
	t.Helper()
	before := s.ok(http.StatusOK, "POST", "/applications/revisions/query", `{"include_archived":true}`)
	for body, status := range map[string]int{
		`{"application":{"name":"without a slug"}}`:                                                  http.StatusUnprocessableEntity,
		`{"application":{"slug":"with spaces in it"}}`:                                               http.StatusUnprocessableEntity,
		`{"application":{"slug":"__ag__mine"}}`:                                                      http.StatusBadRequest,
		`{"application":{"slug":"a","data":{"uri":"svc:builtin:nothing:v0"}}}`:                       http.StatusUnprocessableEntity,
		`{"application":{"slug":"a","data":{"uri":"svc:builtin:chat:v0","more":1}}}`:                 http.StatusUnprocessableEntity,
		`{"application":{"slug":"a","data":{"schemas":{"inputs":{"type":"nothing"}}}}}`:              http.StatusUnprocessableEntity,
		`{"application":{"slug":"a","data":{"uri":"svc:custom:hook:v0","url":"ftp://example.com"}}}`: http.StatusUnprocessableEntity,
		`{"application":{"slug":"capitals","data":{"uri":"svc:builtin:chat:v0"}}}`:                   http.StatusConflict,
		`{"application":{"slug":"a","data":{"uri":"svc:builtin:chat:v0"}}} and more`:                 http.StatusUnprocessableEntity,
	} {
		s.ok(status, "POST", "/simple/applications/", body)
	}
	after := s.ok(http.StatusOK, "POST", "/applications/revisions/query", `{"include_archived":true}`)
	require.Equal(t, before.Text, after.Text)
	r := s.ok(http.StatusOK, "POST", "/applications/query", `{"include_archived":true}`)
	require.InDelta(t, 2, r.at("count"), 0, "no artifact was left behind")
}
