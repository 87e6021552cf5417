// Package order defines the order of lists: positions in the total order of a
// project's spans, ranges of that order, and the cursors that hold a position on
// the wire. It contains no SQL and no I/O: read/sqltext writes a range as a
// condition. Every package of the read side that compiles, runs or pages a list
// uses it.
package order
