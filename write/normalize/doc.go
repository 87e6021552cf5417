// Package normalize makes canonical spans of a record: it decodes each span,
// un-flattens its attributes, lets write/semconv translate foreign conventions,
// conforms the ag tree to its schema (domain/semconv), parks what does not fit
// under ag.unsupported, and lets write/cost add the metrics. It is pure:
// the same bytes and Meta give the same spans, so a replay writes the same
// rows. It stores nothing; write/sink calls it.
//
// What a client sent is found again in the result. Its place:
//
//   - where the schema has it, under its canonical name (ag.refs becomes
//     ag.references, ag.metrics.unit.tokens ag.metrics.tokens.incremental, ...);
//   - under ag.unsupported at the same path where the schema has no such
//     member or the value is of another type;
//   - under ag.unsupported, its whole dotted name as one key, where another
//     attribute has its place in the tree (a=1 beside a.b=2, a key sent twice);
//   - with a "_" after its last key where something else stands there already.
//
// Dropped, all of it derivable or void: a type that a better one overrules
// (ag.type.span beside ag.type.node, a trace type "unknown"), ag.metrics.acc.duration.total
// and any metric that is computed here, a null in place of a member of ag, the
// object around a lone "__default__" output, and OTLP's trace_state, flags,
// schema URLs and dropped counts.
//
// A translated value never overrides one the client sent, and a span that
// brings an ag object (not dotted keys) is not translated at all: it has been
// fitted before, and fitting it again changes nothing.
package normalize
