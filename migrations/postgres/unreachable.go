// Package postgres classifies the errors of Postgres for both sides.
// Beside it are the files of its schema, which the package above embeds.
package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unreachable reports whether an error means that Postgres did not answer: it is down,
// starting, stopping or out of connections. Such an error is temporary, and the client may
// retry. A cancelled context and the error of a statement are not of this kind.
func Unreachable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Connection exceptions, operator intervention, too many connections.
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "57P") || pg.Code == "53300"
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// Unholdable tells whether an error of Postgres means that a value is nothing
// which the store could hold: text with the character NUL or that is no UTF-8, a
// number beyond all bounds, a document that is too deep. Whoever sent it is told.
func Unholdable(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	// Data exceptions, program limits exceeded.
	return ok && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "54"))
}
