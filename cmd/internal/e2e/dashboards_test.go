//go:build embedded

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/demo"
)

// demonstrate sends the demo to the project "ours" and waits until SQL shows its totals.
func (a analysts) demonstrate(t *testing.T, traces int) (conn driver.Conn) {
	t.Helper()
	web := httptest.NewServer(a.Server.Handler())
	t.Cleanup(web.Close)
	plan := demo.Plan{BaseURL: web.URL, Key: a.keys["ours owner"], Traces: traces, Over: 6 * time.Hour, Seed: 1}
	require.NoError(t, demo.Run(t.Context(), plan, io.Discard, time.Now))
	conn = a.driver(t, "ours owner", clickhouse.CompressionNone)
	eventually(t, "totals of the demo", func() bool {
		var n uint64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM traces WHERE trace_type = 'invocation' AND finalized").Scan(&n))
		return n == uint64(traces)
	})
	return conn
}

// SQL and the API of statistics return the same figures for the same range, and every panel of
// the dashboards has rows of the demo.
func TestDemoForAnalysts(t *testing.T) {
	t.Parallel()
	readsOnly(t)
	a := newAnalysts(t)
	conn := a.demonstrate(t, 40)
	from, to := time.Now().UTC().Add(-5*time.Hour).Truncate(time.Second), time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	t.Run("figures", func(t *testing.T) { a.sameFigures(t, conn, from, to) })
	t.Run("examples of the document", func(t *testing.T) {
		text, err := os.ReadFile("../../../deploy/docs/sql.md")
		require.NoError(t, err)
		examples := regexp.MustCompile("(?s)```sql\\n(SELECT.*?)```").FindAllStringSubmatch(string(text), -1)
		require.Greater(t, len(examples), 5)
		for _, example := range examples {
			body, err := json.Marshal(map[string]any{"query": example[1], "parameters": map[string]string{"trace": newTraceID()}})
			require.NoError(t, err)
			a.with(t).ok(http.StatusOK, "POST", "/sql/query", string(body))
		}
	})
	for _, name := range []string{"overview", "evaluations"} {
		d := readDashboard(t, name)
		for _, p := range d.Panels {
			t.Run(name+" "+p.Title, func(t *testing.T) { d.check(t, a, conn, p) })
		}
	}
}

// sameFigures compares the sums of roots by SQL with those of the API.
func (a analysts) sameFigures(t *testing.T, conn driver.Conn, from, to time.Time) {
	t.Helper()
	paths := map[string]string{
		"count()": "", "sum(errors)": "attributes.ag.metrics.errors.cumulative", "sum(duration_ms)": "attributes.ag.metrics.duration.cumulative",
		"sum(tokens_total)": "attributes.ag.metrics.tokens.cumulative.total", "sum(cost)": "attributes.ag.metrics.costs.cumulative.total",
	}
	r := a.with(t).ok(http.StatusOK, "POST", "/spans/analytics/query", fmt.Sprintf(
		`{"filtering":{"conditions":[{"field":"trace_type","value":"invocation"}]},"oldest":%q,"newest":%q,"interval":60}`, from.Format(time.RFC3339), to.Format(time.RFC3339)))
	buckets, _ := r.at("buckets").([]any)
	require.Greater(t, len(buckets), 2, r.Text)
	for expression, path := range paths {
		want := 0.0
		for _, bucket := range buckets {
			if path == "" {
				n, _ := at(bucket, "metrics", "attributes.ag.type.trace", "count").(float64)
				want += n
				continue
			}
			n, _ := at(bucket, "metrics", path, "sum").(float64)
			want += n
		}
		require.Positive(t, want, expression)
		var got float64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT toFloat64(ifNull("+expression+", 0)) FROM traces WHERE trace_type = 'invocation' AND start_time >= {from:DateTime64(6)} AND start_time <= {to:DateTime64(6)}",
			clickhouse.Named("from", from.Format(time.DateTime)), clickhouse.Named("to", to.Format(time.DateTime))).Scan(&got))
		require.InEpsilon(t, want, got, 1e-9, expression)
	}
}

// dashboard is what the test reads of a dashboard of Grafana.
type dashboard struct {
	Title      string
	Panels     []dashboardPanel
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

type dashboardPanel struct {
	Title, Type string
	Links       []struct{ URL string }
	Targets     []struct{ RawSQL, Expr string }
}

const dashboards = "../../../deploy/grafana/dashboards"

func readDashboard(t testing.TB, name string) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dashboards, name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// check runs the statements of a panel and of the variables as Grafana does. A panel of what
// the demo has none of may be empty.
func (d dashboard) check(t *testing.T, a analysts, conn driver.Conn, p dashboardPanel) {
	t.Helper()
	for _, link := range p.Links {
		require.Contains(t, link.URL, "${console}/ui/")
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			require.NotNil(t, list(t, conn, v.Query), v.Name)
		}
	}
	for _, target := range p.Targets {
		text, err := json.Marshal(expand(target.RawSQL, "'__all'"))
		require.NoError(t, err)
		columns, _ := a.with(t).ok(http.StatusOK, "POST", "/sql/query", `{"query":`+string(text)+`}`).at("columns").([]any)
		require.Greater(t, len(columns), 1)
		if p.Type == "timeseries" {
			require.Equal(t, map[string]any{"name": "t", "type": "DateTime('UTC')"}, columns[0], "Grafana takes the first time as the axis")
		}
		all := rowsOf(t, conn, expand(target.RawSQL, "'__all'"))
		empty := p.Title == "Rejected spans" || p.Title == "Evaluation runs"
		require.Equal(t, empty, all == 0, "%s: %d rows", p.Title, all)
		none := rowsOf(t, conn, expand(target.RawSQL, "'nothing of it'"))
		if strings.Contains(target.RawSQL, "${") {
			require.LessOrEqual(t, none, all, "a variable narrows")
		}
	}
}

func rowsOf(t *testing.T, conn driver.Conn, text string) (n int) {
	t.Helper()
	rows, err := conn.Query(t.Context(), text)
	require.NoError(t, err, text)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		n++
	}
	require.NoError(t, rows.Err(), text)
	return n
}

// expand replaces macros as the data source for ClickHouse does, and variables by a value.
func expand(text, value string) string {
	from, to := time.Now().Add(-24*time.Hour).Unix(), time.Now().Unix()
	bounds := func(n int64) string { return "toDateTime(" + strconv.FormatInt(n, 10) + ")" }
	text = regexp.MustCompile(`\$__timeFilter\(([^)]*)\)`).ReplaceAllString(text, "$1 >= "+bounds(from)+" AND $1 <= "+bounds(to))
	text = regexp.MustCompile(`\$__timeInterval\(([^)]*)\)`).ReplaceAllString(text, "toStartOfInterval(toDateTime($1), INTERVAL 60 second)")
	text = strings.NewReplacer("$__fromTime", bounds(from), "$__toTime", bounds(to)).Replace(text)
	return regexp.MustCompile(`\$\{\w+:singlequote\}`).ReplaceAllString(text, value)
}

// What the dashboard and the rules of the service ask of Prometheus is registered.
func TestServiceMonitoring(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("../../../deploy/docs/metrics.md")
	require.NoError(t, err)
	rules, err := os.ReadFile("../../../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	texts := []string{string(rules)}
	for _, p := range readDashboard(t, "service").Panels {
		for _, target := range p.Targets {
			texts = append(texts, target.Expr)
		}
	}
	names := regexp.MustCompile(`\bcolonnade_[a-z0-9_]+`).FindAllString(strings.Join(texts, "\n"), -1)
	require.Greater(t, len(names), 25)
	for _, name := range names {
		require.Contains(t, string(known), "| `"+strings.TrimSuffix(name, "_bucket")+"` |")
	}
}
