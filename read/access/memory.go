package access

import (
	"sync"
	"time"

	"colonnade/domain"
)

// holder is what a key stands for. The zero holder is "no such key": it
// matches no secret.
type holder struct {
	digest    []byte
	principal domain.Principal
	expires   *time.Time
}

func (h holder) alive(now time.Time) bool {
	return !h.principal.Project.IsZero() && (h.expires == nil || now.Before(*h.expires))
}

// memory keeps recent answers of the store, so that a busy key costs two
// look-ups a second instead of one for each request.
type memory struct {
	mu      sync.RWMutex // guards entries
	entries map[string]entry
	limit   int
}

type entry struct {
	held  holder
	asked time.Time
}

func newMemory(limit int) *memory {
	return &memory{entries: map[string]entry{}, limit: limit}
}

// get gives the answer to a question asked no earlier than since.
func (m *memory) get(prefix string, since time.Time) (holder, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, ok := m.entries[prefix]
	return e.held, ok && e.asked.After(since)
}

// put remembers. A full memory is emptied: entries live half a second, so
// nothing of worth is lost, and a flood of made-up prefixes costs no more than that.
func (m *memory) put(prefix string, held holder, asked time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) >= m.limit {
		clear(m.entries)
	}
	m.entries[prefix] = entry{held: held, asked: asked}
}
