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
	analystsql "colonnade/read/sql"
)

// run starts the actors and waits for them. The actors that publish spans stop
// first. The sink goes on until they have ended, then commits its batch.
func (p *process) run(ctx context.Context, s *Service, l listeners, engines *embedded.Stack, key firstKey) error {
	l, err := p.bound(s.limiter, l)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	untilPublished, stopSink := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSink()

	var publishers sync.WaitGroup
	publisher := func(run func() error) {
		publishers.Add(1)
		group.Go(func() error {
			defer publishers.Done()
			return run()
		})
	}
	publisher(func() error { return s.Server.Run(ctx, l.http) })
	if l.admin != nil {
		group.Go(func() error { return s.Server.RunAdmin(ctx, l.admin) })
	}
	if l.sql != nil {
		group.Go(func() error { return s.Server.RunBelow(ctx, analystsql.ClickHousePath, l.sql) })
	}
	if s.GRPC != nil {
		publisher(func() error { return s.GRPC.Run(ctx, l.grpc) })
	}
	if s.Runner != nil { // invocations publish traces
		publisher(func() error { return s.Runner.Run(ctx) })
	}
	if s.LogEvents != nil { // it publishes edits of spans
		publisher(func() error { return s.LogEvents.Run(ctx) })
	}
	if s.Views != nil {
		group.Go(func() error { return s.Views.Run(ctx) })
		group.Go(func() error { return s.Entities.Run(ctx) })
	}
	if s.Outbox != nil {
		group.Go(func() error { return s.Outbox.Run(ctx) })
	}
	if s.Tail != nil { // it ends the tails, for whose requests the server waits
		group.Go(func() error { return s.Tail.Run(ctx) })
	}
	group.Go(func() error {
		publishers.Wait()
		stopSink()
		return nil
	})
	if s.Sink != nil {
		group.Go(func() error { return s.Sink.Run(untilPublished) })
	}
	group.Go(func() error { return s.Access.Run(untilPublished, p.log) })
	group.Go(func() error { return s.Audit.Run(untilPublished) })
	group.Go(func() error { return s.Leaser.Run(ctx) })
	if s.Quotas != nil {
		group.Go(func() error { return s.Quotas.Run(untilPublished) })
	}
	if engines != nil {
		group.Go(func() error { return watchEngines(ctx, engines) })
	}
	group.Go(func() error {
		p.announceWhenReady(ctx, s, key)
		return nil
	})
	context.AfterFunc(ctx, func() { p.progress("Draining ...") })
	return group.Wait()
}

// watchEngines returns when the supervisor has given up an embedded store, without
// which the service does not work.
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

// announceWhenReady announces the service once it is ready.
func (p *process) announceWhenReady(ctx context.Context, s *Service, key firstKey) {
	if p.awaitReady(ctx, s) {
		p.announce(ctx, s, key)
	}
}

// awaitReady returns true once /readyz reports the service ready, and false when
// ctx ends before. While it waits it reports the components that are missing; the
// listeners are open meanwhile.
func (p *process) awaitReady(ctx context.Context, s *Service) bool {
	const every = 200 * time.Millisecond // an announcement soon after readiness
	reported := ""
	for ctx.Err() == nil {
		state := s.Server.Readiness(ctx)
		missing := state.Missing()
		if len(missing) == 0 {
			return true
		}
		if names := strings.Join(missing, ", "); names != reported && ctx.Err() == nil {
			reported = names
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
		reason := strings.Join(strings.Fields(state.Checks[name].Error), " ") // the message of a driver may have several lines
		_, _ = fmt.Fprintf(&text, "\n  %-10s  %s", name, reason)
		errs = append(errs, slog.String(name, reason))
	}
	p.log.WarnContext(ctx, "listening and not ready", slog.String("http", p.cfg.HTTP.Addr), slog.String("grpc", p.cfg.GRPC.Addr), slog.Group("waits_for", errs...))
	p.progress(text.String())
}

// announce prints the addresses of the service and the file of its API key. On the first start it
// prints the key itself if the output is a terminal: other outputs are files and journals that are
// kept, and that more users can read than the file of the key.
func (p *process) announce(ctx context.Context, s *Service, key firstKey) {
	took := p.Now().Sub(p.Started)
	p.log.InfoContext(ctx, "ready", slog.Float64("seconds", took.Seconds()), slog.String("http", p.cfg.HTTP.Addr), slog.String("grpc", p.cfg.GRPC.Addr))
	base := p.cfg.BaseURL()
	text := fmt.Sprintf("\nColonnade is ready after %.1f s.\n\n%s  API        %s\n", took.Seconds(), p.consoleLine(ctx, s, key), base)
	if p.Roles.Write {
		text += "  OTLP/HTTP  " + base + "/otlp/v1/traces\n"
	}
	if s.GRPC != nil {
		text += "  OTLP/gRPC  " + p.cfg.GRPC.Addr + "\n"
	}
	if p.cfg.SQL.Addr != "" {
		text += "  SQL        http://" + p.cfg.SQL.Addr + " for tools of ClickHouse, the password is the API key\n"
	}
	switch {
	case key.path == "":
	case key.revoked:
		text += "  API key    the key in " + key.path + " was revoked: remove the file and start again for a new one\n"
	case key.new:
		if p.Terminal {
			text += "  API key    " + key.key.Reveal() + "   (shown this once, kept in " + key.path + ")\n"
		} else {
			text += "  API key    in " + key.path + "\n"
		}
		text += "\nTry it:\n\n" + curl(base, key.path)
	default:
		text += "  API key    created at the first start, kept in " + key.path + "\n"
	}
	p.progress(text) // in one write, because programs wait for this text
}

// curl returns two commands to paste: the first sends a span, the second queries
// the traces once it is visible. Both read the key from its file.
func curl(base, keyPath string) string {
	return fmt.Sprintf(`  curl -sS %[1]s/otlp/v1/traces -H "Authorization: ApiKey $(cat '%[2]s')" -H 'Content-Type: application/json' -d '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"'$(openssl rand -hex 16)'","spanId":"'$(openssl rand -hex 8)'","name":"hello","kind":1,"startTimeUnixNano":"'$(date +%%s%%N)'","endTimeUnixNano":"'$(date +%%s%%N)'"}]}]}]}'
  sleep 1; curl -sS %[1]s/traces/query -H "Authorization: ApiKey $(cat '%[2]s')" -H 'Content-Type: application/json' -d '{"windowing":{"limit":5}}'
`, base, keyPath)
}
