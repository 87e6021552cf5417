package rows

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

// attributeColumns holds the columns of spans that attributes fill: the maps, the
// number columns and the search terms. It collects the keys that attribute_keys may
// not have.
type attributeColumns struct {
	numbers                                                        [schema.NumberCount]*native.Fixed
	stringKeys, numberKeys, boolKeys                               *native.Dictionary
	enumKeys, enumValues                                           *native.Dictionary
	stringValues, termElems                                        *native.String
	numberValues, boolValues                                       *native.Fixed
	unindexedElems                                                 *native.Dictionary
	stringMap, enumMap, numberMap, boolMap, unindexed, searchTerms *native.List
	LastNumbers                                                    [schema.NumberCount]float64
	// recorded reports whether attribute_keys has a key already.
	recorded  func(AttributeKey) bool
	paths     [KindUnindexed + 1]map[string]*pathInfo
	FoundKeys []FoundKey
}

// pathInfo is where the values of a path of one kind go; it is computed once a batch.
type pathInfo struct {
	// word is the path's number in the dictionary of its map, enumWord that in the
	// dictionary of enumMap, column the index of its number column or -1.
	word, enumWord uint32
	column         int
	// hidden reports that the path has a typed column, indexed that its values are
	// search terms, enum that enumMap has it too.
	hidden, indexed, enum bool
	// project is the last project for which its key was noted.
	project domain.ProjectID
}

// AttributeKey is a path of a project's attributes and the kind of its values.
type AttributeKey struct {
	project domain.ProjectID
	Path    string
	kind    uint8
}

// The kinds of attribute_keys.type.
const (
	KindString    = 1
	KindNumber    = 2
	KindBool      = 3
	KindUnindexed = 4
)

// maxKeyBytes is the length of the longest path recorded: longer ones are data that
// a client used as a name.
const maxKeyBytes = 256

// maxSampleBytes is the length of the longest sample.
const maxSampleBytes = 100

// FoundKey is a key with one of its values.
type FoundKey struct {
	AttributeKey
	sample string
}

// maxFoundKeys bounds the keys that one batch records, because a client may use data
// as keys. A key that is left out is recorded with a later batch.
const maxFoundKeys = 10_000

func newAttributeColumns(recorded func(AttributeKey) bool) attributeColumns {
	c := attributeColumns{
		stringKeys: native.NewDictionary(), numberKeys: native.NewDictionary(), boolKeys: native.NewDictionary(), unindexedElems: native.NewDictionary(),
		enumKeys: native.NewDictionary(), enumValues: native.NewDictionary(),
		stringValues: &native.String{}, termElems: &native.String{}, numberValues: native.NewFixed(8), boolValues: native.NewFixed(1), recorded: recorded,
	}
	c.stringMap = native.NewList(c.stringKeys, c.stringValues)
	c.enumMap = native.NewList(c.enumKeys, c.enumValues)
	c.numberMap = native.NewList(c.numberKeys, c.numberValues)
	c.boolMap = native.NewList(c.boolKeys, c.boolValues)
	c.unindexed = native.NewList(c.unindexedElems)
	c.searchTerms = native.NewList(c.termElems)
	for kind := range c.paths {
		c.paths[kind] = map[string]*pathInfo{}
	}
	return c
}

// forgetPaths removes the paths of the last batch, whose dictionaries are empty now.
func (c *attributeColumns) forgetPaths() {
	for kind := range c.paths {
		clear(c.paths[kind])
	}
	c.FoundKeys = c.FoundKeys[:0]
}

// append adds the attributes of a span; the caller ends the row of search terms.
func (c *attributeColumns) append(project domain.ProjectID, d *Content) {
	for i := range c.LastNumbers {
		c.LastNumbers[i] = math.NaN() // absent
	}
	for i := range d.attributes {
		l := &d.attributes[i]
		path := d.pathOf(l)
		info := c.paths[l.kind][string(path)]
		if info == nil {
			info = c.resolve(l.kind, string(path))
		}
		if info.project != project {
			info.project = project
			c.noteKey(project, string(path), l)
		}
		c.write(info, path, l)
	}
	for i, n := range c.LastNumbers {
		c.numbers[i].Float64(n)
	}
	c.stringMap.End()
	c.enumMap.End()
	c.numberMap.End()
	c.boolMap.End()
	c.unindexed.End()
}

// write adds an attribute value to the columns of its path.
func (c *attributeColumns) write(info *pathInfo, path []byte, l *attribute) {
	if info.hidden {
		return
	}
	switch l.kind {
	case KindString:
		c.stringKeys.AppendWord(info.word)
		c.stringValues.Append(l.text)
		if info.enum {
			c.enumKeys.AppendWord(info.enumWord)
			c.enumValues.Append(l.text)
		}
		if info.indexed && len(l.text) <= schema.MaxTermValueBytes {
			c.termElems.AppendToken(path, l.text)
		}
	case KindNumber:
		if info.column >= 0 {
			c.LastNumbers[info.column] = l.number
			return
		}
		c.numberKeys.AppendWord(info.word)
		c.numberValues.Float64(l.number)
	case KindBool:
		c.boolKeys.AppendWord(info.word)
		c.boolValues.Bool(l.number != 0)
	default:
		c.unindexedElems.AppendWord(info.word)
	}
}

// resolve computes where the values of a path go that is new in this batch.
func (c *attributeColumns) resolve(kind uint8, path string) *pathInfo {
	info := &pathInfo{column: -1}
	c.paths[kind][path] = info
	switch kind {
	case KindString:
		if info.hidden = path == schema.TraceTypePath || path == schema.SpanTypePath; info.hidden {
			return info
		}
		info.indexed, info.enum = schema.Indexed(path), schema.EnumPath(path)
		info.word, _ = c.stringKeys.Word(path)
		if info.enum {
			info.enumWord, _ = c.enumKeys.Word(path)
		}
	case KindNumber:
		if column, ok := schema.NumberColumn(path); ok {
			names := schema.NumberColumns()
			info.column = slices.Index(names[:], column)
			return info
		}
		info.word, _ = c.numberKeys.Word(path)
	case KindBool:
		info.word, _ = c.boolKeys.Word(path)
	default:
		info.word, _ = c.unindexedElems.Word(path)
	}
	return info
}

// noteKey notes a key that attribute_keys may not have.
func (c *attributeColumns) noteKey(project domain.ProjectID, path string, l *attribute) {
	key := AttributeKey{project, path, l.kind}
	if len(path) > maxKeyBytes || len(c.FoundKeys) >= maxFoundKeys || c.recorded(key) {
		return
	}
	c.FoundKeys = append(c.FoundKeys, FoundKey{key, sample(l)})
}

// sample returns a value as text of bounded length.
func sample(l *attribute) string {
	switch l.kind {
	case KindNumber:
		return strconv.FormatFloat(l.number, 'g', -1, 64)
	case KindBool:
		return strconv.FormatBool(l.number != 0)
	case KindString:
		end := min(len(l.text), maxSampleBytes)
		for end > 0 && end < len(l.text) && !utf8.RuneStart(l.text[end]) {
			end--
		}
		return strings.Clone(l.text[:end]) // so that it does not keep the record in memory
	default:
		return ""
	}
}

// AttributeKeys returns the rows of the table attribute_keys.
func AttributeKeys(found []FoundKey, seenAt time.Time) *native.Block {
	c := &Columns{}
	project := c.Fixed("project_id", TypeUUID, 16)
	path := c.Text("path")
	kind := c.Fixed("type", TypeEnum, 1)
	sample := c.Text("sample")
	seen := c.Fixed("seen_at", TypeTime, 8)
	for _, k := range found {
		project.UUID(k.project)
		path.Append(k.Path)
		kind.Uint8(k.kind)
		sample.Append(k.sample)
		seen.Int64(Micros(seenAt))
	}
	return &c.Block
}
