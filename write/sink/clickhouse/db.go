// Package clickhouse inserts the sink's blocks into ClickHouse and runs its other
// statements: inserts that can be repeated under deterministic tokens, retries while
// ClickHouse is unavailable, the reasons of failures, and the conditions by which the
// sink names rows.
//
// Not here: the blocks (write/sink/rows), and which of them a batch inserts in which
// order (write/sink).
package clickhouse

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// Config holds the sink's settings that statements need.
type Config struct {
	Deployment             schema.Deployment
	InsertTimeout          time.Duration
	MinBackoff, MaxBackoff time.Duration
}

// DB is a connection to ClickHouse with inserts that can be repeated and statements
// that are retried while ClickHouse is unavailable.
type DB struct {
	conn    driver.Conn
	cfg     Config
	metrics *metrics
	now     func() time.Time
	buffers sync.Pool // of *[]byte
}

// New creates a DB on a connection that speaks HTTP.
func New(conn driver.Conn, cfg Config, reg prometheus.Registerer, now func() time.Time) *DB {
	s := &DB{conn: conn, cfg: cfg, metrics: newMetrics(reg), now: now}
	s.buffers.New = func() any { return new([]byte) }
	return s
}

// maxQueryBytes bounds a statement: it leaves room for the ids of a group of traces.
const maxQueryBytes = 8 << 20

// Table returns the name of a table in statements.
func (s *DB) Table(name string) string { return s.cfg.Deployment.Table(name) }

// Exec runs a statement that may be repeated. The rows of an INSERT SELECT are
// deduplicated neither by a token nor by their content. Those of INSERT VALUES are
// deduplicated by their content (see withToken): the caller inserts equal values
// again only if one row of them is enough.
func (s *DB) Exec(ctx context.Context, what, statement string) error {
	settings := clickhouse.Settings{"max_query_size": maxQueryBytes, "insert_deduplicate": 0, "async_insert": 0}
	if s.cfg.Deployment.Cluster != "" {
		// ON CLUSTER waits for all hosts. A host that is down runs the statement when it
		// is back; its replicas have run it, and the partition goes on meanwhile.
		settings["distributed_ddl_task_timeout"], settings["distributed_ddl_output_mode"] = clusterSeconds, "null_status_on_timeout"
	}
	err := s.timed(ctx, what, func(ctx context.Context) error {
		return s.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(settings)), statement)
	})
	if err != nil {
		return fmt.Errorf("sink: %s: %w", what, err)
	}
	return nil
}

// clusterSeconds is how long a statement waits for the hosts of a cluster.
const clusterSeconds = 10

// Delete marks rows as deleted. When it returns, readers do not see them any more,
// except on hosts of a cluster that do not answer.
func (s *DB) Delete(ctx context.Context, table, which string) error {
	d := s.cfg.Deployment
	return s.Exec(ctx, "delete from "+table, "DELETE FROM "+d.Local(table)+d.OnCluster()+" WHERE "+which+" SETTINGS lightweight_delete_mode = 'lightweight_update'")
}

// Query reads all rows of a statement. scan may see rows again if ClickHouse fails
// in the middle: begin is called before the first row of each attempt.
func (s *DB) Query(ctx context.Context, what, statement string, begin func(), scan func(driver.Rows) error) error {
	err := s.timed(ctx, what, func(ctx context.Context) error {
		begin()
		result, err := s.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_query_size": maxQueryBytes})), statement)
		if err != nil {
			return err
		}
		defer func() { _ = result.Close() }() // its error is that of result.Err
		for result.Next() {
			if err := scan(result); err != nil {
				return err
			}
		}
		return result.Err()
	})
	if err != nil {
		return fmt.Errorf("sink: %s: %w", what, err)
	}
	return nil
}

// ReadRowBinary reads rows of one width as RowBinary has them. row is valid during its
// call only; begin is called as in Query.
func (s *DB) ReadRowBinary(ctx context.Context, what, statement string, width int, begin func(), row func([]byte)) error {
	err := s.timed(ctx, what, func(ctx context.Context) error {
		begin()
		body, err := s.conn.QueryFormat(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_query_size": maxQueryBytes})), "RowBinary", statement)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // read to its end or given up
		buffered, buffer := bufio.NewReaderSize(body, 1<<16), make([]byte, width)
		for {
			switch _, err := io.ReadFull(buffered, buffer); {
			case errors.Is(err, io.EOF): // and not in the middle of a row
				return nil
			case err != nil:
				return err
			}
			row(buffer)
		}
	})
	if err != nil {
		return fmt.Errorf("sink: %s: %w", what, err)
	}
	return nil
}

// timed is retry with the metric of statements that are no inserts.
func (s *DB) timed(ctx context.Context, what string, attempt func(context.Context) error) error {
	start := s.now()
	defer func() { s.metrics.statementSeconds.WithLabelValues(what).Observe(s.now().Sub(start).Seconds()) }()
	return s.retry(ctx, what, attempt)
}

// retry attempts until one succeeds, ClickHouse refuses the rows, or ctx ends.
// Between attempts it waits, longer each time and with jitter, so that the workers
// of a process do not retry at the same moment.
func (s *DB) retry(ctx context.Context, what string, attempt func(context.Context) error) error {
	var met error
	for pause := s.cfg.MinBackoff; ; pause = min(2*pause, s.cfg.MaxBackoff) {
		err := s.Once(ctx, attempt)
		if met == nil || !errors.Is(err, context.DeadlineExceeded) { // the error of an earlier attempt says more than a timeout
			met = err
		}
		if err == nil {
			s.metrics.answered()
			return nil
		}
		if refusesRows(err) {
			s.metrics.answered()
			return domain.Wrap(domain.Rejected, err, "The store refused the rows.")
		}
		s.metrics.failed(s.now(), err)
		s.metrics.retries.WithLabelValues(what).Inc()
		jittered := pause/2 + rand.N(pause) //nolint:gosec // spread, no secret
		select {
		case <-ctx.Done():
			return &gaveUpError{met, ctx.Err()}
		case <-time.After(jittered):
		}
	}
}

// Within runs statements that may exceed ClickHouse's limits or the timeout, and
// returns an error if they do. While ClickHouse is unavailable it tries again.
func (s *DB) Within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		err := do(bounded)
		cancel()
		if err == nil || ctx.Err() != nil || s.Classify(ctx, err) != FaultUnavailable {
			return err
		}
	}
}

// Once runs one attempt, bounded by InsertTimeout.
func (s *DB) Once(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.InsertTimeout)
	defer cancel()
	return attempt(ctx)
}
