// Package invoke holds the endpoints below /services, which invoke and inspect the
// handler of a revision: they decode the request, and write the reply as one
// JSON document or as a stream of events. write/invoke executes handlers.
package invoke

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/request"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/write/api"
	"colonnade/write/invoke"
	"colonnade/write/invoke/handler"
)

// Deps are what the runtime's routes call.
type Deps struct {
	Invoke *invoke.Invoke
	// Timeout is how long an invocation may take, its trace included.
	Timeout time.Duration
	// EncryptToken returns a token as clients get it.
	EncryptToken func(ctx context.Context, token domain.Token) string
	// Status is the one that an error is answered with: the body names it, too.
	Status func(err error) int
}

// maxInvokeBytes bounds a request: what it holds is recorded, some of it twice.
const maxInvokeBytes = 4 << 20

// Mount mounts the runtime of handlers: data.url of a revision is an
// address below which invoke and inspect stand. Source: contract §6.
func Mount(r api.Router, deps Deps) {
	i := invocations{deps}
	for _, path := range []string{"/services/:key/:version", "/services"} {
		which := " what the references or the revision of the request name."
		if path != "/services" {
			which = " a handler, as data.url of a revision has it."
		}
		op := domain.Operation{
			Method: http.MethodPost, Permission: domain.RunService, Tag: "services", Request: invokeRequest{},
			Limit: maxInvokeBytes, Timeout: deps.Timeout,
		}
		op.Path, op.Summary, op.Response, op.Remember = path+"/invoke", "Invoke"+which, invokeReply{}, true
		r.Handle(op, i.invoke)
		op.Path, op.Summary, op.Response, op.Remember = path+"/inspect", "Inspect"+which, inspectReply{}, false
		r.Handle(op, i.inspect)
	}
	r.Handle(domain.Operation{
		Method: http.MethodGet, Path: "/services/health", Permission: domain.Public, Tag: "services",
		Summary: "The runtime answers.", Response: gin.H{},
	}, func(c *gin.Context) error {
		c.JSON(http.StatusOK, gin.H{"status": "ok"})
		return nil
	})
}

type invocations struct{ deps Deps }

// invokeRequest is the body of contract §6.
type invokeRequest struct {
	Version string      `json:"version"`
	Data    *invokeData `json:"data"`
	// Revision stands for data.revision; the latter wins.
	Revision   map[string]any              `json:"revision"`
	References map[string]domain.Reference `json:"references"`
	Links      json.RawMessage             `json:"links"`
	Selector   *struct {
		Key  string `json:"key"`
		Path string `json:"path"`
	} `json:"selector"`
	Flags     map[string]any `json:"flags"`
	Tags      map[string]any `json:"tags"`
	Meta      map[string]any `json:"meta"`
	SessionID string         `json:"session_id"`
	// Secrets are keys of providers by their names, for this invocation alone.
	Secrets map[string]string `json:"secrets"`
	// Credentials are those of the header, which count.
	Credentials any `json:"credentials"`
}

type invokeData struct {
	Inputs     map[string]any `json:"inputs"`
	Parameters map[string]any `json:"parameters"`
	Revision   map[string]any `json:"revision"`
	Testcase   map[string]any `json:"testcase"`
	Trace      any            `json:"trace"`
	Outputs    any            `json:"outputs"`
	// Messages stand for inputs.messages. Source: contract §6.
	Messages []any `json:"messages"`
}

// sessionID is the form of a session's name. Source: contract §6.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// read reads a request; what its parts mean is the room's.
func (i invocations) read(c *gin.Context) (invoke.Request, error) {
	var req invoke.Request
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return req, err
	}
	var b invokeRequest
	if err := request.DecodeKnown(data, &b); err != nil {
		return req, err
	}
	if key := c.Param("key"); key != "" {
		u, err := catalog.ParseURI(key + ":" + c.Param("version"))
		if err != nil {
			return req, domain.E(domain.NotFound, "Nothing here runs %s:%s.", key, c.Param("version"))
		}
		// An address names no kind; those of one key do not meet.
		req.Handler = catalog.URI{Key: u.Key, Version: u.Resolved().Version}
	}
	at := api.Body()
	refs := at.At("references")
	if req.References, err = api.CheckReferences(b.References, refs); err != nil {
		return req, err
	}
	delete(req.References, simple.Selector)
	if req.Links, err = invokeLinks(b.Links, at.At("links")); err != nil {
		return req, err
	}
	if b.Selector != nil {
		req.Key = b.Selector.Key
	}
	req.Flags, req.Tags, req.Meta, req.Secrets = b.Flags, b.Tags, b.Meta, b.Secrets
	req.Raw = b.Flags["resolve"] == false
	if req.SessionID, err = session(c, b.SessionID); err != nil {
		return req, err
	}
	if req.After, err = domain.ParseToken(c.GetHeader(domain.TokenHeader)); err != nil {
		return req, err
	}
	if id, parent, ok := handler.ParseTraceparent(c.GetHeader("traceparent")); ok {
		req.TraceID, req.ParentID = id, parent
	}
	if req.Data.Revision, err = revisionData(b.Revision, "body", "revision"); err != nil {
		return req, err
	}
	if d := b.Data; d != nil {
		given, err := revisionData(d.Revision, "body", "data", "revision")
		if err != nil {
			return req, err
		}
		if given == nil {
			given = req.Data.Revision
		}
		req.Data = invoke.Data{
			Inputs: d.Inputs, Parameters: d.Parameters, Revision: given, Testcase: d.Testcase, Trace: d.Trace, Outputs: d.Outputs,
		}
		if len(d.Messages) > 0 && d.Inputs["messages"] == nil {
			req.Data.Inputs = maps.Clone(d.Inputs)
			if req.Data.Inputs == nil {
				req.Data.Inputs = map[string]any{}
			}
			req.Data.Inputs["messages"] = d.Messages
		}
	}
	return req, nil
}

// revisionData returns the data of a revision that a request brings: the object itself, or its
// member data, as a record of a revision has it; nil if it brings none. Source: contract §0 row 51.
func revisionData(revision map[string]any, loc ...any) (map[string]any, error) {
	value, ok := revision["data"]
	if !ok {
		return revision, nil
	}
	if value == nil {
		return nil, nil //nolint:nilnil // a record without data brings nothing to run
	}
	data, ok := value.(map[string]any)
	if !ok {
		return nil, request.Invalid("dict_type", "Input should be a valid dictionary", value, append(loc, "data")...)
	}
	return data, nil
}

func invokeLinks(raw json.RawMessage, at *api.Location) (map[string]trace.Link, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // no links are no error
	}
	list, _, err := api.ReadLinks(raw, at)
	if err != nil {
		return nil, err
	}
	links := make(map[string]trace.Link, len(list))
	for _, l := range list {
		links[l.Name] = trace.Link{TraceID: l.TraceID, SpanID: l.SpanID}
	}
	return links, nil
}

// session is the body's, or that of the header in which a reply names it.
func session(c *gin.Context, given string) (string, error) {
	where := []any{"body", "session_id"}
	if given == "" {
		given, where = c.GetHeader("x-ag-session-id"), []any{"header", "x-ag-session-id"}
	}
	if given != "" && !sessionID.MatchString(given) {
		return "", request.Invalid("string_pattern_mismatch", "String should match pattern '"+sessionID.String()+"'", given, where...)
	}
	return given, nil
}

func (i invocations) invoke(c *gin.Context) error {
	req, err := i.read(c)
	if err != nil {
		return err
	}
	media, stream, ok := api.NegotiateStream(c, req.Flags["stream"] == true)
	if !ok {
		req.Refused = errNotAcceptable(c)
	}
	out := &invokeWriter{EventStream: api.NewEventStream(c, media), c: c, status: i.deps.Status, encrypt: i.deps.EncryptToken}
	req.Begun = out.begin
	if stream {
		req.Emit = out.delta
	}
	reply, err := i.deps.Invoke.Run(c.Request.Context(), req)
	if err != nil {
		return out.fail(reply, err)
	}
	return out.succeed(reply, stream)
}

func (i invocations) inspect(c *gin.Context) error {
	req, err := i.read(c)
	if err != nil {
		return err
	}
	data, references, err := i.deps.Invoke.Inspect(c.Request.Context(), req)
	if err != nil {
		return err
	}
	c.Header("x-ag-version", handler.Version)
	c.PureJSON(http.StatusOK, inspectReply{
		Version: handler.Version, Revision: inspectedRevision{Data: data}, References: references,
	})
	return nil
}

// inspectedRevision is a record of a revision, of which the data alone is shown.
type inspectedRevision struct {
	Data map[string]any `json:"data"`
}

// inspectReply describes what would be run. Source: contract §0 row 51.
type inspectReply struct {
	Version  string            `json:"version"`
	Revision inspectedRevision `json:"revision"`
	// References lead to the revision; absent where the request brought all itself.
	References map[string]domain.Reference `json:"references,omitempty"`
}
