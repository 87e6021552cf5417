// Package jsonvalue parses and writes attribute values as canonical JSON: equal
// values have equal bytes. It also finds values by path, keeps parts of a tree
// unparsed (Raw) until a caller reads them, and scans JSON without building values.
// Spans and their wire form are in domain/trace and domain/trace/tracejson; the
// bodies of requests are in domain/request. Callers are normalization, the sink,
// the readers of stored spans and the filters.
//
// A value is nil, bool, int64, float64 (finite), string, []any or map[string]any,
// so a whole number is not a float. Trees may also contain Raw and other Lazy values.
package jsonvalue
