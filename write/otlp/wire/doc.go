// Package wire reads and writes OTLP trace messages without protobuf objects:
// it scans a request body into spans by trace, decodes one span into plain Go
// values, and encodes canonical spans. It knows the wire, not what attributes
// mean: conventions are write/semconv's, the schema write/normalize's. The door and the
// sink call it.
package wire
