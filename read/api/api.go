// Package api holds what the packages of HTTP endpoints below it share: the
// Router they mount operations on, the bound of request bodies, windows as
// requests carry them, and the decoding of bodies and ids. Endpoints themselves
// are in the packages spans, entities and evaluations; each mounts its
// operations on the router of cmd/internal/server, which authenticates the
// caller, checks permissions and renders the errors that handlers return.
package api

import (
	"fmt"
	"io"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// Router mounts handlers; cmd/internal/server implements it.
type Router interface {
	Handle(op domain.Operation, h func(*gin.Context) error)
}

// maxBodyBytes bounds the body of a read: decoded, it takes many times its
// size in memory, and every caller who may read can send one.
const maxBodyBytes = 4 << 20

// Bounded returns a router that bounds the bodies of operations which name no limit of their own.
func Bounded(r Router) BoundedRouter { return BoundedRouter{r} }

// BoundedRouter is the router that Bounded returns.
type BoundedRouter struct{ Router }

// Handle mounts an operation.
func (b BoundedRouter) Handle(op domain.Operation, h func(*gin.Context) error) {
	if op.Limit == 0 {
		op.Limit = maxBodyBytes
	}
	b.Router.Handle(op, h)
}

// Project returns the project of the caller's credential.
func Project(c *gin.Context) domain.ProjectID {
	return domain.PrincipalFrom(c.Request.Context()).Project
}

// PathID parses a parameter of the path as a UUID.
func PathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil {
		return uuid.Nil, &domain.Error{Kind: domain.Invalid, Message: name + " is no UUID", Fields: []domain.Field{{
			Type: "uuid_parsing", Loc: []any{"path", name}, Msg: "Input should be a valid UUID", Input: c.Param(name),
		}}}
	}
	return id, nil
}

// DecodeBody decodes a body strictly. An empty one is refused unless it is optional.
func DecodeBody(c *gin.Context, v any, optional bool) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("api: reading the body: %w", err)
	}
	if optional && len(data) == 0 {
		return nil
	}
	return request.Decode(data, v)
}

// WithoutNulls returns a document without the members that a client's model spells out as unset.
func WithoutNulls(m map[string]any) entity.Document {
	d := entity.Document{}
	for k, v := range m {
		if v != nil {
			d[k] = v
		}
	}
	return d
}
