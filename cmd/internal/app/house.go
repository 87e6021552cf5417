package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/server"
	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/read/access"
	"colonnade/read/analytics"
	readapi "colonnade/read/api"
	lineage "colonnade/read/entities"
	readruns "colonnade/read/entities/runs"
	"colonnade/read/tail"
	"colonnade/read/traces"
	writeapi "colonnade/write/api"
	accountsapi "colonnade/write/api/accounts"
	entitiesapi "colonnade/write/api/entities"
	"colonnade/write/evaluate"
	"colonnade/write/ingest"
	"colonnade/write/normalize"
	"colonnade/write/otlp"
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/evaluations"
	"colonnade/write/sink"
	"colonnade/write/stream"
)

// house is every room that this process's roles need, wired and still.
type house struct {
	server *server.Server
	// commands is the server, for those whose bodies share the memory of requests; empty without the write role.
	commands writeapi.MeteredRouter
	grpc     *otlp.GRPC // nil without the write role
	limiter  *listener.Limiter
	sink     *sink.Sink // nil without the sink role
	tail     *tail.Hub  // nil without the read role
	access   *access.Access

	producer *stream.Producer
	traces   *traces.Reader    // nil where no role asks about spans
	analyst  *analytics.Reader // beside it
	runs     *evaluations.Runs // nil without the write role
	// evaluations carries runs out; nil without the write role.
	evaluations *evaluate.Evaluate
	checks      []server.Check
	// closers are closed in reverse order, after all actors have ended.
	closers []io.Closer
}

func (h *house) close() error {
	var err error
	for _, v := range slices.Backward(h.closers) {
		err = errors.Join(err, v.Close())
	}
	return err
}

func (h *house) check(name string, probe func(context.Context) error) {
	h.checks = append(h.checks, server.Check{Name: name, Probe: probe})
}

// build wires the rooms. Nothing runs before run.
func (p *process) build(s stores) (h *house, err error) {
	h = &house{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	h.check("clickhouse", s.clickhouse.Ping)
	h.check("postgres", s.postgres.Ping)
	if !p.migrates() {
		h.check("migrations", p.migrated(s))
	}
	if err := p.buildAccess(h, s); err != nil {
		return h, err
	}
	if p.Roles.Write || p.Roles.Sink {
		if h.producer, err = stream.NewProducer(p.cfg.Kafka, p.Now, p.log, p.reg); err != nil {
			return h, err
		}
		h.closers = append(h.closers, h.producer)
		h.check("kafka", h.producer.Ready)
	}
	if p.Roles.Sink {
		if err := p.buildSink(h, s); err != nil {
			return h, err
		}
	}
	if h.limiter, err = listener.New(p.Now, p.log.With(slog.String("component", "listener")), p.reg); err != nil {
		return h, err
	}
	h.server, err = server.New(p.cfg.HTTP, server.Deps{
		Log: p.log, Registry: p.reg, Authenticate: h.access.Authenticate, RateHeaders: h.access.RateHeaders, Allows: access.Allows,
		AuthKey: p.cfg.AuthKey, Checks: h.checks, Problems: p.problems, Now: p.Now,
	})
	if err != nil {
		return h, err
	}
	if p.Roles.Write {
		if err := p.buildWrite(h, s); err != nil {
			return h, err
		}
	}
	if p.Roles.Read {
		if err := p.buildRead(h, s); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (p *process) buildAccess(h *house, s stores) error {
	secret, err := p.ticketSecret()
	if err != nil {
		return fmt.Errorf("app: the secret of service credentials: %w", err)
	}
	cfg := p.cfg.Access
	cfg.TicketSecret = secret
	h.access, err = access.New(cfg, access.Deps{Pool: s.postgres, Now: p.Now})
	return err
}

// buildSink wires stream -> fit -> ClickHouse.
func (p *process) buildSink(h *house, s stores) error {
	consumer, err := stream.NewConsumer(p.cfg.Kafka, p.Now, p.log, p.reg)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, consumer)
	fitter, err := normalize.New(p.reg)
	if err != nil {
		return err
	}
	h.sink, err = sink.New(p.cfg.Sink, sink.Deps{
		Store: s.inserts, Consumer: consumer, Dead: h.producer, Fitter: fitter, Erased: accounts.Erased(s.postgres), Now: p.Now, Log: p.log, Registerer: p.reg,
	})
	if err != nil {
		return err
	}
	h.check("sink", h.sink.Ready)
	return nil
}

// buildWrite wires the doors -> ingest -> stream, and the commands on Postgres.
func (p *process) buildWrite(h *house, s stores) error {
	taking, err := ingest.New(p.cfg.Ingest, h.producer, p.Now, p.log, p.reg)
	if err != nil {
		return err
	}
	h.commands = writeapi.Metered(h.server, taking.Budget())
	door, err := otlp.New(p.cfg.OTLP, taking, p.Now, p.log, p.reg)
	if err != nil {
		return err
	}
	door.Mount(h.server)
	if p.cfg.GRPC.Addr != "" {
		if h.grpc, err = otlp.NewGRPC(p.cfg.OTLP, taking, h.access.Authenticate, p.Now, p.log, p.reg); err != nil {
			return err
		}
	}
	commands, err := newCommands(p.cfg.Entities.Write, registry.Deps{Pool: s.postgres, Now: p.Now, Random: credential.Random()})
	if err != nil {
		return err
	}
	accountsapi.Mount(h.commands, accountsapi.Deps{Registry: commands.accounts})
	accountsapi.MountKeys(h.commands, commands.accounts)
	entitiesapi.Mount(h.commands, commands.entities)
	entitiesapi.MountFolders(h.commands, commands.folders)
	entitiesapi.MountTestsetFiles(h.commands, commands.entities)
	if err := p.buildDoors(h, s, taking, commands); err != nil {
		return err
	}
	if err := p.buildRuns(h, s, commands); err != nil {
		return err
	}
	return p.buildInvoke(h, s, commands)
}

// buildRead wires the queries -> ClickHouse and Postgres.
func (p *process) buildRead(h *house, s stores) error {
	if err := p.buildSpans(h, s); err != nil {
		return err
	}
	entities, err := lineage.New(p.cfg.Entities.Read, lineage.Deps{Pool: s.postgres})
	if err != nil {
		return err
	}
	saved := func(ctx context.Context, project domain.ProjectID, query, variant, revision domain.Reference) (json.RawMessage, bool, error) {
		return entities.SavedQuery(ctx, project, query, variant, revision)
	}
	spans, err := readapi.NewSpans(p.cfg.Read.Limits, h.traces, saved)
	if err != nil {
		return err
	}
	questions := readapi.Bounded(h.server)
	spans.Mount(questions)
	spans.MountSimple(questions)
	readapi.NewAnalytics(spans, h.analyst).Mount(questions)
	readapi.MountAccess(questions, h.access)
	readapi.MountRegistry(questions, entities)
	readapi.MountFolders(questions, entities)
	readapi.MountRuns(questions, readruns.New(entities))
	readapi.MountSimpleEvaluations(questions, readruns.New(entities))
	readapi.MountTestcases(questions, entities)
	readapi.MountTestsetFiles(questions, entities)
	readapi.MountLegacy(questions, entities)
	return p.buildTail(h, h.traces)
}
