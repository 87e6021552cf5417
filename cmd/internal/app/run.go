package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"colonnade/cmd/internal/server"
	"colonnade/deploy/embedded"
)

// run starts the actors and waits for them. The doors stop first; the sink
// works on until no door can hand it anything, then finishes its batch.
func (p *process) run(ctx context.Context, h *house, d doors, engines *embedded.Stack, key firstKey) error {
	d, err := p.bound(h.limiter, d)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	afterDoors, stopSink := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSink()

	var open sync.WaitGroup
	door := func(run func() error) {
		open.Add(1)
		group.Go(func() error {
			defer open.Done()
			return run()
		})
	}
	door(func() error { return h.server.Run(ctx, d.http) })
	if h.grpc != nil {
		door(func() error { return h.grpc.Run(ctx, d.grpc) })
	}
	if h.evaluations != nil { // what it runs leaves traces, as doors do
		door(func() error { return h.evaluations.Run(ctx) })
	}
	if h.tail != nil { // it ends the tails, whose requests the server waits for
		group.Go(func() error { return h.tail.Run(ctx) })
	}
	group.Go(func() error {
		open.Wait()
		stopSink()
		return nil
	})
	if h.sink != nil {
		group.Go(func() error { return h.sink.Run(afterDoors) })
	}
	if engines != nil {
		group.Go(func() error { return watchEngines(ctx, engines) })
	}
	group.Go(func() error {
		p.tellWhenReady(ctx, h, key)
		return nil
	})
	context.AfterFunc(ctx, func() { p.progress("Draining ...") })
	return group.Wait()
}

// watchEngines ends the process when a store was given up: without it nothing works.
func watchEngines(ctx context.Context, engines *embedded.Stack) error {
	select {
	case <-ctx.Done():
		return nil
	case <-engines.Done():
		if err := engines.Err(); err != nil {
			return err
		}
		return errors.New("app: the embedded stores have stopped")
	}
}

// tellWhenReady announces the service once it is ready.
func (p *process) tellWhenReady(ctx context.Context, h *house, key firstKey) {
	if p.awaitReady(ctx, h) {
		p.announce(ctx, h, key)
	}
}

// awaitReady returns true once the service is what /readyz calls ready, and
// false when ctx ends before. Where it has to wait it says so, with what for:
// the doors stand open meanwhile.
func (p *process) awaitReady(ctx context.Context, h *house) bool {
	const every = 200 * time.Millisecond // a start should be announced when it is over
	said := ""
	for ctx.Err() == nil {
		state := h.server.Readiness(ctx)
		missing := state.Missing()
		if len(missing) == 0 {
			return true
		}
		if names := strings.Join(missing, ", "); names != said && ctx.Err() == nil {
			said = names
			p.waitsFor(ctx, missing, state)
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
	return false
}

func (p *process) waitsFor(ctx context.Context, missing []string, state server.Readiness) {
	var text strings.Builder
	text.WriteString("\nColonnade listens on " + p.cfg.HTTP.Addr + ", but is not ready: it waits for " + strings.Join(missing, ", ") + ".\n")
	errs := make([]any, 0, len(missing))
	for _, name := range missing {
		reason := strings.Join(strings.Fields(state.Checks[name].Error), " ") // a driver's may have several lines
		_, _ = fmt.Fprintf(&text, "\n  %-10s  %s", name, reason)
		errs = append(errs, slog.String(name, reason))
	}
	p.log.WarnContext(ctx, "listening and not ready", slog.String("http", p.cfg.HTTP.Addr), slog.String("grpc", p.cfg.GRPC.Addr), slog.Group("waits_for", errs...))
	p.progress(text.String())
}

// announce tells where the service is and, on the first start, how to call it.
func (p *process) announce(ctx context.Context, h *house, key firstKey) {
	took := p.Now().Sub(p.Started)
	p.log.InfoContext(ctx, "ready", slog.Float64("seconds", took.Seconds()), slog.String("http", p.cfg.HTTP.Addr), slog.String("grpc", p.cfg.GRPC.Addr))
	base := p.cfg.BaseURL()
	text := fmt.Sprintf("\nColonnade is ready after %.1f s.\n\n  API        %s\n", took.Seconds(), base)
	if p.Roles.Write {
		text += "  OTLP/HTTP  " + base + "/otlp/v1/traces\n"
	}
	if h.grpc != nil {
		text += "  OTLP/gRPC  " + p.cfg.GRPC.Addr + "\n"
	}
	switch {
	case key.path == "":
	case key.revoked:
		text += "  API key    that in " + key.path + " was revoked: remove the file and start again for a new one\n"
	case key.new:
		text += "  API key    " + key.key.Reveal() + "   (shown this once, kept in " + key.path + ")\n\nTry it:\n\n" + curl(base, key.key.Reveal())
	default:
		text += "  API key    made at the first start, kept in " + key.path + "\n"
	}
	p.progress(text) // in one piece: others may wait for it
}

// curl is ready to paste, both lines together: one span in, and the traces out
// again once it is visible.
func curl(base, key string) string {
	return fmt.Sprintf(`  curl -sS %[1]s/otlp/v1/traces -H 'Authorization: ApiKey %[2]s' -H 'Content-Type: application/json' -d '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"'$(openssl rand -hex 16)'","spanId":"'$(openssl rand -hex 8)'","name":"hello","kind":1,"startTimeUnixNano":"'$(date +%%s%%N)'","endTimeUnixNano":"'$(date +%%s%%N)'"}]}]}]}'
  sleep 1; curl -sS %[1]s/traces/query -H 'Authorization: ApiKey %[2]s' -H 'Content-Type: application/json' -d '{"windowing":{"limit":5}}'
`, base, key)
}
