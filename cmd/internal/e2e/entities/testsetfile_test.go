//go:build embedded

package entities_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain/testset"
)

// upload sends a form with a file, and without one when text is nil.
func (c client) upload(path, name string, text []byte, fields map[string]string) (int, object) {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if text != nil {
		part, err := form.CreateFormFile("file", name)
		require.NoError(c.t, err)
		_, err = part.Write(text)
		require.NoError(c.t, err)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		require.NoError(c.t, form.WriteField(field, fields[field]))
	}
	require.NoError(c.t, form.Close())
	return c.send(path, form.FormDataContentType(), body.Bytes())
}

func (c client) send(path, contentType string, body []byte) (int, object) {
	c.t.Helper()
	request := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Authorization", c.header)
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	c.w.handler.ServeHTTP(recorder, request)
	c.w.openAPI.hold(c.t, http.MethodPost, path, recorder.Code, recorder.Body.Bytes())
	var reply object
	require.NoError(c.t, json.Unmarshal(recorder.Body.Bytes(), &reply), recorder.Body.String())
	return recorder.Code, reply
}

// uploaded sends a form and requires a 200.
func (c client) uploaded(path, name, text string, fields map[string]string) object {
	c.t.Helper()
	status, reply := c.upload(path, name, []byte(text), fields)
	require.Equal(c.t, http.StatusOK, status, "%v", reply)
	return reply
}

func (c client) download(path string) *httptest.ResponseRecorder {
	c.t.Helper()
	request := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, path, http.NoBody)
	request.Header.Set("Authorization", c.header)
	recorder := httptest.NewRecorder()
	c.w.handler.ServeHTTP(recorder, request)
	return recorder
}

// A testset that is uploaded, downloaded and uploaded again has the same testcases, in both formats.
func TestFilesOfATestset(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := objectAt(t, c.uploaded("/simple/testsets/upload", "capitals.csv", "country,capital\nFrance,Paris\n\"Côte d'Ivoire\",\"Yamoussoukro, \"\"since 1983\"\"\"\n", map[string]string{
		"testset_slug": "capitals", "testset_tags": `{"k":"v"}`, "testset_description": "Of countries",
	}), "testset")
	require.Equal(t, []any{"capitals", "capitals", "Of countries", object{"k": "v"}}, []any{made["slug"], made["name"], made["description"], made["tags"]})
	require.Equal(t, []any{object{"country": "France", "capital": "Paris"}, object{"country": "Côte d'Ivoire", "capital": `Yamoussoukro, "since 1983"`}}, dataRows(t, made))
	simple, revision := "/simple/testsets/"+text(t, made, "id"), "/testsets/revisions/"+text(t, made, "revision_id")

	for _, format := range []string{"csv", "json"} {
		first := c.download(revision + "/download?file_type=" + format)
		require.Equal(t, http.StatusOK, first.Code, first.Body.String())
		require.Equal(t, `attachment; filename="revision_`+text(t, made, "revision_id")+`.`+format+`"`, first.Header().Get("Content-Disposition"))
		require.Equal(t, "nosniff", first.Header().Get("X-Content-Type-Options"))
		require.Equal(t, map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json; charset=utf-8"}[format], first.Header().Get("Content-Type"))

		again := objectAt(t, c.uploaded(simple+"/upload", "file."+format, first.Body.String(), nil), "testset")
		require.Empty(t, cmp.Diff(made["data"], again["data"]))
		require.NotEqual(t, made["revision_id"], again["revision_id"])
		require.Equal(t, []any{"capitals", "Of countries", object{"k": "v"}}, []any{again["name"], again["description"], again["tags"]}, "what the form does not say stays")
		committed := objectAt(t, c.uploaded(revision+"/upload", "", first.Body.String(), map[string]string{"file_type": format, "include_testcases": "false"}), "testset_revision")
		require.Equal(t, object{"testcase_ids": at(t, made, "data", "testcase_ids")}, committed["data"])
		require.Equal(t, made["variant_id"], committed["testset_variant_id"])
		require.Equal(t, first.Body.String(), c.download(simple+"/download?file_type="+format).Body.String())
	}

	// CSV keeps numbers, nulls, objects, absent members and labels, for which it has no types.
	rich := c.testset("rich", []any{
		object{"data": object{"n": 1.5, "o": object{"deep": []any{1, nil}}, "s": "1.5", "line": "a\r\nb"}, "tags": object{"k": "v"}},
		object{"data": object{"n": nil, "s": "", "testcase_dedup_id": "x"}, "meta": object{"m": true}, "flags": object{"hard": false}},
		object{"data": object{}},
	})
	csv := c.download("/simple/testsets/" + text(t, rich, "id") + "/download").Body.String()
	require.True(t, strings.HasPrefix(csv, "line,n,o,s,__dedup_id__,__types__,__id__,__flags__,__tags__,__meta__\n"), csv)
	back := objectAt(t, c.uploaded("/simple/testsets/"+text(t, rich, "id")+"/upload", "x.csv", csv, nil), "testset")
	require.Empty(t, cmp.Diff(rich["data"], back["data"]))

	// An empty revision, and one that is a placeholder.
	empty := objectAt(t, c.uploaded("/simple/testsets/upload", "x.json", "[]", nil), "testset")
	require.Len(t, text(t, empty, "slug"), 12)
	require.Equal(t, "[]\n", c.download("/simple/testsets/"+text(t, empty, "id")+"/download?file_type=json&file_name=../x").Body.String())
	header := c.download("/simple/testsets/" + text(t, empty, "id") + "/download").Body.String()
	require.Equal(t, object{"testcase_ids": []any{}, "testcases": []any{}}, at(t, c.uploaded("/simple/testsets/upload", "x.csv", header, nil), "testset", "data"))

	// A cell that begins a formula is unchanged unless the request asks for a file for spreadsheets.
	formulas := objectAt(t, c.uploaded("/simple/testsets/upload", "x.csv", "a\n=1+1\n", nil), "testset")
	require.Contains(t, c.download("/simple/testsets/"+text(t, formulas, "id")+"/download").Body.String(), "\n=1+1,")
	require.Contains(t, c.download("/simple/testsets/"+text(t, formulas, "id")+"/download?escape_formulas=true").Body.String(), "\n'=1+1,")
}

func TestBadUploadsAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	c := newService(t).owner(t, "a@b.c", false)
	made := c.testset("golden", rows(1))
	const create = "/simple/testsets/upload"
	replace, commit := "/simple/testsets/"+text(t, made, "id")+"/upload", "/testsets/revisions/"+text(t, made, "revision_id")+"/upload"
	good := []byte("a\n1\n")
	tests := []struct {
		name, path, file string
		text             []byte
		fields           map[string]string
		status           int
		loc              []any
	}{
		{"no file", create, "", nil, map[string]string{"testset_slug": "x"}, 422, []any{"body", "file"}},
		{"an unknown field", create, "x.csv", good, map[string]string{"colour": "red"}, 422, []any{"body", "colour"}},
		{"a field of another route", commit, "x.csv", good, map[string]string{"testset_name": "x"}, 422, []any{"body", "testset_name"}},
		{"an unknown type", create, "x.csv", good, map[string]string{"file_type": "xlsx"}, 422, []any{"body", "file_type"}},
		{"tags that are no JSON", create, "x.csv", good, map[string]string{"testset_tags": "{"}, 422, []any{"body", "testset_tags"}},
		{"tags that are no object", create, "x.csv", good, map[string]string{"testset_tags": "[]"}, 422, []any{"body", "testset_tags"}},
		{"a switch that is none", commit, "x.csv", good, map[string]string{"include_testcases": "perhaps"}, 422, []any{"body", "include_testcases"}},
		{"a bad slug", create, "x.csv", good, map[string]string{"testset_slug": "a b"}, 422, nil},
		{"a taken slug", create, "x.csv", good, map[string]string{"testset_slug": "golden"}, 409, nil},
		{"bad CSV", create, "x.csv", []byte("a,b\n1\n"), nil, 422, []any{"body", "file", 2.0}},
		{"bad CSV for a testset", replace, "x.csv", []byte("a,b\n1\n"), nil, 422, []any{"body", "file", 2.0}},
		{"bad JSON for a revision", commit, "x.json", []byte("[\n{]"), nil, 422, []any{"body", "file", 2.0}},
		{"too many rows", create, "x.csv", []byte("a\n" + strings.Repeat("1\n", testset.MaxTestcases+1)), nil, 413, nil},
		{"too many columns", create, "x.csv", []byte(strings.Repeat("a,", testset.MaxColumns+10) + "a"), nil, 413, nil},
		{"a file that is too large", create, "x.csv", bytes.Repeat([]byte("x"), testset.MaxFileBytes+1), nil, 413, nil},
		{"a body that is too large", create, "x.csv", bytes.Repeat([]byte("x"), testset.MaxFileBytes+2<<20), nil, 413, nil},
		{"a field that is too large", create, "x.csv", good, map[string]string{"testset_name": strings.Repeat("x", 1<<17)}, 413, nil},
		{"an unknown testset", "/simple/testsets/" + uuid.NewString() + "/upload", "x.csv", good, nil, 404, nil},
		{"an unknown revision", "/testsets/revisions/" + uuid.NewString() + "/upload", "x.csv", good, nil, 404, nil},
		{"a path that is no id", "/testsets/revisions/nonsense/upload", "x.csv", good, nil, 422, nil},
	}
	before := testcaseCount(t, c.w)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			c.t = t
			status, reply := c.upload(tt.path, tt.file, tt.text, tt.fields)
			require.Equal(t, tt.status, status, "%v", reply)
			if tt.loc != nil {
				require.Equal(t, tt.loc, at(t, reply, "detail", 0, "loc"), "%v", reply)
			}
		})
	}
	for name, bad := range map[string]struct{ contentType, body string }{
		"JSON": {"application/json", `{}`}, "no boundary": {"multipart/form-data", ""}, "cut off": {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na\n1"},
		"a file twice": {"multipart/form-data; boundary=b", strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na\n1\r\n", 2) + "--b--\r\n"},
	} {
		status, reply := c.send(create, bad.contentType, []byte(bad.body))
		require.Equal(t, http.StatusUnprocessableEntity, status, "%s: %v", name, reply)
	}
	require.Equal(t, before, testcaseCount(t, c.w), "nothing half written")

	for path, status := range map[string]int{
		"/testsets/revisions/" + uuid.NewString() + "/download": 404, "/simple/testsets/" + uuid.NewString() + "/download": 404, "/testsets/revisions/x/download": 422,
		strings.Replace(commit, "upload", "download?file_type=xlsx", 1): 422, strings.Replace(replace, "upload", "download?escape_formulas=maybe", 1): 422,
	} {
		require.Equal(t, status, c.download(path).Code, path)
	}
	viewer := c.as("viewer")
	require.Equal(t, http.StatusOK, viewer.download(strings.Replace(commit, "upload", "download", 1)).Code)
	status, _ := viewer.upload(commit, "x.csv", good, nil)
	require.Equal(t, http.StatusForbidden, status)
}

// A project neither reads nor writes files of another project.
func TestFilesOfProjectsAreApart(t *testing.T) {
	t.Parallel()
	w := newService(t)
	victim, attacker := newEstate(t, w, "victim@b.c"), newEstate(t, w, "attacker@b.c")
	before := fingerprint(t, victim)
	for _, path := range []string{"/simple/testsets/" + victim.ids["testset"], "/testsets/revisions/" + victim.ids["testset_revision"]} {
		for _, format := range []string{"csv", "json"} {
			reply := attacker.download(path + "/download?file_type=" + format)
			require.Equal(t, http.StatusNotFound, reply.Code)
			require.NotContains(t, reply.Body.String(), victim.ids["testcase"])
			require.Contains(t, victim.download(path+"/download?file_type="+format).Body.String(), victim.ids["testcase"])
		}
		status, reply := attacker.upload(path+"/upload", "x.csv", []byte(fmt.Sprintf("n,__id__\nstolen,%s\n", victim.ids["testcase"])), nil)
		require.Equal(t, http.StatusNotFound, status, "%v", reply)
	}
	require.Equal(t, before, fingerprint(t, victim))
}
