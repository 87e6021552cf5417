//go:build embedded

// Package httpapi is ClickHouse's HTTP interface in front of the engine as a
// library: as much of it as clickhouse-go, the console and curl use, so that
// an embedded ClickHouse is an address like any other.
//
// It imitates the server, including its errors: typed exceptions by status and
// header, or in the middle of a stream. It holds no SQL of ours and serves one
// user, "default", whose password is the token. The protocol's reference is
// the server's HTTP documentation and what clickhouse-go 2.50 sends.
package httpapi

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"colonnade/deploy/embedded/internal/chdb"
)

// Database is where tables belong, and what a client means by "default".
const Database = "colonnade"

const (
	displayName = "colonnade-embedded"
	helloQuery  = "SELECT displayName(), version(), revision(), timezone()"
)

// Server serves one engine.
type Server struct {
	token    string
	version  string // of the engine
	timezone string
	pool     *pool
	sessions sessions
	buffers  *buffers
}

// Open boots the engine on its data directory with the arguments, and returns its server.
func Open(lib *chdb.Library, path, token string, args []string) (*Server, error) {
	if err := forgetDefault(path); err != nil { // a crash may have left it
		return nil, err
	}
	boot, err := lib.Connect(append([]string{"--path=" + path}, args...)...)
	if err != nil {
		return nil, err
	}
	d := &Server{token: token, pool: newPool(lib, path, boot), buffers: newBuffers(), sessions: sessions{byID: make(map[string]*kept)}}
	if err := ownDatabases(boot, path); err != nil {
		boot.Close()
		return nil, err
	}
	r := boot.Query("SELECT version() || '\t' || timezone()", "RawBLOB", nil)
	defer r.Destroy()
	if text := r.Err(); text != "" {
		return nil, exception(text)
	}
	d.version, d.timezone, _ = strings.Cut(string(r.Bytes()), "\t")
	return d, nil
}

// ownDatabases makes the database for tables, and replaces the one that the
// library boots with, in which any file of the machine is a table, for readers
// too. Connections need one of that name; the engine chosen holds no tables, so
// nothing is ever lost in it. Its own record would be in the way of the next boot.
func ownDatabases(boot *chdb.Conn, path string) error {
	for _, sql := range []string{
		"DETACH DATABASE default", "CREATE DATABASE default ENGINE=Dictionary", "CREATE DATABASE IF NOT EXISTS " + Database + " ENGINE=Atomic",
	} {
		if err := exec(boot, sql); err != nil {
			return err
		}
	}
	return forgetDefault(path)
}

func forgetDefault(path string) error {
	if err := os.Remove(filepath.Join(path, "metadata", "default.sql")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("httpapi: %w", err)
	}
	return nil
}

// Version of the engine.
func (d *Server) Version() string { return d.version }

// Serve answers on the listener until the context ends. Running INSERTs are
// finished within grace, everything else is killed.
func (d *Server) Serve(ctx context.Context, listener net.Listener, grace time.Duration) error {
	server := &http.Server{Handler: d, ReadHeaderTimeout: 30 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("httpapi: %w", err)
	case <-ctx.Done():
	}
	d.pool.close()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		_ = server.Close() // nothing more can be done for those requests
	}
	<-failed //nolint:errcheck // it says that the server was shut down
	d.dropAll()
	d.pool.shut()
	return nil
}

// ServeHTTP answers one request.
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/ping" || r.URL.Path == "/replicas_status",
		r.URL.Path == "/" && r.Method == http.MethodGet && r.URL.RawQuery == "":
		_, _ = io.WriteString(w, "Ok.\n") // the client may be gone
		return
	case r.Method == http.MethodPost || r.Method == http.MethodGet || r.Method == http.MethodHead:
	default:
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	if !d.admits(r) {
		a := &answer{http: w}
		a.fail(raise(codeAuthentication, "AUTHENTICATION_FAILED", "default: Authentication failed: password is incorrect, or there is no user with such name"))
		return
	}
	req, err := parseRequest(r)
	if err != nil {
		(&answer{http: w}).fail(err)
		return
	}
	a := newAnswer(w, r, req)
	if err := d.run(r.Context(), req, a); err != nil {
		a.fail(err)
	}
}

// admits checks user and password wherever a client may put them.
func (d *Server) admits(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	if !ok {
		user, password = r.Header.Get("X-ClickHouse-User"), r.Header.Get("X-ClickHouse-Key")
	}
	if user == "" && password == "" {
		user, password = r.URL.Query().Get("user"), r.URL.Query().Get("password")
	}
	return (user == "" || user == "default") && subtle.ConstantTimeCompare([]byte(password), []byte(d.token)) == 1
}
