package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/request"
)

type (
	shapeRequest struct {
		base
		Name   string                `json:"name" request:"required"`
		Note   request.Maybe[string] `json:"note"`
		Within *shapeRequest         `json:"within"`
		Raw    json.RawMessage       `json:"raw"`
		hidden int
	}
	base struct {
		Limit int `json:"limit"`
	}
	shapeView struct {
		ID    uuid.UUID          `json:"id"`
		At    time.Time          `json:"at,omitzero"`
		Pair  [2]float64         `json:"pair"`
		Kind  domain.Order       `json:"kind"`
		Parts map[string][]uint8 `json:"parts,omitempty"`
		Any   any                `json:"any,omitempty"`
		Inner struct {
			Yes bool `json:"yes"`
		} `json:"inner"`
	}
)

func TestOpenAPISchemas(t *testing.T) {
	t.Parallel()
	_ = shapeRequest{hidden: 1}.hidden
	s := newServer(t)
	s.Handle(domain.Operation{
		Method: http.MethodPost, Path: "/shapes/:id/", Permission: domain.EditSpans, Summary: "Shape.", Tag: "shapes",
		Request: shapeRequest{}, Response: shapeView{}, Status: http.StatusAccepted, Deprecated: true, Lazy: true,
		Query: []domain.Parameter{{Name: "names", Type: "array", Doc: "Names."}},
	}, says("x"))
	w := s.do(http.MethodGet, "/openapi.json", "", nil)
	require.Equal(t, http.StatusOK, w.Code)
	var d struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &d))
	const want = `{"deprecated":true,"description":"Needs the permission edit_spans.","operationId":"post_shapes_id",
		"parameters":[{"in":"path","name":"id","required":true,"schema":{"type":"string"}},{"description":"Names.","in":"query","name":"names","schema":{"items":{"type":"string"},"type":"array"}}],
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/ShapeRequest"}}},"required":false},
		"responses":{"202":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Shape"}}},"description":"Accepted"},
			"401":{"$ref":"#/components/responses/Unauthenticated"},"403":{"$ref":"#/components/responses/Forbidden"},"422":{"$ref":"#/components/responses/Invalid"},"default":{"$ref":"#/components/responses/Failed"}},
		"summary":"Shape.","tags":["shapes"]}`
	require.Empty(t, cmp.Diff(parsed(t, want), d.Paths["/shapes/{id}/"]["post"]))
	const request = `{"type":"object","additionalProperties":false,"required":["name"],"properties":{"limit":{"type":"integer"},"name":{"type":"string"},
		"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"raw":{},"within":{"$ref":"#/components/schemas/ShapeRequest"}}}`
	require.Empty(t, cmp.Diff(parsed(t, request), d.Components.Schemas["ShapeRequest"]))
	const response = `{"type":"object","required":["id","pair","kind","inner"],"properties":{"id":{"type":"string","format":"uuid"},"at":{"type":"string","format":"date-time"},
		"pair":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2},"kind":{"type":"string"},"any":{},
		"parts":{"type":"object","additionalProperties":{"type":"string","contentEncoding":"base64"}},
		"inner":{"type":"object","required":["yes"],"properties":{"yes":{"type":"boolean"}}}}}`
	require.Empty(t, cmp.Diff(parsed(t, response), d.Components.Schemas["Shape"]))
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return v
}

// The page loads what it names, from this service alone.
func TestDocs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for path, beside := range map[string]string{"/docs": "/", "/docs/": "/docs/", "/api/docs": "/api/", "/api/docs/": "/api/docs/"} {
		w := s.do(http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotRegexp(t, `https?:|\*|unsafe-eval|script-src[^;]*unsafe`, policy)
		html := w.Body.String()
		require.NotRegexp(t, `https?://|src="//|<script>`, html)
		found := regexp.MustCompile(`(?:src|href)="([^":]+)"`).FindAllStringSubmatch(html, -1)
		require.Len(t, found, 4)
		for _, f := range found {
			target := beside + f[1]
			if rest, up := strings.CutPrefix(f[1], "../"); up {
				target = strings.TrimSuffix(beside, "docs/") + rest
			}
			asset := s.do(http.MethodGet, target, "", nil)
			require.Equal(t, http.StatusOK, asset.Code, "%s: %s", path, target)
			require.Equal(t, "nosniff", headerOrNosniff(asset.Header().Get("X-Content-Type-Options"), target))
		}
	}
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/docs/nothing.js", "", nil).Code)
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "/docs/..%2fserver.go", "", nil).Code)
}

// headerOrNosniff excuses the document, which is no asset of the page.
func headerOrNosniff(header, target string) string {
	if strings.HasSuffix(target, "openapi.json") {
		return "nosniff"
	}
	return header
}
