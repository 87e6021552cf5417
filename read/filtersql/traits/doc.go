// Package traits reads from a filter tree what holds for the whole filter, without
// SQL: the annotations or evaluators that every match names, and a fingerprint
// that is equal for filters that differ in values only. filtersql calls it, and
// read/statements compiles the lookups of annotations that it finds.
package traits
