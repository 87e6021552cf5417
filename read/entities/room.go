package entities

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
)

// What the rooms below this one (read/entities/runs) share with it: how a page
// is read, how questions are asked, how errors are told.

// Row is something that a row is scanned into.
type Row[T any] interface {
	*T
	// Targets are the addresses for the columns.
	Targets() []any
}

// Select begins a statement with the placeholders of Postgres.
func Select(columns, from string) sq.SelectBuilder { return dollar().Select(columns).From(from) }

// Page gives a page by id of a statement over the table with this alias, within
// the window's bounds and the configured size.
func Page[T any, P Row[T]](ctx context.Context, r *Registry, b sq.SelectBuilder, alias string, w domain.Window, id func(*T) uuid.UUID) (domain.Page[*T], error) {
	return page(ctx, r, b, alias, w, r.cfg.MaxPage, func(t *T) (uuid.UUID, []any) { return id(t), P(t).Targets() })
}

// All gives every row of a statement; doing names the question in an error.
func All[T any, P Row[T]](ctx context.Context, r *Registry, doing, sql string, args ...any) ([]T, error) {
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, failed(err, "%s", doing)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) {
		var t T
		return t, row.Scan(P(&t).Targets()...)
	})
	if err != nil {
		return nil, failed(err, "%s", doing)
	}
	return all, nil
}
