package app

import (
	"errors"
	"io"
	"slices"

	"colonnade/cmd/internal/listener"
	"colonnade/cmd/internal/server"
	"colonnade/read/access"
	"colonnade/read/console"
	"colonnade/read/tail"
	"colonnade/write/audit"
	"colonnade/write/evaluate/runner"
	"colonnade/write/lease"
	"colonnade/write/logevents"
	"colonnade/write/otlp"
	"colonnade/write/quota"
	"colonnade/write/registry/accounts"
	"colonnade/write/registry/entitycopy"
	"colonnade/write/registry/evaluations"
	"colonnade/write/registry/outbox"
	"colonnade/write/registry/views"
	"colonnade/write/sink"
	"colonnade/write/stream"
)

// Service holds the components that the roles of a process need. The caller runs
// the actors among them; a component that no role needs is nil.
type Service struct {
	Stores Stores
	Server *server.Server
	Access *access.Access
	Audit  *audit.Log
	Leaser *lease.Leaser
	// GRPC, Accounts, Runs, Runner, Views, Outbox, Entities and Quotas belong to the write role,
	// Sink to the sink role, Tail to the read role, Producer to the write and the sink role.
	GRPC     *otlp.GRPC
	Producer *stream.Producer
	Sink     *sink.Sink
	// LogEvents belongs to the sink role.
	LogEvents *logevents.Joiner
	Tail      *tail.Hub
	Accounts  *accounts.Registry
	Runs      *evaluations.Runs
	Runner    *runner.Runner
	Views     *views.Maker
	Outbox    *outbox.Publisher
	Quotas    *quota.Meter
	Entities  *entitycopy.Copier

	console *console.Console
	limiter *listener.Limiter
	closers []io.Closer
}

// Close closes the components in the reverse order of their construction, then
// the clients of the stores. Every actor must have ended before.
func (s *Service) Close() error {
	var err error
	for _, c := range slices.Backward(s.closers) {
		err = errors.Join(err, c.Close())
	}
	return errors.Join(err, s.Stores.close())
}
