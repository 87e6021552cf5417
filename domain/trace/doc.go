// Package trace holds the nouns of telemetry: ids, spans, links, events, and
// the tree a trace's spans form. A Span is canonical: conventions are already
// translated, attributes are nested and fit the ag schema. Wire formats belong
// to write/otlp, rows to write/sink and read/traces; the one JSON form that
// both wings speak (contract §1.10) is here.
package trace
