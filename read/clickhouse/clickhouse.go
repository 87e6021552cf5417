// Package clickhouse runs the statements of the read side: each takes a slot, runs
// under the bounds of time, memory and rows that every statement has, is measured,
// and fails with an error that says what its caller can do. read/traces and, through
// it, read/analytics run theirs here; other packages write the text of statements.
package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/slot"
	"colonnade/read/sqltext"
)

// Config bounds a statement.
type Config struct {
	// Timeout bounds the time of one statement.
	Timeout time.Duration
	// MemoryBytes bounds ClickHouse's memory for one statement.
	MemoryBytes int64
	// Threads bounds ClickHouse's threads for one statement; 0 leaves it to ClickHouse.
	Threads int
	// Slots bounds the statements that run at once.
	Slots slot.Config
}

// Client runs statements. It is safe for concurrent use.
type Client struct {
	cfg      Config
	conn     driver.Conn
	now      func() time.Time
	slots    *slot.Pool
	metrics  *metrics
	settings clickhouse.Settings
	limits   string
	fullText atomic.Pointer[fullText]
}

// New creates a client on a connection, which it does not close.
func New(cfg Config, conn driver.Conn, now func() time.Time, registerer prometheus.Registerer) (*Client, error) {
	m, err := newMetrics(registerer)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: registering metrics: %w", err)
	}
	return &Client{
		cfg: cfg, conn: conn, now: now, slots: slot.New(cfg.Slots, "statements", now), metrics: m,
		settings: settings(cfg), limits: limits(cfg),
	}, nil
}

// The bounds of a statement's text: lists of ids may be long, and a filter is
// bounded before it gets here.
const (
	maxQueryBytes = 32 << 20
	maxASTNodes   = 1_000_000
)

// grace is how much longer than ClickHouse's own limit a statement may take: its
// refusal says more than our deadline.
const grace = 2 * time.Second

// ErrStopped is in the chain of an error with which a callback ends a statement
// because it knows enough. Such a statement has not failed.
var ErrStopped = errors.New("clickhouse: the caller needs no more rows")

// Query takes a slot, runs a statement and calls each with every row. name is the
// label of the metrics. An error is a domain.Error, the error of each, or that of ctx
// when the client has left.
func (c *Client) Query(ctx context.Context, name string, s sqltext.Statement, each func(driver.Rows) error) error {
	release, err := c.acquire(ctx)
	if err != nil {
		return fmt.Errorf("clickhouse: %s: %w", name, err)
	}
	defer release()
	started := c.now()
	if plan, ok := ctx.Value(planKey{}).(*Plan); ok {
		err = c.explained(ctx, plan, name, s, each)
	} else {
		err = c.run(ctx, s, each)
	}
	err = c.classify(ctx, name, err)
	failed := err
	if errors.Is(err, ErrStopped) {
		failed = nil
	}
	c.metrics.observe(name, c.now().Sub(started), failed)
	return err
}

// errHangs is the cause of a statement's context that ClickHouse let time out
// without an answer.
var errHangs = errors.New("clickhouse: the server did not end the statement within its time limit")

func (c *Client) run(ctx context.Context, s sqltext.Statement, each func(driver.Rows) error) (err error) {
	// A context with a deadline would not do: the driver makes the deadline the statement's
	// own limit, five seconds later, which a read-only user may not raise.
	client := ctx
	ctx, end := context.WithCancelCause(context.WithoutCancel(client))
	defer end(nil)
	defer context.AfterFunc(client, func() { end(context.Cause(client)) })()
	defer time.AfterFunc(c.cfg.Timeout+grace, func() { end(errHangs) }).Stop()
	text := s.SQL + c.limits
	if s.MaxRows > 0 {
		text += ", max_rows_to_read = " + strconv.Itoa(s.MaxRows)
	}
	if s.MaxBytes > 0 {
		text += ", max_bytes_to_read = " + strconv.FormatInt(s.MaxBytes, 10)
	}
	if s.OneStep {
		text += ", enable_multiple_prewhere_read_steps = 0"
	}
	if s.StartsFirst {
		text += ", use_skip_indexes_on_data_read = 0"
	}
	if s.OneThread {
		text += ", max_threads = 1"
	}
	if s.RowsPerThread > 0 {
		text += ", merge_tree_min_rows_for_concurrent_read = " + strconv.Itoa(s.RowsPerThread) + ", merge_tree_min_bytes_for_concurrent_read = 1048576"
	}
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errHangs) {
			err = fmt.Errorf("%w: %w", errHangs, err)
		}
	}()
	rows, err := c.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(c.settings)), text, s.Args...)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = rows.Close()
			return
		}
		// Ended early. Close reads the answer to its end unless the statement is over, and
		// what it says then is that we ended it.
		end(nil)
		_ = rows.Close()
	}()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// settings returns the settings of every statement.
func settings(cfg Config) clickhouse.Settings {
	s := clickhouse.Settings{
		"max_query_size":   maxQueryBytes,
		"max_ast_elements": maxASTNodes,
		// A caller who leaves ends the statement on a server; the embedded engine does so by itself.
		"cancel_http_readonly_queries_on_client_close": 1,
		// A lookup into span_payloads_packed stays on the shard of its spans: both are sharded by trace.
		"distributed_product_mode": "local",
		// A page is hundreds of short reads, one after the other. The default hands each
		// that is not in memory to another thread, and waits for it: a page of scattered
		// documents from disk took 42 ms and 36 of processor time, and takes 29 and 26.
		"local_filesystem_read_method": "pread",
	}
	if cfg.Threads > 0 {
		s["max_threads"] = cfg.Threads
	}
	return s
}

// limits returns the end of every statement's text. They are part of the text because
// the driver replaces a setting of this name by the context's deadline.
func limits(cfg Config) string {
	return " SETTINGS max_execution_time = " + strconv.FormatFloat(cfg.Timeout.Seconds(), 'f', 3, 64) +
		", max_memory_usage = " + strconv.FormatInt(cfg.MemoryBytes, 10) +
		// Scans read in the order they sort by; the filter this adds to them doubles their cost.
		", use_top_k_dynamic_filtering = 0" +
		// The index of starts was asked for the page's first rows as well, after it was asked for
		// the window's: a tenth of a scan of small parts. It also takes rows that are deleted for
		// rows to show (ClickHouse issue 107309).
		", use_skip_indexes_for_top_k = 0"
}

// TooLong returns the error of a query whose time is over.
func (c *Client) TooLong(err error) error {
	return domain.Wrap(domain.Rejected, err, "The query takes longer than %s. Narrow it: bound it by windowing.oldest and windowing.newest, or add a condition on a session, user, reference, link or attribute value.", c.cfg.Timeout)
}

// Codes of ClickHouse's exceptions, exported where a caller goes another way after one. Source: src/Common/ErrorCodes.cpp.
const (
	CodeBadArguments    = 36
	CodeTooManyRows     = 158
	codeTimeout         = 159
	codeTooSlow         = 160
	codeTooDeep         = 167
	codeTooBigAST       = 168
	codeSetTooLarge     = 191
	codeTooManyQueries  = 202
	codeSocketTimeout   = 209
	codeNetwork         = 210
	codeMemory          = 241
	codeAllFailed       = 279
	codeTooDeepRecurse  = 306
	CodeTooManyBytes    = 307
	codeTooManyRowsSize = 396
	codeCancelled       = 394
	CodeAccessDenied    = 497
	codeShuttingDown    = 745
)

// classify turns an error of ClickHouse into one that tells the client what to do.
func (c *Client) classify(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("clickhouse: %s: %w", name, err)
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*domain.Error](err); ok && e != nil {
		return err
	}
	const unavailable = time.Second
	exception, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return &domain.Error{Kind: domain.Unavailable, Message: "The span store does not answer. Try again shortly.", RetryAfter: unavailable, Err: err}
	}
	switch exception.Code {
	case codeTimeout, codeTooSlow:
		return c.TooLong(err)
	case codeMemory, codeSetTooLarge:
		return domain.Wrap(domain.Rejected, err, "The query needs more memory than one may have. Narrow it: a smaller windowing.limit, a shorter time range, or fewer conditions on text.")
	case CodeTooManyRows, CodeTooManyBytes, codeTooManyRowsSize:
		return domain.Wrap(domain.Rejected, err, "The query would read too much. Narrow it: bound it by windowing.oldest and windowing.newest.")
	case codeTooDeep, codeTooBigAST, codeTooDeepRecurse:
		return domain.Wrap(domain.Rejected, err, "The filter is too large. Use fewer conditions or shorter lists.")
	case codeTooManyQueries, codeSocketTimeout, codeNetwork, codeAllFailed, codeCancelled, codeShuttingDown:
		return &domain.Error{Kind: domain.Unavailable, Message: "The span store is busy. Try again shortly.", RetryAfter: unavailable, Err: err}
	default:
		return err
	}
}

// HasCode reports whether ClickHouse answered with an exception of one of these codes.
func HasCode(err error, codes ...int32) bool {
	exception, ok := errors.AsType[*clickhouse.Exception](err)
	return ok && slices.Contains(codes, exception.Code)
}
