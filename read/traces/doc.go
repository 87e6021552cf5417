// Package traces reads spans and traces out of ClickHouse: it runs what
// read/statements writes, in windows from the end a list begins with, and gives
// pages of whole spans. It implements the Reader of read/api/spans.
//
// A page is made in two steps, keys first and documents for the page alone.
// Every span comes in its latest version, once, with the cumulative metrics of
// its whole trace. What the core rows cannot decide goes through filter.Match.
// Nothing is cut silently: where a bound of work or memory is met, the answer
// is a shorter page with a cursor, or an error that says what to narrow.
//
// Filters are parsed in domain/filter, bodies in read/api/spans; statistics over
// spans are read/analytics.
package traces
