//go:build embedded

package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/read/activity"
	"colonnade/read/analytics"
)

// totalsOracle computes what sessions add up to from all spans.
func totalsOracle(spans []trace.Span, oldest, newest time.Time) map[string]activity.Totals {
	out := map[string]activity.Totals{}
	durations := map[string][]float64{}
	models := map[trace.TraceID][]string{}
	for i := range spans {
		if m := spans[i].Model(); m != "" {
			models[spans[i].TraceID] = append(models[spans[i].TraceID], m)
		}
	}
	add := func(to **float64, of *float64) {
		if of == nil {
			return
		}
		if *to == nil {
			*to = new(float64)
		}
		**to += *of
	}
	for i := range spans {
		s := &spans[i]
		start := time.UnixMicro(s.Start / 1000).UTC()
		if s.SessionID == "" || start.Before(oldest) || !start.Before(newest) {
			continue
		}
		jsonvalue.Expand(s.Attributes)
		t, there := out[s.SessionID]
		if t.ID = s.SessionID; !there || start.Before(t.First) {
			t.First = start
		}
		if start.After(t.Last) {
			t.Last = start
		}
		if s.IsRoot() {
			t.Traces++
			errors := &t.Errors
			add(&errors, numberAt(s, "ag", "metrics", "errors", "cumulative"))
			t.Errors = *errors
			add(&t.Tokens, numberAt(s, "ag", "metrics", "tokens", "cumulative", "total"))
			add(&t.Cost, numberAt(s, "ag", "metrics", "costs", "cumulative", "total"))
			if d := numberAt(s, "ag", "metrics", "duration", "cumulative"); d != nil {
				durations[s.SessionID] = append(durations[s.SessionID], *d)
			}
			t.Models = append(t.Models, models[s.TraceID]...)
		}
		out[s.SessionID] = t
	}
	for id, t := range out {
		slices.Sort(t.Models)
		t.Models = slices.Compact(t.Models)
		if d := durations[id]; len(d) > 0 {
			slices.Sort(d)
			at := 0.95 * float64(len(d)-1)
			below := int(at)
			p := d[below]
			if below+1 < len(d) {
				p += (at - float64(below)) * (d[below+1] - d[below])
			}
			t.P95 = &p
		}
		out[id] = t
	}
	return out
}

// What sessions and users add up to is what their traces do, in every order, on one page
// and on many, within a range and in all of time, before traces are finalized and after.
func TestTotalsOracle(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	w := newPipeline(t)
	project, other := domain.ProjectID(uuid.New()), domain.ProjectID(uuid.New())
	h := w.served(t, project, analytics.DefaultConfig())
	r := rand.New(rand.NewPCG(5, 6))
	start := time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Second)
	var all []*tracepb.TracesData
	for n := range uint64(60) {
		session := map[string]any{}
		if r.IntN(8) > 0 {
			session["ag.session.id"], session["ag.user.id"] = fmt.Sprintf("s%d", r.IntN(9)), "u"
		}
		begin := start.Add(time.Duration(r.IntN(7200)) * time.Second)
		all = append(all, simple(n, 100*n+1, 0, begin, r.Float64()*10, session))
		for i := range uint64(r.IntN(4)) {
			attributes := map[string]any{"ag.type.span": "chat", "ag.meta.response.model": fmt.Sprintf("model-%d", r.IntN(4)), "ag.metrics.costs.incremental.total": float64(r.IntN(64)) / 64}
			if r.IntN(2) == 0 {
				attributes["ag.metrics.tokens.incremental.prompt"] = 1 + r.IntN(100)
			}
			var events []string
			if r.IntN(4) == 0 {
				events = []string{"exception"}
			}
			all = append(all, simple(n, 100*n+2+i, 100*n+1, begin.Add(time.Duration(i)*time.Second), 1, attributes, events...))
		}
	}
	w.write(project, all...)
	w.write(other, simple(900, 1, 0, start, 1, map[string]any{"ag.session.id": "s1", "ag.metrics.costs.incremental.total": 1e6}))
	opts := gocmp.Options{cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty()}
	type page struct {
		SessionIDs []string `json:"session_ids"`
		Totals     []activity.Totals
		Windowing  json.RawMessage
	}
	ask := func(body string) (p page) {
		t.Helper()
		code, text := post(t, h, "/spans/sessions/query", body)
		require.Equal(t, http.StatusOK, code, text)
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		return p
	}
	check := func(t *testing.T) {
		t.Helper()
		spans := w.everySpan(t, project)
		for _, window := range []struct{ oldest, newest time.Time }{{time.Unix(0, 0), time.Now().Add(time.Hour)}, {start.Add(30 * time.Minute), start.Add(time.Hour)}} {
			want := totalsOracle(spans, window.oldest, window.newest)
			within := fmt.Sprintf(`"oldest":%q,"newest":%q`, window.oldest.UTC().Format(time.RFC3339), window.newest.UTC().Format(time.RFC3339))
			whole := ask(`{"totals":true,"realtime":true,"windowing":{` + within + `}}`)
			require.NotEmpty(t, whole.Totals)
			for i, got := range whole.Totals {
				require.Equal(t, whole.SessionIDs[i], got.ID)
				require.Empty(t, gocmp.Diff(want[got.ID], got, opts))
			}
			require.Nil(t, ask(`{"windowing":{`+within+`}}`).Totals, "nobody asked")

			for i, by := range activity.Orders() {
				if window.oldest.Unix() > 0 && by != activity.ByCost {
					continue // one order is enough for a range
				}
				for _, direction := range []string{"descending", "ascending"}[i%2:][:1] {
					var ranked []activity.Totals
					windowing := json.RawMessage(`{` + within + `,"limit":4,"order":"` + direction + `"}`)
					for windowing != nil {
						p := ask(fmt.Sprintf(`{"totals":true,"order_by":%q,"windowing":%s}`, by, windowing))
						ranked, windowing = append(ranked, p.Totals...), p.Windowing
					}
					ids := slices.Collect(func(yield func(string) bool) {
						for id, t := range want {
							if t.Traces > 0 && !yield(id) {
								return
							}
						}
					})
					value := func(id string) float64 {
						of := map[activity.OrderBy]*float64{activity.ByTokens: want[id].Tokens, activity.ByCost: want[id].Cost, activity.ByP95: want[id].P95}[by]
						switch {
						case by == activity.ByTraces:
							return float64(want[id].Traces)
						case by == activity.ByErrors:
							return want[id].Errors
						case of == nil:
							return -1
						default:
							return *of
						}
					}
					slices.SortFunc(ids, func(a, b string) int {
						x, y := value(a), value(b)
						if (x < 0) != (y < 0) {
							return cmp.Compare(y, x)
						}
						if direction == "descending" {
							x, y = y, x
						}
						return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
					})
					expected := make([]activity.Totals, len(ids))
					for i, id := range ids {
						expected[i] = want[id]
					}
					require.Empty(t, gocmp.Diff(expected, ranked, opts), "%s %s", by, direction)
				}
			}
		}
	}
	t.Run("pending", check)
	w.finalized(t, project)
	t.Run("finalized", check)

	users := jsonReply(t, h, "/spans/users/query", `{"totals":true,"order_by":"cost"}`)
	require.Equal(t, []any{"u"}, users["user_ids"])
	require.Len(t, users["totals"], 1)
	code, text := post(t, h, "/spans/users/query", `{"order_by":"name"}`)
	require.Equal(t, http.StatusUnprocessableEntity, code, text)
}
