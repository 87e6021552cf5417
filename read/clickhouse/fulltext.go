package clickhouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/read/statements"
)

// fullTextFor is how long an answer about the full-text index counts: an operator may
// add or drop it while the service runs, and a search is right either way.
const fullTextFor = time.Minute

// fullText is the last answer about the full-text index.
type fullText struct {
	at     time.Time
	exists bool
}

// HasFullTextIndex reports whether payloads have their full-text index, as of at most a
// minute ago. If ClickHouse does not answer, a search does without the index.
func (c *Client) HasFullTextIndex(ctx context.Context) bool {
	now := c.now()
	if last := c.fullText.Load(); last != nil && now.Sub(last.at) < fullTextFor {
		return last.exists
	}
	var tables uint64
	err := c.Query(ctx, "content_index", statements.FullTextIndexes(), func(rows driver.Rows) error { return rows.Scan(&tables) })
	if err != nil {
		return false
	}
	c.fullText.Store(&fullText{at: now, exists: tables > 0})
	return tables > 0
}
