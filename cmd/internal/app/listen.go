package app

import (
	"fmt"

	"colonnade/cmd/internal/listener"
)

// bound returns the listeners with the limits of their connections. Where the
// settings name none, the listeners share what the limit of open files leaves
// after the files, the stores and the outgoing calls of the process.
func (p *process) bound(limiter *listener.Limiter, d doors) (doors, error) {
	trusted, err := listener.ParseNetworks(p.cfg.HTTP.TrustedProxies)
	if err != nil {
		return d, fmt.Errorf("app: http.trusted_proxies: %w", err)
	}
	listeners := 1
	if d.grpc != nil {
		listeners++
	}
	share := listener.Share(listener.Files(), listeners)
	config := func(name string, limit, perAddress int) listener.Config {
		if limit == 0 {
			limit = share
		}
		if perAddress == 0 {
			perAddress = listener.PerAddress(limit)
		}
		return listener.Config{Name: name, Max: limit, MaxPerAddress: perAddress, Trusted: trusted}
	}
	if d.http, err = limiter.Wrap(d.http, config("http", p.cfg.HTTP.MaxConnections, p.cfg.HTTP.MaxConnectionsPerAddress)); err != nil {
		return d, fmt.Errorf("app: %w", err)
	}
	if d.grpc == nil {
		return d, nil
	}
	if d.grpc, err = limiter.Wrap(d.grpc, config("grpc", p.cfg.GRPC.MaxConnections, p.cfg.GRPC.MaxConnectionsPerAddress)); err != nil {
		return d, fmt.Errorf("app: %w", err)
	}
	return d, nil
}
