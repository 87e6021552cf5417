package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"colonnade/domain"
)

// Audit keeps what requests change; write/audit is it.
type Audit struct {
	// Begin stores an entry before its request is served, and fails where it cannot.
	Begin func(ctx context.Context, e *domain.AuditEntry) error
	// End stores the outcome later.
	End func(e *domain.AuditEntry)
}

// audited calls a handler between the two halves of its audit entry. The entry of a request
// that anyone may send is stored only if it succeeds, so that strangers cannot fill the log.
func (s *Server) audited(c *gin.Context, op domain.Operation, h func(*gin.Context) error) error {
	action := op.Action()
	if action == "" || s.deps.Audit.Begin == nil {
		return h(c)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("server: making an id: %w", err)
	}
	ctx, note := domain.WithAuditNote(c.Request.Context())
	address, _ := s.remote(c.Request)
	e := &domain.AuditEntry{
		ID: id, At: s.deps.Now().UTC(), Caller: domain.PrincipalFrom(ctx), Address: address,
		Action: action, Resource: op.Tag, Method: op.Method, Route: op.Path, Target: map[string]any{},
	}
	for _, p := range c.Params {
		e.Target[p.Key] = p.Value
	}
	if op.Permission != domain.Public {
		if err := s.deps.Audit.Begin(ctx, e); err != nil {
			return err
		}
	}
	c.Request = c.Request.WithContext(ctx)
	e.Status = http.StatusInternalServerError // of a handler that panics
	defer func() {
		note.Complete(e)
		if op.Permission != domain.Public || e.Status < http.StatusBadRequest && !e.Caller.Project.IsZero() {
			s.deps.Audit.End(e)
		}
	}()
	err = h(c)
	e.Status = c.Writer.Status()
	if err != nil {
		e.Status = s.replyTo(c, err).status
	}
	return err
}
