// Package tracejson has the one JSON form of spans and of trees of spans, which replies of
// both sides, webhooks and evaluators receive, and the stored JSON of attributes, links,
// events and scopes. The values of attributes are in domain/jsonvalue; the JSON of OTLP
// is in write/otlp/otlpjson.
package tracejson
