package traces

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/read/statements"
)

// indexFor is how long an answer about the full-text index holds: it may be
// added and dropped under a running service, and a search is right either way.
const indexFor = time.Minute

// indexed is what was last seen of the full-text index.
type indexed struct {
	at    time.Time
	there bool
}

// contentIndexed tells whether documents have their full-text index. Where
// that cannot be told, a search goes without.
func (r *Reader) contentIndexed(ctx context.Context) bool {
	now := r.now()
	if last := r.content.Load(); last != nil && now.Sub(last.at) < indexFor {
		return last.there
	}
	var tables uint64
	err := r.db.Query(ctx, "content_index", statements.FullTextIndexes(), func(rows driver.Rows) error { return rows.Scan(&tables) })
	if err != nil {
		return false
	}
	r.content.Store(&indexed{at: now, there: tables > 0})
	return tables > 0
}
