package migrations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lockKey is the advisory lock under which files are applied: "colonnad" in ASCII.
// aloneKey is that of Alone.
const (
	lockKey  = 0x636f6c6f6e6e6164
	aloneKey = lockKey + 1
)

// unlockTimeout bounds the release of the lock after the caller's context ended.
const unlockTimeout = 5 * time.Second

// Alone runs work while no other process does so on the same Postgres database;
// where it has to wait its turn it calls waits before. The lock has a connection
// of its own, and ends with it, however the process ends.
func Alone(ctx context.Context, pool *pgxpool.Pool, waits func(), work func() error) error {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("migrations: connect to Postgres: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_ = conn.Close(closing) // the server ends the session by itself, too
	}()
	alone := false
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(aloneKey)).Scan(&alone)
	if err == nil && !alone {
		waits()
		_, err = conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(aloneKey))
	}
	if err != nil {
		return fmt.Errorf("migrations: wait for other processes that migrate: %w", err)
	}
	return work()
}

// Postgres applies what is not applied yet and gives the names of the files it
// applied, in order. A second run applies nothing. Runs at once wait for each
// other: they hold an advisory lock of the database.
func Postgres(ctx context.Context, pool *pgxpool.Pool) (applied []string, err error) {
	all, err := read(files, "postgres")
	if err != nil {
		return nil, err
	}
	return applyPostgres(ctx, pool, all)
}

func applyPostgres(ctx context.Context, pool *pgxpool.Pool, all []file) (applied []string, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: connect to Postgres: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(lockKey)); err != nil {
		return nil, fmt.Errorf("migrations: lock Postgres: %w", err)
	}
	defer func() {
		// The lock belongs to the session, and the session goes back to the
		// pool: released even when ctx is over, or it would stay taken.
		unlockCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		if _, unlockErr := conn.Exec(unlockCtx, "SELECT pg_advisory_unlock($1)", int64(lockKey)); unlockErr != nil {
			_ = conn.Conn().Close(unlockCtx) // the session's end releases it as well
		}
	}()
	if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"); err != nil {
		return nil, fmt.Errorf("migrations: create the record in Postgres: %w", err)
	}
	recorded, err := recordedInPostgres(ctx, conn)
	if err != nil {
		return nil, err
	}
	todo, err := pending("Postgres", all, recorded)
	if err != nil {
		return nil, err
	}
	for _, f := range todo {
		if err := applyFile(ctx, conn, f); err != nil {
			return applied, err
		}
		applied = append(applied, f.name)
	}
	return applied, nil
}

// applyFile runs a file and records it in one transaction.
func applyFile(ctx context.Context, conn *pgxpool.Conn, f file) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The simple protocol runs a text of many statements.
		if _, err := tx.Conn().PgConn().Exec(ctx, f.text).ReadAll(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO schema_migrations (name, checksum) VALUES ($1, $2)", f.name, f.checksum)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrations: apply %s: %w", f.name, err)
	}
	return nil
}

func recordedInPostgres(ctx context.Context, conn *pgxpool.Conn) (map[string]string, error) {
	rows, err := conn.Query(ctx, "SELECT name, checksum FROM schema_migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: read the record in Postgres: %w", err)
	}
	recorded := map[string]string{}
	var name, checksum string
	_, err = pgx.ForEachRow(rows, []any{&name, &checksum}, func() error {
		recorded[name] = checksum
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("migrations: read the record in Postgres: %w", err)
	}
	return recorded, nil
}
