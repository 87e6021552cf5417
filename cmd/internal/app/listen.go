package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"colonnade/cmd/internal/listener"
)

// adminConnections bounds the listener of http.admin_addr, which a few scrapers and probes use.
const adminConnections = 32

// warnClearText warns about a listener that other machines reach without TLS: a proxy before
// it may end TLS, which this process does not see.
func (p *process) warnClearText(ctx context.Context, name, addr string, secured listener.TLS) {
	at, err := netip.ParseAddrPort(addr)
	if secured.Enabled() || err == nil && at.Addr().Unmap().IsLoopback() {
		return
	}
	p.log.WarnContext(ctx, "listener speaks clear text at an address that other machines reach, keys and data can be read on the way",
		slog.String("listener", name), slog.String("addr", addr), slog.String("setting", name+".tls"))
}

// secure returns the configuration of a listener that speaks TLS; nil for clear text.
func (p *process) secure(name string, files listener.TLS, protocols ...string) (*tls.Config, error) {
	if !files.Enabled() {
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	secured, err := files.Server(protocols, p.Now, p.log.With(slog.String("component", "listener"), slog.String("listener", name)))
	if err != nil {
		return nil, fmt.Errorf("app: %s.%w", name, err)
	}
	return secured, nil
}

// bound returns the listeners with limits on their connections. Without settings
// the listeners share the open files that the process may have beyond its files,
// its stores and its outgoing calls.
func (p *process) bound(limiter *listener.Limiter, l listeners) (listeners, error) {
	trusted, err := listener.ParseNetworks(p.cfg.HTTP.TrustedProxies)
	if err != nil {
		return l, fmt.Errorf("app: http.trusted_proxies: %w", err)
	}
	count := 1
	for _, other := range []net.Listener{l.grpc, l.sql} {
		if other != nil {
			count++
		}
	}
	share := listener.Share(listener.Files(), count)
	config := func(name string, limit, perAddress int) listener.Config {
		if limit == 0 {
			limit = share
		}
		if perAddress == 0 {
			perAddress = listener.PerAddress(limit)
		}
		return listener.Config{Name: name, Max: limit, MaxPerAddress: perAddress, Trusted: trusted}
	}
	if l.admin != nil {
		if l.admin, err = limiter.Wrap(l.admin, listener.Config{Name: "admin", Max: adminConnections, MaxPerAddress: adminConnections}); err != nil {
			return l, fmt.Errorf("app: %w", err)
		}
	}
	if l.http, err = limiter.Wrap(l.http, config("http", p.cfg.HTTP.MaxConnections, p.cfg.HTTP.MaxConnectionsPerAddress)); err != nil {
		return l, fmt.Errorf("app: %w", err)
	}
	if l.sql != nil {
		if l.sql, err = limiter.Wrap(l.sql, config("sql", 0, 0)); err != nil {
			return l, fmt.Errorf("app: %w", err)
		}
	}
	if l.grpc == nil {
		return l, nil
	}
	if l.grpc, err = limiter.Wrap(l.grpc, config("grpc", p.cfg.GRPC.MaxConnections, p.cfg.GRPC.MaxConnectionsPerAddress)); err != nil {
		return l, fmt.Errorf("app: %w", err)
	}
	return l, nil
}
