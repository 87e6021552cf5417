package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"colonnade/cmd/internal/config"
	"colonnade/migrations"
)

// migrateFor is how long a statement of a migration may take: one that copies all
// that is stored takes as long as there is much of it. A client that went away
// earlier would end it, and begin it again at its next start, for ever.
const migrateFor = 7 * 24 * time.Hour

// migrate applies to both stores what is not applied yet, side by side. Processes
// that start together do so one after the other.
func migrate(ctx context.Context, s Stores, cfg config.Config, log *slog.Logger) error {
	clickHouse, err := openClickHouse(cfg.ClickHouse, func(o *clickhouse.Options) { o.ReadTimeout = migrateFor })
	if err != nil {
		return err
	}
	waits := func() { log.InfoContext(ctx, "another process is migrating, this one waits") }
	return errors.Join(migrations.Alone(ctx, s.Postgres, waits, func() error {
		return migrateBoth(ctx, clickHouse, s.Postgres, cfg, log)
	}), clickHouse.Close())
}

// migrates tells whether this process applies the migrations by itself.
func (p *process) migrates() bool { return p.Embedded || p.Roles == AllRoles() }

// migrated is the check of a process that does not. Once they are applied they
// stay so; where a store does not answer, its own check says it.
func (p *process) migrated(s Stores) func(context.Context) error {
	var all atomic.Bool
	return func(ctx context.Context) error {
		if all.Load() {
			return nil
		}
		waiting, err := migrations.Waiting(ctx, s.probes.clickHouse, s.probes.postgres, p.cfg.Deployment())
		if errors.Is(err, migrations.ErrOtherBuild) {
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if len(waiting) > 0 {
			return fmt.Errorf("%d migrations are not applied, the first of them %s: run colonnade migrate", len(waiting), waiting[0])
		}
		all.Store(true)
		return nil
	}
}

func migrateBoth(ctx context.Context, clickHouse driver.Conn, postgres *pgxpool.Pool, cfg config.Config, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	applied := func(store string, files []string, err error) error {
		for _, file := range files {
			log.InfoContext(ctx, "migration applied", slog.String("store", store), slog.String("file", file))
		}
		return err
	}
	group.Go(func() error {
		files, err := migrations.ClickHouse(ctx, clickHouse, cfg.Deployment())
		if err := applied("clickhouse", files, err); err != nil || cfg.ClickHouse.ContentIndex == "" {
			return err
		}
		on := cfg.ClickHouse.ContentIndex == "on"
		changed, err := migrations.ContentIndex(ctx, clickHouse, cfg.Deployment(), on)
		if changed {
			log.InfoContext(ctx, "full-text index of payloads changed", slog.Bool("on", on))
		}
		return err
	})
	group.Go(func() error {
		files, err := migrations.Postgres(ctx, postgres)
		return applied("postgres", files, err)
	})
	return group.Wait()
}

// Migrate applies the migrations to the stores of the configuration.
func Migrate(ctx context.Context, cfg config.Loaded, o Options) error {
	p := &process{Options: o, cfg: cfg, log: o.Log}
	p.Roles = Roles{Read: true}
	s, err := p.openStores(ctx)
	if err != nil {
		return err
	}
	if err := migrate(ctx, s, cfg.Config, o.Log); err != nil {
		_ = s.close() // the failure above is what counts
		return err
	}
	p.progress("Both stores are up to date.")
	return s.close()
}

// ReaderScript writes the statements that create the user of the read side.
func ReaderScript(w io.Writer, cfg config.Loaded) error {
	options, err := clickHouseOptions(cfg.ClickHouse)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	deployment := cfg.Deployment()
	deployment.Database = cmp.Or(options.Auth.Database, "default")
	limits := migrations.ReaderLimits{Timeout: cfg.Read.Store.QueryTimeout, MemoryBytes: cfg.Read.Store.QueryMemoryBytes}
	_, err = io.WriteString(w, migrations.ReaderScript(deployment, limits))
	return err
}

// Script writes the DDL of ClickHouse for those who apply it by other means.
func Script(w io.Writer, cfg config.Loaded) error {
	text, err := migrations.Script(cfg.Deployment())
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	_, err = io.WriteString(w, text)
	return err
}
