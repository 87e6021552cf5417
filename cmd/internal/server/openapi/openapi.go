// Package openapi describes operations as an OpenAPI document, made from the
// table of routes and the Go types of their bodies, and answers what the
// document says of a place in a request's body. It serves nothing: that is
// cmd/internal/server, its only caller.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"colonnade/domain"
)

// The document describes what the interface, in this version, looks like on
// the wire. Source: interface.md §9.
const (
	openAPIVersion   = "3.1.0"
	interfaceVersion = "2.0"
)

// object is a JSON object; encoding/json writes its keys sorted, so that equal
// tables give equal documents.
type object = map[string]any

// Describe returns the OpenAPI document of the operations, as JSON.
func Describe(operations []domain.Operation) ([]byte, error) {
	schemas := newSchemas()
	paths, tags := object{}, []string{}
	for _, op := range operations {
		path, parameters := pathOf(op.Path)
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		method := strings.ToLower(op.Method)
		if item[method] != nil {
			return nil, fmt.Errorf("openapi: two operations are %s %s", op.Method, path)
		}
		item[method] = operationOf(op, parameters, schemas)
		if !slices.Contains(tags, op.Tag) {
			tags = append(tags, op.Tag)
		}
	}
	slices.Sort(tags)
	named := make([]object, len(tags))
	for i, t := range tags {
		named[i] = object{"name": t}
	}
	schemas.components["Error"] = errorSchema()
	text, err := json.MarshalIndent(object{
		"openapi": openAPIVersion,
		"info": object{
			"title": "Colonnade", "version": interfaceVersion,
			"description": "Spans and traces in, statistics, applications and deployments out. Every route is also served below /api and with or without a trailing slash; most are also served below /preview, deprecated.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []object{{"url": "/"}},
		"tags":       named,
		"paths":      paths,
		"security":   []object{{"key": []string{}}},
		"components": object{"schemas": schemas.components, "responses": failures(), "securitySchemes": securitySchemes()},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("openapi: writing the OpenAPI document: %w", err)
	}
	return append(text, '\n'), nil
}

func securitySchemes() object {
	header := func(text string) object {
		return object{"type": "apiKey", "in": "header", "name": "Authorization", "description": text}
	}
	return object{
		"key":   header("ApiKey <key>. The key fixes the project."),
		"admin": header("Access <administration key>."),
	}
}

// errorSchema is the body of every failure. Source: contract §8.
func errorSchema() object {
	field := object{
		"type": "object", "required": []string{"type", "loc", "msg"},
		"properties": object{
			"type": object{"type": "string"}, "msg": object{"type": "string"}, "input": object{},
			"loc": object{"type": "array", "items": object{"type": []string{"string", "integer"}}},
		},
	}
	return object{
		"type": "object", "required": []string{"detail"},
		"properties": object{"detail": object{"anyOf": []object{{"type": "string"}, {"type": "object"}, {"type": "array", "items": field}}}},
	}
}

// pathOf turns a path of gin's form into OpenAPI's and gives its parameters.
func pathOf(path string) (string, []string) {
	var names []string
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p != "" && (p[0] == ':' || p[0] == '*') {
			names = append(names, p[1:])
			parts[i] = "{" + p[1:] + "}"
		}
	}
	return strings.Join(parts, "/"), names
}

func operationOf(op domain.Operation, path []string, schemas *schemas) object {
	out := object{"summary": op.Summary, "tags": []string{op.Tag}, "operationId": nameOf(op)}
	if op.Deprecated {
		out["deprecated"] = true
	}
	switch op.Permission {
	case domain.Public:
		out["security"] = []object{}
	case domain.Admin:
		out["security"] = []object{{"admin": []string{}}}
	case domain.Authenticated:
	default:
		out["description"] = "Needs the permission " + string(op.Permission) + "."
	}
	parameters := make([]object, 0, len(path)+len(op.Query))
	for _, name := range path {
		parameters = append(parameters, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range op.Query {
		schema := object{"type": q.Type}
		if q.Type == "array" {
			schema["items"] = object{"type": "string"}
		}
		parameters = append(parameters, object{"name": q.Name, "in": "query", "description": q.Doc, "schema": schema})
	}
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	switch {
	case op.Request != nil && len(op.Consumes) > 0:
		out["requestBody"] = object{"required": true, "content": mediaTypes(op.Consumes, object{"schema": schemas.of(op.Request, ofRequest)})}
	case op.Request != nil:
		out["requestBody"] = object{"required": !op.Lazy, "content": content(schemas.of(op.Request, ofRequest))}
	case len(op.Consumes) > 0:
		out["requestBody"] = object{"required": true, "content": mediaTypes(op.Consumes, object{})}
	default:
	}
	out["responses"] = responsesOf(op, schemas)
	return out
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

func mediaTypes(types []string, of object) object {
	out := object{}
	for _, t := range types {
		out[t] = of
	}
	return out
}

func responsesOf(op domain.Operation, schemas *schemas) object {
	status := op.Status
	if status == 0 {
		status = http.StatusOK
	}
	good := object{"description": http.StatusText(status)}
	if op.Response != nil {
		good["content"] = content(schemas.of(op.Response, ofResponse))
	}
	if len(op.Produces) > 0 {
		good["content"] = mediaTypes(op.Produces, object{})
	}
	if op.Stream {
		good["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	}
	failed := func(name string) object { return object{"$ref": "#/components/responses/" + name} }
	out := object{strconv.Itoa(status): good, "default": failed("Failed")}
	if op.Permission != domain.Public {
		out[strconv.Itoa(http.StatusUnauthorized)] = failed("Unauthenticated")
	}
	if op.Permission != domain.Public && op.Permission != domain.Authenticated {
		out[strconv.Itoa(http.StatusForbidden)] = failed("Forbidden")
	}
	if op.Request != nil {
		out[strconv.Itoa(http.StatusUnprocessableEntity)] = failed("Invalid")
	}
	return out
}

// failures are the replies that routes share. Source: contract §8.
func failures() object {
	out := object{}
	for name, text := range map[string]string{
		"Failed":          "What went wrong.",
		"Unauthenticated": "The credential is missing, unknown or expired.",
		"Forbidden":       "The caller lacks the permission.",
		"Invalid":         "The body is of the wrong form; each mistake has its location.",
	} {
		out[name] = object{"description": text, "content": content(object{"$ref": "#/components/schemas/Error"})}
	}
	return out
}

// nameOf names an operation by its verb and its path: get_traces_trace_id.
func nameOf(op domain.Operation) string {
	words := strings.FieldsFunc(op.Path, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.ToLower(op.Method) + "_" + strings.Join(words, "_")
}
