// Package rehearsal refuses requests that ask for a rehearsal (dry_run) of an operation that
// does not know it, at any depth of their bodies. The HTTP server is the only caller.
package rehearsal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"colonnade/cmd/internal/server/openapi"
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

// Refuse returns the error of a request that asks an operation for a
// rehearsal it does not know. Where the operation has a JSON body, the error
// comes at the end of that body, from the reader that the handler reads: what
// is read stays within the bounds of memory that the handler has put around it.
func Refuse(c *gin.Context, op domain.Operation, schema func() (openapi.Request, error)) error {
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
	schema func() (openapi.Request, error)
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
	if failed := checkDryRun(schema, read); failed != nil {
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

// checkDryRun returns the error of a body that has dry_run where the schema
// does not name it. A member that is there twice is an error as well: the
// decoder would keep the last one, which may be the one without dry_run.
func checkDryRun(schema openapi.Request, text []byte) error {
	c := dryRunCheck{schema: schema, dec: json.NewDecoder(bytes.NewReader(text))}
	c.dec.UseNumber()
	if err := c.value(schema.Root(), []any{"body"}); err != nil {
		return err
	}
	if _, err := c.dec.Token(); !errors.Is(err, io.EOF) {
		return c.malformed()
	}
	return nil
}

type dryRunCheck struct {
	schema openapi.Request
	dec    *json.Decoder
}

func (c dryRunCheck) value(node openapi.Node, loc []any) error {
	if node.Data {
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
		inner := c.schema.Element(node)
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

func (c dryRunCheck) object(node openapi.Node, loc []any) error {
	seen := map[string]bool{}
	for c.dec.More() {
		token, err := c.dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return c.malformed()
		}
		at := append(slices.Clip(loc), name)
		inner, known := c.schema.Member(node, name)
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
