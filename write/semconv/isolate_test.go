package semconv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/otlp/wire"
)

// TestAFailureIsIsolated is inside because no known span makes a convention fail.
func TestAFailureIsIsolated(t *testing.T) {
	t.Parallel()
	var o Overlay
	o.put("ag.meta.earlier", 1)
	require.False(t, o.isolated(func() {
		o.put("ag.meta.half", 2)
		panic("broken")
	}))
	require.True(t, o.isolated(func() { o.put("ag.meta.later", 3) }))
	require.Equal(t, []wire.Attribute{{Key: "ag.meta.earlier", Value: 1}, {Key: "ag.meta.later", Value: 3}}, o.entries)
}
