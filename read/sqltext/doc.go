// Package sqltext builds the text and the arguments of ClickHouse statements: a
// Writer, the nodes of a WHERE clause, and the conditions that every table of
// spans shares (time ranges, partitions, ids, offset blocks). It is pure: no
// driver, no filter tree, no complete statement. filtersql, statements and
// analyticssql build on it; read/traces and read/analytics run the Statement.
//
// A name or value that came from a caller is always an argument, never text.
package sqltext
