//go:build embedded

package entities_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"colonnade/domain/entity/entityschema"
)

// openAPI is the OpenAPI document; every reply in these tests is compared with it.
type openAPI struct {
	mu       sync.Mutex // guards all below
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	paths    []openAPIPath
}

// openAPIPath is one path of the document, split at its slashes.
type openAPIPath struct {
	path  string
	parts []string
	// replies holds the schemas of replies by method and status code.
	replies map[string][]string
}

func newPromise(tb testing.TB, w *service) *openAPI {
	tb.Helper()
	text, err := w.server.OpenAPI()
	require.NoError(tb, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(tb, err)
	closeObjects(at(tb, document, "paths"), at(tb, document, "components", "schemas"))
	p := &openAPI{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	p.compiler.AssertFormat()
	require.NoError(tb, p.compiler.AddResource("document.json", document))
	for path, item := range objectAt(tb, document, "paths") {
		d := openAPIPath{path: path, parts: split(path), replies: map[string][]string{}}
		for method, op := range objectAt(tb, item) {
			for code, reply := range objectAt(tb, op, "responses") {
				if objectAt(tb, reply)["content"] != nil {
					d.replies[method] = append(d.replies[method], code)
				}
			}
		}
		p.paths = append(p.paths, d)
	}
	return p
}

// closeObjects forbids members that a described object does not list.
func closeObjects(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case object:
			if v["properties"] != nil && v["additionalProperties"] == nil {
				v["additionalProperties"] = false
			}
			for _, inner := range v {
				closeObjects(inner)
			}
		case []any:
			closeObjects(v...)
		}
	}
}

func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// of returns the schema of a reply, nil for a path that the document does not have.
func (p *openAPI) of(tb testing.TB, method, target string, status int) *jsonschema.Schema {
	tb.Helper()
	path, err := url.Parse(target)
	require.NoError(tb, err)
	parts := split(path.Path)
	for len(parts) > 0 && (parts[0] == "api" || parts[0] == "preview") {
		parts = parts[1:]
	}
	method = strings.ToLower(method)
	var best *openAPIPath
	for i := range p.paths {
		d := &p.paths[i]
		if matches(d.parts, parts) && d.replies[method] != nil && (best == nil || strings.Count(d.path, "{") < strings.Count(best.path, "{")) {
			best = d
		}
	}
	if best == nil {
		return nil
	}
	pointer := "/components/schemas/Error"
	if code := strconv.Itoa(status); slices.Contains(best.replies[method], code) {
		pointer = "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(best.path) + "/" + method + "/responses/" + code + "/content/application~1json/schema"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schemas[pointer] == nil {
		schema, err := p.compiler.Compile("document.json#" + pointer)
		require.NoError(tb, err, pointer)
		p.schemas[pointer] = schema
	}
	return p.schemas[pointer]
}

func matches(pattern, parts []string) bool {
	return slices.EqualFunc(pattern, parts, func(want, got string) bool { return strings.HasPrefix(want, "{") || want == got })
}

// hold compares a reply with its schema in the document.
func (p *openAPI) hold(tb testing.TB, method, target string, status int, reply []byte) {
	tb.Helper()
	schema := p.of(tb, method, target, status)
	if schema == nil || len(reply) == 0 {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(reply))
	require.NoError(tb, err)
	require.NoError(tb, schema.Validate(value), "%s %s -> %d %s", method, target, status, reply)
}

// The service accepts each member that the document describes, and refuses each
// member that it does not describe.
func TestRequestsAreAsDescribed(t *testing.T) {
	t.Parallel()
	w := newService(t)
	c := w.owner(t, "a@b.c", false)
	tried := 0
	for _, op := range w.server.Operations() {
		shape, ok := op.Request.(entityschema.Schema)
		if !ok {
			continue
		}
		path := fill(op.Path, "0190f3a0-0000-7000-8000-000000000000")
		name := op.Method + " " + op.Path
		for _, body := range samples(shape.JSONSchema(), 0) {
			status, reply, _ := c.do(op.Method, path, body)
			require.NotContains(t, types(reply), "extra_forbidden", "%s %v -> %v", name, body, reply)
			require.Less(t, status, 500, "%s %v", name, body)
			tried++
		}
		status, reply, _ := c.do(op.Method, path, object{"described_nowhere": nil})
		require.Equal(t, http.StatusUnprocessableEntity, status, name)
		require.Contains(t, types(reply), "extra_forbidden", name)
	}
	require.Greater(t, tried, 1000)
}

// types returns the types of the errors that a reply lists.
func types(reply object) []string {
	list, _ := reply["detail"].([]any)
	var out []string
	for _, e := range list {
		entry, _ := e.(object)
		out = append(out, fmt.Sprint(entry["type"]))
	}
	return out
}

// samples returns objects of one described member each, null at the innermost.
func samples(schema any, depth int) []any {
	var out []any
	if shape, ok := schema.(entityschema.Schema); ok {
		schema = shape.JSONSchema()
	}
	m, _ := schema.(object)
	if choices, ok := m["anyOf"].([]any); ok {
		return samples(choices[0], depth)
	}
	properties, ok := m["properties"].(object)
	if !ok || depth > 2 {
		return []any{nil}
	}
	for name, inner := range properties {
		for _, value := range samples(inner, depth+1) {
			out = append(out, object{name: value})
		}
	}
	return out
}

// The document describes the reply of a retrieve down to the handler's address.
func TestDocumentOfRetrieve(t *testing.T) {
	t.Parallel()
	w := newService(t)
	served, err := w.server.OpenAPI()
	require.NoError(t, err)
	var document object
	require.NoError(t, json.Unmarshal(served, &document))
	schemas := at(t, document, "components", "schemas")
	revision := at(t, schemas, "ApplicationRevision")
	require.Equal(t, "#/components/schemas/WorkflowData", text(t, revision, "properties", "data", "$ref"))
	require.Contains(t, at(t, schemas, "WorkflowData", "properties"), "url")
	require.Equal(t, []any{"slug"}, at(t, schemas, "ApplicationCreate", "required"))
	for path, item := range objectAt(t, document, "paths") {
		for method, op := range objectAt(t, item) {
			body, ok := objectAt(t, op)["requestBody"]
			if !ok || !strings.HasPrefix(path, "/applications") {
				continue
			}
			schema := objectAt(t, body, "content", "application/json", "schema")
			require.NotEmpty(t, schema["properties"], "%s %s has a body of any form", method, path)
		}
	}
}
