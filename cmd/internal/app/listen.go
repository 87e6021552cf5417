package app

import (
	"fmt"

	"colonnade/cmd/internal/listener"
)

// bound returns the listeners with limits on their connections. Without settings
// the listeners share the open files that the process may have beyond its files,
// its stores and its outgoing calls.
func (p *process) bound(limiter *listener.Limiter, l listeners) (listeners, error) {
	trusted, err := listener.ParseNetworks(p.cfg.HTTP.TrustedProxies)
	if err != nil {
		return l, fmt.Errorf("app: http.trusted_proxies: %w", err)
	}
	count := 1
	if l.grpc != nil {
		count++
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
	if l.http, err = limiter.Wrap(l.http, config("http", p.cfg.HTTP.MaxConnections, p.cfg.HTTP.MaxConnectionsPerAddress)); err != nil {
		return l, fmt.Errorf("app: %w", err)
	}
	if l.grpc == nil {
		return l, nil
	}
	if l.grpc, err = limiter.Wrap(l.grpc, config("grpc", p.cfg.GRPC.MaxConnections, p.cfg.GRPC.MaxConnectionsPerAddress)); err != nil {
		return l, fmt.Errorf("app: %w", err)
	}
	return l, nil
}
