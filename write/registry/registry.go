// Package registry holds the commands that change what Postgres knows:
// accounts and API keys, the lineage of applications, workflows, evaluators,
// environments, saved queries and testsets with their testcases, and the folders that applications lie in; it
// also says which projects are gone, so that their spans go as well. A command looks with its own SQL
// inside its own transaction, decides by the rules of domain/entity, and
// writes all or nothing; every statement on entities carries the project.
// Evaluations have a room below it (runs), which commands by the same means (room.go).
//
// Not here: reading for its own sake (read/entities), who calls (read/access),
// bodies and statuses (write/api, its caller).
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
	"colonnade/domain/catalog"
	"colonnade/migrations/postgres"
)

// Deps are what the commands need from outside.
type Deps struct {
	Pool *pgxpool.Pool
	Now  func() time.Time
	// Random feeds keys and generated slugs; crypto/rand.Reader in production.
	Random io.Reader
}

// Registry runs commands. It is safe for concurrent use.
type Registry struct {
	cfg     Config
	deps    Deps
	catalog *catalog.Catalog
	begin   pgx.TxOptions
}

// New makes an inert room; it touches the store at the first command.
func New(cfg Config, deps Deps) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	c, err := catalog.New()
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return &Registry{
		cfg: cfg, deps: deps, catalog: c,
		// A lock is waited for no longer than this, so that one stuck command
		// does not take the pool with it.
		begin: pgx.TxOptions{BeginQuery: fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %d", cfg.LockTimeout.Milliseconds())},
	}, nil
}

// now is the moment of a command in the precision that Postgres keeps, so that
// a reply shows what a later read will.
func (r *Registry) now() time.Time { return r.deps.Now().UTC().Truncate(time.Microsecond) }

// newID is a UUIDv7: ids of one process ascend with time, so that a list by id
// is a list by creation.
func (r *Registry) newID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("registry: making an id: %w", err)
	}
	return id, nil
}

// attempts bounds how often a command starts over when the store asks for it.
const attempts = 3

// transact runs a command in one transaction. A deadlock or a serialization
// failure starts it over; anything else leaves nothing behind.
func (r *Registry) transact(ctx context.Context, doing string, command func(tx pgx.Tx) error) error {
	var err error
	for range attempts {
		err = pgx.BeginTxFunc(ctx, r.deps.Pool, r.begin, command)
		if !startsOver(err) {
			break
		}
	}
	return classify(err, doing)
}

// SQLSTATE codes that mean something to a caller.
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

func startsOver(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == codeSerialization || pg.Code == codeDeadlock)
}

func violates(err error, constraint string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == codeUniqueViolation && pg.ConstraintName == constraint
}

func classify(err error, doing string) error {
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
