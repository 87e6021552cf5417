// Package invoke runs revisions: it finds what a request is to run (resolve.go),
// looks up what is judged (judgedlink.go), runs the handler of its URI
// (handlers.go is their table) and records the invocation as a trace through the
// ordinary ingest (record.go). The handlers are in model, webhook and evaluators,
// what they share with this package in handler; templates of prompts are rendered
// by template, code runs in sandbox. Requests and replies are write/api/invoke,
// the caller beside write/evaluate. Source: interface.md §1, §4.4, contract §6.
package invoke

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/domain/slot"
	"colonnade/write/ingest"
	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/model"
	"colonnade/write/invoke/sandbox"
	"colonnade/write/invoke/webhook"
	"colonnade/write/registry/entities"
)

// Config bounds the time and the memory of invocations.
type Config struct {
	// Timeout bounds an invocation as a whole.
	Timeout time.Duration
	// PublishTimeout bounds how long a reply waits for its trace to be durable.
	PublishTimeout time.Duration
	// Slots bounds the invocations that run at once.
	Slots slot.Config
	// ServicesURL is where these handlers are reached, as the registry shows it.
	ServicesURL string
	Models      model.Config
	Webhook     webhook.Config
	// HookTicketHosts are hosts of hooks, each with or without a port, that get a credential with
	// the call: it adds spans and reads the revision that is run, for 15 minutes. An application
	// that an SDK serves asks for one.
	HookTicketHosts []string
	// Sandbox bounds code, and templates with loops.
	Sandbox sandbox.Config
}

// DefaultConfig returns bounds for interactive applications.
func DefaultConfig() Config {
	return Config{
		Timeout: 5 * time.Minute, PublishTimeout: 10 * time.Second, Slots: slot.Config{Count: 256, WaitTimeout: 5 * time.Second},
		Models: model.DefaultConfig(), Webhook: webhook.DefaultConfig(), Sandbox: sandbox.DefaultConfig(),
	}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 || c.PublishTimeout <= 0 {
		errs = append(errs, errors.New("timeout, publish_timeout: must be positive"))
	}
	if err := c.Slots.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("slots: %w", err))
	}
	if err := c.Models.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("models: %w", err))
	}
	if err := c.Webhook.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("webhook: %w", err))
	}
	if err := c.Sandbox.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("sandbox: %w", err))
	}
	return errors.Join(errs...)
}

// Deps are what invocations need from outside.
type Deps struct {
	// Registry finds revisions.
	Registry *entities.Registry
	// Ingest takes the traces in, like anyone else's.
	Ingest *ingest.Ingest
	// Stored shows what is judged by link alone; nil means that such requests
	// are judged as they are.
	Stored *ingest.Stored
	// Secret returns a project's stored secret; nil means that none are stored.
	Secret handler.Secret
	// HookTicket signs the credential that hooks of Config.HookTicketHosts get.
	HookTicket func(caller domain.Principal, revision uuid.UUID) (string, error)
	Log        *slog.Logger
	Now        func() time.Time
	// Random feeds ids; crypto/rand.Reader in production.
	Random     io.Reader
	Registerer prometheus.Registerer
}

// Invoke runs revisions. It is safe for concurrent use.
type Invoke struct {
	cfg     Config
	deps    Deps
	table   map[string]handler.Handler
	slots   *slot.Pool
	metrics *metrics
	models  *model.Client
	hooks   *webhook.Client
	sandbox *sandbox.Sandbox
	catalog *catalog.Catalog
}

// New makes the room; it calls nobody before the first invocation.
func New(cfg Config, deps Deps) (*Invoke, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("invoke: %w", err)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	deps.Log = deps.Log.With(slog.String("component", "invoke"))
	i := &Invoke{cfg: cfg, deps: deps, metrics: m, slots: slot.New(cfg.Slots, "invocations", deps.Now)}
	if i.sandbox, err = sandbox.New(cfg.Sandbox, sandbox.Deps{Now: deps.Now, Registerer: deps.Registerer}); err != nil {
		return nil, err
	}
	if i.models, err = model.New(cfg.Models, i.sandbox, deps.Secret, deps.Registerer); err != nil {
		return nil, err
	}
	i.hooks = webhook.New(cfg.Webhook, webhook.Deps{
		Secret: deps.Secret, Provider: cfg.Models.Has, Tickets: webhook.Tickets{Hosts: cfg.HookTicketHosts, Sign: deps.HookTicket}, Now: deps.Now,
	})
	if i.catalog, err = catalog.New(); err != nil {
		return nil, err
	}
	i.table = i.handlers()
	return i, nil
}

// Slots returns the pools from which invocations and the children of the sandbox take
// their slots.
func (i *Invoke) Slots() (invocations, sandbox *slot.Pool) { return i.slots, i.sandbox.Slots() }

// Close ends what runs in the sandbox and drops idle connections.
func (i *Invoke) Close() error {
	i.sandbox.Close()
	i.models.Close()
	i.hooks.Close()
	return nil
}
