//go:build !embedded

package embedded

import (
	"context"
	"errors"
)

// ErrNotBuilt is all that an executable without the build tag can say.
var ErrNotBuilt = errors.New("this executable was built without the embedded engines: use make build, or give the addresses of Kafka, ClickHouse and Postgres")

type children struct{}

func start(context.Context, Config) (*Stack, error) { return nil, ErrNotBuilt }

func child([]string) (bool, int) { return false, 0 }

// Close does nothing: there is no stack.
func (children) Close(context.Context) error { return nil }

// Done is never closed: there is no stack.
func (children) Done() <-chan struct{} { return nil }

// Err is nil: there is no stack.
func (children) Err() error { return nil }

// Dir is empty: there is no stack.
func (children) Dir() string { return "" }

// Problems is empty: there is no stack.
func (children) Problems() []string { return nil }

// Disk is empty: there is no stack.
func (children) Disk() (Disk, error) { return Disk{}, nil }

// PID is 0: there is no stack.
func (children) PID(string) int { return 0 }
