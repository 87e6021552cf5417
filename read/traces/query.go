package traces

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/sqltext"
)

// The bounds of a statement's text: lists of ids may be long, and a filter is
// bounded before it gets here.
const (
	maxQueryBytes = 32 << 20
	maxASTNodes   = 1_000_000
)

// grace is how much longer than the store we wait: its own refusal says more than our deadline.
const grace = 2 * time.Second

// query runs a statement and hands each row to each. An error is a domain.Error
// or that of a caller who left.
func (r *Reader) query(ctx context.Context, name string, s sqltext.Statement, each func(driver.Rows) error) error {
	release, err := r.acquire(ctx)
	if err != nil {
		return fmt.Errorf("traces: %s: %w", name, err)
	}
	defer release()
	started := r.now()
	err = r.run(ctx, s, each)
	err = r.classify(ctx, name, err)
	failed := err
	if errors.Is(err, errOverPage) || errors.Is(err, errBeside) {
		failed = nil // it was ended here, to go another way: nobody is told of an error
	}
	r.metrics.observe(name, r.now().Sub(started), failed)
	return err
}

// errHangs is the cause of a statement's context that ClickHouse let time out
// without an answer.
var errHangs = errors.New("traces: ClickHouse did not end the statement within its time limit")

func (r *Reader) run(ctx context.Context, s sqltext.Statement, each func(driver.Rows) error) (err error) {
	// Not a deadline: the driver would make it the statement's own, with five seconds on top.
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer time.AfterFunc(r.cfg.QueryTimeout+grace, func() { end(errHangs) }).Stop()
	text := s.SQL + r.limits
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
	rows, err := r.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(r.settings)), text, s.Args...)
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

// settings go with every statement.
func settings(c Config) clickhouse.Settings {
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
	if c.QueryThreads > 0 {
		s["max_threads"] = c.QueryThreads
	}
	return s
}

// limits end every statement. They are part of the text because the driver
// puts a caller's deadline over a setting of this name.
func limits(c Config) string {
	return " SETTINGS max_execution_time = " + strconv.FormatFloat(c.QueryTimeout.Seconds(), 'f', 3, 64) +
		", max_memory_usage = " + strconv.FormatInt(c.QueryMemoryBytes, 10) +
		// Scans read in the order they sort by; the filter this adds to them doubles their cost.
		", use_top_k_dynamic_filtering = 0" +
		// The index of starts was asked for the page's first rows as well, after it was asked for
		// the window's: a tenth of a scan of small parts. It also takes rows that are deleted for
		// rows to show (ClickHouse issue 107309).
		", use_skip_indexes_for_top_k = 0"
}

// tooLong is the answer where the time for a query is over.
func (r *Reader) tooLong(err error) error {
	return domain.Wrap(domain.Rejected, err, "The query takes longer than %s. Narrow it: bound it by windowing.oldest and windowing.newest, or add a condition on a session, user, reference, link or attribute value.", r.cfg.QueryTimeout)
}

// unauthenticated is the answer where no project is known: no statement runs without one.
func unauthenticated() error { return domain.E(domain.Unauthenticated, "Unauthorized") }

// Codes of ClickHouse's refusals. Source: src/Common/ErrorCodes.cpp.
const (
	codeBadArguments    = 36
	codeTooManyRows     = 158
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
	codeTooManyBytes    = 307
	codeTooManyRowsSize = 396
	codeCancelled       = 394
	codeAccessDenied    = 497
	codeShuttingDown    = 745
)

// classify gives an error of the store its meaning for the caller.
func (r *Reader) classify(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("traces: %s: %w", name, err)
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
		return r.tooLong(err)
	case codeMemory, codeSetTooLarge:
		return domain.Wrap(domain.Rejected, err, "The query needs more memory than one may have. Narrow it: a smaller windowing.limit, a shorter time range, or fewer conditions on text.")
	case codeTooManyRows, codeTooManyBytes, codeTooManyRowsSize:
		return domain.Wrap(domain.Rejected, err, "The query would read too much. Narrow it: bound it by windowing.oldest and windowing.newest.")
	case codeTooDeep, codeTooBigAST, codeTooDeepRecurse:
		return domain.Wrap(domain.Rejected, err, "The filter is too large. Use fewer conditions or shorter lists.")
	case codeTooManyQueries, codeSocketTimeout, codeNetwork, codeAllFailed, codeCancelled, codeShuttingDown:
		return &domain.Error{Kind: domain.Unavailable, Message: "The span store is busy. Try again shortly.", RetryAfter: unavailable, Err: err}
	default:
		return err
	}
}
