package api

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/request"
)

// IgnoredHeader names the members of a body that had no effect. Source: contract §0 row 53.
const IgnoredHeader = "Colonnade-Ignored"

// ReadObject reads the request's JSON body, which must be an object. The caller
// reads its members one by one.
func ReadObject(c *gin.Context) (*request.Object, error) {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return nil, err
	}
	return request.ParseObject(data)
}

// Decode decodes the request's JSON body strictly into a struct. Values that
// Postgres cannot store (the character NUL, numbers beyond the range of a
// double) are refused first, each with its location.
func Decode(c *gin.Context, into any) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("api: reading the body: %w", err)
	}
	if _, err := request.ParseObject(data); err != nil {
		return err
	}
	return request.Decode(data, into)
}

// NoMembers refuses a body with members, for commands that take none: the body is absent, blank
// or an empty object.
func NoMembers(c *gin.Context) error {
	data, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("api: reading the body: %w", err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	body, err := request.ParseObject(data)
	if err != nil {
		return err
	}
	body.FailUnknown()
	return body.Err()
}

// PathID parses the UUID of a path parameter.
func PathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil {
		return uuid.Nil, &domain.Error{Kind: domain.Invalid, Message: name + " is no UUID", Fields: []domain.Field{{
			Type: "uuid_parsing", Loc: []any{"path", name}, Msg: "Input should be a valid UUID", Input: c.Param(name),
		}}}
	}
	return id, nil
}

// Messages of a value of another JSON type than the expected one. Source: contract §8.
const (
	WantObject       = "Input should be a valid dictionary"
	WantObjectOrList = "Input should be a valid dictionary or list"
)

// Location is a position within a JSON body. A location shares the path of its
// parent, because a deeply nested body has a location for each of its nodes;
// the keys are listed only for an error.
type Location struct {
	parent *Location
	key    any
}

// Body returns the location of the member that keys lead to from the top of the body.
func Body(keys ...any) *Location {
	l := &Location{key: "body"}
	for _, key := range keys {
		l = l.At(key)
	}
	return l
}

// At returns the location of a member or, for an integer, of an element of the
// value at l.
func (l *Location) At(key any) *Location { return &Location{l, key} }

// Path returns the keys from the top of the body to l.
func (l *Location) Path() []any {
	var keys []any
	for ; l != nil; l = l.parent {
		keys = append(keys, l.key)
	}
	slices.Reverse(keys)
	return keys
}

// Prefix returns the first n keys of a path that may be too long to show.
func (l *Location) Prefix(n int) []any {
	keys := l.Path()
	return keys[:min(n, len(keys))]
}
