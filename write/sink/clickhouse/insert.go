package clickhouse

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/write/sink/internal/native"
)

// largeBlock is the size in bytes from which a block is encoded into a pooled buffer.
// Small blocks do not use the pool, because the next large one would have to grow
// their buffer.
const largeBlock = 1 << 20

// Insertion is a block that is to be inserted into a table.
type Insertion struct {
	Table string
	Block *native.Block
	// Token names the rows: a block under a token that ClickHouse has writes nothing,
	// whatever the block holds. Without a token each attempt writes it.
	Token string
	// PossiblyDuplicate reports that an earlier attempt may have written rows.
	PossiblyDuplicate bool
	// Missing returns the rows that the table does not have. It is nil if a row may be
	// there twice, because merges make one of equal versions.
	Missing func(context.Context) (*native.Block, error)
}

// Insert writes a block and returns when ClickHouse has it and shows it. The files may
// still be in the system's memory: fsync_after_insert is the server's setting. An
// error of kind Rejected or Invalid means that ClickHouse will never take this block.
//
// The token decides only for the first attempt. A ClickHouse that is killed during an
// insert may keep the token without the rows, and would ignore the rows under that
// token from then on; it may also keep the rows without the token. So each further
// attempt checks which rows are missing and inserts those, until a check finds none
// missing. These inserts have tokens too, first the block's own, then others derived
// from it, so that two owners who insert at the same time insert once. A check that
// does not find the rows of the last insert may have been answered by a replica that
// is behind; another insert would then store them twice. So the next token waits,
// longer each time, and on replicas, which have no token without its rows, as long as
// an insert may take.
func (s *DB) Insert(ctx context.Context, in Insertion) error {
	if in.Block.Rows() == 0 {
		return nil
	}
	buffer := new([]byte)
	if in.Block.Size() >= largeBlock {
		buffer, _ = s.buffers.Get().(*[]byte)
		defer s.buffers.Put(buffer)
	}
	var err error
	if *buffer, err = in.Block.AppendTo((*buffer)[:0]); err != nil {
		return domain.Wrap(domain.Rejected, err, "The rows could not be encoded.")
	}
	statement := "INSERT INTO " + s.cfg.Deployment.Table(in.Table) + " (" + strings.Join(in.Block.Names(), ", ") + ")"
	start := s.now()
	u := insertAttempt{DB: s, Insertion: &in, buffer: buffer, statement: statement, pause: s.cfg.MinBackoff}
	err = s.retry(ctx, in.Table, u.attempt)
	if err != nil {
		return fmt.Errorf("sink: insert %d rows into %s: %w", in.Block.Rows(), in.Table, err)
	}
	s.metrics.insertSeconds.WithLabelValues(in.Table).Observe(s.now().Sub(start).Seconds())
	s.metrics.insertBytes.WithLabelValues(in.Table).Add(float64(len(*buffer)))
	s.metrics.insertRows.WithLabelValues(in.Table).Add(float64(in.Block.Rows()))
	return nil
}

// insertAttempt is an insertion and the state of its attempts.
type insertAttempt struct {
	*DB
	*Insertion
	// buffer holds the rows that are to be inserted next.
	buffer    *[]byte
	statement string
	// tokens counts the tokens that ClickHouse took, sent reports that it took the last.
	tokens int
	sent   bool
	// waited is for how long checks did not find the rows of the last token, pause the
	// time before the next check.
	waited, pause time.Duration
}

// attempt inserts the missing rows until none is missing.
func (u *insertAttempt) attempt(ctx context.Context) error {
	for {
		token := u.Token
		switch {
		case !u.PossiblyDuplicate:
		case u.Missing == nil:
			token = ""
		default:
			done, err := u.findMissing(ctx)
			if done || err != nil {
				return err
			}
			if u.tokens > 0 {
				token += "#" + strconv.Itoa(u.tokens)
			}
		}
		err := u.conn.InsertFormat(clickhouse.Context(ctx, clickhouse.WithSettings(insertSettings())), "Native", u.statement+withToken(token), bytes.NewReader(*u.buffer))
		if err == nil && (!u.PossiblyDuplicate || u.Missing == nil) {
			return nil
		}
		if u.PossiblyDuplicate = true; err != nil {
			return err
		}
		u.tokens++
		u.sent, u.waited = true, 0
	}
}

// findMissing encodes the rows that are missing and reports whether there are none.
// It waits for rows that were just inserted.
func (u *insertAttempt) findMissing(ctx context.Context) (done bool, err error) {
	for checks := 0; ; checks++ {
		left, err := u.Missing(ctx)
		if err != nil || left.Rows() == 0 {
			return err == nil, err
		}
		if !u.sent || checks > 0 && (!u.cfg.Deployment.Replicated || u.waited >= u.cfg.InsertTimeout) {
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

// insertSettings returns the settings that make an insert synchronous and whole.
func insertSettings() clickhouse.Settings {
	return clickhouse.Settings{
		"async_insert":                  0,
		"distributed_foreground_insert": 1, // on a cluster: the shards have it when we return
		"max_insert_threads":            1,
		"optimize_on_insert":            0, // rows are unique in their batch; merges do the rest
		"input_format_parallel_parsing": 0,
		// A part has statistics before its first merge, so that readers can skip it.
		"materialize_statistics_on_insert": 1,
	}
}

// withToken returns the clause by which an insert under a token is done once, and an
// insert without a token each time. It is part of the statement, because a setting of
// the request that differs from the last one costs the embedded engine a statement.
func withToken(token string) string {
	if token == "" {
		// Without a token ClickHouse deduplicates a block by its content, and the same
		// content may be written again on purpose. insert_deduplicate = 0 does not prevent
		// that: deduplicate_insert, which is on, overrides it, and earlier versions lack it.
		token = uuid.NewString()
	}
	return " SETTINGS insert_deduplication_token = '" + token + "'"
}
