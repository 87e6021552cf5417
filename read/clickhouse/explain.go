package clickhouse

import (
	"context"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/sqltext"
)

// Plan records the statements of one request, in the order in which they ended.
type Plan struct {
	began time.Time

	mu    sync.Mutex // guards steps
	steps []Step
}

// Step is one statement of a plan.
type Step struct {
	// Step is the name of the statement, as in the metrics.
	Step string `json:"step"`
	// Statement is the text with a question mark for each value, cut at 4 KiB.
	Statement string `json:"statement"`
	// BeganMS is when the statement began, in milliseconds since the request began, and
	// MS how long it took.
	BeganMS float64 `json:"began_ms"`
	MS      float64 `json:"ms"`
	// Rows is how many rows the statement returned.
	Rows int `json:"rows"`
	// RowsRead is how many rows ClickHouse read. Over HTTP, which does not return that
	// number, it is the rows of the granules that the indexes choose.
	RowsRead uint64 `json:"rows_read"`
	// BytesRead is how many bytes ClickHouse read; absent over HTTP.
	BytesRead uint64 `json:"bytes_read,omitempty"`
	// Ended is why the statement ended early; empty if it returned all of its rows.
	Ended string `json:"ended,omitempty"`
}

type planKey struct{}

// maxStatementText bounds the text of a statement in a plan: lists of ids are long.
const maxStatementText = 4 << 10

// Explain returns a context whose statements are recorded in a plan.
func Explain(ctx context.Context, now time.Time) (context.Context, *Plan) {
	p := &Plan{began: now}
	return context.WithValue(ctx, planKey{}, p), p
}

// Steps returns the statements that have ended.
func (p *Plan) Steps() []Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Step{}, p.steps...)
}

// explained runs a statement and records it in the plan.
func (c *Client) explained(ctx context.Context, p *Plan, name string, s sqltext.Statement, each func(driver.Rows) error) error {
	began := c.now()
	step := Step{Step: name, Statement: s.SQL[:min(len(s.SQL), maxStatementText)], BeganMS: milliseconds(began.Sub(p.began))}
	var mu sync.Mutex // the driver reports progress from a goroutine of its own
	counted := clickhouse.Context(ctx, clickhouse.WithProgress(func(more *clickhouse.Progress) {
		mu.Lock()
		defer mu.Unlock()
		step.RowsRead += more.Rows
		step.BytesRead += more.Bytes
	}))
	err := c.run(counted, s, func(rows driver.Rows) error {
		step.Rows++
		return each(rows)
	})
	step.MS = milliseconds(c.now().Sub(began))
	if err != nil {
		step.Ended = domain.KindOf(c.classify(ctx, name, err)).String()
	}
	mu.Lock()
	unknown := step.RowsRead == 0
	mu.Unlock()
	if unknown {
		step.RowsRead = c.estimate(ctx, s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, step)
	return err
}

// estimate returns how many rows the granules hold that the indexes choose for a
// statement, 0 if ClickHouse cannot say.
func (c *Client) estimate(ctx context.Context, s sqltext.Statement) (rows uint64) {
	s.SQL = "EXPLAIN ESTIMATE " + s.SQL
	s.MaxRows, s.MaxBytes = 0, 0
	err := c.run(ctx, s, func(r driver.Rows) error {
		var database, table string
		var parts, n, marks uint64
		err := r.Scan(&database, &table, &parts, &n, &marks)
		rows += n
		return err
	})
	if err != nil {
		return 0
	}
	return rows
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
