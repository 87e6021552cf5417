// Package compile turns questions into ClickHouse SQL: a filter tree and a
// window become a Statement of text and arguments, a position in a list
// becomes a cursor and back. It is pure: no driver, no HTTP, no clock;
// read/traces and read/analytics run what it makes.
//
// Two rules hold in every statement. A name or value that came from a caller
// is an argument, never text. The project comes first, then the trace type,
// the time bounds, and the bound on the partition that ClickHouse does not
// derive from them.
//
// Not every condition can be decided by the core row. Each compiles to what
// surely contains its spans and what they surely contain, so that a negation
// is right; where the two differ the statement is not exact, and its rows have
// to pass filter.Match once their documents are there.
package compile
