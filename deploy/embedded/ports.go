//go:build embedded

package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// listenPreferring listens on the port, or, when it is zero, on the port that
// the file remembers from the last start, or else on any free one. The file
// tells the port then: it is where others look for it.
func listenPreferring(port int, remembered string) (net.Listener, error) {
	raw, err := os.ReadFile(remembered) //nolint:gosec // a path inside the data directory
	if old, bad := strconv.Atoi(strings.TrimSpace(string(raw))); port == 0 && err == nil && bad == nil {
		if l, err := net.Listen("tcp", address(old)); err == nil { //nolint:noctx // a local socket, at once
			return l, nil
		}
	}
	l, err := net.Listen("tcp", address(port)) //nolint:noctx // a local socket, at once
	if err != nil {
		return nil, err
	}
	_, chosen, err := net.SplitHostPort(l.Addr().String())
	if err == nil {
		err = os.WriteFile(remembered, []byte(chosen), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remembering the port: %w", err), l.Close())
	}
	return l, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
