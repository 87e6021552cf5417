// Package progress reads how far the sink has written: which offsets of the stream are
// visible to reads now, and which were at a snapshot. read/traces waits here for the
// writes of a token, and read/tail for the spans that it may show.
package progress

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/read/clickhouse"
	"colonnade/read/statements"
)

const (
	// MaxAge is how long an answer of ClickHouse counts for all callers that wait, so
	// that a hundred of them cost what one does.
	MaxAge = 75 * time.Millisecond
	// pollInterval is how soon a caller that waits asks whether there is a newer answer.
	pollInterval = 20 * time.Millisecond
	// localFor is how long a caller relies on the sink of this process, at most half of
	// its time: a sink that lost its partition may not have noticed yet.
	localFor = 500 * time.Millisecond
)

// Tracker answers what is visible. It is safe for concurrent use.
type Tracker struct {
	db         *clickhouse.Client
	topic      string
	timeout    time.Duration
	now        func() time.Time
	incomplete prometheus.Counter

	local func() map[int32]int64 // the progress of a sink in this process; nil without one
	// asking holds one token: its holder may ask ClickHouse, and owns last.
	asking chan struct{}
	last   answer

	snapshots snapshots
}

// answer is one answer of ClickHouse about the progress, for all callers that asked
// before it ended and for those that ask within MaxAge. An error counts as well:
// otherwise the callers would wait for ClickHouse to fail one after the other.
type answer struct {
	ended time.Time
	next  map[int32]int64
	err   error
}

// New creates a tracker of a topic. timeout bounds Wait.
func New(db *clickhouse.Client, topic string, timeout time.Duration, now func() time.Time, registerer prometheus.Registerer) (*Tracker, error) {
	t := &Tracker{
		db: db, topic: topic, timeout: timeout, now: now, asking: make(chan struct{}, 1),
		incomplete: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "colonnade_read_incomplete_waits_total", Help: "Reads answered before all writes of their token were visible.",
		}),
	}
	if err := registerer.Register(t.incomplete); err != nil {
		return nil, fmt.Errorf("progress: registering metrics: %w", err)
	}
	return t, nil
}

// UseLocal lets callers that wait ask a sink of this process before they ask
// ClickHouse. progress returns, for each partition that the sink consumes, the offset
// before which everything is visible. It is called before the first read.
func (t *Tracker) UseLocal(progress func() map[int32]int64) { t.local = progress }

// Wait returns when every position of the token is visible, or when its timeout has
// passed; pending are the positions that are not visible yet.
func (t *Tracker) Wait(ctx context.Context, token domain.Token) (pending domain.Token, err error) {
	if len(token) == 0 {
		return nil, nil
	}
	deadline, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	pending = slices.Clone(token)
	asked, relies := t.now(), min(localFor, t.timeout/2)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		var all bool
		pending, all = t.notLocal(pending)
		if len(pending) > 0 && (!all || t.now().Sub(asked) >= relies) {
			asked = t.now()
			next, err := t.Progress(ctx)
			if err != nil {
				return nil, err
			}
			pending = behind(pending, next)
		}
		if len(pending) == 0 {
			return nil, nil
		}
		select {
		case <-ticker.C:
		case <-deadline.Done():
			if err := ctx.Err(); errors.Is(err, context.Canceled) {
				return pending, err
			}
			t.incomplete.Inc()
			return pending, nil
		}
	}
}

// notLocal returns the positions of a token that the sink of this process has not
// passed, and whether it consumes all of their partitions.
func (t *Tracker) notLocal(token domain.Token) (left domain.Token, all bool) {
	if t.local == nil {
		return token, false
	}
	next := t.local()
	left = behind(token, next)
	return left, !slices.ContainsFunc(left, func(p domain.Position) bool { _, ok := next[p.Partition]; return !ok })
}

// behind returns the positions of a token at or after next. It changes the token.
func behind(token domain.Token, next map[int32]int64) domain.Token {
	return slices.DeleteFunc(token, func(p domain.Position) bool { return p.Offset < next[p.Partition] })
}

// Progress returns, for each partition of the stream, the offset before which
// everything is visible. It leaves out partitions of which nothing is visible. The map
// is shared; the caller does not change it.
func (t *Tracker) Progress(ctx context.Context) (map[int32]int64, error) {
	asked := t.now()
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if last := &t.last; last.ended.After(asked) || t.now().Sub(last.ended) < MaxAge {
		return last.next, last.err
	}
	next := map[int32]int64{}
	err := t.db.Query(ctx, "progress", statements.SinkProgress(t.topic), func(rows driver.Rows) error {
		var partition uint32
		var offset uint64
		err := rows.Scan(&partition, &offset)
		next[int32(partition)] = int64(min(offset, math.MaxInt64))
		return err
	})
	if ctx.Err() == nil { // the error of a client that left is its own
		t.last = answer{t.now(), next, err}
	}
	return next, err
}

// A list of traces that a client reads page by page is of one snapshot: the client gets
// each trace once while spans arrive. A snapshot is what the sink had written at a time,
// not what was received: records in flight would count as visible, and their traces
// would be on no page.
const (
	// historyLag is how long before the first page the snapshot lies. It is more than it
	// takes from the time that ClickHouse writes into a row of the history until all
	// readers see that row: a later page must find what the first one did.
	historyLag = 2 * time.Second
	// maxSnapshotAge is how long a snapshot serves new lists: an older one is as good,
	// and costs one statement for all of them.
	maxSnapshotAge = time.Second
	// maxSnapshots bounds the snapshots in memory for lists that go on.
	maxSnapshots = 256
)

// snapshots holds what was visible at the times of lists.
type snapshots struct {
	mu      sync.Mutex // guards what follows
	newest  int64
	read    time.Time // when newest was read
	visible map[int64]statements.Snapshot
}

// Snapshot returns what was visible at a time in Unix milliseconds. For 0 it chooses a
// recent time.
func (t *Tracker) Snapshot(ctx context.Context, at int64) (int64, statements.Snapshot, error) {
	m := &t.snapshots
	m.mu.Lock()
	if at == 0 && t.now().Sub(m.read) < maxSnapshotAge {
		at = m.newest
	}
	visible, known := m.visible[at]
	m.mu.Unlock()
	if known {
		return at, visible, nil
	}
	asked := t.now()
	visible = statements.Snapshot{}
	of := at
	err := t.db.Query(ctx, "history", statements.SinkHistory(t.topic, at, historyLag), func(rows driver.Rows) error {
		var partition uint32
		var next uint64
		err := rows.Scan(&partition, &next, &of)
		visible[partition] = next << schema.VersionShift
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	if of == 0 { // no partition has a history yet
		of = asked.Add(-historyLag).UnixMilli()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.visible) >= maxSnapshots || m.visible == nil {
		m.visible = map[int64]statements.Snapshot{}
	}
	m.visible[of] = visible
	if at == 0 {
		m.newest, m.read = of, asked
	}
	return of, visible, nil
}
