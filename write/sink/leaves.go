package sink

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"colonnade/domain"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// leafColumns are the maps of spans, the number columns, and the tokens of
// attributes; and they collect the keys that are not recorded yet.
type leafColumns struct {
	numbers                         [schema.NumberCount]*native.Fixed
	strKeys, numKeys, boolKeys      *native.Dictionary
	labelKeys, labelValues          *native.Dictionary
	strValues, kvElems              *native.String
	numValues, boolValues           *native.Fixed
	longElems                       *native.Dictionary
	str, label, num, bool, long, kv *native.List
	row                             [schema.NumberCount]float64
	known                           *keySet
	paths                           [kindLong + 1]map[string]*pathInfo
	found                           []foundKey
}

// pathInfo is what is to be done with a path of one kind, found once a batch.
type pathInfo struct {
	// word is its number in the dictionary, labelWord that in the one of label,
	// column that of its number column or -1.
	word, labelWord uint32
	column          int
	// hidden tells that it has a column of its own, indexed that it has tokens,
	// label that it is in label too.
	hidden, indexed, label bool
	// project is the last one that it was looked up for in the keys.
	project domain.ProjectID
}

// foundKey is a key with one of its values.
type foundKey struct {
	attributeKey
	sample string
}

// maxFoundKeys bounds the keys recorded of one batch: a client that makes keys
// of its data must not drown the table. Those left out are found again.
const maxFoundKeys = 10_000

func newLeafColumns(known *keySet) leafColumns {
	c := leafColumns{
		strKeys: native.NewDictionary(), numKeys: native.NewDictionary(), boolKeys: native.NewDictionary(), longElems: native.NewDictionary(),
		labelKeys: native.NewDictionary(), labelValues: native.NewDictionary(),
		strValues: &native.String{}, kvElems: &native.String{}, numValues: native.NewFixed(8), boolValues: native.NewFixed(1), known: known,
	}
	c.str = native.NewList(c.strKeys, c.strValues)
	c.label = native.NewList(c.labelKeys, c.labelValues)
	c.num = native.NewList(c.numKeys, c.numValues)
	c.bool = native.NewList(c.boolKeys, c.boolValues)
	c.long = native.NewList(c.longElems)
	c.kv = native.NewList(c.kvElems)
	for kind := range c.paths {
		c.paths[kind] = map[string]*pathInfo{}
	}
	return c
}

// forget forgets what held for the words of the last batch.
func (c *leafColumns) forget() {
	for kind := range c.paths {
		clear(c.paths[kind])
	}
	c.found = c.found[:0]
}

// append adds the leaves of a row; its tokens are ended by the caller.
func (c *leafColumns) append(project domain.ProjectID, d *document) {
	for i := range c.row {
		c.row[i] = math.NaN() // absent
	}
	for i := range d.leaves {
		l := &d.leaves[i]
		path := d.pathOf(l)
		info := c.paths[l.kind][string(path)]
		if info == nil {
			info = c.learn(l.kind, string(path))
		}
		if info.project != project {
			info.project = project
			c.record(project, string(path), l)
		}
		c.place(info, path, l)
	}
	for i, n := range c.row {
		c.numbers[i].Float64(n)
	}
	c.str.End()
	c.label.End()
	c.num.End()
	c.bool.End()
	c.long.End()
}

func (c *leafColumns) place(info *pathInfo, path []byte, l *leaf) {
	if info.hidden {
		return
	}
	switch l.kind {
	case kindString:
		c.strKeys.AppendWord(info.word)
		c.strValues.Append(l.text)
		if info.label {
			c.labelKeys.AppendWord(info.labelWord)
			c.labelValues.Append(l.text)
		}
		if info.indexed && len(l.text) <= schema.MaxTermValueBytes {
			c.kvElems.AppendToken(path, l.text)
		}
	case kindNumber:
		if info.column >= 0 {
			c.row[info.column] = l.number
			return
		}
		c.numKeys.AppendWord(info.word)
		c.numValues.Float64(l.number)
	case kindBool:
		c.boolKeys.AppendWord(info.word)
		c.boolValues.Bool(l.number != 0)
	default:
		c.longElems.AppendWord(info.word)
	}
}

// learn finds out about a path that is new in this batch.
func (c *leafColumns) learn(kind uint8, path string) *pathInfo {
	info := &pathInfo{column: -1}
	c.paths[kind][path] = info
	switch kind {
	case kindString:
		if info.hidden = path == schema.TraceTypePath || path == schema.SpanTypePath; info.hidden {
			return info
		}
		info.indexed, info.label = schema.Indexed(path), schema.EnumPath(path)
		info.word, _ = c.strKeys.Word(path)
		if info.label {
			info.labelWord, _ = c.labelKeys.Word(path)
		}
	case kindNumber:
		if column, ok := schema.NumberColumn(path); ok {
			names := schema.NumberColumns()
			info.column = slices.Index(names[:], column)
			return info
		}
		info.word, _ = c.numKeys.Word(path)
	case kindBool:
		info.word, _ = c.boolKeys.Word(path)
	default:
		info.word, _ = c.longElems.Word(path)
	}
	return info
}

// record notes a key that the store may not have.
func (c *leafColumns) record(project domain.ProjectID, path string, l *leaf) {
	key := attributeKey{project, path, l.kind}
	if len(path) > maxKeyBytes || len(c.found) >= maxFoundKeys || c.known.has(key) {
		return
	}
	c.found = append(c.found, foundKey{key, sample(l)})
}

// sample is a value as text, bounded.
func sample(l *leaf) string {
	switch l.kind {
	case kindNumber:
		return strconv.FormatFloat(l.number, 'g', -1, 64)
	case kindBool:
		return strconv.FormatBool(l.number != 0)
	case kindString:
		end := min(len(l.text), maxSampleBytes)
		for end > 0 && end < len(l.text) && !utf8.RuneStart(l.text[end]) {
			end--
		}
		return strings.Clone(l.text[:end]) // not to keep a record's memory
	default:
		return ""
	}
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
