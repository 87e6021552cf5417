package sink

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// leaves puts the leaves of an attribute tree into the maps and tokens of a
// row, and collects the keys that are not recorded yet.
type leaves struct {
	*spanColumns
	numbers [numberColumns]float64

	known   *keySet
	project domain.ProjectID
	// seen holds, for each kind and word of its dictionary, the last project
	// that it was looked up for: a path costs one lookup a batch.
	seen [kindLong + 1][]domain.ProjectID
	// seenNumbers is seen for the paths of the number columns.
	seenNumbers [numberColumns]domain.ProjectID
	found       []foundKey
	collected   map[attributeKey]bool
}

// foundKey is a key with one of its values.
type foundKey struct {
	attributeKey
	sample string
}

// maxFoundKeys bounds the keys recorded of one batch: a client that makes keys
// of its data must not drown the table. Those left out are found again.
const maxFoundKeys = 10_000

var _ trace.Leaves = (*leaves)(nil)

func (l *leaves) reset() {
	for kind := range l.seen {
		l.seen[kind] = l.seen[kind][:0]
	}
	l.seenNumbers = [numberColumns]domain.ProjectID{}
	l.found = l.found[:0]
	clear(l.collected)
}

// of adds the maps of an entry and its number columns.
func (l *leaves) of(e *entry) {
	l.project = e.key.project
	for i := range l.numbers {
		l.numbers[i] = math.NaN() // absent
	}
	trace.Flatten(e.span.Attributes, l)
	for i, n := range l.numbers {
		l.spanColumns.numbers[i].Float64(n)
	}
	l.str.End()
	l.num.End()
	l.bool.End()
	l.long.End()
}

// Str implements trace.Leaves.
func (l *leaves) Str(path, value string) {
	if path == schema.TraceTypePath || path == schema.SpanTypePath {
		return
	}
	if l.word(l.strKeys, kindString, path) {
		l.record(kindString, path, value)
	}
	l.strValues.Append(value)
	if len(value) <= schema.MaxTokenValueBytes && schema.Indexed(path) {
		l.kvElems.Append3(path, "=", value)
	}
}

// Num implements trace.Leaves.
func (l *leaves) Num(path string, value float64) {
	if column, ok := schema.NumberColumn(path); ok {
		names := numberNames()
		i := slices.Index(names[:], column)
		l.numbers[i] = value
		if l.seenNumbers[i] != l.project {
			l.seenNumbers[i] = l.project
			l.record(kindNumber, path, strconv.FormatFloat(value, 'g', -1, 64))
		}
		return
	}
	if l.word(l.numKeys, kindNumber, path) {
		l.record(kindNumber, path, strconv.FormatFloat(value, 'g', -1, 64))
	}
	l.numValues.Float64(value)
}

// Bool implements trace.Leaves.
func (l *leaves) Bool(path string, value bool) {
	if l.word(l.boolKeys, kindBool, path) {
		l.record(kindBool, path, strconv.FormatBool(value))
	}
	l.boolValues.Bool(value)
}

// Long implements trace.Leaves.
func (l *leaves) Long(path string) {
	if l.word(l.longElems, kindLong, path) {
		l.record(kindLong, path, "")
	}
}

// word adds a path to a dictionary column and tells whether it is to be looked
// up for this project.
func (l *leaves) word(d *native.Dictionary, kind uint8, path string) bool {
	number, isNew := d.Word(path)
	d.AppendWord(number)
	if isNew {
		l.seen[kind] = append(l.seen[kind], l.project)
		return true
	}
	if l.seen[kind][number] == l.project {
		return false
	}
	l.seen[kind][number] = l.project
	return true
}

// record notes a key that the store may not have.
func (l *leaves) record(kind uint8, path, sample string) {
	key := attributeKey{l.project, path, kind}
	if len(path) > maxKeyBytes || len(l.found) >= maxFoundKeys || l.collected[key] || l.known.has(key) {
		return
	}
	if l.collected == nil {
		l.collected = map[attributeKey]bool{}
	}
	l.collected[key] = true
	if len(sample) > maxSampleBytes {
		end := maxSampleBytes
		for end > 0 && !utf8.RuneStart(sample[end]) {
			end--
		}
		sample = sample[:end]
	}
	l.found = append(l.found, foundKey{key, sample})
}

// keyColumns are the rows of the table attribute_keys.
func keyColumns(found []foundKey, seenAt time.Time) *native.Block {
	c := &columns{}
	project := c.fixed("project_id", typeUUID, 16)
	path := c.text("path")
	kind := c.fixed("type", typeEnum, 1)
	sample := c.text("sample")
	seen := c.fixed("seen_at", typeTime, 8)
	for _, k := range found {
		project.UUID(k.project)
		path.Append(k.path)
		kind.Uint8(k.kind)
		sample.Append(k.sample)
		seen.Int64(micros(seenAt))
	}
	return &c.Block
}
