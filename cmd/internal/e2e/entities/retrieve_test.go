//go:build embedded

package entities_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// stage creates an application with two variants and deploys it.
type stage struct {
	client
	app, other     object
	main           [3]object // versions 0..2 of the default variant
	side           object    // version 0 of a second variant
	env, envLatest object
}

func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{client: newService(t).owner(t, "a@b.c", true)}
	s.app = s.client.app("my-app")
	s.other = s.client.app("other-app")
	log := s.post("/applications/revisions/log", object{"application": object{"application_id": s.app["id"]}})
	s.main[0], s.main[1] = objectAt(t, log, "application_revisions", 1), objectAt(t, log, "application_revisions", 0)
	s.main[2] = s.commit(s.app["variant_id"], object{"n": 2})
	side := at(t, s.post("/applications/variants/", object{"application_variant": object{"application_id": s.app["id"], "slug": "side"}}), "application_variant")
	s.side = s.commit(at(t, side, "id"), object{"n": 3})
	// production holds version 1 under the derived key, and no other reference.
	s.post("/applications/revisions/deploy", object{
		"application_variant_ref": object{"id": s.app["variant_id"]}, "application_revision_ref": object{"version": "1"}, "environment_ref": object{"slug": "production"},
	})
	s.post("/applications/revisions/deploy", object{
		"application_revision_ref": object{"id": s.side["id"]}, "environment_ref": object{"slug": "production"}, "key": "canary",
	})
	s.env = objectAt(t, s.post("/environments/query", object{"environment": object{"slug": "production"}}), "environments", 0)
	s.envLatest = objectAt(t, s.post("/environments/revisions/retrieve", object{"environment_ref": object{"slug": "production"}}), "environment_revision")
	return s
}

func ref(members ...any) object {
	o := object{}
	for i := 0; i < len(members); i += 2 {
		o[fmt.Sprint(members[i])] = members[i+1]
	}
	return o
}

// Every row of the decision table of retrieve.
func TestRetrieveDecisionTable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id, slug := s.app["id"], "my-app"
	vid, vslug := s.app["variant_id"], s.app["variant_slug"]
	v0, v1, v2 := s.main[0], s.main[1], s.main[2]
	const (
		artifact, variant, revision = "application_ref", "application_variant_ref", "application_revision_ref"
		env, envVariant, envRev     = "environment_ref", "environment_variant_ref", "environment_revision_ref"
	)
	production := ref("slug", "production")
	tests := []struct {
		name string
		body object
		want any // a revision, nil for {count: 0}, or a status
	}{
		{"nothing", object{}, 400},
		{"a key without an environment", object{"key": "my-app.revision"}, 400},
		{"a key with application refs alone", object{artifact: ref("slug", slug), "key": "my-app.revision"}, 400},
		{"an environment alone", object{env: production}, 400},
		{"an environment and an unknown application's id", object{env: production, artifact: ref("id", uuid.New())}, 400},
		{"a revision's version alone", object{revision: ref("version", "1")}, 400},
		{"a variant's version alone", object{variant: ref("version", "1")}, 400},
		{"an application's version alone", object{artifact: ref("version", "1")}, 400},
		{"an unknown member", object{"application_reference": ref("slug", slug)}, 422},
		{"a version that is a number", object{variant: ref("id", vid), revision: ref("version", 1)}, 422},
		{"an id that is none", object{variant: ref("id", "nonsense")}, 422},
		{"a reference with an unknown member", object{variant: ref("name", "x")}, 422},

		{"a variant by id", object{variant: ref("id", vid)}, v2},
		{"a variant by slug", object{variant: ref("slug", vslug)}, v2},
		{"a variant by id and slug", object{variant: ref("id", vid, "slug", vslug)}, v2},
		{"a variant by an id and another's slug", object{variant: ref("id", vid, "slug", "side")}, nil},
		{"the other variant", object{variant: ref("slug", "side")}, s.side},
		{"an application by id: its oldest variant", object{artifact: ref("id", id)}, v2},
		{"an application by slug", object{artifact: ref("slug", slug)}, v2},
		{"an application and a version", object{artifact: ref("slug", slug), revision: ref("version", "1")}, v1},
		{"a variant and a version", object{variant: ref("id", vid), revision: ref("version", "0")}, v0},
		{"a variant with the version in its own reference", object{variant: ref("id", vid, "version", "0")}, v0},
		{"a variant and a version that is not there", object{variant: ref("id", vid), revision: ref("version", "7")}, nil},
		{"a variant and a version that is no number", object{variant: ref("id", vid), revision: ref("version", "v1")}, nil},
		{"a variant and a version with a leading zero", object{variant: ref("id", vid), revision: ref("version", "01")}, nil},
		{"a revision by id", object{revision: ref("id", v1["id"])}, v1},
		{"a revision by slug", object{revision: ref("slug", v1["slug"])}, v1},
		{"a revision by id, slug and version", object{revision: ref("id", v1["id"], "slug", v1["slug"], "version", "1")}, v1},
		{"all three, agreeing", object{artifact: ref("slug", slug), variant: ref("id", vid), revision: ref("id", v1["id"])}, v1},
		{"an application and its variant", object{artifact: ref("id", id), variant: ref("slug", "side")}, s.side},

		{"unknown: a variant", object{variant: ref("slug", "nope")}, nil},
		{"unknown: an application", object{artifact: ref("slug", "nope")}, nil},
		{"unknown: a revision", object{revision: ref("id", uuid.New())}, nil},
		{"unknown: an environment's id used as a variant's", object{variant: ref("id", s.env["id"])}, nil},

		{"a revision's id with another version", object{revision: ref("id", v1["id"], "version", "2")}, 400},
		{"a variant of another application, by id", object{artifact: ref("id", s.other["id"]), variant: ref("id", vid)}, 400},
		{"a variant of another application, by slug", object{artifact: ref("slug", "other-app"), variant: ref("id", vid)}, 400},
		{"a revision of another application", object{artifact: ref("slug", "other-app"), revision: ref("id", v1["id"])}, 400},
		{"a revision of another variant", object{variant: ref("slug", "side"), revision: ref("id", v1["id"])}, 400},
		{"two different versions", object{variant: ref("id", vid, "version", "1"), revision: ref("version", "2")}, 400},

		{"an environment and the application's slug", object{env: production, artifact: ref("slug", slug)}, v1},
		{"an environment and the application's id", object{env: production, artifact: ref("id", id)}, v1},
		{"an environment and the application's variant", object{env: production, variant: ref("id", vid)}, v1},
		{"an environment by id, and a key", object{env: ref("id", s.env["id"]), "key": "my-app.revision"}, v1},
		{"an environment and another key", object{env: production, "key": "canary"}, s.side},
		{"an environment's variant and a key", object{envVariant: ref("id", s.envLatest["environment_variant_id"]), "key": "canary"}, s.side},
		{"an environment's revision and a key", object{envRev: ref("id", s.envLatest["id"]), "key": "canary"}, s.side},
		{"an earlier revision of the environment", object{env: production, envRev: ref("version", "1"), "key": "my-app.revision"}, v1},
		{"an earlier revision that lacks the key", object{env: production, envRev: ref("version", "1"), "key": "canary"}, 404},
		{"an environment, a key, and refs that agree", object{env: production, "key": "canary", artifact: ref("slug", slug), variant: ref("slug", "side")}, s.side},
		{"an environment, a key, and the version that is deployed", object{env: production, artifact: ref("slug", slug), revision: ref("version", "1")}, v1},

		{"an environment, and another version than deployed", object{env: production, artifact: ref("slug", slug), revision: ref("version", "2")}, 400},
		{"an environment, a key, and another variant than deployed", object{env: production, "key": "canary", variant: ref("id", vid)}, 400},
		{"an environment, a key, and another application than deployed", object{env: production, "key": "canary", artifact: ref("slug", "other-app")}, 400},
		{"an environment, and another revision than deployed", object{env: production, "key": "canary", revision: ref("id", v1["id"])}, 400},
		{"an environment's reference of a version alone", object{env: ref("version", "1"), "key": "canary"}, 400},
		{"an environment that lacks the derived key", object{env: production, artifact: ref("slug", "other-app")}, 404},
		{"an environment that lacks the key", object{env: production, "key": "nope"}, 404},
		{"an environment that holds nothing", object{env: ref("slug", "staging"), artifact: ref("slug", slug)}, 404},
		{"an unknown environment", object{env: ref("slug", "nope"), artifact: ref("slug", slug)}, 404},
		{"contradicting environment references", object{env: ref("slug", "staging"), envRev: ref("id", s.envLatest["id"]), "key": "canary"}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			switch want := tt.want.(type) {
			case int:
				require.NotEmpty(t, s.fails(want, http.MethodPost, "/applications/revisions/retrieve", tt.body))
			case nil:
				require.Equal(t, object{"count": 0.0}, s.post("/applications/revisions/retrieve", tt.body))
			default:
				reply := s.post("/applications/revisions/retrieve", tt.body)
				require.Equal(t, want, at(t, reply, "application_revision"))
				info := objectAt(t, reply, "retrieval_info", "references")
				require.Equal(t, at(t, want, "id"), at(t, info, "application_revision", "id"))
				require.Equal(t, at(t, want, "version"), at(t, info, "application_revision", "version"))
				_, through := info["environment_revision"]
				require.Equal(t, tt.body[env] != nil || tt.body[envVariant] != nil || tt.body[envRev] != nil, through)
			}
		})
	}
	s.t = t
	require.Equal(t, "Provide application refs or environment refs with key to retrieve an application revision.",
		s.fails(400, http.MethodPost, "/applications/revisions/retrieve", object{}))
	require.Equal(t, "Environment revision does not contain application references for the requested key.",
		s.fails(404, http.MethodPost, "/applications/revisions/retrieve", object{env: production, "key": "nope"}))
	require.Contains(t, s.fails(400, http.MethodPost, "/applications/revisions/retrieve", object{artifact: ref("id", s.other["id"]), variant: ref("id", vid)}),
		"application_ref.id="+text(t, s.other, "id")+" does not match")
	reply := s.post("/applications/revisions/retrieve", object{env: production, artifact: ref("slug", slug)})
	require.Equal(t, object{"key": "my-app.revision"}, at(t, reply, "retrieval_info", "selector"))
	require.Equal(t, services+"/completion/v0", at(t, reply, "application_revision", "data", "url"))
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	references := objectAt(t, s.envLatest, "data", "references")
	require.Len(t, references, 2)
	require.Equal(t, object{
		"application":          object{"id": s.app["id"], "slug": "my-app"},
		"application_variant":  object{"id": s.app["variant_id"], "slug": s.app["variant_slug"]},
		"application_revision": object{"id": s.main[1]["id"], "slug": s.main[1]["slug"], "version": "1"},
	}, references["my-app.revision"])
	require.Equal(t, "2", s.envLatest["version"], "a placeholder and two deployments")

	deployed := s.post("/applications/revisions/deploy", object{"application_variant_ref": object{"id": s.app["variant_id"]}, "environment_ref": object{"slug": "production"}, "message": "go"})
	require.Equal(t, s.main[2], at(t, deployed, "application_revision"))
	latest := at(t, s.post("/environments/revisions/retrieve", object{"environment_ref": object{"slug": "production"}}), "environment_revision")
	require.Equal(t, "go", at(t, latest, "message"))
	require.Equal(t, references["canary"], at(t, latest, "data", "references", "canary"), "other keys stay")
	require.Equal(t, s.envLatest, at(t, s.get("/environments/revisions/"+text(t, s.envLatest, "id")), "environment_revision"), "a revision is immutable")

	tests := []struct {
		name   string
		body   object
		status int
	}{
		{"no application", object{"environment_ref": ref("slug", "production")}, 400},
		{"no environment", object{"application_ref": ref("slug", "my-app")}, 400},
		{"an unknown application", object{"application_ref": ref("slug", "nope"), "environment_ref": ref("slug", "production")}, 404},
		{"an unknown environment", object{"application_ref": ref("slug", "my-app"), "environment_ref": ref("slug", "nope")}, 404},
		{"contradicting refs", object{"application_ref": ref("slug", "other-app"), "application_variant_ref": ref("id", s.app["variant_id"]), "environment_ref": ref("slug", "production")}, 400},
		{"an unknown member", object{"application_ref": ref("slug", "my-app"), "environment": "production"}, 422},
	}
	before := census(t, s.w)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.fails(tt.status, http.MethodPost, "/applications/revisions/deploy", tt.body)
		})
	}
	require.Equal(t, before, census(t, s.w))
}

func TestGuardedEnvironment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := text(t, s.env, "id")
	vid := text(t, s.envLatest, "environment_variant_id")
	guarded := s.post("/simple/environments/"+id+"/guard", nil)
	require.Equal(t, true, at(t, guarded, "environment", "flags", "is_guarded"))
	require.Contains(t, at(t, guarded, "environment", "data", "references"), "canary")

	editor := s.as("editor")
	deploy := object{"application_ref": ref("slug", "my-app"), "environment_ref": ref("slug", "production")}
	record := object{"environment": object{"id": id, "name": "mine"}}
	closed := []struct {
		method, path string
		body         any
	}{
		{"POST", "/applications/revisions/deploy", deploy},
		{"POST", "/environments/revisions/commit", object{"environment_revision": object{"environment_variant_id": vid, "delta": object{"remove": []any{"canary"}}}}},
		{"POST", "/environments/" + id + "/archive", nil},
		{"PUT", "/environments/" + id, record},
		{"PUT", "/environments/" + id, object{"environment": object{"id": id, "flags": object{"is_guarded": false}}}},
		{"PUT", "/simple/environments/" + id, record},
		{"POST", "/simple/environments/" + id + "/archive", nil},
		{"POST", "/simple/environments/" + id + "/unguard", nil},
		{"PUT", "/environments/variants/" + vid, object{"environment_variant": object{"id": vid}}},
		{"POST", "/environments/variants/" + vid + "/archive", nil},
		{"POST", "/environments/revisions/" + text(t, s.envLatest, "id") + "/archive", nil},
		{"POST", "/environments/variants/", object{"environment_variant": object{"environment_id": id, "slug": "x"}}},
	}
	before := census(t, s.w)
	for _, r := range closed {
		editor.fails(http.StatusForbidden, r.method, r.path, r.body)
	}
	require.Equal(t, before, census(t, s.w))
	editor.post("/applications/revisions/deploy", object{"application_ref": ref("slug", "my-app"), "environment_ref": ref("slug", "staging")})
	editor.post("/applications/revisions/retrieve", object{"environment_ref": ref("slug", "production"), "key": "canary"})
	s.as("admin").post("/applications/revisions/deploy", deploy)
	s.post("/simple/environments/"+id+"/unguard", nil)
	editor.post("/applications/revisions/deploy", deploy)
	s.as("viewer").fails(http.StatusForbidden, "POST", "/applications/revisions/deploy", deploy)
}

func TestEnvironmentCommits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	vid := s.envLatest["environment_variant_id"]
	commit := func(more object) object {
		revision := object{"environment_variant_id": vid}
		maps.Copy(revision, more)
		return object{"environment_revision": revision}
	}
	const path = "/environments/revisions/commit"
	canary := at(t, s.envLatest, "data", "references", "canary")

	// A delta adds one reference and removes one; references are completed with variant and artifact.
	one := at(t, s.post(path, commit(object{"delta": object{
		"set": object{"third": object{"application_revision": object{"id": s.main[0]["id"]}}}, "remove": []any{"my-app.revision"},
	}})), "environment_revision")
	require.Equal(t, object{
		"application":          object{"id": s.app["id"], "slug": "my-app"},
		"application_variant":  object{"id": s.app["variant_id"], "slug": s.app["variant_slug"]},
		"application_revision": object{"id": s.main[0]["id"], "slug": s.main[0]["slug"], "version": "0"},
	}, at(t, one, "data", "references", "third"))
	require.Len(t, at(t, one, "data", "references"), 2)

	// Data replaces all references.
	two := at(t, s.post(path, commit(object{"data": object{"references": object{
		"canary": canary, "floating": object{"application_variant": object{"slug": "side"}},
	}}})), "environment_revision")
	require.Equal(t, canary, at(t, two, "data", "references", "canary"))
	require.Len(t, at(t, two, "data", "references"), 2)
	require.Equal(t, s.side["id"], at(t, s.post("/applications/revisions/retrieve", object{"environment_ref": ref("slug", "production"), "key": "floating"}), "application_revision", "id"))

	// Earlier revisions are unchanged.
	require.Equal(t, one, at(t, s.get("/environments/revisions/"+text(t, one, "id")), "environment_revision"))
	require.Equal(t, s.envLatest, at(t, s.get("/environments/revisions/"+text(t, s.envLatest, "id")), "environment_revision"))

	// After the last revision is archived, the next one builds on the one before.
	s.post("/environments/revisions/"+text(t, two, "id")+"/archive", nil)
	three := at(t, s.post(path, commit(object{"delta": object{"set": object{"fourth": canary}}})), "environment_revision")
	require.ElementsMatch(t, []string{"canary", "third", "fourth"}, keysOf(at(t, three, "data", "references")))

	narrow := s.post("/environments/revisions/retrieve", object{"environment_ref": ref("slug", "production"), "key": "canary"})
	require.Equal(t, object{"references": object{"canary": canary}}, at(t, narrow, "environment_revision", "data"))

	tests := []struct {
		name   string
		more   object
		status int
		detail any
	}{
		{"neither", object{}, 400, "Provide either data or delta for a commit."},
		{"both", object{"data": object{}, "delta": object{"remove": []any{"canary"}}}, 400, "Provide either data or delta for a commit, not both."},
		{"an unknown member", object{"data": object{"references": object{}, "uri": "x"}}, 422, nil},
		{"an unknown entity", object{"data": object{"references": object{"k": object{"thing": ref("slug", "x")}}}}, 422, nil},
		{"a contradicting reference", object{"data": object{"references": object{"k": object{"application": ref("slug", "other-app"), "application_revision": ref("id", s.side["id"])}}}}, 400, nil},
		{"removing what is not there", object{"delta": object{"remove": []any{"nope"}}}, 400, nil},
		{"an empty delta", object{"delta": object{}}, 422, nil},
		{"a stale base", object{"delta": object{"set": object{"k": canary}}, "base_revision_id": s.envLatest["id"]}, 409, nil},
	}
	before := census(t, s.w)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			detail := s.fails(tt.status, "POST", path, commit(tt.more))
			if tt.detail != nil {
				require.Equal(t, tt.detail, detail)
			}
		})
	}
	require.Equal(t, before, census(t, s.w))
}

func keysOf(value any) []string {
	held, ok := value.(object)
	if !ok {
		return nil
	}
	return slices.Collect(maps.Keys(held))
}
