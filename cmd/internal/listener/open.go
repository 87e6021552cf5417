package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Open opens a port before slow steps begin, so that a port in use fails at once. The error
// names what listens there and the environment variable that chooses another address.
func Open(ctx context.Context, what, variable, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err == nil {
		return listener, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the port of %s, %s, is taken by another process: stop it, or choose another address with %s", what, addr, variable)
	}
	reason := err
	if op, ok := errors.AsType[*net.OpError](err); ok {
		reason = op.Err
	}
	return nil, fmt.Errorf("cannot listen on %s for %s (%s): %w", addr, what, variable, reason)
}
