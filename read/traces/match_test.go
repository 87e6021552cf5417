//go:build embedded

package traces_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// agree requires that conditions, and what negates them, find those spans that Match says.
func (s *store) agree(all []trace.Span, conditions ...string) {
	s.t.Helper()
	for _, c := range conditions {
		e := where(s.t, c)
		for name, e := range map[string]filter.Expr{c: e, "not " + c: filter.Not{Expr: e}} {
			var want, got []trace.SpanID
			for i := range all {
				if filter.Match(e, &all[i]) {
					want = append(want, all[i].SpanID)
				}
			}
			page, err := s.reader.Spans(s.t.Context(), s.project, e, domain.Window{Limit: len(all) + 1})
			require.NoError(s.t, err, name)
			require.Equal(s.t, uuid.Nil, page.Next)
			for i := range page.Items {
				got = append(got, page.Items[i].SpanID)
			}
			require.ElementsMatch(s.t, want, got, name)
		}
	}
}

// Whole numbers that no column holds exactly are themselves, and no others.
func TestLargeNumbers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	values := []any{
		int64(1<<53 - 1), int64(1 << 53), int64(1<<53 + 1), float64(1 << 53), float64(1<<53 + 2), int64(1<<53 + 2), int64(-1<<53 - 1), int64(-1 << 53),
		int64(math.MaxInt64), int64(math.MinInt64), math.Ldexp(1, 63), -math.Ldexp(1, 63), int64(0), 10.5, nil,
	}
	var all []trace.Span
	for n, v := range values {
		one := span(uint64(n+1), uint64(n+1), now.Add(-time.Duration(n+1)*time.Second))
		whole, _ := v.(int64)
		if v != nil {
			one.Attributes["score"] = v
		}
		if v != nil && whole >= -1<<53 { // nothing is counted below
			metrics := one.Attributes["ag"].(map[string]any)["metrics"].(map[string]any)
			metrics["tokens"], metrics["costs"] = map[string]any{"incremental": map[string]any{"total": v}}, map[string]any{"incremental": map[string]any{"prompt": v}}
			metrics["errors"] = map[string]any{"incremental": v}
		}
		all = append(all, one)
	}
	s.insert(all...)
	tests := []struct {
		key, op string
		values  []string
	}{
		{"ag.metrics.tokens.incremental.total", "is", []string{"9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808.0", "9223372036854775808.0"}},
		{"ag.metrics.tokens.incremental.total", "gt", []string{"9007199254740992", "5"}},
		{"ag.metrics.costs.incremental.prompt", "lte", []string{"9007199254740994", "0"}},
		{"ag.metrics.errors.incremental", "in", []string{"[9007199254740993,9007199254740992,3]", "[1,0]"}},
		{"ag.metrics.errors.incremental", "exists", []string{"null"}},
		{"score", "is", []string{"9007199254740993", "-9223372036854775808.0"}},
		{"score", "in", []string{"[9007199254740993,10.5]"}},
	}
	for _, tt := range tests {
		for _, v := range tt.values {
			s.agree(all, fmt.Sprintf(`{"field":"attributes","key":%q,"operator":%q,"value":%s}`, tt.key, tt.op, v))
		}
	}
	// The same of sums, which of a span alone are what is its own.
	summed := slices.Clone(all)
	for i := range summed {
		of, err := s.reader.TracesByID(t.Context(), s.project, []trace.TraceID{all[i].TraceID})
		require.NoError(t, err)
		summed[i] = of[0][0]
	}
	for _, v := range []string{"9007199254740992", "9007199254740993"} {
		for _, op := range []string{"is", "gt"} {
			s.agree(summed, fmt.Sprintf(`{"field":"attributes","key":"ag.metrics.tokens.cumulative.total","operator":%q,"value":%s}`, op, v))
		}
	}
}

// What ignores case does so for the letters of all scripts, and takes none of them for
// one of ASCII: wherever the text is stored.
func TestLetters(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	texts := []string{
		"ÉCOLE", "école supérieure", "the École (1) said: \"Été\"", "ecole", "cole", "Straße 7", "STRAẞE 7", "STRASSE 7", "ΣΟΦΟΣ", "σοφος", "İstanbul", "istanbul", "ıstanbul", "Я\nздесь", "ЯЗЫК", "язык",
		"ǅ", "ǆ", "Dž", "\u212aelvin", "kelvin", "Kelvin", "Maſs", "mass", "東京 É", "50% É_x", `a\É`, "", "é" + strings.Repeat(" and more", 100) + " É. Z",
	}
	var all []trace.Span
	for n, text := range texts {
		one := span(uint64(n+1), uint64(n+1), now.Add(-time.Duration(n+1)*time.Second))
		one.Name, one.UserID = text, text
		one.Attributes["note"], one.Attributes["system"] = text, text
		one.Attributes["ag"].(map[string]any)["data"] = map[string]any{"inputs": map[string]any{"text": text}}
		one.Resource = map[string]any{"host": map[string]any{"name": text}}
		all = append(all, one)
	}
	s.apart = schema.BlockOffsets / 4
	s.insert(all...)
	tests := []struct{ op, value string }{
		{"contains", "école"},
		{"contains", "ÉCOLE SUP"},
		{"contains", `(1) SAID: "éTÉ"`},
		{"contains", "straße"},
		{"contains", "σοφοσ"},
		{"contains", "Я\nЗДЕСЬ"},
		{"contains", "İ"},
		{"contains", "k"},
		{"contains", "\u212a"},
		{"contains", "東京 é"},
		{"contains", "Ǆ"},
		{"contains", "and more é."},
		{"startswith", "é"},
		{"startswith", "язы"},
		{"endswith", "É"},
		{"endswith", "é. z"},
		{"matches", "Éco"},
		{"like", "%é%"},
		{"like", "_cole"},
		{"like", "é_ole%"},
		{"like", `50\% é\_%`},
		{"like", `a\\É`},
		{"like", "я_з%"},
		{"like", "ǆ"},
		{"contains", strings.Repeat("É", filterjson.MaxTextBytes/2)},
	}
	for n, tt := range some(tests) {
		value, err := json.Marshal(tt.value)
		require.NoError(t, err)
		places := []string{`"field":"span_name"`, `"field":"attributes","key":"note"`, `"field":"attributes","key":"system"`, `"field":"attributes","key":"ag.data.inputs.text"`, `"field":"resource","key":"host.name"`, `"field":"user_id"`}
		for _, at := range []string{places[n%2], places[2+n%4]} {
			s.agree(all, fmt.Sprintf(`{%s,"operator":%q,"value":%s}`, at, tt.op, value))
		}
		if tt.op == "contains" {
			s.agree(all, fmt.Sprintf(`{"field":"content","operator":"contains","value":%s}`, value))
		}
	}
	s.agree(all, `{"field":"span_name","operator":"matches","value":"École","options":{"exact_match":true}}`, `{"field":"span_name","operator":"contains","value":"École","options":{"case_sensitive":true}}`)
}
