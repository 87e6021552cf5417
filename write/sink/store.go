package sink

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/write/sink/internal/native"
)

// store is ClickHouse as the sink needs it: inserts that can be repeated, and
// statements that are tried again while the store is away.
type store struct {
	conn    driver.Conn
	cfg     Config
	metrics *metrics
	now     func() time.Time
	buffers sync.Pool // of *[]byte
}

func newStore(conn driver.Conn, cfg Config, m *metrics, now func() time.Time) *store {
	s := &store{conn: conn, cfg: cfg, metrics: m, now: now}
	s.buffers.New = func() any { return new([]byte) }
	return s
}

// largeBlock is from how many bytes on a block is encoded into memory that is used
// again. Small ones leave it alone: the next documents would have to make theirs anew.
const largeBlock = 1 << 20

// maxQueryBytes is room for the ids of a group of traces in a statement.
const maxQueryBytes = 8 << 20

// insertion is a block on its way into a table.
type insertion struct {
	table string
	block *native.Block
	// token names the rows: a block under a token that the store knows writes
	// nothing, whatever it holds. Empty stores it however often it is sent.
	token string
	// doubtful tells that it may have been tried before.
	doubtful bool
	// rest gives the rows that the table has not; nil where a row may stand
	// there twice, as versions of one that merges make one.
	rest func(context.Context) (*native.Block, error)
}

// insert writes a block and returns once the store has it and shows it: in files
// that the system may still hold in memory (fsync_after_insert is the server's). An
// error of kind Rejected or Invalid means that the store will never take this block.
//
// The token decides while it is the first attempt. A store that is killed in the
// middle of one may have kept the token without the rows, and would take them
// for done ever after; it may as well have the rows without the token. So
// whoever tries again looks: what is missing goes in, until a look finds
// nothing missing. It still goes in under tokens, the first, then others that
// follow from it, so that two who do this at once do it once. A look that finds
// nothing of what just went in may have come to a replica that is behind, and
// whatever went in again would be there twice: so it waits before another token,
// longer each time, and on replicas, which know no token without its rows, as long
// as an insert may take.
func (s *store) insert(ctx context.Context, in insertion) error {
	if in.block.Rows() == 0 {
		return nil
	}
	buffer := new([]byte)
	if in.block.Size() >= largeBlock {
		buffer, _ = s.buffers.Get().(*[]byte)
		defer s.buffers.Put(buffer)
	}
	var err error
	if *buffer, err = in.block.AppendTo((*buffer)[:0]); err != nil {
		return domain.Wrap(domain.Rejected, err, "The rows could not be encoded.")
	}
	statement := "INSERT INTO " + s.cfg.Deployment.Table(in.table) + " (" + strings.Join(in.block.Names(), ", ") + ")"
	start := s.now()
	u := underway{store: s, insertion: &in, buffer: buffer, statement: statement, pause: s.cfg.MinBackoff}
	err = s.retry(ctx, in.table, u.attempt)
	if err != nil {
		return fmt.Errorf("sink: insert %d rows into %s: %w", in.block.Rows(), in.table, err)
	}
	s.metrics.insertSeconds.WithLabelValues(in.table).Observe(s.now().Sub(start).Seconds())
	s.metrics.insertBytes.WithLabelValues(in.table).Add(float64(len(*buffer)))
	s.metrics.insertRows.WithLabelValues(in.table).Add(float64(in.block.Rows()))
	return nil
}

// underway is an insertion with what its attempts found.
type underway struct {
	*store
	*insertion
	// buffer holds the rows that are to be inserted next.
	buffer    *[]byte
	statement string
	// tokens counts those that the store took, sent tells that it has taken the last.
	tokens int
	sent   bool
	// waited is for how long looks did not show what the last token brought, pause
	// what comes before the next.
	waited, pause time.Duration
}

// attempt inserts what is missing until nothing is.
func (u *underway) attempt(ctx context.Context) error {
	for {
		token := u.token
		switch {
		case !u.doubtful:
		case u.rest == nil:
			token = ""
		default:
			done, err := u.look(ctx)
			if done || err != nil {
				return err
			}
			if u.tokens > 0 {
				token += "#" + strconv.Itoa(u.tokens)
			}
		}
		err := u.conn.InsertFormat(clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings())), "Native", u.statement+under(token), bytes.NewReader(*u.buffer))
		if err == nil && (!u.doubtful || u.rest == nil) {
			return nil
		}
		if u.doubtful = true; err != nil {
			return err
		}
		u.tokens++
		u.sent, u.waited = true, 0
	}
}

// look encodes the rows that are missing, and tells whether none are. Those that were
// just sent it waits for.
func (u *underway) look(ctx context.Context) (done bool, err error) {
	for looks := 0; ; looks++ {
		left, err := u.rest(ctx)
		if err != nil || left.Rows() == 0 {
			return err == nil, err
		}
		if !u.sent || looks > 0 && (!u.cfg.Deployment.Replicated || u.waited >= u.cfg.InsertTimeout) {
			if *u.buffer, err = left.AppendTo((*u.buffer)[:0]); err != nil {
				return false, domain.Wrap(domain.Rejected, err, "The rows could not be encoded.")
			}
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(u.pause):
		}
		u.waited += u.pause
		u.pause = min(2*u.pause, u.cfg.MaxBackoff)
	}
}

// insertSettings make an insert synchronous and whole.
func insertSettings() clickhouse.Settings {
	return clickhouse.Settings{
		"async_insert":                  0,
		"distributed_foreground_insert": 1, // on a cluster: the shards have it when we return
		"max_insert_threads":            1,
		"optimize_on_insert":            0, // rows are unique in their batch; merges do the rest
		"input_format_parallel_parsing": 0,
		// Before its first merge, too, a part tells readers what it cannot hold.
		"materialize_statistics_on_insert": 1,
	}
}

// under is the clause by which an insert under a token is done once, and one
// without a token each time. It is text, not a setting of the request: each of
// those that differs from the one before costs the embedded engine a statement.
func under(token string) string {
	if token == "" {
		// Without a token a block is known by its content, and the same content may be
		// written again on purpose. insert_deduplicate = 0 does not keep the store from
		// that: deduplicate_insert, which is on, is above it, and earlier versions lack it.
		token = uuid.NewString()
	}
	return " SETTINGS insert_deduplication_token = '" + token + "'"
}

// exec runs a statement that bears repetition. What it inserts of a SELECT is known
// neither by a token nor by its content; VALUES are known by their content, so that
// the same again writes nothing (see under): whoever uses them says the same only
// where that is as good.
func (s *store) exec(ctx context.Context, what, statement string) error {
	settings := clickhouse.Settings{"max_query_size": maxQueryBytes, "insert_deduplicate": 0, "async_insert": 0}
	if s.cfg.Deployment.Cluster != "" {
		// ON CLUSTER waits for all hosts. One that is down does it when it is back: its
		// replicas have done it, and the stream does not stand still until then.
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

// delete marks rows as gone; readers no longer see them when it returns, but for
// those of hosts of a cluster that do not answer.
func (s *store) delete(ctx context.Context, table, which string) error {
	d := s.cfg.Deployment
	return s.exec(ctx, "delete from "+table, "DELETE FROM "+d.Local(table)+d.OnCluster()+" WHERE "+which+" SETTINGS lightweight_delete_mode = 'lightweight_update'")
}

// query reads all rows of a statement. scan may see rows again when the store
// fails in the middle: begin is called before the first row of each attempt.
func (s *store) query(ctx context.Context, what, statement string, begin func(), scan func(rows driver.Rows) error) error {
	err := s.timed(ctx, what, func(ctx context.Context) error {
		begin()
		rows, err := s.conn.Query(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_query_size": maxQueryBytes})), statement)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // its error is that of rows.Err
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("sink: %s: %w", what, err)
	}
	return nil
}

// read reads rows of one width as RowBinary has them. row is valid during its
// call only; begin is called as in query.
func (s *store) read(ctx context.Context, what, statement string, width int, begin func(), row func([]byte)) error {
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

// timed is retry for what is no insert.
func (s *store) timed(ctx context.Context, what string, attempt func(context.Context) error) error {
	start := s.now()
	defer func() { s.metrics.statementSeconds.WithLabelValues(what).Observe(s.now().Sub(start).Seconds()) }()
	return s.retry(ctx, what, attempt)
}

// retry tries until it works, the store refuses for good, or ctx ends. Between
// attempts it waits, longer each time and never the same, so that the workers
// of a house do not come back in step.
func (s *store) retry(ctx context.Context, what string, attempt func(context.Context) error) error {
	var met error
	for pause := s.cfg.MinBackoff; ; pause = min(2*pause, s.cfg.MaxBackoff) {
		err := s.once(ctx, attempt)
		if met == nil || !errors.Is(err, context.DeadlineExceeded) { // which says less than what an attempt before may have
			met = err
		}
		if err == nil {
			s.metrics.storeUp()
			return nil
		}
		if refused(err) {
			s.metrics.storeUp()
			return domain.Wrap(domain.Rejected, err, "The store refused the rows.")
		}
		s.metrics.storeDown(s.now(), err)
		s.metrics.retries.WithLabelValues(what).Inc()
		jittered := pause/2 + rand.N(pause) //nolint:gosec // spread, no secret
		select {
		case <-ctx.Done():
			return &gaveUpError{met, ctx.Err()}
		case <-time.After(jittered):
		}
	}
}

// gaveUpError is the end of attempts with their context, and what the last met that
// did not just run out of time.
type gaveUpError struct{ met, ended error }

func (e *gaveUpError) Error() string   { return fmt.Sprintf("given up after %v: %v", e.met, e.ended) }
func (e *gaveUpError) Unwrap() []error { return []error{e.met, e.ended} }

// defectError is a defect of ours that some rows show.
type defectError struct{ reason string }

func (e *defectError) Error() string { return "sink: " + e.reason }

// fault is what a failed statement is to be blamed on.
type fault int

const (
	// faultStore is a store that is away, or has too much to do: it says nothing of the statement.
	faultStore fault = iota + 1
	// faultTime is a statement that takes more time than it has; it may have been the moment.
	faultTime
	// faultRows is one that the store cannot do, or refuses, for the rows that it asks for.
	faultRows
)

// answerTimeout bounds the question whether the store answers.
const answerTimeout = 5 * time.Second

// blame tells why a statement failed that may be too much for the store. Memory
// and time are the statement's fault only if the store does others meanwhile.
func (s *store) blame(ctx context.Context, err error) fault {
	if _, ok := errors.AsType[*defectError](err); ok || refused(err) {
		return faultRows
	}
	met := err
	if gave, ok := errors.AsType[*gaveUpError](err); ok {
		met = gave.met
	}
	found := faultStore
	if exception, ok := errors.AsType[*clickhouse.Exception](met); ok {
		found = faultOf(exception.Code)
	} else if errors.Is(met, context.DeadlineExceeded) {
		found = faultTime
	}
	if found == faultStore {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := s.conn.Exec(ctx, "SELECT 1"); err != nil {
		return faultStore
	}
	return found
}

// faultOf sorts the store's exceptions by their codes. Source: ClickHouse ErrorCodes.cpp.
func faultOf(code int32) fault {
	switch code {
	case 159, // TIMEOUT_EXCEEDED
		160: // TOO_SLOW
		return faultTime
	case 49, // LOGICAL_ERROR
		158, // TOO_MANY_ROWS
		173, // CANNOT_ALLOCATE_MEMORY
		191, // SET_SIZE_LIMIT_EXCEEDED
		241, // MEMORY_LIMIT_EXCEEDED
		307, // TOO_MANY_BYTES
		396: // TOO_MANY_ROWS_OR_BYTES
		return faultRows
	default:
		return faultStore
	}
}

// within does what may be too much for the store, and tells so as an error. While
// that is away it waits.
func (s *store) within(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		err := do(bounded)
		cancel()
		if err == nil || ctx.Err() != nil || s.blame(ctx, err) != faultStore {
			return err
		}
	}
}

func (s *store) once(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.InsertTimeout)
	defer cancel()
	return attempt(ctx)
}

// refused tells whether the store will never take these rows, because of what
// they hold: by its exception's code. Everything else (no connection, no
// memory, too many parts, a table that is not as we know it, a code that we do
// not know) may pass or be repaired, so it is tried again: to wait is visible,
// to send the whole stream to the dead topic is not. Source: ClickHouse ErrorCodes.cpp.
func refused(err error) bool {
	exception, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return false
	}
	switch exception.Code {
	case 69, // ARGUMENT_OUT_OF_BOUND
		117, // INCORRECT_DATA
		128, // TOO_LARGE_ARRAY_SIZE
		131, // TOO_LARGE_STRING_SIZE
		321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
		407, // DECIMAL_OVERFLOW
		469, // VIOLATED_CONSTRAINT
		691: // UNKNOWN_ELEMENT_OF_ENUM
		return true
	default:
		return false
	}
}
