// Package wire reads and writes OTLP trace messages without protobuf objects: it scans a
// request body into spans by trace, decodes one span into plain Go values, and encodes
// canonical spans. It knows the encoding alone: write/semconv translates conventions, and
// write/normalize applies the schema.
package wire
