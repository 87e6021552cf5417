// Package server is the HTTP engine: it mounts operations and does for each
// what no handler should do for itself. It strips /api, matches both forms of
// a trailing slash, authenticates, checks the permission, bounds bodies and
// time, recovers, compresses, logs, counts, and turns an error into a status
// and a body: the only place that does.
//
// What a route means lives in write/api and read/api; who a caller is, in
// read/access. cmd/internal/app is the only caller.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/server/cors"
	"colonnade/cmd/internal/server/exception"
	"colonnade/cmd/internal/server/openapi"
	"colonnade/cmd/internal/server/rehearsal"
	"colonnade/cmd/internal/server/token"
	"colonnade/domain"
	"colonnade/domain/credential"
)

// Deps are what the engine needs from the rooms and from the process.
type Deps struct {
	Log *slog.Logger
	// Registry is registered on and served at /metrics.
	Registry interface {
		prometheus.Registerer
		prometheus.Gatherer
	}
	// Authenticate turns an Authorization header into the caller; its error is an Unauthenticated.
	Authenticate func(ctx context.Context, authorization string) (domain.Principal, error)
	// Browser returns the caller of the browser session that a request's cookie names, for a
	// project or its default; false without the cookie. Nil means that there are no sessions.
	Browser func(r *http.Request, project string) (p domain.Principal, found bool, err error)
	// Console serves the web console below /ui; nil means that there is none.
	Console func(w http.ResponseWriter, r *http.Request) error
	// Tokens returns the cipher of the tokens of writes.
	Tokens func(ctx context.Context) (credential.Positions, error)
	// PublicURL is the origin of the service where a proxy changes the Host header; empty
	// compares with that header.
	PublicURL string
	// RateHeaders are the headers that tell a key's limit and what is left of
	// it; nil means that there are none. Source: contract §8.
	RateHeaders func(keyPrefix string) http.Header
	// Allows tells whether a role holds a permission.
	Allows func(role string, p domain.Permission) bool
	// AuthKey is the administration key; empty disables the administration
	// routes (404). Source: contract §10.
	AuthKey string
	// Checks are asked by /readyz and /status.
	Checks []Check
	// Problems returns what /status reports although the service works; nil where nothing does.
	Problems func() []string
	// TLS is the configuration of a listener that speaks TLS; nil means clear text.
	TLS *tls.Config
	// Read refuses a request that reads beyond the limits of its project; nil refuses none.
	Read func(domain.ProjectID) error
	// Audit keeps what requests change; zero keeps nothing.
	Audit Audit
	Now   func() time.Time
}

// Server mounts operations and serves them. It is an actor: Run serves until its context ends.
type Server struct {
	cfg        Config
	deps       Deps
	log        *slog.Logger
	metrics    *metrics
	engine     *gin.Engine
	operations []domain.Operation
	origins    *http.CrossOriginProtection
	// remote returns the address of a request's client.
	remote   func(r *http.Request) (address string, secure bool)
	document document
	tokens   *token.Translator
	// probes are the checks being asked, by name.
	probes singleflight.Group
	zips   sync.Pool
	// static holds the paths without parameters. A request for one of them with
	// another verb is 405 and never falls to a sibling route with a parameter:
	// GET /traces/query is no trace id (contract §3.1).
	static map[string][]string
	// permissions has the permission of each route, by method and path.
	permissions map[string]domain.Permission
	// pages is what pages of other origins may do.
	pages cors.Policy
}

// New makes an engine that answers the routes of the process itself: /health,
// /healthz, /readyz, /status, /metrics, /openapi.json, /docs and /ui.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	m, err := newMetrics(deps.Registry)
	if err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	s := &Server{
		cfg: cfg, deps: deps, log: deps.Log.With(slog.String("component", "server")), metrics: m,
		engine: gin.New(), static: map[string][]string{}, permissions: map[string]domain.Permission{}, origins: http.NewCrossOriginProtection(),
		tokens: token.New(deps.Tokens, deps.Now, deps.Log.With(slog.String("component", "server"))),
		pages:  cors.Policy{Origins: cfg.CORSOrigins, Reads: cfg.CORSReads},
	}
	trusted, err := listener.ParseNetworks(cfg.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("server: trusted_proxies: %w", err)
	}
	s.remote = listener.Remote(trusted)
	if deps.PublicURL != "" {
		u, err := url.Parse(deps.PublicURL)
		if err == nil {
			s.pages.Own = u.Scheme + "://" + u.Host
			err = s.origins.AddTrustedOrigin(s.pages.Own)
		}
		if err != nil {
			return nil, fmt.Errorf("server: public_url: %w", err)
		}
	}
	s.engine.RedirectTrailingSlash = false
	s.engine.HandleMethodNotAllowed = true
	s.engine.ContextWithFallback = true
	s.engine.Use(s.observe, s.allowPages, s.compress, s.renderErrors, s.recoverPanic)
	s.engine.NoRoute(s.noRoute)
	s.engine.NoMethod(fails(errNoMethod))
	s.mountProcess()
	s.mountProfiles()
	s.mountOpenAPI()
	s.mountDocs()
	s.mountConsole()
	return s, nil
}

// Handle mounts an operation with its aliases. It panics when the operation
// is incomplete or its route is taken: both are mistakes of the program, seen
// at the first start.
func (s *Server) Handle(op domain.Operation, h func(*gin.Context) error) {
	if op.Permission == "" || op.Method == "" || !strings.HasPrefix(op.Path, "/") {
		panic(fmt.Sprintf("server: operation %s %q has no method, path or permission", op.Method, op.Path))
	}
	s.operations = append(s.operations, op)
	s.mount(op, op.Path, h)
	if op.Preview {
		alias := op
		alias.Deprecated = true
		s.mount(alias, "/preview"+op.Path, h)
	}
}

func (s *Server) mount(op domain.Operation, path string, h func(*gin.Context) error) {
	path = withoutSlash(path)
	if !strings.ContainsAny(path, ":*") {
		s.static[path] = append(s.static[path], op.Method)
	}
	s.permissions[op.Method+" "+path] = op.Permission
	schema := openapi.RequestOf(op)
	s.engine.Handle(op.Method, path, func(c *gin.Context) {
		if err := s.serve(c, op, schema, h); err != nil {
			_ = c.Error(err)
			c.Abort()
		}
	})
}

// serve is the way of one request: the checks in order of cost, then the handler.
func (s *Server) serve(c *gin.Context, op domain.Operation, schema func() (openapi.Request, error), h func(*gin.Context) error) error {
	if methods, ok := s.static[c.Request.URL.Path]; ok && !slices.Contains(methods, op.Method) {
		c.Header("Allow", strings.Join(methods, ", "))
		return errNoMethod
	}
	c.Set(operationKey, op)
	if op.Deprecated {
		c.Header("Deprecation", "true")
	}
	if op.ClickHouse {
		exception.UsePassword(c.Request)
	}
	if err := s.checkOrigin(c.Request); err != nil {
		return err
	}
	ctx, err := s.identify(c.Request, c.Writer.Header(), op)
	if err != nil {
		return err
	}
	if err := s.pages.CheckPage(c.Request, domain.PrincipalFrom(ctx)); err != nil {
		return err
	}
	limit := op.Limit
	if limit == 0 {
		limit = s.cfg.MaxBodyBytes
	}
	c.Request.Body = bounded(c, limit)
	c.Set(connectionKey, c.Request.Context())
	if !op.Stream {
		timeout := s.cfg.RequestTimeout
		if op.Timeout > 0 {
			timeout = op.Timeout
		}
		s.extendDeadlines(c, timeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errRequestTimeout)
		defer cancel()
	}
	c.Request = c.Request.WithContext(ctx)
	if err := rehearsal.Refuse(c, op, schema); err != nil {
		return err
	}
	return s.tokens.Serve(c, op.Remember, func(c *gin.Context) error { return s.audited(c, op, h) })
}

// extendDeadlines moves the connection's deadlines behind the end of the request. A
// read deadline that passes while the handler works cancels the request, as if the client
// had left. Without a connection (in tests) there is nothing to move.
func (s *Server) extendDeadlines(c *gin.Context, timeout time.Duration) {
	slack := min(timeout, 10*time.Second)
	conn := http.NewResponseController(c.Writer)
	end := s.deps.Now().Add(timeout + slack)
	for _, err := range []error{conn.SetReadDeadline(end), conn.SetWriteDeadline(end.Add(max(0, slowReader-timeout)))} {
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			s.log.WarnContext(c.Request.Context(), "extension of a deadline failed, the request may be cut off", slog.Any("error", err))
		}
	}
}

// bounded fails the read that goes beyond the limit; the first one already,
// when the request announces more: nothing of it is then held in memory.
func bounded(c *gin.Context, limit int64) io.ReadCloser {
	if c.Request.ContentLength > limit {
		return tooLong{&http.MaxBytesError{Limit: limit}}
	}
	return http.MaxBytesReader(c.Writer, arriving{c.Request.Body}, limit)
}

// arriving tells a body that stopped coming from one that is wrong: whoever
// reads it cannot know, for to it both are an error of the stream.
type arriving struct{ io.ReadCloser }

// Read reads on.
func (a arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errSlowBody, err)
	}
	return n, err
}

type tooLong struct{ err error }

// Read gives the error.
func (t tooLong) Read([]byte) (int, error) { return 0, t.err }

// Close does nothing; net/http closes the body it made.
func (t tooLong) Close() error { return nil }

// Operations are all routes in the order they were mounted, without their aliases.
func (s *Server) Operations() []domain.Operation { return slices.Clone(s.operations) }

// EncryptToken returns the token of a write as clients get it; empty for none.
func (s *Server) EncryptToken(ctx context.Context, token domain.Token) string {
	return s.tokens.Encrypt(ctx, token)
}

// slowReader is the longest that a client which reads slowly holds a page in memory.
const slowReader = 5 * time.Minute

// Run serves on the listener until ctx ends, then lets requests in flight
// finish within the drain time and returns nil.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	return s.run(ctx, listener, s.Handler(), s.deps.TLS)
}

// RunAdmin serves the listener of Config.AdminAddr until ctx ends.
func (s *Server) RunAdmin(ctx context.Context, listener net.Listener) error {
	return s.run(ctx, listener, s.admin(), nil)
}

// RunBelow is Run for a listener whose root is a path of the API, below which nothing else
// is reached.
func (s *Server) RunBelow(ctx context.Context, root string, listener net.Listener) error {
	handler := s.Handler()
	return s.run(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = root+cleanPath(r.URL.Path), ""
		handler.ServeHTTP(w, r)
	}), s.deps.TLS)
}

// cleanPath returns a path without what would lead above its root.
func cleanPath(p string) string {
	if p = path.Clean("/" + p); p == "/" {
		return ""
	}
	return p
}

func (s *Server) run(ctx context.Context, listener net.Listener, handler http.Handler, secured *tls.Config) error {
	srv := &http.Server{
		Handler:           handler,
		TLSConfig:         secured,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.cfg.RequestTimeout * 2,
		WriteTimeout:      slowReader,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Requests continue after ctx ends: a stop drains them instead of cancelling them.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() {
		if secured != nil {
			failed <- srv.ServeTLS(listener, "", "")
			return
		}
		failed <- srv.Serve(listener)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("server: serving %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	err := srv.Shutdown(drain)
	if err != nil {
		s.log.WarnContext(ctx, "drain timeout ended requests in progress", slog.Any("error", err))
		err = srv.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("server: stopping: %w", err)
	}
	return nil
}
