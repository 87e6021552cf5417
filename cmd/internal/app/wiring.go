package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/measure"
	"colonnade/cmd/internal/server"
	"colonnade/cmd/internal/slotmetrics"
	"colonnade/domain"
	"colonnade/domain/credential"
	"colonnade/domain/limit"
	"colonnade/read/access"
	"colonnade/read/analytics"
	spansread "colonnade/read/api/spans"
	"colonnade/read/console"
	readentities "colonnade/read/entities"
	"colonnade/read/traces"
	writeapi "colonnade/write/api"
	accountsapi "colonnade/write/api/accounts"
	entitiesapi "colonnade/write/api/entities"
	evaluationsapi "colonnade/write/api/evaluations"
	invokeapi "colonnade/write/api/invoke"
	"colonnade/write/api/langfuse"
	"colonnade/write/api/simpletraces"
	spansapi "colonnade/write/api/spans"
	"colonnade/write/evaluate"
	"colonnade/write/evaluate/runner"
	"colonnade/write/ingest"
	"colonnade/write/invoke"
	"colonnade/write/normalize"
	"colonnade/write/otlp"
	"colonnade/write/registry"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entities"
	"colonnade/write/registry/evaluations"
	"colonnade/write/registry/folders"
	"colonnade/write/secrets"
	"colonnade/write/sink"
	"colonnade/write/stream"
	"colonnade/write/stream/consumer"
)

// wiring constructs a Service. Its fields are components that several of its
// steps need.
type wiring struct {
	*process
	*Service
	checks []server.Check
	limits *limit.Projects

	access     *access.Access
	normalizer *normalize.Normalizer
	traces     *traces.Reader
	analytics  *analytics.Reader
	spans      *spansread.Routes
	entities   *readentities.Registry

	router   writeapi.MeteredRouter
	ingest   *ingest.Ingest
	stored   *ingest.Stored
	commands *registry.DB
	registry *entities.Registry
	invoke   *invoke.Invoke
}

// build constructs every component, each step after those whose components it
// needs. No component runs, and none connects to a store before its first use.
// On an error the caller closes the service.
func (p *process) build(service *Service) error {
	w := &wiring{process: p, Service: service}
	w.check("clickhouse", w.Stores.probes.clickHouse.Ping)
	if reads := w.Stores.probes.reads; reads != nil {
		w.check("clickhouse_reads", reads.Ping)
	}
	w.check("postgres", w.Stores.probes.postgres.Ping)
	if !w.migrates() {
		w.check("migrations", w.migrated(w.Stores))
	}
	write, read := p.Roles.Write, p.Roles.Read
	for _, step := range []struct {
		needed bool
		run    func() error
	}{
		{w.engines != nil, w.watchDisk},
		{true, w.buildAccess},
		{write || p.Roles.Sink, w.buildProducer},
		{p.Roles.Sink, w.buildSink},
		{true, w.buildLimits},
		{true, w.buildAudit},
		{true, w.buildServer},
		{write || read, w.buildQueries},

		{write || p.Embedded, w.buildCommands}, // the first start of an embedded service creates an account
		{write, w.buildReceivers},
		{write, w.mountCommands},
		{write, w.buildSpanCommands},
		{write, w.buildRuns},
		{write, w.buildInvocations},
		{write, w.buildEvaluations},
		{write, w.buildViews},
		{write, w.buildOutbox},
		{p.Roles.Sink, w.buildLogEvents},

		{read, w.mountQueries},
		{read, w.mountProjects},
		{read, w.buildTail},
		{read, w.buildSQL},
	} {
		if !step.needed {
			continue
		}
		if err := step.run(); err != nil {
			return err
		}
	}
	return nil
}

func (w *wiring) check(name string, probe func(context.Context) error) {
	w.checks = append(w.checks, server.Check{Name: name, Probe: probe})
}

// buildAccess checks keys and tickets against Postgres.
func (w *wiring) buildAccess() error {
	secret, err := w.ticketSecret()
	if err != nil {
		return fmt.Errorf("app: the secret of service credentials: %w", err)
	}
	cfg := w.cfg.Access
	cfg.TicketSecret = secret
	w.access, err = access.New(cfg, access.Deps{Pool: w.Stores.Postgres, Now: w.Now, Used: accounts.Used(w.Stores.Postgres), Seen: func(ctx context.Context, browser uuid.UUID) error {
		if w.Accounts == nil {
			return nil // a process of the write role records it
		}
		return w.Accounts.SeeBrowser(ctx, browser)
	}})
	w.Access = w.access
	return err
}

// buildProducer publishes records of requests, and dead letters of the sink.
func (w *wiring) buildProducer() (err error) {
	if w.Producer, err = stream.NewProducer(w.cfg.Kafka, w.Now, w.log, w.pipeline("ingest")); err != nil {
		return err
	}
	w.closers = append(w.closers, w.Producer)
	w.check("kafka", w.Producer.Ready)
	return nil
}

// buildSink consumes records from Kafka and inserts their rows into ClickHouse.
func (w *wiring) buildSink() error {
	member, err := consumer.New(w.cfg.Kafka, w.Now, w.log, w.reg)
	if err != nil {
		return err
	}
	w.closers = append(w.closers, member)
	normalizer, err := normalize.New(w.cfg.Cost, w.reg)
	if err != nil {
		return err
	}
	w.Sink, err = sink.New(w.cfg.Sink, sink.Deps{
		Store: w.Stores.inserts, Consumer: member, Dead: w.Producer, Normalizer: normalizer,
		Erased: accounts.Erased(w.Stores.Postgres), Retentions: accounts.Retentions(w.Stores.Postgres), Now: w.Now, Log: w.log, Registerer: w.reg,
	})
	if err != nil {
		return err
	}
	w.checks = append(w.checks, server.Check{Name: "sink", Probe: w.Sink.Ready, Lag: w.Sink.Lag})
	return nil
}

// buildServer serves HTTP. The steps after it mount their endpoints.
func (w *wiring) buildServer() (err error) {
	if w.limiter, err = listener.New(w.Now, w.log.With(slog.String("component", "listener")), w.reg); err != nil {
		return err
	}
	deps := server.Deps{
		Log: w.log, Registry: w.reg, Authenticate: w.access.Authenticate, Tokens: w.access.Tokens, RateHeaders: w.access.RateHeaders, Allows: w.allows,
		AuthKey: w.cfg.AuthKey, Checks: w.checks, Problems: w.problems, PublicURL: w.cfg.PublicURL, Now: w.Now,
		Read: w.admitRead, Audit: server.Audit{Begin: w.Audit.Begin, End: w.Audit.End},
	}
	if deps.TLS, err = w.secure("http", w.cfg.HTTP.TLS, "h2", "http/1.1"); err != nil {
		return err
	}
	if w.cfg.Console.Enabled {
		if w.console, err = console.New(); err != nil {
			return err
		}
		deps.Console, deps.Browser = w.console.Serve, w.browser
	}
	w.Server, err = server.New(w.cfg.HTTP, deps)
	return err
}

// buildQueries reads spans from ClickHouse and entities from Postgres. The write
// role needs it too: the metrics of evaluation runs are statistics of traces, and
// runs over live traffic find their traces by a saved query.
func (w *wiring) buildQueries() (err error) {
	// Replies and live tails need a normalizer that counts nothing: the metrics of
	// normalization describe what the sink stores.
	if w.normalizer, err = normalize.New(w.cfg.Cost, prometheus.NewRegistry()); err != nil {
		return err
	}
	if w.traces, err = traces.New(w.cfg.Read.Store, w.Stores.queries, w.Now, w.reg); err != nil {
		return err
	}
	if err = slotmetrics.Register(w.reg, "read", w.traces.Slots()); err != nil {
		return err
	}
	if w.Sink != nil && !w.cfg.ClickHouse.Replicated { // another replica may lag behind the sink's inserts
		w.traces.UseLocal(w.Sink.Visible)
	}
	if w.analytics, err = analytics.New(w.cfg.Analytics, w.traces, w.Now); err != nil {
		return err
	}
	if w.entities, err = readentities.New(w.cfg.Entities.Read, readentities.Deps{Pool: w.Stores.Postgres}); err != nil {
		return err
	}
	saved := func(ctx context.Context, project domain.ProjectID, query, variant, revision domain.Reference) (json.RawMessage, bool, error) {
		return w.entities.SavedQuery(ctx, project, query, variant, revision)
	}
	w.spans, err = spansread.New(w.cfg.Read.Limits, w.traces, saved, w.Now)
	return err
}

// buildCommands changes accounts and entities in Postgres.
func (w *wiring) buildCommands() (err error) {
	cfg := w.cfg.Entities.Write
	if w.commands, err = registry.New(cfg, registry.Deps{
		Pool: w.Stores.Postgres, Now: w.Now, Random: credential.Random(), MaxEntities: w.cfg.Projects.Quotas.Entities,
	}); err != nil {
		return err
	}
	if w.registry, err = entities.New(w.commands, cfg.ServicesURL); err != nil {
		return err
	}
	w.Accounts = accounts.New(w.commands, w.registry)
	return nil
}

// buildReceivers accepts OTLP over HTTP and gRPC and publishes it to Kafka.
func (w *wiring) buildReceivers() (err error) {
	if w.ingest, err = ingest.New(w.cfg.Ingest, w.Producer, w.Now, w.log, w.pipeline("ingest")); err != nil {
		return err
	}
	w.ingest.Admit(w.admitSpans())
	w.router = writeapi.Metered(w.Server, w.ingest.Budget())
	producer, err := stream.NewProducer(w.cfg.LogEvents.Kafka(w.cfg.Kafka), w.Now, w.log, w.pipeline("logs"))
	if err != nil {
		return err
	}
	w.closers = append(w.closers, producer)
	logs := ingest.NewLogs(producer, w.Now)
	receiver, err := otlp.New(w.cfg.OTLP, w.ingest, logs, w.Now, w.log, w.reg)
	if err != nil {
		return err
	}
	receiver.Mount(w.Server)
	if w.cfg.GRPC.Addr != "" {
		cfg := w.cfg.OTLP
		if cfg.TLS, err = w.secure("grpc", w.cfg.GRPC.TLS, "h2"); err != nil {
			return err
		}
		w.GRPC, err = otlp.NewGRPC(cfg, w.ingest, logs, w.access.Authenticate, w.Server.EncryptToken, w.Now, w.log, w.reg)
	}
	return err
}

// mountCommands mounts the endpoints that change accounts, entities and folders.
func (w *wiring) mountCommands() error {
	accountsapi.Mount(w.router, accountsapi.Deps{Registry: w.Accounts})
	accountsapi.MountKeys(w.router, w.Accounts)
	accountsapi.MountMembers(w.router, w.Accounts)
	accountsapi.MountRetention(w.router, w.Accounts)
	if err := w.mountBrowsers(); err != nil {
		return err
	}
	entitiesapi.Mount(w.router, w.registry)
	entitiesapi.MountFolders(w.router, folders.New(w.commands))
	entitiesapi.MountTestsetFiles(w.router, w.registry)
	return nil
}

// buildSpanCommands publishes traces and edits of spans that requests carry as JSON.
func (w *wiring) buildSpanCommands() (err error) {
	if w.stored, err = ingest.NewStored(w.cfg.Commands, w.Stores.ClickHouse); err != nil {
		return err
	}
	deps := spansapi.Deps{Ingest: w.ingest, Stored: w.stored, Normalizer: w.normalizer, Now: w.Now}
	if err := spansapi.Mount(w.router, w.cfg.TracesAPI, deps); err != nil {
		return err
	}
	langfuse.Mount(w.router, langfuse.Deps{Ingest: w.ingest, Entities: w.registry, Now: w.Now, Random: credential.Random()})
	simpletraces.Mount(w.router, simpletraces.Deps{Deps: deps, Entities: w.registry, Random: credential.Random()})
	return nil
}

// buildRuns changes evaluation runs and their results in Postgres.
func (w *wiring) buildRuns() error {
	w.Runs = evaluations.New(w.commands, w.registry, evaluations.Spans{Wait: w.traces.Wait, Measure: measure.Runs(w.analytics)})
	evaluationsapi.MountRuns(w.router, w.Runs)
	return nil
}

// buildInvocations runs applications and evaluators, with the secrets that they use.
func (w *wiring) buildInvocations() error {
	key, err := w.encryptionKey()
	if err != nil {
		return fmt.Errorf("app: the key that encrypts secrets: %w", err)
	}
	cfg := w.cfg.Secrets
	cfg.EncryptionKey = key
	secrets, err := secrets.New(cfg, secrets.Deps{Pool: w.Stores.Postgres, Now: w.Now, Random: credential.Random()})
	if err != nil {
		return err
	}
	accountsapi.MountSecrets(w.router, secrets)
	prompt, err := w.buildPromptIngest()
	if err != nil {
		return err
	}
	w.invoke, err = invoke.New(w.cfg.Invoke, invoke.Deps{
		Registry: w.registry, Ingest: prompt, Stored: w.stored, Secret: secrets.Open, HookTicket: w.access.HookTicket,
		Log: w.log, Now: w.Now, Random: credential.Random(), Registerer: w.reg,
	})
	if err != nil {
		return err
	}
	w.closers = append(w.closers, w.invoke)
	w.limitInvocations()
	invocations, sandbox := w.invoke.Slots()
	if err := errors.Join(slotmetrics.Register(w.reg, "invoke", invocations), slotmetrics.Register(w.reg, "sandbox", sandbox)); err != nil {
		return err
	}
	invokeapi.Mount(w.router, invokeapi.Deps{Invoke: w.invoke, Timeout: w.replyTimeout(w.cfg.Invoke.Timeout), EncryptToken: w.Server.EncryptToken, Status: server.StatusOf})
	return nil
}

// buildPromptIngest publishes the traces of invocations, whose callers wait for
// Kafka's acknowledgement. Its producer does not linger.
func (w *wiring) buildPromptIngest() (*ingest.Ingest, error) {
	cfg := w.cfg.Kafka
	cfg.Linger = 0
	cfg.ClientID += "-invoke"
	reg := w.pipeline("invoke")
	producer, err := stream.NewProducer(cfg, w.Now, w.log, reg)
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, producer)
	return ingest.New(w.cfg.Ingest, producer, w.Now, w.log, reg)
}

// pipeline registers metrics with a label that separates the two ways into Kafka:
// requests and the traces of invocations.
func (w *wiring) pipeline(name string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"pipeline": name}, w.reg)
}

// buildEvaluations manages evaluation runs and executes them.
func (w *wiring) buildEvaluations() (err error) {
	manager, err := evaluate.New(w.cfg.Evaluate, evaluate.Deps{Invoke: w.invoke, Registry: w.registry, Runs: w.Runs, Traces: w.spans.SavedTraces})
	if err != nil {
		return err
	}
	w.Runner, err = runner.New(w.cfg.Evaluate, runner.Deps{
		Evaluate: manager, Invoke: w.invoke, Entities: w.registry, Runs: w.Runs, Stored: w.stored, Log: w.log, Now: w.Now, Registerer: w.reg,
	})
	if err != nil {
		return err
	}
	if err := slotmetrics.Register(w.reg, "evaluate", w.Runner.Slots()); err != nil {
		return err
	}
	evaluationsapi.MountBatch(w.router, evaluationsapi.BatchDeps{
		Runner: w.Runner, Timeout: w.replyTimeout(w.cfg.Evaluate.Timeout), Status: server.StatusOf, EncryptToken: w.Server.EncryptToken,
	})
	evaluationsapi.MountSimple(w.router, evaluationsapi.SimpleDeps{Evaluate: manager, Runs: w.Runs})
	return nil
}

// replyTimeout returns how long a request may take whose work takes at most work:
// its trace is published afterwards, and its reply is written.
func (w *wiring) replyTimeout(work time.Duration) time.Duration {
	const reply = 10 * time.Second
	return work + w.cfg.Invoke.PublishTimeout + reply
}
