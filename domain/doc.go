// Package domain is the heart of the house: the nouns and rules that both
// wings share. It does no I/O, speaks no protocol, knows no store, logger,
// clock or environment.
//
// Here: errors and their kinds, projects and principals, permissions and
// operations (what a route is, as data), references, windows and pages, and
// the token that orders a read after a write. The nouns of telemetry live in
// domain/trace, their names in domain/semconv, the filter language in
// domain/filter, the lineage of applications in domain/entity.
package domain
