package traces

import (
	"context"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/migrations/schema"
	"colonnade/read/statements"
)

// A list of traces that is walked page by page is that of one moment: who walks it sees
// each trace that was there then once, whatever comes meanwhile. Which rows were is a
// question of what the sink had written, not of when spans were received: those on
// their way would count as seen, and their traces come on no page.
//
// The moment lies historyLag before the first page. What was written since is on
// pages, too, but does not tell where a trace stands.

const (
	// historyLag is more than it takes from when the store stamps a row of the history
	// until all readers see it: a later page must know of a moment what the first did.
	historyLag = 2 * time.Second
	// momentAge is how long a moment does for new walks: an earlier one is as good, and
	// costs one statement for all of them.
	momentAge = time.Second
	// maxMoments bounds those that are remembered for walks that go on.
	maxMoments = 256
)

// moments remembers what readers saw at which.
type moments struct {
	mu     sync.Mutex // guards what follows
	newest int64
	read   time.Time // when newest was
	seen   map[int64]statements.Snapshot
}

// moment gives what readers saw at a moment, Unix milliseconds, and at one of late for 0.
func (r *Reader) moment(ctx context.Context, at int64) (int64, statements.Snapshot, error) {
	m := &r.moments
	m.mu.Lock()
	if at == 0 && r.now().Sub(m.read) < momentAge {
		at = m.newest
	}
	seen, known := m.seen[at]
	m.mu.Unlock()
	if known {
		return at, seen, nil
	}
	asked := r.now()
	seen = statements.Snapshot{}
	of := at
	err := r.db.Query(ctx, "history", statements.SinkHistory(r.cfg.Topic, at, historyLag), func(rows driver.Rows) error {
		var partition uint32
		var next uint64
		err := rows.Scan(&partition, &next, &of)
		seen[partition] = next << schema.VersionShift
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	if of == 0 { // nothing is known of any partition
		of = asked.Add(-historyLag).UnixMilli()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) >= maxMoments || m.seen == nil {
		m.seen = map[int64]statements.Snapshot{}
	}
	m.seen[of] = seen
	if at == 0 {
		m.newest, m.read = of, asked
	}
	return of, seen, nil
}
