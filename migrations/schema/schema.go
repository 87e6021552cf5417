// Package schema names the tables and columns of ClickHouse and says which
// attribute paths have a column of their own. The sink writes and compile
// reads by these names and rules; a name written twice is a bug.
package schema

import (
	"slices"
	"strconv"
	"strings"
)

// The tables. Source: design §4.
const (
	Spans         = "spans"
	SpanDocuments = "span_documents"
	SpanNgrams    = "span_ngrams"
	TraceIndex    = "trace_index"
	TraceRollup   = "trace_rollup"
	AttributeKeys = "attribute_keys"
	Rejects       = "rejects"
	Tombstones    = "tombstones"
	SinkProgress  = "sink_progress"
	SinkHistory   = "sink_history"
	Annotations   = "annotations"
	EvalResults   = "eval_results"
	SpanSums      = "span_sums"
	RollupMinute  = "rollup_minute"
)

// NumberColumn gives the Float64 column of spans that holds the number at an
// attribute path; such a path is never in the map num. NaN there means absent.
func NumberColumn(path string) (column string, ok bool) {
	switch path {
	case "ag.metrics.duration.cumulative":
		return "duration_ms", true
	case "ag.metrics.errors.incremental":
		return "errors", true
	case "ag.metrics.tokens.incremental.prompt":
		return "tokens_prompt", true
	case "ag.metrics.tokens.incremental.completion":
		return "tokens_completion", true
	case "ag.metrics.tokens.incremental.total":
		return "tokens_total", true
	case "ag.metrics.costs.incremental.prompt":
		return "costs_prompt", true
	case "ag.metrics.costs.incremental.completion":
		return "costs_completion", true
	case "ag.metrics.costs.incremental.total":
		return "costs_total", true
	default:
		return "", false
	}
}

// The paths of the two type columns; they are never in the map str.
// span_type_declared tells whether ag.type.span is there at all.
const (
	TraceTypePath = "ag.type.trace"
	SpanTypePath  = "ag.type.span"
)

// Tokens of the column kv. An attribute's token is its path, "=", and its
// value; the others begin with "@", and no path that does has tokens (see
// Indexed): such a token says what it says, whatever attributes a client sends.
const (
	// RefToken is followed by <key>.<id|slug|version>=<value>, and once more without the key: <id|slug|version>=<value>.
	RefToken = "@ref."
	// LinkToken is followed by trace=<32 hex> or span=<16 hex>.
	LinkToken = "@link."
	// HashToken is followed by the hash's UUID.
	HashToken = "@hash="
	// SessionToken, UserToken and AgentToken are followed by the id.
	SessionToken = "@session="
	UserToken    = "@user="
	AgentToken   = "@agent="
)

// MaxTokenValueBytes is the longest string that gets a token; a longer one is found by the maps.
const MaxTokenValueBytes = 128

// ContentIndex is the full-text index of span_documents that a deployment may
// have, and ContentText what it is made of: an expression is found by the index
// only where it is written in the same way.
const (
	ContentIndex = "content_index"
	ContentText  = "lower(text)"
)

// SectionOffsets is how many offsets of a partition make a section: a row of
// span_ngrams says what occurs in the documents of one, some or all of them. Its
// number is an offset divided by it.
const SectionOffsets = 1024

// A row of span_documents tells the lengths of DocumentTexts texts, see
// DocumentText. The first SearchedTexts of them are its column text, one after the
// other; the others begin its column head. Source:
// migrations/clickhouse/0001_schema.sql.
const (
	DocumentTexts = 9
	SearchedTexts = 6
)

// DocumentNames returns their names in their order.
func DocumentNames() [DocumentTexts]string {
	return [...]string{"inputs", "outputs", "parameters", "internals", "events", "attributes", "links", "resource", "scope"}
}

// DocumentText is the expression of one of the texts of a row of span_documents:
// inputs, outputs, parameters, internals, events, attributes, links, resource or
// scope. It is no column of the table: each statement would pay for the nine, used
// or not (migrations/clickhouse/0001_schema.sql). The view span_texts has them, for
// people. It panics for another name.
func DocumentText(name string) string {
	column, before, length := textPlace(name)
	return "substring(" + column + ", " + strings.Join(append([]string{"1"}, before...), " + ") + ", " + length + ")"
}

// BytesBefore is the expression of how many bytes of its column come before a text. It
// panics for a name that DocumentText does not know, and for the first of a column.
func BytesBefore(name string) string {
	_, before, _ := textPlace(name)
	if len(before) == 0 {
		panic("schema: nothing comes before " + name)
	}
	return strings.Join(before, " + ")
}

// textPlace is where a text is: its column, the lengths of those before it there, and its own.
func textPlace(name string) (column string, before []string, length string) {
	names := DocumentNames()
	at := slices.Index(names[:], name)
	if at < 0 {
		panic("schema: span_documents has no text " + name)
	}
	lengthOf := func(i int) string {
		return "reinterpretAsUInt32(substring(lengths, " + strconv.Itoa(1+4*i) + ", 4))"
	}
	column, first := "text", 0
	if at >= SearchedTexts {
		column, first = "head", SearchedTexts
	}
	for i := first; i < at; i++ {
		before = append(before, lengthOf(i))
	}
	return column, before, lengthOf(at)
}

// VersionShift places a stream offset above the index within its record:
// version = offset<<VersionShift | index.
const VersionShift = 20

// RecordShift places a partition of the stream above an offset in it, as
// trace_index.records names records: partition<<RecordShift | offset.
const RecordShift = 64 - VersionShift

// Record is the name of the record in which a version of a span came.
func Record(partition uint32, version uint64) uint64 {
	return uint64(partition)<<RecordShift | version>>VersionShift
}

// Indexed tells whether string leaves at this path get a token in kv. Elements
// of arrays and paths whose values repeat on nearly every span do not: an
// intersection with a token that is everywhere is slower than the map. Nor do
// paths that look like a token of another sort. Source: design §4.
func Indexed(path string) bool {
	return !strings.HasPrefix(path, "@") && !lowCardinality(path) && !hasNumberSegment(path)
}

// Label tells whether string leaves at this path are in the map label as well as
// in str: their values are few, so that all of them together are read in a
// fraction of the time. What holds for a path holds for the elements of an array
// there.
func Label(path string) bool {
	for {
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 || !isNumber(path[dot+1:]) {
			return lowCardinality(path) && !hasNumberSegment(path)
		}
		path = path[:dot]
	}
}

// Leaves is what the index leaf_index has of a row of spans: the keys of its numbers
// and booleans, those of what no map holds, the texts of label, and its names: of
// itself, its agent, service and events.
const Leaves = "arrayConcat(mapKeys(num), mapKeys(bool), long, mapValues(label), event_names, [span_name, agent_id, service])"

// lowCardinality goes by the last key.
func lowCardinality(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "system", "provider", "model", "kind", "role", "type", "format", "finish_reasons", "name", "language", "version", "streaming", "mime_type":
		return true
	default:
		return false
	}
}

func hasNumberSegment(path string) bool {
	for segment := range strings.SplitSeq(path, ".") {
		if isNumber(segment) {
			return true
		}
	}
	return false
}

// isNumber tells whether a key is all digits.
func isNumber(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == ""
}
