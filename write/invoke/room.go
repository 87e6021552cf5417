package invoke

import (
	"io"
	"log/slog"
	"time"
)

// Config bounds what an invocation may cost.
type Config struct {
	// Timeout ends an invocation, however long its parts may take.
	Timeout time.Duration
	// MaxPerProject is how many invocations of one project may run at a time;
	// one more is told to come back later.
	MaxPerProject int
}

// DefaultConfig suits interactive applications.
func DefaultConfig() Config { return Config{Timeout: 5 * time.Minute, MaxPerProject: 256} }

// Deps are what invocations need from outside.
type Deps struct {
	Log *slog.Logger
	Now func() time.Time
	// Random feeds ids; crypto/rand.Reader in production.
	Random io.Reader
}

// Invoke runs revisions. It is safe for concurrent use.
type Invoke struct {
	cfg   Config
	deps  Deps
	table map[string]Handler
}

// New makes the room; it calls nobody before the first invocation.
func New(cfg Config, deps Deps) *Invoke {
	i := &Invoke{cfg: cfg, deps: deps}
	i.table = i.handlers()
	return i
}
