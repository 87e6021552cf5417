// Package payload encodes the header of a span's payloads: the fields that are not
// payloads, stored next to them, so that a trace is read from one table. The payloads
// themselves are JSON, see domain/trace/tracejson. The sink writes headers, read/traces
// parses them.
package payload
