//go:build embedded

package embedded

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// listenPreferring listens on the port, or, when it is zero, on the port that
// the file remembers from the last start, or else on any free one, which it then remembers.
func listenPreferring(port int, remembered string) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp", address(port)) //nolint:noctx // a local socket, at once
	}
	if raw, err := os.ReadFile(remembered); err == nil { //nolint:gosec // a path inside the data directory
		if old, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			if l, err := net.Listen("tcp", address(old)); err == nil { //nolint:noctx // a local socket, at once
				return l, nil
			}
		}
	}
	l, err := net.Listen("tcp", address(0)) //nolint:noctx // a local socket, at once
	if err != nil {
		return nil, err
	}
	_, chosen, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(remembered, []byte(chosen), 0o600); err != nil {
		return nil, fmt.Errorf("remembering the port: %w", err)
	}
	return l, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
