//go:build embedded

package embedded

import (
	"context"
	"errors"

	"colonnade/deploy/embedded/internal/supervise"
)

func startPostgres(context.Context, *Stack) error { return errors.New("not yet") }

func runPostgres(context.Context, struct{}, func(supervise.Ready)) error {
	return errors.New("not yet")
}
