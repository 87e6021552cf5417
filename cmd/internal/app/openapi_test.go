package app

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
	"colonnade/cmd/internal/server"
)

//go:generate env COLONNADE_TEST_UPDATE=1 go test -count 1 -run ^TestOpenAPIFile$ .

const openAPIFile = "../../../deploy/openapi.yaml"

// wired returns the server with every route of the service. Nothing listens at the
// addresses of its stores, because clients connect at their first use.
func wired(t *testing.T) *server.Server {
	t.Helper()
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.AuthKey = "key"
	cfg.Kafka.Brokers = []string{"127.0.0.1:1"}
	cfg.ClickHouse.URL, cfg.Postgres.URL = "http://127.0.0.1:1/default", "postgres://127.0.0.1:1/none"
	cfg.Access.TicketSecret = []byte("a secret that is long enough for the tickets")
	s, err := Open(t.Context(), config.Loaded{Config: cfg}, Options{
		Roles: Roles{Write: true, Read: true}, Out: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s.Server
}

// The file of the repository is what the service serves.
func TestOpenAPIFile(t *testing.T) {
	got, err := wired(t).OpenAPIYAML()
	require.NoError(t, err)
	got = append([]byte("# Code generated from the table of routes by make generate. DO NOT EDIT.\n"), got...)
	if os.Getenv("COLONNADE_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(openAPIFile, got, 0o644))
	}
	want, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "run make generate")
}

// The document is one of OpenAPI 3.1, its schemas are JSON Schemas, and every
// reference leads somewhere.
func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	text := served(t, wired(t))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)

	compiler := jsonschema.NewCompiler()
	official, err := os.ReadFile("../server/testdata/openapi-3.1.schema.json")
	require.NoError(t, err)
	rules, err := jsonschema.UnmarshalJSON(bytes.NewReader(official))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("openapi.json", rules))
	schema, err := compiler.Compile("openapi.json")
	require.NoError(t, err)
	require.NoError(t, schema.Validate(doc))

	require.NoError(t, compiler.AddResource("document.json", doc))
	var d document
	require.NoError(t, json.Unmarshal(text, &d))
	require.Greater(t, len(d.Components["schemas"]), 20)
	for name := range d.Components["schemas"] {
		_, err := compiler.Compile("document.json#/components/schemas/" + name)
		require.NoError(t, err, name)
	}
	refs := regexp.MustCompile(`"\$ref": "([^"]*)"`).FindAllSubmatch(text, -1)
	require.NotEmpty(t, refs)
	for _, ref := range refs {
		kind, name, _ := strings.Cut(strings.TrimPrefix(string(ref[1]), "#/components/"), "/")
		require.Contains(t, d.Components[kind], name, string(ref[1]))
	}
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string                      `json:"operationId"`
		Summary     string                      `json:"summary"`
		Tags        []string                    `json:"tags"`
		Deprecated  bool                        `json:"deprecated"`
		Security    *[]map[string][]string      `json:"security"`
		Responses   map[string]json.RawMessage  `json:"responses"`
		Parameters  []struct{ Name, In string } `json:"parameters"`
	} `json:"paths"`
	Components map[string]map[string]json.RawMessage `json:"components"`
}

// Every route that is mounted is described, nothing else is, and no two are
// the same to a client.
func TestOpenAPIHoldsEveryRoute(t *testing.T) {
	t.Parallel()
	s := wired(t)
	var d document
	require.NoError(t, json.Unmarshal(served(t, s), &d))
	parameter := regexp.MustCompile(`[:*]([a-z_]+)`)
	described, ids, shapes := 0, map[string]bool{}, map[string]string{}
	for path, item := range d.Paths {
		described += len(item)
		shape := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "{}")
		require.Empty(t, shapes[shape], "%s is as %s", path, shapes[shape])
		shapes[shape] = path
	}
	operations := s.Operations()
	require.Equal(t, len(operations), described)
	for _, op := range operations {
		found, ok := d.Paths[parameter.ReplaceAllString(op.Path, "{$1}")][strings.ToLower(op.Method)]
		require.True(t, ok, "%s %s", op.Method, op.Path)
		require.NotEmpty(t, found.Summary, op.Path)
		require.Equal(t, []string{op.Tag}, found.Tags)
		require.Equal(t, op.Deprecated, found.Deprecated)
		require.Equal(t, op.Permission == "public", found.Security != nil && len(*found.Security) == 0)
		require.False(t, ids[found.OperationID], found.OperationID)
		ids[found.OperationID] = true
		require.Len(t, found.Parameters, strings.Count(op.Path, ":")+strings.Count(op.Path, "*")+len(op.Query), op.Path)
		value := "x"
		if op.Path == "/docs/:file" {
			value = "start.js"
		}
		request := httptest.NewRequestWithContext(t.Context(), op.Method, parameter.ReplaceAllString(op.Path, value), strings.NewReader(""))
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, request)
		require.NotEqual(t, `{"detail":"Not Found"}`, w.Body.String(), op.Path)
		require.NotEqual(t, http.StatusMethodNotAllowed, w.Code, op.Path)
	}
}

func served(t *testing.T, s *server.Server) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/openapi.json/", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	return w.Body.Bytes()
}
