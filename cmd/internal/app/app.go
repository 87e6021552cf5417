// Package app constructs the components of a process and runs its roles. File
// wiring.go constructs every component by hand; the other files open the stores,
// apply the migrations, start the embedded stores and run the actors. It holds no
// rule of the domain. Package cmd/colonnade calls it.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"colonnade/cmd/internal/config"
	"colonnade/cmd/internal/listener"
	"colonnade/deploy/embedded"
)

// Roles selects what a process does. Each role can run in processes of its own, in
// any number.
type Roles struct {
	// Write receives spans and commands.
	Write bool
	// Sink consumes spans from Kafka and inserts them into ClickHouse.
	Sink bool
	// Read answers queries.
	Read bool
}

// AllRoles returns the roles of a process that is the whole service.
func AllRoles() Roles { return Roles{Write: true, Sink: true, Read: true} }

// ParseRoles parses the names of roles, of which it needs at least one.
func ParseRoles(names []string) (r Roles, err error) {
	for _, name := range names {
		switch name {
		case "write":
			r.Write = true
		case "sink":
			r.Sink = true
		case "read":
			r.Read = true
		default:
			return r, fmt.Errorf("unknown role %q: the roles are write, sink and read", name)
		}
	}
	if r == (Roles{}) {
		return r, errors.New("no role: the roles are write, sink and read")
	}
	return r, nil
}

// Options holds the choices of the command line.
type Options struct {
	Roles Roles
	// Embedded starts the three stores as children of this process.
	Embedded bool
	// Out receives the progress of the start and the addresses of the service.
	Out io.Writer
	// Terminal means that Out is a terminal, where the first API key and a link that signs in
	// may be printed.
	Terminal bool
	// Version is what the binary was built from.
	Version string
	Log     *slog.Logger
	Now     func() time.Time
	// Started is when the process began. The time to readiness counts from it.
	Started time.Time
	// engines are the embedded stores. It is nil without them.
	engines *embedded.Stack
}

// process is one run of Serve or Open.
type process struct {
	Options
	cfg config.Loaded
	log *slog.Logger
	reg *prometheus.Registry
}

// Serve runs the roles until ctx ends, then drains: listeners first, then the sink,
// then the stores. It returns nil after an orderly end.
func Serve(ctx context.Context, cfg config.Loaded, o Options) (err error) {
	p := &process{Options: o, cfg: cfg, log: o.Log}
	if cfg.GCPercent > 0 {
		debug.SetGCPercent(cfg.GCPercent)
	}
	if cfg.MemoryLimitBytes > 0 {
		debug.SetMemoryLimit(cfg.MemoryLimitBytes)
	}
	for _, variable := range cfg.Unknown {
		p.log.WarnContext(ctx, "environment variable is no setting, it is ignored", slog.String("variable", variable))
	}
	listeners, err := p.listen(ctx)
	if err != nil {
		return err
	}
	defer listeners.close()

	var engines *embedded.Stack
	if o.Embedded {
		if engines, err = p.startEmbedded(ctx); err != nil {
			return p.notReady(ctx, err)
		}
		p.engines = engines
		defer func() {
			p.progress("Stopping the stores ...")
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			err = errors.Join(err, engines.Close(stop))
		}()
	}
	return p.serve(ctx, listeners, engines)
}

func (p *process) serve(ctx context.Context, l listeners, engines *embedded.Stack) (err error) {
	service, err := Open(ctx, p.cfg, p.Options)
	if err != nil {
		return p.notReady(ctx, err)
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	key, err := p.bootstrap(ctx, service)
	if err != nil {
		return p.notReady(ctx, err)
	}
	return p.run(ctx, service, l, engines, key)
}

// Open connects to the stores of the configuration, applies the migrations when
// o.Roles are all roles, and constructs the components of the roles. It runs none.
func Open(ctx context.Context, cfg config.Loaded, o Options) (*Service, error) {
	p := &process{Options: o, cfg: cfg, log: o.Log, reg: prometheus.NewRegistry()}
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := p.reg.Register(c); err != nil {
			return nil, fmt.Errorf("app: registering metrics: %w", err)
		}
	}
	stores, err := p.openStores(ctx)
	if err != nil {
		return nil, err
	}
	service := &Service{Stores: stores}
	if p.migrates() {
		err = migrate(ctx, stores, cfg.Config, p.log)
	}
	if err == nil {
		err = p.build(service)
	}
	if err != nil {
		return nil, errors.Join(err, service.Close())
	}
	return service, nil
}

// notReady returns the error that ended a start, or nil when ctx ended it: a start
// that was stopped has not failed, whatever its last statement returned.
func (p *process) notReady(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if !errors.Is(err, context.Canceled) {
		p.log.WarnContext(ctx, "start was interrupted", slog.Any("error", err))
	}
	p.progress("Stopped before it was ready.")
	return nil
}

// progress prints a line for the operator at a terminal.
func (p *process) progress(line string) { _, _ = fmt.Fprintln(p.Out, line) }

// listeners holds the open ports. They are opened first, so that a port in use is
// reported at once.
type listeners struct{ http, grpc, admin, sql net.Listener }

func (l listeners) close() {
	for _, open := range []net.Listener{l.http, l.grpc, l.admin, l.sql} {
		if open != nil {
			_ = open.Close() // its server has closed it, or none was started
		}
	}
}

// embeddedSQLAddr is where tools look for ClickHouse.
const embeddedSQLAddr = "127.0.0.1:8123"

// listenSQL opens the port for tools of ClickHouse. Nothing else depends on it, and tools know
// one port: where that is taken, the service runs without it.
func (p *process) listenSQL(ctx context.Context) net.Listener {
	if p.Embedded && p.cfg.Sources["sql.addr"] == "" {
		p.cfg.SQL.Addr = embeddedSQLAddr
	}
	if !p.Roles.Read || !p.cfg.SQL.Enabled || p.cfg.SQL.Addr == "" {
		p.cfg.SQL.Addr = ""
		return nil
	}
	l, err := listener.Open(ctx, "ClickHouse's HTTP interface", config.Variable("sql.addr"), p.cfg.SQL.Addr)
	if err != nil {
		p.log.ErrorContext(ctx, "no listener for tools of ClickHouse, use /sql/clickhouse/ of the API", slog.Any("error", err))
		p.cfg.SQL.Addr = ""
		return nil
	}
	p.cfg.SQL.Addr = l.Addr().String()
	p.warnClearText(ctx, "http", p.cfg.SQL.Addr, p.cfg.HTTP.TLS)
	return l
}

func (p *process) listen(ctx context.Context) (l listeners, err error) {
	if l.http, err = listener.Open(ctx, "the API", config.Variable("http.addr"), p.cfg.HTTP.Addr); err != nil {
		return l, err
	}
	p.cfg.HTTP.Addr = l.http.Addr().String() // the port that the system chose for port 0
	p.warnClearText(ctx, "http", p.cfg.HTTP.Addr, p.cfg.HTTP.TLS)
	if p.cfg.HTTP.AdminAddr != "" {
		if l.admin, err = listener.Open(ctx, "metrics", config.Variable("http.admin_addr"), p.cfg.HTTP.AdminAddr); err != nil {
			l.close()
			return l, err
		}
		p.cfg.HTTP.AdminAddr = l.admin.Addr().String()
	}
	if p.Roles.Write && p.cfg.GRPC.Addr != "" {
		if l.grpc, err = listener.Open(ctx, "OTLP/gRPC", config.Variable("grpc.addr"), p.cfg.GRPC.Addr); err != nil {
			l.close()
			return l, err
		}
		p.cfg.GRPC.Addr = l.grpc.Addr().String()
		p.warnClearText(ctx, "grpc", p.cfg.GRPC.Addr, p.cfg.GRPC.TLS)
	}
	l.sql = p.listenSQL(ctx)
	p.cfg.Derive()
	return l, nil
}
