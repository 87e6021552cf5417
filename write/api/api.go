// Package api holds the gin handlers of every route that changes something:
// they read bodies, call a room of the write wing, and answer. One file for a
// resource. Handlers return errors; the HTTP engine, which mounts them,
// authenticates, checks permissions and renders.
package api

import (
	"io"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/form"
)

// Router is where handlers are mounted; cmd/internal/server implements it.
type Router interface {
	Handle(op domain.Operation, h func(*gin.Context) error)
}

// readForm reads the request's JSON body, which must be there and be an object.
func readForm(c *gin.Context) (*form.Object, error) {
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, err
	}
	return form.Parse(body)
}

// pathID reads a UUID of the path.
func pathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil {
		return uuid.Nil, &domain.Error{Kind: domain.Invalid, Message: name + " is no UUID", Fields: []domain.Field{{
			Type: "uuid_parsing", Loc: []any{"path", name}, Msg: "Input should be a valid UUID", Input: c.Param(name),
		}}}
	}
	return id, nil
}
