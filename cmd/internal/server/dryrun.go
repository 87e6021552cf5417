package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/request"
)

// dryRun is the member and the parameter that asks for a rehearsal. A caller
// who sends it expects that nothing changes, so an operation that does not
// know it must refuse it rather than ignore it. Source: contract §0 row 52.
const dryRun = "dry_run"

const (
	// maxUnreadBody bounds the body of a request whose operation has none. It is
	// read only to look for dry_run.
	maxUnreadBody = 1 << 20
	// maxBodyDepth is beyond what any request decoder accepts.
	maxBodyDepth = 128
)

// refuseDryRun returns the error of a request that asks an operation for a
// rehearsal it does not know. Where the operation has a JSON body, the error
// comes at the end of that body, from the reader that the handler reads: what
// is read stays within the bounds of memory that the handler has put around it.
func refuseDryRun(c *gin.Context, op domain.Operation, schema func() (bodySchema, error)) error {
	declared := slices.ContainsFunc(op.Query, func(p domain.Parameter) bool { return p.Name == dryRun })
	if c.Request.URL.Query().Has(dryRun) && !declared {
		return request.Invalid("extra_forbidden", "Extra inputs are not permitted", c.Query(dryRun), "query", dryRun)
	}
	if len(op.Consumes) > 0 || c.Request.ContentLength == 0 {
		return nil // OTLP has no such member, and forms refuse all fields they do not know
	}
	if op.Request != nil {
		c.Request.Body = &dryRunReader{ReadCloser: c.Request.Body, schema: schema}
		return nil
	}
	c.Request.Body = &dryRunReader{ReadCloser: http.MaxBytesReader(c.Writer, c.Request.Body, maxUnreadBody), schema: schema}
	read, err := io.ReadAll(c.Request.Body)
	c.Request.Body = io.NopCloser(bytes.NewReader(read))
	return err
}

// dryRunReader fails at the end of a body that asks for an unknown rehearsal.
type dryRunReader struct {
	io.ReadCloser
	schema func() (bodySchema, error)
	read   []byte
}

// Read returns the body's bytes and, instead of io.EOF, what is wrong with them.
func (r *dryRunReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.read = append(r.read, p[:n]...)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	read := r.read
	r.read = nil
	if !mentionsDryRun(read) {
		return n, err
	}
	schema, failed := r.schema()
	if failed != nil {
		return n, failed
	}
	if failed := schema.checkDryRun(read); failed != nil {
		return n, failed
	}
	return n, err
}

// mentionsDryRun reports whether the name can be in a JSON text, written
// directly or with escapes. Most bodies are passed after this one scan.
func mentionsDryRun(text []byte) bool {
	if bytes.Contains(text, []byte(dryRun)) {
		return true
	}
	if !bytes.Contains(text, []byte(`\u00`)) {
		return false
	}
	for _, escape := range []string{`\u0064`, `\u0072`, `\u0079`, `\u005f`, `\u005F`, `\u0075`, `\u006e`, `\u006E`} {
		if bytes.Contains(text, []byte(escape)) {
			return true
		}
	}
	return false
}

// bodySchema is what the OpenAPI document says of an operation's body. It
// tells members of the interface from data of the caller, in which dry_run is
// a name like any other (an argument of a recorded tool call).
type bodySchema struct {
	root       any
	components map[string]any
}

// schemaOf returns a function that makes an operation's schema when it is first needed.
func schemaOf(op domain.Operation) func() (bodySchema, error) {
	return sync.OnceValues(func() (bodySchema, error) {
		if op.Request == nil {
			return bodySchema{}, nil
		}
		made := newSchemas()
		root := made.of(op.Request, ofRequest)
		text, err := json.Marshal(object{"root": root, "components": made.components})
		if err != nil {
			return bodySchema{}, err
		}
		var s struct {
			Root       any
			Components map[string]any
		}
		err = json.Unmarshal(text, &s)
		return bodySchema{s.Root, s.Components}, err
	})
}

// bodyNode is what the schema says of one value: it is data of the caller, or
// it has one of the alternatives. Without either, it is not described at all.
type bodyNode struct {
	data         bool
	alternatives []map[string]any
}

const componentPrefix = "#/components/schemas/"

// resolve adds a schema to a node, following references and alternatives.
func (s bodySchema) resolve(schema any, to *bodyNode) {
	of, ok := schema.(map[string]any)
	if !ok || len(of) == 0 {
		to.data = true
		return
	}
	if ref, ok := of["$ref"].(string); ok {
		s.resolve(s.components[ref[len(componentPrefix):]], to)
		return
	}
	nested := false
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := of[word].([]any)
		for _, e := range list {
			nested = true
			s.resolve(e, to)
		}
	}
	if nested {
		return
	}
	_, properties := of["properties"]
	extra, given := of["additionalProperties"]
	if mayBeObject(of["type"]) && !properties && !given || extra == true {
		to.data = true
		return
	}
	to.alternatives = append(to.alternatives, of)
}

func mayBeObject(types any) bool {
	list, _ := types.([]any)
	return types == "object" || slices.Contains(list, any("object"))
}

// member returns the node of a member and whether the schema names it.
func (s bodySchema) member(of bodyNode, name string) (bodyNode, bool) {
	var node bodyNode
	known := false
	for _, schema := range of.alternatives {
		properties, _ := schema["properties"].(map[string]any)
		inner, ok := properties[name]
		if !ok {
			inner, ok = schema["additionalProperties"].(map[string]any)
		}
		if ok {
			known = true
			s.resolve(inner, &node)
		}
	}
	return node, known
}

// element returns the node of a list's elements. Where a described value is
// sent as a list although it is none, the decoder of the handler decides.
func (s bodySchema) element(of bodyNode) bodyNode {
	node, listed := bodyNode{}, false
	for _, schema := range of.alternatives {
		if items, ok := schema["items"]; ok {
			listed = true
			s.resolve(items, &node)
		}
	}
	node.data = node.data || !listed && len(of.alternatives) > 0
	return node
}

// checkDryRun returns the error of a body that has dry_run where the schema
// does not name it. A member that is there twice is an error as well: the
// decoder would keep the last one, which may be the one without dry_run.
func (s bodySchema) checkDryRun(text []byte) error {
	c := dryRunCheck{schema: s, dec: json.NewDecoder(bytes.NewReader(text))}
	c.dec.UseNumber()
	var root bodyNode
	if s.root != nil {
		s.resolve(s.root, &root)
	}
	if err := c.value(root, []any{"body"}); err != nil {
		return err
	}
	if _, err := c.dec.Token(); !errors.Is(err, io.EOF) {
		return c.malformed()
	}
	return nil
}

type dryRunCheck struct {
	schema bodySchema
	dec    *json.Decoder
}

func (c dryRunCheck) value(node bodyNode, loc []any) error {
	if node.data {
		return c.skip()
	}
	if len(loc) > maxBodyDepth {
		return request.Invalid("recursion_loop", "The value is nested too deeply", nil, loc...)
	}
	token, err := c.dec.Token()
	if err != nil {
		return c.malformed()
	}
	switch token {
	case json.Delim('{'):
		return c.object(node, loc)
	case json.Delim('['):
		inner := c.schema.element(node)
		for i := 0; c.dec.More(); i++ {
			if err := c.value(inner, append(slices.Clip(loc), i)); err != nil {
				return err
			}
		}
		return c.close()
	default:
		return nil
	}
}

func (c dryRunCheck) object(node bodyNode, loc []any) error {
	seen := map[string]bool{}
	for c.dec.More() {
		token, err := c.dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return c.malformed()
		}
		at := append(slices.Clip(loc), name)
		inner, known := c.schema.member(node, name)
		switch {
		case name == dryRun && !known:
			return request.Invalid("extra_forbidden", "Extra inputs are not permitted", nil, at...)
		case seen[name]:
			return request.Invalid("json_invalid", "The member "+name+" is there twice", nil, at...)
		}
		seen[name] = true
		if err := c.value(inner, at); err != nil {
			return err
		}
	}
	return c.close()
}

// skip passes one value without recursion: data of the caller may be as deep as it likes.
func (c dryRunCheck) skip() error {
	for depth := 0; ; {
		token, err := c.dec.Token()
		if err != nil {
			return c.malformed()
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
		}
		if depth == 0 {
			return nil
		}
	}
}

func (c dryRunCheck) close() error {
	if _, err := c.dec.Token(); err != nil {
		return c.malformed()
	}
	return nil
}

func (c dryRunCheck) malformed() error {
	return request.Invalid("json_invalid", "JSON decode error", nil, "body", int(c.dec.InputOffset()))
}
