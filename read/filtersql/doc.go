// Package filtersql compiles a filter tree to a Condition on the rows of spans. It
// writes conditions only: read/statements and read/analyticssql put them into
// statements, and read/traces asks it what a filter needs. It is pure.
//
// The row of a span does not decide every condition. Each one compiles to a
// superset and a subset of its matches, so that a negation is right. Where the two
// differ the Condition is not exact, and filter.Match decides about its rows when
// their payloads are there.
package filtersql
