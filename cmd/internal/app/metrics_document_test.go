package app

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/config"
)

//go:generate env COLONNADE_TEST_UPDATE=1 go test -count 1 -run ^TestMetricsDocument$ .

const metricsHead = `<!-- Code generated from the registered metrics by make generate. DO NOT EDIT. -->

# Metrics

` + "`GET /metrics`" + ` answers in the Prometheus text format ([where](operating.md#metrics)). A process has the metrics of its roles: write, sink, read. The
metrics of Go's runtime (` + "`go_*`" + `) and of the process (` + "`process_*`" + `) are there as well. No label carries a trace id.
An embedded service also has ` + "`colonnade_embedded_disk_free_bytes`" + `, the free bytes on the disk of its data directory.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
`

// The document lists every metric that a process of all roles registers.
func TestMetricsDocument(t *testing.T) {
	t.Parallel()
	const path = "../../../deploy/docs/metrics.md"
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.AuthKey = "key"
	cfg.Kafka.Brokers = []string{"127.0.0.1:1"}
	cfg.ClickHouse.URL, cfg.Postgres.URL = "http://127.0.0.1:1/default", "postgres://127.0.0.1:1/none"
	reg := prometheus.NewRegistry()
	p := &process{
		Options: Options{Roles: Roles{Write: true, Read: true, Sink: true}, Out: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now},
		cfg:     config.Loaded{Config: cfg}, log: slog.New(slog.DiscardHandler), reg: reg,
	}
	stores, err := p.openStores(t.Context())
	require.NoError(t, err)
	s := &Service{Stores: stores}
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, p.build(s))

	descriptions := make(chan *prometheus.Desc, 1000)
	reg.Describe(descriptions)
	close(descriptions)
	types := metricTypes(reg)
	pattern := regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: (".*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	rows := map[string]string{}
	for d := range descriptions {
		found := pattern.FindStringSubmatch(d.String())
		require.NotNil(t, found, d.String())
		name, labels := found[1], strings.FieldsFunc(found[4], func(r rune) bool { return r == ',' })
		for label := range strings.SplitSeq(found[3], ",") {
			if key, _, ok := strings.Cut(label, "="); ok {
				labels = append(labels, key)
			}
		}
		slices.Sort(labels)
		for i := range labels {
			labels[i] = "`" + labels[i] + "`"
		}
		help, err := strconv.Unquote(found[2])
		require.NoError(t, err, d.String())
		kind := types[reflect.ValueOf(d).Elem().FieldByName("id").Uint()]
		require.Contains(t, []string{"counter", "gauge", "histogram"}, kind, name)
		rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, kind, strings.Join(labels, ", "), strings.ReplaceAll(help, "|", `\|`))
	}
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, row := range slices.Sorted(func(yield func(string) bool) {
		for _, row := range rows {
			if !yield(row) {
				return
			}
		}
	}) {
		b.WriteString(row)
	}
	if os.Getenv("COLONNADE_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")), "(-want +got), run make generate")
}

// metricTypes returns the type of each metric by the id of its description. A
// metric without a value has no type for those who gather, so it is read from
// the registry's collectors.
func metricTypes(reg *prometheus.Registry) map[uint64]string {
	types := map[uint64]string{}
	for id, collector := range reflect.ValueOf(reg).Elem().FieldByName("collectorsByID").Seq2() {
		collector = collector.Elem().Elem()
		for collector.Type().Name() == "wrappingCollector" {
			collector = collector.FieldByName("wrappedCollector").Elem().Elem()
		}
		name := strings.ToLower(strings.TrimSuffix(collector.Type().Name(), "Vec"))
		if name == "valuefunc" {
			name = map[prometheus.ValueType]string{prometheus.CounterValue: "counter", prometheus.GaugeValue: "gauge"}[prometheus.ValueType(collector.FieldByName("valType").Int())]
		}
		types[id.Uint()] = name
	}
	return types
}
