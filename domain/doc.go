// Package domain has the nouns and rules that the write side and the read side share: errors and
// their kinds, projects and principals, permissions and operations (routes as data), references,
// windows and pages, and the token that orders a read after a write. It does no I/O and knows no
// protocol, database, logger, clock or environment.
//
// The nouns of telemetry are in domain/trace, their attribute names in domain/semconv, filters in
// domain/filter, entities with versions in domain/entity.
package domain
