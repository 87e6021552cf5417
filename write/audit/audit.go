// Package audit writes the audit log: what each request changed, and who sent it. An entry
// is stored before its request is served, so that nothing happens without one; the status of
// the reply follows. Which requests have an entry is domain.Operation.Action; the server
// calls Begin and End. Reading the log is read/audit.
package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"colonnade/domain"
)

// Config says how long the audit log is kept.
type Config struct {
	// KeepFor is the age at which entries of the audit log are deleted.
	KeepFor time.Duration
}

// DefaultConfig keeps entries for 400 days: a year and a month to look back on it.
func DefaultConfig() Config { return Config{KeepFor: 400 * 24 * time.Hour} }

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	if c.KeepFor < 24*time.Hour {
		return errors.New("keep_for: must be at least 24h")
	}
	return nil
}

// Deps are what a Log works with.
type Deps struct {
	Pool       *pgxpool.Pool
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Log writes entries to Postgres. It is safe for concurrent use.
type Log struct {
	cfg  Config
	deps Deps
	lost prometheus.Counter

	mu    sync.Mutex           // guards ended
	ended []*domain.AuditEntry // entries whose outcome is not stored yet
	wake  chan struct{}        // has one value while ended may have entries
}

// New returns a Log that connects with its first entry.
func New(cfg Config, deps Deps) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	deps.Log = deps.Log.With(slog.String("component", "audit"))
	return &Log{cfg: cfg, deps: deps, wake: make(chan struct{}, 1), lost: promauto.With(deps.Registerer).NewCounter(prometheus.CounterOpts{
		Name: "colonnade_audit_lost_outcomes_total", Help: "Requests whose status the audit log lacks, because Postgres did not answer for long.",
	})}, nil
}

const insertEntry = `
INSERT INTO audit_log (id, at, project_id, user_id, key_prefix, session_id, address, action, resource, method, route, target, status)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO UPDATE SET project_id = excluded.project_id, user_id = excluded.user_id, key_prefix = excluded.key_prefix,
    target = excluded.target, status = excluded.status`

// Begin stores an entry before its request is served. The error is Unavailable: a request
// that cannot be logged is not served.
func (l *Log) Begin(ctx context.Context, e *domain.AuditEntry) error {
	if _, err := l.deps.Pool.Exec(ctx, insertEntry, arguments(e)...); err != nil {
		return domain.Wrap(domain.Unavailable, fmt.Errorf("audit: storing an entry: %w", err), "The audit log's store does not answer. Please try again.")
	}
	return nil
}

func arguments(e *domain.AuditEntry) []any {
	id := func(id uuid.UUID) *uuid.UUID {
		if id == uuid.Nil {
			return nil
		}
		return &id
	}
	project := e.Caller.Project
	if project.IsZero() {
		if named, err := uuid.Parse(fmt.Sprint(e.Target["project_id"])); err == nil { // the administration key changes one project
			project = domain.ProjectID(named)
		}
	}
	var prefix *string
	if e.Caller.KeyPrefix != "" {
		prefix = &e.Caller.KeyPrefix
	}
	var status *int
	if e.Status != 0 {
		status = &e.Status
	}
	return []any{e.ID, e.At, id(uuid.UUID(project)), id(e.Caller.User), prefix, id(e.Caller.Browser), e.Address, e.Action, e.Resource, e.Method, e.Route, e.Target, status}
}

// maxEnded bounds the outcomes in memory while Postgres does not answer.
const maxEnded = 10_000

// End stores the outcome of a request soon. It never waits.
func (l *Log) End(e *domain.AuditEntry) {
	l.mu.Lock()
	full := len(l.ended) >= maxEnded
	if !full {
		l.ended = append(l.ended, e)
	}
	l.mu.Unlock()
	if full {
		l.lost.Inc()
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

const (
	// retryEvery is the pause after Postgres refused outcomes.
	retryEvery = time.Second
	// pruneEvery is short beside the days for which entries are kept.
	pruneEvery = time.Hour
	// finishWithin bounds the last attempt when the process stops.
	finishWithin = 5 * time.Second
)

// Run stores outcomes and deletes old entries until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	prune := time.NewTicker(pruneEvery)
	defer prune.Stop()
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	failed := false
	for {
		var again <-chan time.Time
		if failed {
			again = retry.C
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
			defer cancel()
			l.storeEnded(last)
			return nil
		case <-prune.C:
			if err := l.Prune(ctx, l.deps.Now()); err != nil && ctx.Err() == nil {
				l.deps.Log.WarnContext(ctx, "deleting old audit entries failed, it is tried again in an hour", slog.Any("error", err))
			}
			continue
		case <-l.wake:
		case <-again:
		}
		failed = !l.storeEnded(ctx)
	}
}

// storeEnded stores the outcomes of requests, and keeps them for the next attempt if that
// fails.
func (l *Log) storeEnded(ctx context.Context) bool {
	l.mu.Lock()
	taken := l.ended
	l.ended = nil
	l.mu.Unlock()
	if len(taken) == 0 {
		return true
	}
	var batch pgx.Batch
	for _, e := range taken {
		batch.Queue(insertEntry, arguments(e)...)
	}
	err := l.deps.Pool.SendBatch(ctx, &batch).Close()
	if err == nil {
		return true
	}
	l.deps.Log.WarnContext(ctx, "storing the outcomes of requests failed, their audit entries lack the status until it succeeds", slog.Any("error", err))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = append(taken, l.ended...)
	if over := len(l.ended) - maxEnded; over > 0 {
		l.lost.Add(float64(over))
		l.ended = l.ended[:maxEnded]
	}
	return false
}

// Prune deletes the entries that are too old at a time.
func (l *Log) Prune(ctx context.Context, now time.Time) error {
	_, err := l.deps.Pool.Exec(ctx, `DELETE FROM audit_log WHERE at < $1`, now.Add(-l.cfg.KeepFor))
	return err
}
