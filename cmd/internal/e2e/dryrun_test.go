//go:build embedded

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

// A caller who sends dry_run expects that nothing changes. Contract §0 row 52:
// every route that knows it changes nothing, every other one refuses it,
// wherever it stands. Both are tried at every route of the OpenAPI document.
func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_AUTH_KEY=the administration key")
	s.keys["admin"] = "the administration key"
	var d requestDocument
	require.NoError(t, json.Unmarshal(s.do(http.MethodGet, "/openapi.json", "").bytes(), &d))
	before := s.postgresState()

	known := s.rehearsals()
	places := 0
	for _, op := range s.Server.Operations() {
		if strings.HasPrefix(op.Path, "/sql/clickhouse/") {
			continue // replies in the form of ClickHouse; TestClickHouseInterface has its refusals
		}
		name, path := op.Method+" "+op.Path, fillPath(op.Path)
		s.refusesDryRun(op, path+"?dry_run=true", "", []any{"query", "dry_run"})
		item := d.Paths[regexp.MustCompile(`[:*]([a-z_]+)`).ReplaceAllString(op.Path, "{$1}")][strings.ToLower(op.Method)]
		switch {
		case len(item.RequestBody.Content) == 0:
			s.refusesDryRun(op, path, `{"dry_run":true}`, []any{"body", "dry_run"})
			s.refusesDryRun(op, path, `{"x":[{"dry\u005frun":false}]}`, []any{"body", "x", float64(0), "dry_run"})
			continue
		case item.RequestBody.Content["multipart/form-data"].Schema != nil:
			s.refusesFormWithDryRun(op, path)
			continue
		case len(op.Consumes) > 0: // OTLP is not ours to refuse members of
			continue
		}
		for _, place := range d.objects(item.RequestBody.Content["application/json"].Schema, nil, nil) {
			if d.has(item.RequestBody.Content["application/json"].Schema, append(slices.Clone(place), "dry_run")) {
				require.Contains(t, known, name, "a route that knows dry_run is tried below")
				continue
			}
			at := append(slices.Clone(place), "dry_run")
			body, err := json.Marshal(nest(at, true))
			require.NoError(t, err)
			s.refusesDryRun(op, path, string(body), append([]any{"body"}, at...))
			places++
		}
	}
	require.Greater(t, places, 500)
	for name, bodies := range known {
		method, path, _ := strings.Cut(name, " ")
		for _, body := range bodies {
			r := s.as("admin", method, path, body)
			require.Equal(t, http.StatusOK, r.Code, "%s %s: %s", name, body, r.Text)
			require.Equal(t, true, r.Body["dry_run"], "%s: %s", name, r.Text)
			require.NotContains(t, r.Text, `"returned_once"`, "a key that does not exist is not shown")
			require.Empty(t, cmp.Diff(before, s.postgresState()), "%s %s", name, body)
		}
	}
	require.Empty(t, cmp.Diff(before, s.postgresState()))
	s.ok(http.StatusOK, http.MethodGet, "/projects/current", "")
}

// The arguments of a recorded tool call are data, in which dry_run is a name like any other.
func TestDryRunIsANameInData(t *testing.T) {
	t.Parallel()
	s := newIdleService(t)
	s.ok(http.StatusOK, http.MethodPost, "/applications/", `{"application":{"slug":"a","meta":{"dry_run":true},"tags":{"deep":{"dry_run":[{"dry_run":1}]}}}}`)
	s.ok(http.StatusAccepted, http.MethodPost, "/traces/", `{"trace":{"spans":[{"trace_id":"`+strings.Repeat("1", 32)+`","span_id":"`+strings.Repeat("1", 16)+`","span_name":"x",
		"attributes":{"ag":{"data":{"inputs":{"dry_run":true}}}}}]}}`)
}

// rehearsals are bodies of every route that knows dry_run; each would change something without it.
func (s *service) rehearsals() map[string][]string {
	ours := s.accounts["ours"]
	id := func(id uuid.UUID) string { return `{"id":"` + id.String() + `"}` }
	organization, workspace, project, user := id(ours.Organization.ID), id(ours.Workspace.ID), id(uuid.UUID(ours.Project.ID)), id(ours.User.ID)
	guest := id(s.accounts["theirs"].User.ID)
	const options = `,"options":{"dry_run":true}}`
	out := map[string][]string{
		"POST /admin/simple/accounts/": {`{"accounts":{"a":{"user":{"email":"new@b.c"}}}` + options},
		"DELETE /admin/simple/accounts/": {
			`{"accounts":{"a":{"user":{"email":"ours@example.com"}}},"dry_run":true}`,
			`{"accounts":{"a":{"user":{"email":"ours@example.com"}}}` + options,
			`{"accounts":{"a":{"user":{"email":"ours@example.com"}}},"dry_run":false` + options,
		},
		"POST /admin/accounts/":   {`{"users":{"a":{"email":"new@b.c"}},"organizations":{"o":{"name":"O"}}` + options},
		"DELETE /admin/accounts/": {`{"target":{"user_emails":["ours@example.com"]}}`, `{"target":{"user_emails":["ours@example.com"]},"dry_run":true}`},
	}
	for path, member := range map[string]string{
		"users/":                     `"user":{"email":"new@b.c"}`,
		"organizations/":             `"organization":{"name":"O","owner_user_ref":` + user + `}`,
		"workspaces/":                `"workspace":{"name":"W","organization_ref":` + organization + `}`,
		"projects/":                  `"project":{"name":"P","organization_ref":` + organization + `,"workspace_ref":` + workspace + `}`,
		"organizations/memberships/": `"membership":{"organization_ref":` + organization + `,"user_ref":` + guest + `,"role":"viewer"}`,
		"workspaces/memberships/":    `"membership":{"workspace_ref":` + workspace + `,"user_ref":` + guest + `,"role":"viewer"}`,
		"projects/memberships/":      `"membership":{"project_ref":` + project + `,"user_ref":` + guest + `,"role":"viewer"}`,
		"api-keys/":                  `"api_key":{"project_ref":` + project + `,"user_ref":` + user + `}`,
	} {
		out["POST /admin/simple/accounts/"+path] = []string{"{" + member + options}
	}
	return out
}

func (s *service) refusesDryRun(op domain.Operation, path, body string, loc []any) {
	s.t.Helper()
	r := s.as(callerOf(op), op.Method, path, body, "Content-Type", "application/json")
	require.Equal(s.t, http.StatusUnprocessableEntity, r.Code, "%s %s %s: %s", op.Method, path, body, r.Text)
	var reply struct{ Detail []struct{ Loc []any } }
	require.NoError(s.t, json.Unmarshal(r.bytes(), &reply), "%s %s: %s", op.Method, path, r.Text)
	require.Len(s.t, reply.Detail, 1)
	require.Equal(s.t, loc, reply.Detail[0].Loc, "%s %s %s", op.Method, path, body)
}

func (s *service) refusesFormWithDryRun(op domain.Operation, path string) {
	s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	file, err := w.CreateFormFile("file", "x.csv")
	require.NoError(s.t, err)
	_, err = file.Write([]byte("a\n1\n"))
	require.NoError(s.t, err)
	require.NoError(s.t, w.WriteField("dry_run", "true"))
	require.NoError(s.t, w.Close())
	r := s.as(callerOf(op), op.Method, path, body.String(), "Content-Type", w.FormDataContentType())
	require.Equal(s.t, http.StatusUnprocessableEntity, r.Code, "%s %s: %s", op.Method, path, r.Text)
	require.Contains(s.t, r.Text, "dry_run")
}

func callerOf(op domain.Operation) string {
	if op.Permission == domain.Admin {
		return "admin"
	}
	return "ours owner"
}

// postgresState is a digest of every table's rows.
func (s *service) postgresState() map[string]string {
	s.t.Helper()
	rows, err := s.Stores.Postgres.Query(s.t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'audit_log'`) // which has every attempt
	require.NoError(s.t, err)
	state := map[string]string{}
	for rows.Next() {
		var table string
		require.NoError(s.t, rows.Scan(&table))
		state[table] = ""
	}
	require.NoError(s.t, rows.Err())
	require.Contains(s.t, state, "users")
	for table := range state {
		var digest string
		require.NoError(s.t, s.Stores.Postgres.QueryRow(s.t.Context(),
			fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM %q AS r`, table)).Scan(&digest))
		state[table] = digest
	}
	return state
}

func (r reply) bytes() []byte { return []byte(r.Text) }

// fillPath puts values into the parameters of a path.
func fillPath(path string) string {
	path = strings.NewReplacer(":trace_id", strings.Repeat("1", 32), ":span_id", strings.Repeat("1", 16), ":file", "start.js").Replace(path)
	return regexp.MustCompile(`[:*][a-z_]+`).ReplaceAllStringFunc(path, func(string) string { return uuid.NewString() })
}

// requestDocument is what the OpenAPI document says of the requests.
type requestDocument struct {
	Paths map[string]map[string]struct {
		RequestBody struct {
			Content map[string]struct{ Schema map[string]any }
		} `json:"requestBody"`
	}
	Components struct{ Schemas map[string]map[string]any }
}

// alternatives are the schemas that a schema stands for, references followed.
func (d requestDocument) alternatives(schema map[string]any) []map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return d.alternatives(d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")])
	}
	var out []map[string]any
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[word].([]any)
		for _, e := range list {
			one, _ := e.(map[string]any)
			out = append(out, d.alternatives(one)...)
		}
	}
	if out == nil {
		return []map[string]any{schema}
	}
	return out
}

// objects are the ways to every object of a body whose members the document
// names. A type within itself is entered once.
func (d requestDocument) objects(schema map[string]any, at []any, entered []map[string]any) (found [][]any) {
	all := d.alternatives(schema)
	for _, one := range all {
		if len(one) == 0 { // any value, so also data of the caller
			return nil
		}
	}
	for _, one := range all {
		if one["additionalProperties"] == true || slices.ContainsFunc(entered, func(e map[string]any) bool { return cmp.Equal(e, one) }) {
			continue
		}
		within := append(slices.Clone(entered), one)
		properties, named := one["properties"].(map[string]any)
		if named {
			found = append(found, at)
		}
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner, _ := properties[name].(map[string]any)
			found = append(found, d.objects(inner, append(slices.Clone(at), name), within)...)
		}
		if inner, ok := one["additionalProperties"].(map[string]any); ok {
			found = append(found, d.objects(inner, append(slices.Clone(at), "any name"), within)...)
		}
		if inner, ok := one["items"].(map[string]any); ok {
			found = append(found, d.objects(inner, append(slices.Clone(at), float64(0)), within)...)
		}
	}
	return found
}

// has reports whether the document names the member at this place.
func (d requestDocument) has(schema map[string]any, at []any) bool {
	for _, one := range d.alternatives(schema) {
		if len(at) == 0 {
			return true
		}
		inner, ok := one["items"].(map[string]any)
		if name, isName := at[0].(string); isName {
			properties, _ := one["properties"].(map[string]any)
			if inner, ok = properties[name].(map[string]any); !ok {
				inner, ok = one["additionalProperties"].(map[string]any)
			}
		}
		if ok && d.has(inner, at[1:]) {
			return true
		}
	}
	return false
}

// nest puts a value at a place of a body.
func nest(at []any, value any) any {
	if len(at) == 0 {
		return value
	}
	if name, ok := at[0].(string); ok {
		return map[string]any{name: nest(at[1:], value)}
	}
	return []any{nest(at[1:], value)}
}
