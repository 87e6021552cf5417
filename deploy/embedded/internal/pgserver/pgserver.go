//go:build embedded

// Package pgserver runs a real Postgres server on a data directory of its own,
// as an unprivileged user when this process is root.
//
// It finds fit binaries, creates the data directory on first use, starts the
// server on the loopback interface alone, and stops it in order. It knows no
// tables. It runs inside the supervised child.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"colonnade/deploy/embedded/internal/supervise"
)

// User and Database are what the server is created with.
const (
	User     = "colonnade"
	Database = "colonnade"
)

// ErrPortTaken says that another process listens where the server should.
var ErrPortTaken = errors.New("another process listens on port")

// Config of the server's process.
type Config struct {
	Dir string `json:"dir"`
	// UID is the user that the server runs as where this process is root.
	UID int `json:"uid"`
	// Packaged is the unpacked npm package's "native" folder; empty when it is not there.
	Packaged  string   `json:"packaged"`
	Port      int      `json:"port"`
	Password  string   `json:"password"`
	Arguments []string `json:"arguments"`
}

// URL is the server's address.
func (c Config) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, c.Password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Run serves Postgres until the context ends.
func Run(ctx context.Context, c Config, ready func(supervise.Ready)) error {
	// The server and its workers inherit the lock. So whoever holds it knows that none of an
	// earlier server's processes lives, whatever a pid file says about numbers that were reused.
	lock, err := supervise.Lock(ctx, filepath.Join(c.Dir, "postgres.lock"), 15*time.Second)
	if err != nil {
		return fmt.Errorf("the Postgres directory %s: %w", c.Dir, err)
	}
	defer lock.Close() //nolint:errcheck // the end of the process gives it up as well
	if err := portFree(c.Port); err != nil {
		return err
	}
	who, err := chooseIdentity(c)
	if err != nil {
		return err
	}
	bin, err := chooseBinaries(ctx, c, who)
	if err != nil {
		return err
	}
	fresh, err := ensureData(ctx, c, who, bin)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.dataDir(), "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("pgserver: %w", err)
	}
	server := command(bin, "postgres", who, append([]string{"-D", c.dataDir()}, c.arguments()...)...)
	server.ExtraFiles = []*os.File{lock}
	if err := server.Start(); err != nil {
		return fmt.Errorf("pgserver: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	version, err := answer(ctx, c, ended)
	if err != nil {
		return errors.Join(err, halt(server, ended))
	}
	ready(supervise.Ready{PID: server.Process.Pid, Version: version})
	if fresh {
		// The directory was created without waiting for the disk; that is made good while the server already works.
		syncData := command(bin, "initdb", who, "--sync-only", "-D", c.dataDir())
		_ = syncData.Run() // the server syncs what it writes itself; this only covers the first files
	}
	select {
	case err := <-ended:
		return fmt.Errorf("pgserver: the server ended: %w", errors.Join(err, errors.New("see its log")))
	case <-ctx.Done():
		return halt(server, ended)
	}
}

func (c Config) dataDir() string { return filepath.Join(c.Dir, "data") }

// arguments of the server: small, since it holds entities and not spans, and safe.
func (c Config) arguments() []string {
	settings := append([]string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(c.Port), "unix_socket_directories=",
		"fsync=on", "full_page_writes=on", "synchronous_commit=on",
		"shared_buffers=64MB", "max_connections=100", "max_wal_size=256MB", "min_wal_size=32MB",
		"wal_level=minimal", "max_wal_senders=0", "max_parallel_workers=2", "max_worker_processes=4",
		"log_min_messages=warning", "log_checkpoints=off", "logging_collector=off", "log_timezone=UTC", "timezone=UTC",
	}, c.Arguments...)
	args := make([]string, 0, 2*len(settings))
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// ensureData creates the data directory on first use. It is made aside and then
// renamed, so that a creation that broke off leaves nothing that looks like data.
func ensureData(ctx context.Context, c Config, who identity, bin string) (fresh bool, err error) {
	if isFile(filepath.Join(c.dataDir(), "PG_VERSION")) {
		return false, nil
	}
	maker := who.named()
	making := c.Dir + ".making" // beside the folder, which is closed to that user
	if err := errors.Join(os.RemoveAll(making), os.MkdirAll(making, 0o700), maker.own(making)); err != nil {
		return false, fmt.Errorf("pgserver: %w", err)
	}
	password := filepath.Join(making, "password")
	if err := errors.Join(os.WriteFile(password, []byte(c.Password), 0o600), maker.own(password)); err != nil {
		return false, fmt.Errorf("pgserver: %w", err)
	}
	data := filepath.Join(making, "data")
	initdb := command(bin, "initdb", maker, "-D", data, "-U", User, "--pwfile="+password, "-A", "scram-sha-256",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions", "-c", "max_connections=100", "-c", "shared_buffers=64MB")
	initdb.Args = trimForVersion(ctx, bin, initdb.Args)
	initdb.Stderr = nil // it goes into the error
	output, err := initdb.CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("pgserver: creating the data directory: %w: %s", err, lastLine(output))
	}
	if err := errors.Join(who.ownAll(data), os.Rename(data, c.dataDir()), os.RemoveAll(making)); err != nil {
		return false, fmt.Errorf("pgserver: %w", err)
	}
	return true, nil
}

// answer waits until the server takes connections and our database is there.
func answer(ctx context.Context, c Config, ended <-chan error) (version string, err error) {
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			defer conn.Close(ctx) //nolint:errcheck // nothing is pending
			return prepare(ctx, conn)
		}
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(refused.Code, "28") { // it is up, and will not take us
			return "", fmt.Errorf("pgserver: the server does not take the password in %s: %w", filepath.Join(c.Dir, "password"), err)
		}
		if !isFile(filepath.Join(c.dataDir(), "postmaster.pid")) && portFree(c.Port) != nil {
			return "", ErrPortTaken
		}
		select {
		case dead := <-ended:
			return "", fmt.Errorf("pgserver: the server did not come up: %w", errors.Join(dead, err))
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func prepare(ctx context.Context, conn *pgx.Conn) (version string, err error) {
	var exists bool
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version'), EXISTS (SELECT FROM pg_database WHERE datname = $1)", Database).Scan(&version, &exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+Database)
	}
	if err != nil {
		return "", fmt.Errorf("pgserver: %w", err)
	}
	return version, nil
}

// halt stops the server: first in the way that ends sessions in order, then harder.
func halt(server *exec.Cmd, ended <-chan error) error {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 8 * time.Second}, {syscall.SIGQUIT, 4 * time.Second}, {syscall.SIGKILL, time.Minute}} {
		if err := server.Process.Signal(step.signal); errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		select {
		case <-ended: //nolint:errcheck // how it ended does not matter here
			return nil
		case <-time.After(step.wait):
		}
	}
	return errors.New("pgserver: the server does not end")
}

func portFree(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // a local socket, at once
	if err != nil {
		return fmt.Errorf("%w %d", ErrPortTaken, port)
	}
	return l.Close()
}

func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1]
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
