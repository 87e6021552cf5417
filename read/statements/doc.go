// Package statements writes the statements of the read side except statistics:
// scans of a list, lookups of rows by key, by position and by trace, payloads,
// offset blocks, annotations, and the progress of the sink. It is pure: it returns
// text and arguments, and read/traces and read/tail run them.
//
// In every statement the project comes first, then the trace type, the bounds on
// the start, and the bound on the partition, which ClickHouse does not derive from
// the start.
package statements
