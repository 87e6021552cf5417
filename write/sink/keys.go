package sink

import (
	"container/list"
	"strings"
	"sync"

	"colonnade/write/sink/rows"
)

// maxAttributeKeys bounds the attribute names in memory that attribute_keys already
// has: 100 000 names take about 10 MB. A name beyond it is inserted again.
const maxAttributeKeys = 100_000

// keySet is a cache of the attribute keys that attribute_keys has, so that they are not
// inserted again. It drops the least recently used.
type keySet struct {
	mu    sync.Mutex
	limit int
	known map[rows.AttributeKey]*list.Element
	order *list.List // of attributeKey, the latest used in front
}

func newKeySet(limit int) *keySet {
	return &keySet{limit: limit, known: map[rows.AttributeKey]*list.Element{}, order: list.New()}
}

// has reports whether the set has a key.
func (k *keySet) has(key rows.AttributeKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.known[key]
	if ok {
		k.order.MoveToFront(e)
	}
	return ok
}

// add adds keys that are stored.
func (k *keySet) add(keys []rows.AttributeKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if _, ok := k.known[key]; ok {
			continue
		}
		key.Path = strings.Clone(key.Path) // not to keep a record's memory
		k.known[key] = k.order.PushFront(key)
		if k.order.Len() > k.limit {
			last := k.order.Back()
			k.order.Remove(last)
			if old, ok := last.Value.(rows.AttributeKey); ok {
				delete(k.known, old)
			}
		}
	}
}
