//go:build embedded

package entities_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// estate is one entity of every kind with the ids of its variants and revisions.
type estate struct {
	client
	ids map[string]string // by family and level: application, application_variant, ...
}

// newEstate fills a project with entities whose slugs are the same in every project.
func newEstate(t *testing.T, w *service, email string) estate {
	t.Helper()
	e := estate{client: w.owner(t, email, false), ids: map[string]string{}}
	for _, f := range entity.Families() {
		record := at(t, e.post("/simple/"+f.Plural+"/", object{f.Name: object{"slug": "the-" + f.Name, "data": dataOf(f, 1), "tags": object{"of": email}}}), f.Name)
		e.ids[f.Name] = text(t, record, "id")
		e.ids[f.Name+"_variant"] = text(t, record, "variant_id")
		e.ids[f.Name+"_revision"] = text(t, record, "revision_id")
	}
	e.ids["testcase"] = text(t, e.get("/simple/testsets/"+e.ids["testset"]), "testset", "data", "testcase_ids", 0)
	e.ids["folder"] = text(t, e.post("/folders/", object{"folder": object{"slug": "the-folder", "tags": object{"of": email}}}), "folder", "id")
	e.ids["run"] = text(t, e.makeRun("the-run", object{"tags": object{"of": email}}), "id")
	e.ids["scenario"] = fmt.Sprint(e.scenarios(e.ids["run"], 1)[0])
	e.ids["result"] = text(t, e.post("/evaluations/results/", object{"results": []any{object{
		"run_id": e.ids["run"], "scenario_id": e.ids["scenario"], "step_key": "application-1", "trace_id": strings.Repeat("a", 32), "tags": object{"of": email},
	}}}), "results", 0, "id")
	e.ids["metrics"] = text(t, e.post("/evaluations/metrics/", object{"metrics": []any{object{"run_id": e.ids["run"], "data": object{"of": email}}}}), "metrics", 0, "id")
	e.ids["queue"] = text(t, e.post("/evaluations/queues/", object{"queues": []any{object{"run_id": e.ids["run"], "name": email}}}), "queues", 0, "id")
	e.post("/applications/revisions/deploy", object{"application_ref": ref("slug", "the-application"), "environment_ref": ref("slug", "the-environment")})
	return e
}

// secrets returns the words that no other project may see.
func (e estate) secrets(t *testing.T) []string {
	t.Helper()
	words := []string{e.account.Project.ID.String(), e.account.Organization.ID.String(), e.account.Workspace.ID.String(), e.account.User.Email, e.account.Key.Prefix}
	rows, err := e.w.pool.Query(t.Context(), `SELECT id::text FROM artifacts WHERE project_id = $1
UNION ALL SELECT id::text FROM folders WHERE project_id = $1
UNION ALL SELECT id::text FROM evaluation_runs WHERE project_id = $1 UNION ALL SELECT id::text FROM evaluation_scenarios WHERE project_id = $1 UNION ALL SELECT id::text FROM evaluation_results WHERE project_id = $1
UNION ALL SELECT id::text FROM evaluation_metrics WHERE project_id = $1 UNION ALL SELECT id::text FROM evaluation_queues WHERE project_id = $1 UNION ALL SELECT id::text FROM testcases WHERE project_id = $1 UNION ALL SELECT id::text FROM variants WHERE project_id = $1 UNION ALL SELECT id::text FROM revisions WHERE project_id = $1`, e.account.Project.ID.String())
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		words = append(words, id)
	}
	require.NoError(t, rows.Err())
	return words
}

// attacks returns bodies for a route that name entities of the other project.
func attacks(op domain.Operation, ids map[string]string) []any {
	var f entity.Family
	for _, known := range entity.Families() {
		if op.Tag == known.Plural {
			f = known
		}
	}
	if op.Tag == "testcases" {
		return testcaseAttacks(ids)
	}
	if op.Tag == "folders" {
		id := ids["folder"]
		return []any{
			nil,
			object{},
			object{"folder": object{"id": id, "name": "stolen"}},
			object{"folder": object{"id": id, "parent_id": nil}},
			object{"folder": object{"slug": "mine", "parent_id": id}},
			object{"folder": object{"parent_id": id}},
			object{"folder_refs": []any{object{"id": id}}},
		}
	}
	if op.Tag == "evaluations" {
		return attacksOnEvaluations(ids)
	}
	id, vid, rid := ids[f.Name], ids[f.Name+"_variant"], ids[f.Name+"_revision"]
	variant, revision := f.Name+"_variant", f.Name+"_revision"
	env := object{"id": ids["environment"]}
	data := dataOf(f, 2)
	return append(testsetAttacks(f, ids), []any{
		nil,
		object{},
		object{f.Name: object{"id": id, "name": "stolen", "slug": "the-" + f.Name}},
		object{f.Name: object{"id": id, "name": "stolen", "data": data}},
		object{variant: object{"id": vid, "name": "stolen"}},
		object{variant: object{f.Name + "_id": id, "slug": "stolen"}},
		object{variant: object{"slug": "stolen"}, variant + "_ref": object{"id": vid}},
		object{variant: object{"slug": "stolen"}, variant + "_ref": object{"slug": "main"}, revision + "_ref": object{"id": rid}},
		object{revision: object{"id": rid, "name": "stolen"}},
		object{revision: object{variant + "_id": vid, "data": data}},
		object{revision: object{variant + "_id": vid}},
		object{f.Name + "_refs": []any{object{"id": id}}, "include_archived": true},
		object{f.Name: object{"slug": "kept", "folder_id": ids["folder"]}},
		object{f.Name + "_id": id, "include_archived": true},
		object{variant + "_refs": []any{object{"id": vid}}},
		object{variant + "_id": vid},
		object{revision + "_refs": []any{object{"id": rid}}},
		object{f.Name + "_revisions": object{f.Name + "_id": id}},
		object{f.Name + "_revisions": object{variant + "_id": vid}},
		object{f.Name + "_revisions": object{revision + "_id": rid}},
		object{f.Name + "_ref": object{"id": id}},
		object{variant + "_ref": object{"id": vid}},
		object{revision + "_ref": object{"id": rid}},
		object{f.Name + "_ref": object{"id": id}, "environment_ref": object{"slug": "the-environment"}},
		object{f.Name + "_ref": object{"slug": "the-" + f.Name}, "environment_ref": env},
		object{"environment_ref": env, "key": "the-application.revision"},
		object{"variant_ref": object{"id": vid}},
		object{"variant_ref": object{"id": rid}},
		object{revision: object{"data": object{"parameters": object{"x": object{"@ag.embed": object{"@ag.references": object{revision: object{"id": rid}}}}}}}},
	}...)
}

func attacksOnEvaluations(ids map[string]string) []any {
	all := []any{nil, object{}}
	run, scenario, result, metrics, queue := ids["run"], ids["scenario"], ids["result"], ids["metrics"], ids["queue"]
	for member, drafts := range map[string][]object{
		"run":      {{"id": run, "name": "stolen", "status": "failure"}, {"ids": []any{run}}, {"references": []any{object{"application_revision": object{"slug": "app-1"}}}}},
		"scenario": {{"id": scenario, "status": "failure"}, {"run_id": run}, {"ids": []any{scenario}, "run_ids": []any{run}}},
		"result":   {{"id": result, "status": "failure"}, {"run_id": run, "scenario_id": scenario, "step_key": "judge-auto"}, {"trace_id": strings.Repeat("a", 32)}, {"scenario_ids": []any{scenario}}},
		"metrics":  {{"id": metrics, "data": object{}}, {"run_id": run}, {"run_id": run, "scenario_id": scenario}, {"run_ids": []any{run}}, {"run_id": run, "scenario_ids": []any{scenario}}},
		"queue":    {{"id": queue, "name": "stolen"}, {"run_id": run}, {"user_id": run}},
	} {
		for _, d := range drafts {
			all = append(all, object{member: d}, object{strings.TrimSuffix(member, "s") + "s": []any{d}})
		}
		all = append(all, object{strings.TrimSuffix(member, "s") + "_ids": []any{ids[member]}}, object{member + "_ids": []any{ids[member]}})
	}
	return all
}

// Of two projects with equal slugs, neither reads nor changes entities of the other,
// on any route, with the other's ids.
func TestProjectsAreIsolated(t *testing.T) {
	t.Parallel()
	w := newService(t)
	victim, attacker := newEstate(t, w, "victim@b.c"), newEstate(t, w, "attacker@b.c")
	secrets := victim.secrets(t)
	before := fingerprint(t, victim)
	tried := 0
	for _, op := range w.server.Operations() {
		if op.Permission == domain.Public || op.Permission == domain.Admin {
			continue
		}
		for _, path := range paths(op.Path, victim) {
			for _, body := range attacks(op, victim.ids) {
				if op.Method == http.MethodGet && body != nil {
					continue
				}
				if strings.HasSuffix(op.Path, "/resolve") && echoes(body) {
					continue
				}
				status, reply, _ := attacker.do(op.Method, path, body)
				require.Less(t, status, 500, "%s %s %v", op.Method, path, body)
				requireNothingOf(t, secrets, sentBack(reply), fmt.Sprintf("%s %s %v", op.Method, path, body))
				tried++
			}
		}
	}
	require.Greater(t, tried, 2000)
	require.Equal(t, before, fingerprint(t, victim), "nothing of the other project changed")
}

// paths returns a route's paths with the other project's ids as parameters.
func paths(path string, victim estate) []string {
	if !strings.Contains(path, ":") {
		return []string{path}
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		name, isParameter := strings.CutPrefix(p, ":")
		switch {
		case !isParameter:
		case name == "project_id":
			parts[i] = victim.account.Project.ID.String()
		case name == "organization_id":
			parts[i] = victim.account.Organization.ID.String()
		case name == "workspace_id":
			parts[i] = victim.account.Workspace.ID.String()
		case name == "key_prefix":
			parts[i] = victim.account.Key.Prefix
		case victim.ids[strings.TrimSuffix(name, "_id")] != "":
			parts[i] = victim.ids[strings.TrimSuffix(name, "_id")]
		default:
			parts[i] = "completion"
		}
	}
	return []string{strings.Join(parts, "/")}
}

// echoes reports whether a body holds a revision without embeds, which resolve returns
// unchanged.
func echoes(body any) bool {
	text := fmt.Sprint(body)
	return strings.Contains(text, "_revision:") && !strings.Contains(text, "@ag.embed")
}

// sentBack returns a reply without the caller's own input, which errors repeat.
func sentBack(reply object) string {
	if _, failed := reply["detail"]; failed {
		return ""
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func requireNothingOf(t *testing.T, secrets []string, reply, request string) {
	t.Helper()
	i := slices.IndexFunc(secrets, func(s string) bool { return strings.Contains(reply, s) })
	if i >= 0 {
		require.Fail(t, "seen", "%s shows %s: %s", request, secrets[i], reply)
	}
}

// fingerprint returns all rows of a project in Postgres.
func fingerprint(t *testing.T, e estate) string {
	t.Helper()
	var all strings.Builder
	for _, table := range []string{
		"artifacts", "variants", "revisions", "environment_references", "api_keys", "memberships", "folders", "testcases",
		"evaluation_runs", "evaluation_scenarios", "evaluation_results", "evaluation_metrics", "evaluation_queues",
	} {
		var rows string
		require.NoError(t, e.w.pool.QueryRow(t.Context(),
			`SELECT coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '') FROM `+table+` t WHERE project_id = $1`, e.account.Project.ID.String()).Scan(&rows))
		all.WriteString(rows)
	}
	return all.String()
}

// Two projects may have an entity with the same id; each reads its own.
func TestTheSameIDInTwoProjects(t *testing.T) {
	t.Parallel()
	w := newService(t)
	a, b := w.owner(t, "a@b.c", false), w.owner(t, "b@b.c", false)
	made := a.post("/applications/", object{"application": object{"slug": "x", "name": "a"}})
	id := text(t, made, "application", "id")
	b.post("/applications/?application_id="+id, object{"application": object{"slug": "x", "name": "b"}})
	require.Equal(t, "a", at(t, a.get("/applications/"+id), "application", "name"))
	require.Equal(t, "b", at(t, b.get("/applications/"+id), "application", "name"))
	b.fails(http.StatusConflict, "POST", "/applications/?application_id="+id, object{"application": object{"slug": "y"}})
	b.fails(http.StatusUnprocessableEntity, "POST", "/applications/?application_id=nonsense", object{"application": object{"slug": "y"}})
}
