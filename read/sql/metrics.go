package sql

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
)

// metrics count the statements of analysts.
type metrics struct {
	statements *prometheus.CounterVec
	duration   prometheus.Histogram
	rows       prometheus.Counter
	bytes      prometheus.Counter
}

// The outcomes of a statement, as the metric's label.
const (
	outcomeOK        = "ok"
	outcomeRefused   = "refused" // by the checks
	outcomeFailed    = "failed"  // by ClickHouse, or at a limit
	outcomeCancelled = "cancelled"
	outcomeBusy      = "busy" // no slot was free
	outcomeError     = "error"
)

func newMetrics(reg prometheus.Registerer, r *Runner) (*metrics, error) {
	m := &metrics{
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "colonnade_sql_statements_total", Help: "Statements of analysts, by outcome: ok, refused by the checks, failed in ClickHouse or at a limit, cancelled, busy without a slot, error of the service.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "colonnade_sql_statement_duration_seconds", Help: "Time of a statement of an analyst with its checks, without the wait for a slot.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_sql_read_rows_total", Help: "Rows that statements of analysts read, as far as ClickHouse reports them.",
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_sql_read_bytes_total", Help: "Bytes that statements of analysts read, as far as ClickHouse reports them.",
		}),
	}
	running := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "colonnade_sql_statements_running", Help: "Statements of analysts that run."}, func() float64 {
		r.mu.Lock()
		defer r.mu.Unlock()
		return float64(len(r.running))
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "colonnade_sql_statements_waiting", Help: "Statements of tools that wait for a slot."}, func() float64 {
		r.mu.Lock()
		defer r.mu.Unlock()
		return float64(r.waiting)
	})
	for _, c := range []prometheus.Collector{m.statements, m.duration, m.rows, m.bytes, running, waiting} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("sql: registering metrics: %w", err)
		}
	}
	for _, outcome := range []string{outcomeOK, outcomeRefused, outcomeFailed, outcomeCancelled, outcomeBusy, outcomeError} {
		m.statements.WithLabelValues(outcome)
	}
	return m, nil
}

// ended counts a statement that took no time where it did not run.
func (m *metrics) ended(outcome string, took time.Duration) {
	m.statements.WithLabelValues(outcome).Inc()
	if outcome != outcomeBusy {
		m.duration.Observe(took.Seconds())
	}
}

func outcomeOf(err error) string {
	switch domain.KindOf(err) {
	case domain.Forbidden:
		return outcomeRefused
	case domain.Rejected:
		return outcomeFailed
	default:
		if err == nil {
			return outcomeOK
		}
		return outcomeError
	}
}

// read counts what a reply says that its statement read.
func (m *metrics) read(header http.Header) {
	var summary struct {
		Rows  uint64 `json:"read_rows,string"`
		Bytes uint64 `json:"read_bytes,string"`
	}
	if json.Unmarshal([]byte(header.Get("X-ClickHouse-Summary")), &summary) == nil {
		m.rows.Add(float64(summary.Rows))
		m.bytes.Add(float64(summary.Bytes))
	}
}
