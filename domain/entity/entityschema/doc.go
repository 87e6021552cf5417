// Package entityschema describes the bodies of the entity endpoints as JSON Schemas, for the
// OpenAPI document. Those bodies are read member by member under names that are data, so
// no Go type has their form. It decodes nothing: that is domain/entity and domain/request.
// The API packages of both sides call it when they register their routes.
package entityschema
