package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"colonnade/cmd/internal/config"
	"colonnade/migrations"
)

// migrate applies to both stores what is not applied yet, side by side.
func migrate(ctx context.Context, s stores, cfg config.Config, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	applied := func(store string, files []string, err error) error {
		for _, file := range files {
			log.InfoContext(ctx, "migration applied", slog.String("store", store), slog.String("file", file))
		}
		return err
	}
	group.Go(func() error {
		files, err := migrations.ClickHouse(ctx, s.clickhouse, cfg.Deployment())
		if err := applied("clickhouse", files, err); err != nil || cfg.ClickHouse.ContentIndex == "" {
			return err
		}
		on := cfg.ClickHouse.ContentIndex == "on"
		changed, err := migrations.ContentIndex(ctx, s.clickhouse, cfg.Deployment(), on)
		if changed {
			log.InfoContext(ctx, "full-text index of documents changed", slog.Bool("on", on))
		}
		return err
	})
	group.Go(func() error {
		files, err := migrations.Postgres(ctx, s.postgres)
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

// Script writes the DDL of ClickHouse for those who apply it by other means.
func Script(w io.Writer, cfg config.Loaded) error {
	text, err := migrations.Script(cfg.Deployment())
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	_, err = io.WriteString(w, text)
	return err
}
