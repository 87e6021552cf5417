// Package quota bounds what each project stores: spans a day, bytes of payloads, entities.
// Here: counting the spans that a project sends, in all processes together, and refusing
// those beyond its quotas. The quota of entities is checked where they are created
// (write/registry), limits by the second are domain/limit, what a project uses is shown by
// read/usage.
package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// Config holds the quotas of each project. Zero means no quota.
type Config struct {
	// SpansPerDay bounds the spans that a project sends in a day (UTC).
	SpansPerDay int64
	// PayloadBytes bounds the stored payloads, before compression. It is counted anew every 10 minutes.
	PayloadBytes int64
	// Entities bounds the entities with their revisions and test cases.
	Entities int64
}

// Validate returns an error that names every field that cannot work.
func (c Config) Validate() error {
	if min(c.SpansPerDay, c.PayloadBytes, c.Entities) < 0 {
		return errors.New("spans_per_day, payload_bytes, entities: must not be negative")
	}
	return nil
}

// Deps are what a Meter works with.
type Deps struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn
	Deployment schema.Deployment
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Meter counts what projects send. It is safe for concurrent use.
type Meter struct {
	cfg     Config
	deps    Deps
	refused *prometheus.CounterVec
	used    *prometheus.GaugeVec

	mu       sync.Mutex // guards projects
	projects map[domain.ProjectID]*usage
}

// usage is what one project has sent.
type usage struct {
	// spans and bytes are not stored yet.
	spans, bytes int64
	// today is the spans of all processes on a day, payloads the stored bytes: both as of the
	// last store.
	day             time.Time
	today, payloads int64
	active          time.Time
}

// New returns a Meter that connects with its first store.
func New(cfg Config, deps Deps) *Meter {
	f := promauto.With(deps.Registerer)
	deps.Log = deps.Log.With(slog.String("component", "quota"))
	return &Meter{
		cfg: cfg, deps: deps, projects: map[domain.ProjectID]*usage{},
		refused: f.NewCounterVec(prometheus.CounterOpts{Name: "colonnade_quota_refused_total", Help: "Requests with spans refused because their project reached a quota, by quota."}, []string{"quota"}),
		used:    f.NewGaugeVec(prometheus.GaugeOpts{Name: "colonnade_quota_used_ratio", Help: "Part of a quota that a project uses, of projects that sent spans to this process lately; 1 is all."}, []string{"project", "quota"}),
	}
}

const (
	spansPerDay  = "spans_per_day"
	payloadBytes = "payload_bytes"
)

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Admit counts spans that a project sends, or refuses them where the project has used its
// quota: TooMany until the next day, Forbidden until payloads are deleted. What a project
// sent through other processes is known two seconds later.
func (m *Meter) Admit(project domain.ProjectID, spans, bytes int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.deps.Now()
	u, ok := m.projects[project]
	if !ok {
		u = &usage{}
		m.projects[project] = u
	}
	u.active = now
	if day := dayOf(now); !u.day.Equal(day) {
		u.day, u.today = day, 0
	}
	if quota := m.cfg.SpansPerDay; quota > 0 && u.today+u.spans >= quota {
		m.refused.WithLabelValues(spansPerDay).Inc()
		wait := u.day.AddDate(0, 0, 1).Sub(now)
		e := domain.E(domain.TooMany, "This project may send %d spans a day and has sent them. Send again after midnight UTC, in %d seconds.", quota, int(wait.Seconds())+1)
		e.RetryAfter = wait
		return e
	}
	if quota := m.cfg.PayloadBytes; quota > 0 && u.payloads+u.bytes >= quota {
		m.refused.WithLabelValues(payloadBytes).Inc()
		return domain.E(domain.Forbidden, "This project may store %d bytes of payloads and does. Delete traces, or keep payloads for fewer days (PUT /projects/current/retention); they are counted anew every 10 minutes.", quota)
	}
	u.spans += int64(spans)
	u.bytes += int64(bytes)
	return nil
}

const (
	storeEvery   = 2 * time.Second
	storeTimeout = 5 * time.Second
	measureEvery = time.Minute
	// idleAfter is when a project that sends nothing is forgotten.
	idleAfter = time.Minute
)

// Run stores what was counted, and counts stored payloads where there is a quota of them,
// until ctx ends.
func (m *Meter) Run(ctx context.Context) error {
	store, measure := time.NewTicker(storeEvery), time.NewTicker(measureEvery)
	defer store.Stop()
	defer measure.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
			defer cancel()
			if err := m.Store(last); err != nil {
				m.deps.Log.WarnContext(last, "storing what projects sent failed, the quotas of today miss a few seconds", slog.Any("error", err))
			}
			return nil
		case <-store.C:
			err = m.Store(ctx)
		case <-measure.C:
			err = m.Measure(ctx)
		}
		if err != nil && ctx.Err() == nil {
			m.deps.Log.WarnContext(ctx, "counting what projects store failed, it is tried again", slog.Any("error", err))
		}
	}
}

const addUsage = `
INSERT INTO project_usage AS u (project_id, day, spans, received_bytes)
SELECT a.project_id, $1, a.spans, a.bytes
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS a (project_id, spans, bytes) JOIN projects p ON p.id = a.project_id
ON CONFLICT (project_id) DO UPDATE SET day = excluded.day, received_bytes = u.received_bytes + excluded.received_bytes,
    spans = CASE WHEN u.day = excluded.day THEN u.spans + excluded.spans ELSE excluded.spans END
RETURNING project_id, spans, payload_bytes + received_bytes - measured_at_bytes`

// Store adds what was counted since the last call to the totals of all processes, and learns
// them.
func (m *Meter) Store(ctx context.Context) error {
	ids, spans, bytes := m.take()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	day := dayOf(m.deps.Now())
	type total struct {
		project         uuid.UUID
		today, payloads int64
	}
	rows, err := m.deps.Postgres.Query(ctx, addUsage, day, ids, spans, bytes)
	var totals []total
	if err == nil {
		totals, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t total, err error) {
			err = row.Scan(&t.project, &t.today, &t.payloads)
			return t, err
		})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		for i, id := range ids {
			u := m.projects[domain.ProjectID(id)]
			u.spans, u.bytes = u.spans+spans[i], u.bytes+bytes[i]
			u.today, u.payloads = u.today-spans[i], u.payloads-bytes[i] // they count once, as not stored
		}
		return fmt.Errorf("quota: storing usage: %w", err)
	}
	for _, t := range totals {
		u := m.projects[domain.ProjectID(t.project)]
		u.day, u.today, u.payloads = day, t.today, t.payloads
		m.show(t.project.String(), u)
	}
	return nil
}

func (m *Meter) show(project string, u *usage) {
	if m.cfg.SpansPerDay > 0 {
		m.used.WithLabelValues(project, spansPerDay).Set(float64(u.today) / float64(m.cfg.SpansPerDay))
	}
	if m.cfg.PayloadBytes > 0 {
		m.used.WithLabelValues(project, payloadBytes).Set(float64(u.payloads) / float64(m.cfg.PayloadBytes))
	}
}

// take returns what was counted and forgets the projects that send nothing any more.
func (m *Meter) take() (ids []uuid.UUID, spans, bytes []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.deps.Now()
	for id, u := range m.projects {
		if now.Sub(u.active) > idleAfter && u.spans == 0 {
			delete(m.projects, id)
			m.used.DeletePartialMatch(prometheus.Labels{"project": id.String()})
			continue
		}
		ids, spans, bytes = append(ids, uuid.UUID(id)), append(spans, u.spans), append(bytes, u.bytes)
		u.today, u.payloads = u.today+u.spans, u.payloads+u.bytes // counted until the totals are known
		u.spans, u.bytes = 0, 0
	}
	return ids, spans, bytes
}

// claimMeasures takes the projects of this process whose payloads were not counted for ten
// minutes, so that one process counts them.
const claimMeasures = `
UPDATE project_usage u SET measured_at = now()
WHERE u.project_id = ANY ($1) AND (u.measured_at IS NULL OR u.measured_at < now() - interval '10 minutes')
RETURNING u.project_id, u.received_bytes, coalesce((SELECT r.payload_days FROM project_retention r WHERE r.project_id = u.project_id), 0)`

// Measure counts the stored payloads of the projects that send spans, where there is a quota
// of them.
func (m *Meter) Measure(ctx context.Context) error {
	if m.cfg.PayloadBytes == 0 {
		return nil
	}
	m.mu.Lock()
	ids := make([]uuid.UUID, 0, len(m.projects))
	for id := range m.projects {
		ids = append(ids, uuid.UUID(id))
	}
	m.mu.Unlock()
	rows, err := m.deps.Postgres.Query(ctx, claimMeasures, ids)
	if err != nil {
		return fmt.Errorf("quota: looking for payloads to count: %w", err)
	}
	type claim struct {
		project  uuid.UUID
		received int64
		days     int
	}
	claims, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c claim, err error) {
		err = row.Scan(&c.project, &c.received, &c.days)
		return c, err
	})
	if err != nil {
		return fmt.Errorf("quota: looking for payloads to count: %w", err)
	}
	for _, c := range claims {
		stored, err := m.count(ctx, c.project, c.days)
		if err != nil {
			return err
		}
		if _, err := m.deps.Postgres.Exec(ctx, `UPDATE project_usage SET payload_bytes = $2, measured_at_bytes = $3 WHERE project_id = $1`, c.project, stored, c.received); err != nil {
			return fmt.Errorf("quota: storing usage: %w", err)
		}
	}
	return nil
}

// count returns the bytes of a project's payloads that retention has not emptied.
func (m *Meter) count(ctx context.Context, project uuid.UUID, payloadDays int) (int64, error) {
	const seconds = 60
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": seconds}))
	since := int64(0)
	if payloadDays > 0 {
		since = dayOf(m.deps.Now()).AddDate(0, 0, -payloadDays).UnixMicro()
	}
	var n uint64
	err := m.deps.ClickHouse.QueryRow(ctx, "SELECT sum(payload_bytes) FROM "+m.deps.Deployment.Table(schema.Spans)+
		" WHERE project_id = ? AND start_time >= fromUnixTimestamp64Micro(?, 'UTC')", project.String(), since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("quota: counting payloads: %w", err)
	}
	return int64(n), nil
}
