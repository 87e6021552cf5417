package invoke

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/write/ingest"
	"colonnade/write/invoke/sandbox"
	"colonnade/write/registry/entities"
)

// Config bounds the time and the memory of invocations.
type Config struct {
	// Timeout bounds an invocation as a whole.
	Timeout time.Duration
	// PublishTimeout bounds how long a reply waits for its trace to be durable.
	PublishTimeout time.Duration
	// MaxPerProject is how many invocations of one project may run at a time. A
	// further one is answered with 429.
	MaxPerProject int
	// ServicesURL is where these handlers are reached, as the registry shows it.
	ServicesURL string
	Models      Models
	Webhook     Webhook
	// Sandbox bounds code, and templates with loops.
	Sandbox sandbox.Config
}

// DefaultConfig returns bounds for interactive applications.
func DefaultConfig() Config {
	return Config{
		Timeout: 5 * time.Minute, PublishTimeout: 10 * time.Second, MaxPerProject: 256,
		Models: defaultModels(), Webhook: defaultWebhook(), Sandbox: sandbox.DefaultConfig(),
	}
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 || c.PublishTimeout <= 0 {
		errs = append(errs, errors.New("timeout, publish_timeout: must be positive"))
	}
	if c.MaxPerProject < 1 {
		errs = append(errs, errors.New("max_per_project: must be at least 1"))
	}
	if err := c.Models.validate(); err != nil {
		errs = append(errs, fmt.Errorf("models: %w", err))
	}
	if err := c.Webhook.validate(); err != nil {
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
	// Secret gives the value of a project's stored secret by its name: that of
	// a provider, or "hook" for the one that signs; false where there is none.
	// Nil means that none are stored.
	Secret func(ctx context.Context, project domain.ProjectID, name string) (string, bool, error)
	Log    *slog.Logger
	Now    func() time.Time
	// Random feeds ids; crypto/rand.Reader in production.
	Random     io.Reader
	Registerer prometheus.Registerer
}

// Invoke runs revisions. It is safe for concurrent use.
type Invoke struct {
	cfg     Config
	deps    Deps
	table   map[string]Handler
	limits  *limits
	metrics *metrics
	models  *http.Client
	hooks   *http.Client
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
	i := &Invoke{cfg: cfg, deps: deps, metrics: m, limits: &limits{most: cfg.MaxPerProject, under: map[domain.ProjectID]int{}}}
	i.models, i.hooks = cfg.Models.client(), cfg.Webhook.client()
	if i.sandbox, err = sandbox.New(cfg.Sandbox, sandbox.Deps{Now: deps.Now, Registerer: deps.Registerer}); err != nil {
		return nil, err
	}
	if i.catalog, err = catalog.New(); err != nil {
		return nil, err
	}
	i.table = i.handlers()
	return i, nil
}

// Close ends what runs in the sandbox and drops idle connections.
func (i *Invoke) Close() error {
	i.sandbox.Close()
	i.models.CloseIdleConnections()
	i.hooks.CloseIdleConnections()
	return nil
}
