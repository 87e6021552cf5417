// Package trace has the nouns of telemetry: ids, spans, links, events, their enums, and
// the tree of a trace. A Span is canonical: semantic conventions are translated, and its
// attributes are nested and conform to the ag schema. The JSON form of spans is in
// tracejson, the sums of a trace in spanmetrics, the stored header of payloads in payload,
// attribute values in domain/jsonvalue; OTLP is in write/otlp, rows are in the sink and in read.
package trace
