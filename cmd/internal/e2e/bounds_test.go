//go:build embedded

package e2e_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
)

// A number below its bound is 422 with its location, in every body of the
// OpenAPI document, and a limit has a bound everywhere. Contract §0 row 53.
func TestBoundsOfBodies(t *testing.T) {
	t.Parallel()
	s := newIdleService(t, "COLONNADE_READ_STORE_WAIT_TIMEOUT=10ms", "COLONNADE_COMMANDS_WAIT_TIMEOUT=10ms")
	var d requestDocument
	require.NoError(t, json.Unmarshal(s.do(http.MethodGet, "/openapi.json", "").bytes(), &d))
	tried := 0
	for _, op := range s.Server.Operations() {
		item := d.Paths[regexp.MustCompile(`[:*]([a-z_]+)`).ReplaceAllString(op.Path, "{$1}")][strings.ToLower(op.Method)]
		if op.Permission == domain.Admin || len(op.Consumes) > 0 {
			continue
		}
		for _, n := range d.integers(item.RequestBody.Content["application/json"].Schema, nil, nil) {
			require.True(t, n.bounded || n.at[len(n.at)-1] != "limit", "%s %s: %v has no bound", op.Method, op.Path, n.at)
			if !n.bounded {
				continue
			}
			body, err := json.Marshal(nest(n.at, n.minimum-1))
			require.NoError(t, err)
			r := s.do(op.Method, fillPath(op.Path), string(body))
			if r.Code == http.StatusBadRequest && n.at[len(n.at)-1] == "interval" {
				require.Contains(t, r.Text, "This list takes", "only a list without intervals refuses the member as a whole")
				continue
			}
			require.Equal(t, http.StatusUnprocessableEntity, r.Code, "%s %s %s: %s", op.Method, op.Path, body, r.Text)
			var reply struct {
				Detail []struct {
					Type string
					Loc  []any
				}
			}
			require.NoError(t, json.Unmarshal(r.bytes(), &reply), r.Text)
			found := false
			for _, detail := range reply.Detail {
				found = found || detail.Type == "missing" || cmp.Equal(append([]any{"body"}, n.at...), detail.Loc)
			}
			require.True(t, found, "%s %s %s: %s", op.Method, op.Path, body, r.Text)
			tried++
		}
	}
	require.Greater(t, tried, 30)
}

// integer is a member of a body that is a whole number.
type integer struct {
	at      []any
	minimum float64
	bounded bool
}

// integers are those of a body. A type within itself is entered once.
func (d requestDocument) integers(schema map[string]any, at []any, entered []map[string]any) (found []integer) {
	for _, one := range d.alternatives(schema) {
		if slices.ContainsFunc(entered, func(e map[string]any) bool { return cmp.Equal(e, one) }) {
			continue
		}
		types, _ := one["type"].([]any)
		if one["type"] == "integer" || slices.Contains(types, any("integer")) {
			minimum, bounded := one["minimum"].(float64)
			found = append(found, integer{at, minimum, bounded})
			continue
		}
		within := append(slices.Clone(entered), one)
		properties, _ := one["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner, _ := properties[name].(map[string]any)
			found = append(found, d.integers(inner, append(slices.Clone(at), name), within)...)
		}
		if inner, ok := one["additionalProperties"].(map[string]any); ok {
			found = append(found, d.integers(inner, append(slices.Clone(at), "any name"), within)...)
		}
		if inner, ok := one["items"].(map[string]any); ok {
			found = append(found, d.integers(inner, append(slices.Clone(at), float64(0)), within)...)
		}
	}
	return found
}
