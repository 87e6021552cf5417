// Package analyticssql writes the statements of statistics: values of spans in
// buckets of time, the rollup of one minute, and the lists of active sessions and
// users. It is pure: it returns text and arguments. read/analytics runs them, and
// decides about the spans that a statement cannot decide.
package analyticssql
