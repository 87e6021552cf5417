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

// A number beyond its bounds is 422 with its location, in every body of the
// OpenAPI document, and a limit and a rate have bounds everywhere. Contract §0 row 53.
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
		for _, n := range d.numbers(item.RequestBody.Content["application/json"].Schema, nil, nil) {
			last := n.at[len(n.at)-1]
			require.True(t, len(n.beyond) > 0 || last != "limit" && last != "rate", "%s %s: %v has no bound", op.Method, op.Path, n.at)
			for _, beyond := range n.beyond {
				tried += requireOutOfBounds(t, s, op, n.at, beyond)
			}
		}
	}
	require.Greater(t, tried, 30)
}

// requireOutOfBounds requires that a body with this number is refused for it, and returns how
// many bodies it has tried.
func requireOutOfBounds(t *testing.T, s *service, op domain.Operation, at []any, number float64) int {
	t.Helper()
	body, err := json.Marshal(nest(at, number))
	require.NoError(t, err)
	r := s.do(op.Method, fillPath(op.Path), string(body))
	if last := at[len(at)-1]; r.Code == http.StatusBadRequest && (last == "interval" || last == "rate") {
		require.Contains(t, r.Text, "This list takes", "only a list that does not take the member refuses it as a whole")
		return 0
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
		found = found || detail.Type == "missing" || cmp.Equal(append([]any{"body"}, at...), detail.Loc)
	}
	require.True(t, found, "%s %s %s: %s", op.Method, op.Path, body, r.Text)
	return 1
}

// number is a member of a body that is a number, with the nearest numbers beyond its bounds.
type number struct {
	at     []any
	beyond []float64
}

// numbers are those of a body. A type within itself is entered once.
func (d requestDocument) numbers(schema map[string]any, at []any, entered []map[string]any) (found []number) {
	for _, one := range d.alternatives(schema) {
		if slices.ContainsFunc(entered, func(e map[string]any) bool { return cmp.Equal(e, one) }) {
			continue
		}
		types, _ := one["type"].([]any)
		if one["type"] == "integer" || one["type"] == "number" || slices.Contains(types, any("integer")) || slices.Contains(types, any("number")) {
			n := number{at: at}
			for bound, step := range map[string]float64{"minimum": -1, "maximum": 1} {
				if v, ok := one[bound].(float64); ok {
					n.beyond = append(n.beyond, v+step)
				}
			}
			found = append(found, n)
			continue
		}
		within := append(slices.Clone(entered), one)
		properties, _ := one["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			inner, _ := properties[name].(map[string]any)
			found = append(found, d.numbers(inner, append(slices.Clone(at), name), within)...)
		}
		if inner, ok := one["additionalProperties"].(map[string]any); ok {
			found = append(found, d.numbers(inner, append(slices.Clone(at), "any name"), within)...)
		}
		if inner, ok := one["items"].(map[string]any); ok {
			found = append(found, d.numbers(inner, append(slices.Clone(at), float64(0)), within)...)
		}
	}
	return found
}
