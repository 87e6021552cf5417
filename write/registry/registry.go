// Package registry runs the commands that change Postgres. The commands are in the
// packages below it: accounts (users, organizations, projects, keys), entities
// (versioned entities and what environments deploy), testcases, folders and
// evaluations. This package holds what they share: a transaction that restarts
// after a deadlock, the classification of Postgres errors, the clock, ids, and
// the fields that every record has. Reading for its own sake is read/entities;
// requests and replies are write/api, which calls the commands.
package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/domain"
	"colonnade/migrations/postgres"
)

// Deps are the connections of a DB.
type Deps struct {
	Pool *pgxpool.Pool
	Now  func() time.Time
	// Random feeds keys and generated slugs; crypto/rand.Reader in production.
	Random io.Reader
	// MaxEntities bounds the entities of a project, with their revisions and test cases; zero
	// means no bound.
	MaxEntities int64
}

// DB runs commands on Postgres. It is safe for concurrent use.
type DB struct {
	deps  Deps
	begin pgx.TxOptions
}

// New returns a DB that connects with its first command.
func New(cfg Config, deps Deps) (*DB, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return &DB{
		deps: deps,
		// The timeout bounds how long a command waits for a lock, so that one
		// command that hangs does not occupy every connection of the pool.
		begin: pgx.TxOptions{BeginQuery: fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %d", cfg.LockTimeout.Milliseconds())},
	}, nil
}

// Pool returns the connections for statements outside of a transaction.
func (d *DB) Pool() *pgxpool.Pool { return d.deps.Pool }

// Random returns the source of keys and generated slugs.
func (d *DB) Random() io.Reader { return d.deps.Random }

// Now returns the time of a command in microseconds, the precision of Postgres,
// so that a reply shows the same time as a later read.
func (d *DB) Now() time.Time { return d.deps.Now().UTC().Truncate(time.Microsecond) }

// NewID returns a UUIDv7: the ids of one process ascend with time, so that a list
// by id is a list by creation.
func (d *DB) NewID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("registry: making an id: %w", err)
	}
	return id, nil
}

// attempts bounds how often a transaction is started when Postgres aborts it.
const attempts = 3

// Transact runs a command in one transaction. A deadlock or a serialization
// failure restarts the command; any other error rolls everything back and is
// classified. doing names the command in the error.
func (d *DB) Transact(ctx context.Context, doing string, command func(tx pgx.Tx) error) error {
	var err error
	for range attempts {
		err = pgx.BeginTxFunc(ctx, d.deps.Pool, d.begin, command)
		if !restarts(err) {
			break
		}
	}
	return Classify(err, doing)
}

// Query runs a statement outside of a transaction and passes its rows to read.
// Errors are classified as by Transact.
func (d *DB) Query(ctx context.Context, doing string, read func(rows pgx.Rows, err error) error, sql string, args ...any) error {
	return Classify(read(d.deps.Pool.Query(ctx, sql, args...)), doing)
}

// CheckQuota returns Forbidden where a project has as many entities as it may have.
func (d *DB) CheckQuota(ctx context.Context, tx pgx.Tx, project domain.ProjectID) error {
	if d.deps.MaxEntities == 0 {
		return nil
	}
	var n int64
	err := tx.QueryRow(ctx, `
SELECT (SELECT count(*) FROM artifacts WHERE project_id = $1) + (SELECT count(*) FROM revisions WHERE project_id = $1) + (SELECT count(*) FROM testcases WHERE project_id = $1)`,
		uuid.UUID(project)).Scan(&n)
	if err == nil && n >= d.deps.MaxEntities {
		return domain.E(domain.Forbidden, "This project may have %d entities, counting revisions and test cases, and has %d. Ask the operator for more.", d.deps.MaxEntities, n)
	}
	return err
}

// SQLSTATE codes that are more than an internal error.
const (
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeLockTimeout     = "55P03"
	codeUniqueViolation = "23505"
	codeBadText         = "22021"
	codeBadEscape       = "22P05"
	codeTooComplex      = "54000"
	codeTooDeep         = "54001"
)

func restarts(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == codeSerialization || pg.Code == codeDeadlock)
}

// Violates reports whether err is the violation of this unique constraint.
func Violates(err error, constraint string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == codeUniqueViolation && pg.ConstraintName == constraint
}

// Classify converts an error of Postgres into a domain.Error, by which the caller
// learns whether a retry helps. A domain.Error is returned as it is.
func Classify(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	wrapped := fmt.Errorf("registry: %s: %w", doing, err)
	if postgres.Unreachable(err) {
		return domain.Wrap(domain.Unavailable, wrapped, "The registry's store does not answer. Please try again.")
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return wrapped
	}
	switch pg.Code {
	case codeLockTimeout, codeSerialization, codeDeadlock:
		e := domain.Wrap(domain.Unavailable, wrapped, "Too many changes to the same thing at once. Please try again.")
		e.RetryAfter = time.Second
		return e
	case codeBadText, codeBadEscape, codeTooComplex, codeTooDeep:
		return domain.Wrap(domain.Rejected, wrapped, "The store cannot hold this text or document.")
	default:
		return wrapped
	}
}
