// Package schema names the tables and columns of ClickHouse and says which
// attribute paths have a column of their own. The sink writes and compile
// reads by these names and rules; a name written twice is a bug.
package schema

import (
	"slices"
	"strconv"
	"strings"
)

// The tables.
const (
	Spans             = "spans"
	SpanPayloads      = "span_payloads_packed" // the view span_payloads shows them to people
	SpanPayloadNgrams = "span_payload_ngrams"
	SpanCumulative    = "span_cumulative"
	TraceIndex        = "trace_index"
	TraceTotals       = "trace_totals"
	TraceMetrics1m    = "trace_metrics_1m"
	RollupWatermark   = "rollup_watermark"
	AnnotationIndex   = "annotation_index"
	EvaluationIndex   = "evaluation_index"
	RunResults        = "run_results"
	AttributeKeys     = "attribute_keys"
	RejectedSpans     = "rejected_spans"
	Tombstones        = "tombstones"
	SinkProgress      = "sink_progress"
	SinkHistory       = "sink_history"
)

// The paths of the two type columns; they are never in the map attributes_string.
// span_type_declared tells whether ag.type.span is there at all.
const (
	TraceTypePath = "ag.type.trace"
	SpanTypePath  = "ag.type.span"
)

// Terms of the column search_terms. The term of an attribute is its path, "=" and its
// value. The others begin with "@", and no path that does has terms (see Indexed), so
// that no attribute of a client can look like one.
const (
	// RefTerm is followed by <key>.<id|slug|version>=<value>, and once more without the key: <id|slug|version>=<value>.
	RefTerm = "@ref."
	// LinkTerm is followed by trace=<32 hex> or span=<16 hex>.
	LinkTerm = "@link."
	// HashTerm is followed by the hash's UUID.
	HashTerm = "@hash="
	// SessionTerm, UserTerm and AgentTerm are followed by the id.
	SessionTerm = "@session="
	UserTerm    = "@user="
	AgentTerm   = "@agent="
)

// MaxTermValueBytes is the longest string that gets a term; a longer one is found by the maps.
const MaxTermValueBytes = 128

// ContentIndex is the full-text index of span_payloads_packed that a deployment may
// have, and ContentText what it is made of: an expression is found by the index
// only where it is written in the same way.
const (
	ContentIndex = "content_index"
	ContentText  = "lower(text)"
)

// BlockOffsets is how many offsets of a partition make a section: a row of
// span_payload_ngrams says what occurs in the documents of one, some or all of them. Its
// number is an offset divided by it.
const BlockOffsets = 1024

// A row of span_payloads_packed tells the lengths of PayloadCount texts, see
// PayloadExpression. The first SearchedPayloads of them are its column text, one after the
// other; the others begin its column head. Source:
// migrations/clickhouse/0001_schema.sql.
const (
	PayloadCount     = 9
	SearchedPayloads = 6
)

// PayloadNames returns their names in their order.
func PayloadNames() [PayloadCount]string {
	return [...]string{"inputs", "outputs", "parameters", "internals", "events", "attributes", "links", "resource", "scope"}
}

// PayloadExpression is the expression of one of the texts of a row of span_payloads_packed:
// inputs, outputs, parameters, internals, events, attributes, links, resource or
// scope. It is no column of the table: each statement would pay for the nine, used
// or not (migrations/clickhouse/0001_schema.sql). The view span_payloads has them, for
// people. It panics for another name.
func PayloadExpression(name string) string {
	column, before, length := textPlace(name)
	return "substring(" + column + ", " + strings.Join(append([]string{"1"}, before...), " + ") + ", " + length + ")"
}

// BytesBefore is the expression of how many bytes of its column come before a text. It
// panics for a name that PayloadExpression does not know, and for the first of a column.
func BytesBefore(name string) string {
	_, before, _ := textPlace(name)
	if len(before) == 0 {
		panic("schema: nothing comes before " + name)
	}
	return strings.Join(before, " + ")
}

// ExpiringBytes is how many bytes of lengths are those of the payloads before the attributes,
// which retention empties: inputs, outputs, parameters, internals and events.
const ExpiringBytes = 5 * 4

// NoLengths is the expression of the lengths of payloads that are empty.
func NoLengths() string { return "unhex('" + strings.Repeat("00", ExpiringBytes) + "')" }

// HasPayloads is the condition that a row of span_payloads_packed has payloads which
// retention would empty.
func HasPayloads() string {
	return "substring(lengths, 1, " + strconv.Itoa(ExpiringBytes) + ") != " + NoLengths()
}

// textPlace is where a text is: its column, the lengths of those before it there, and its own.
func textPlace(name string) (column string, before []string, length string) {
	names := PayloadNames()
	at := slices.Index(names[:], name)
	if at < 0 {
		panic("schema: span_payloads_packed has no text " + name)
	}
	lengthOf := func(i int) string {
		return "reinterpretAsUInt32(substring(lengths, " + strconv.Itoa(1+4*i) + ", 4))"
	}
	column, first := "text", 0
	if at >= SearchedPayloads {
		column, first = "head", SearchedPayloads
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

// EnumPath tells whether string leaves at this path are in the map label as well as
// in str: their values are few, so that all of them together are read in a
// fraction of the time. What holds for a path holds for the elements of an array
// there.
func EnumPath(path string) bool {
	for {
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 || !isNumber(path[dot+1:]) {
			return lowCardinality(path) && !hasNumberSegment(path)
		}
		path = path[:dot]
	}
}

// AttributeValues is what the index attribute_value_index has of a row of spans: the keys of its numbers
// and booleans, those of what no map holds, the texts of label, and its names: of
// itself, its agent, service and events.
const AttributeValues = "arrayConcat(mapKeys(attributes_number), mapKeys(attributes_bool), attributes_unindexed, mapValues(attributes_enum), event_names, [span_name, agent_id, service])"

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
