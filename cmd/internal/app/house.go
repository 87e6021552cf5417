package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"colonnade/cmd/internal/server"
	"colonnade/read/access"
)

// house is every room that this process's roles need, wired and still.
type house struct {
	server *server.Server
	// closers are closed in reverse order, after all actors have ended.
	closers []io.Closer
	checks  []server.Check
}

func (h *house) close() error {
	var err error
	for _, v := range slices.Backward(h.closers) {
		err = errors.Join(err, v.Close())
	}
	return err
}

func (p *process) build(_ context.Context, s stores) (*house, error) {
	h := &house{}
	h.checks = append(h.checks,
		server.Check{Name: "clickhouse", Probe: s.clickhouse.Ping},
		server.Check{Name: "postgres", Probe: s.postgres.Ping})
	secret, err := p.ticketSecret()
	if err != nil {
		return nil, fmt.Errorf("app: the secret of service credentials: %w", err)
	}
	p.cfg.Access.TicketSecret = secret
	who, err := access.New(p.cfg.Access, access.Deps{Pool: s.postgres, Now: p.Now})
	if err != nil {
		return nil, err
	}
	h.server, err = server.New(p.cfg.HTTP, server.Deps{
		Log: p.log, Registry: p.reg, Authenticate: who.Authenticate, Allows: access.Allows,
		AuthKey: p.cfg.AuthKey, Checks: h.checks, Now: p.Now,
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}
