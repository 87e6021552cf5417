// Package app is the composition root: it wires every room by hand and runs
// the roles a process was asked for. It is the only package that knows all
// rooms; no rule of the domain lives here. cmd/colonnade is its only caller.
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
	"colonnade/deploy/embedded"
)

// Roles says what a process does. Each role can run as a process of its own,
// as often as needed.
type Roles struct {
	// Write takes spans and changes in.
	Write bool
	// Sink carries spans from the stream to ClickHouse.
	Sink bool
	// Read answers queries.
	Read bool
}

// AllRoles is the whole service in one process.
func AllRoles() Roles { return Roles{Write: true, Sink: true, Read: true} }

// ParseRoles reads the names of roles; at least one is needed.
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

// Options are what the command line decides.
type Options struct {
	Roles Roles
	// Embedded starts the three stores in this process's tree.
	Embedded bool
	// Out gets the progress of the start and where to go from there.
	Out io.Writer
	Log *slog.Logger
	Now func() time.Time
	// Started is when the process began, for the time to readiness.
	Started time.Time
}

// process is one run of Serve.
type process struct {
	Options
	cfg config.Loaded
	log *slog.Logger
	reg *prometheus.Registry
	// problems returns what is wrong with the data of embedded stores; nil where there are none.
	problems func() []string
}

// Serve runs the roles until ctx ends, then drains: doors first, then the
// sink, then the stores. It returns nil after an orderly end; an error is one
// clear sentence.
func Serve(ctx context.Context, cfg config.Loaded, o Options) (err error) {
	p := &process{Options: o, cfg: cfg, log: o.Log, reg: prometheus.NewRegistry()}
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := p.reg.Register(c); err != nil {
			return fmt.Errorf("app: registering metrics: %w", err)
		}
	}
	if cfg.GCPercent > 0 {
		debug.SetGCPercent(cfg.GCPercent)
	}
	if cfg.MemoryLimitBytes > 0 {
		debug.SetMemoryLimit(cfg.MemoryLimitBytes)
	}
	for _, variable := range cfg.Unknown {
		p.log.WarnContext(ctx, "environment variable is no setting, it is ignored", slog.String("variable", variable))
	}
	doors, err := p.listen(ctx)
	if err != nil {
		return err
	}
	defer doors.close()

	var engines *embedded.Stack
	if o.Embedded {
		if engines, err = p.startEmbedded(ctx); err != nil {
			return p.notReady(ctx, err)
		}
		p.problems = engines.Problems
		defer func() {
			p.progress("Stopping the stores ...")
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			err = errors.Join(err, engines.Close(stop))
		}()
	}
	return p.serve(ctx, doors, engines)
}

func (p *process) serve(ctx context.Context, doors doors, engines *embedded.Stack) (err error) {
	stores, err := p.openStores(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.close()) }()
	if p.migrates() {
		if err := migrate(ctx, stores, p.cfg.Config, p.log); err != nil {
			return p.notReady(ctx, err)
		}
	}
	key, err := p.bootstrap(ctx, stores)
	if err != nil {
		return p.notReady(ctx, err)
	}
	house, err := p.build(stores) //nolint:contextcheck // handlers take the context of their request
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, house.close()) }()
	return p.run(ctx, house, doors, engines, key)
}

// notReady tells what ended a start. One that was told to end has not failed,
// whatever the store says that was just being started.
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

// progress tells a person at a terminal what is going on.
func (p *process) progress(line string) { _, _ = fmt.Fprintln(p.Out, line) }

// doors are the listeners, taken before anything slow begins.
type doors struct{ http, grpc net.Listener }

func (d doors) close() {
	for _, l := range []net.Listener{d.http, d.grpc} {
		if l != nil {
			_ = l.Close() // it was closed by its server, or nobody was served
		}
	}
}

func (p *process) listen(ctx context.Context) (d doors, err error) {
	if d.http, err = listen(ctx, "the API", "http.addr", p.cfg.HTTP.Addr); err != nil {
		return d, err
	}
	p.cfg.HTTP.Addr = d.http.Addr().String() // tells which, where any free port was asked for
	if p.Roles.Write && p.cfg.GRPC.Addr != "" {
		if d.grpc, err = listen(ctx, "OTLP/gRPC", "grpc.addr", p.cfg.GRPC.Addr); err != nil {
			d.close()
			return d, err
		}
		p.cfg.GRPC.Addr = d.grpc.Addr().String()
	}
	p.cfg.Derive()
	return d, nil
}
