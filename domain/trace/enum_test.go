package trace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain/trace"
)

func TestTypeOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, trace.Invocation, trace.TypeOf(0, false))
	require.Equal(t, trace.Annotation, trace.TypeOf(0, true))
	require.Equal(t, trace.Invocation, trace.TypeOf(trace.Invocation, true))
	require.Equal(t, trace.Annotation, trace.TypeOf(trace.Annotation, false))
}
