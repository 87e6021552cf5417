//go:build embedded

package embedded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"colonnade/deploy/embedded/internal/pgserver"
)

// Postgres cannot inherit a socket, so its port is only chosen and not held.
// The range lies below the one that systems take the ports of outgoing
// connections from: a client that reconnects can neither take it nor meet itself on it.
const (
	lowPort, highPort = 20000, 32000
	portTries         = 5
)

func startPostgres(ctx context.Context, s *Stack) error {
	dir := filepath.Join(s.c.Dir, Postgres)
	password, err := secret(filepath.Join(dir, "password"))
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	config := pgserver.Config{Dir: dir, UID: userOf(Postgres), Password: password, Arguments: s.c.PostgresArguments}
	if engines, err := s.c.enginesDir(); err == nil {
		native := filepath.Join(engines, "@embedded-postgres", runtime.GOOS+"-"+npmArch(), "native")
		if isFile(filepath.Join(native, "bin", "postgres")) {
			config.Packaged = native
		}
	}
	for try := 1; ; try++ {
		if config.Port, err = s.choosePort(); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
		err = s.run(ctx, Postgres, config, nil)
		if err == nil {
			break
		}
		// Another process may have taken the port between our look and the server's.
		if s.c.Ports.Postgres != 0 || try == portTries || !strings.Contains(err.Error(), pgserver.ErrPortTaken.Error()) {
			return err
		}
	}
	s.Postgres = config.URL(pgserver.Database)
	s.c.Progress("Postgres answers on " + address(config.Port))
	return nil
}

// choosePort gives the fixed port, or the one of the last start, or any free one.
func (s *children) choosePort() (int, error) {
	if port := s.c.Ports.Postgres; port != 0 {
		return port, nil
	}
	remembered := filepath.Join(s.c.Dir, Postgres+".port")
	if raw, err := os.ReadFile(remembered); err == nil { //nolint:gosec // a path inside the data directory
		if port, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && isFree(port) {
			return port, nil
		}
	}
	for {
		port := lowPort + rand.IntN(highPort-lowPort) //nolint:gosec // any number does
		if isFree(port) {
			return port, os.WriteFile(remembered, []byte(strconv.Itoa(port)), 0o600)
		}
	}
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", address(port)) //nolint:noctx // a local socket, at once
	return err == nil && l.Close() == nil
}
