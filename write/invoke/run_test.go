package invoke

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/catalog"
	"colonnade/write/invoke/handler"
)

// A handler's defect is one failed invocation: an evaluation runs handlers
// beside each other, where a panic would end the process.
func TestAPanicIsOneFailedInvocation(t *testing.T) {
	t.Parallel()
	i := &Invoke{
		deps: Deps{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)},
		table: map[string]handler.Handler{"broken:v0": func(context.Context, *handler.Call) (any, error) {
			panic("a defect")
		}},
	}
	req := Request{Handler: catalog.URI{Key: "broken", Version: "v0"}}
	run, err := i.begin(&req)
	require.NoError(t, err)
	_, outputs, err := i.handle(t.Context(), domain.Principal{Project: domain.ProjectID(uuid.New())}, &req, run)
	require.Nil(t, outputs)
	require.Equal(t, domain.Internal, domain.KindOf(err))
	require.ErrorContains(t, err, "a defect")
}
