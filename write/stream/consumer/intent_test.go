package consumer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/write/stream"
)

// FuzzIntent shows that a range survives a commit, and that no metadata makes a panic.
func FuzzIntent(f *testing.F) {
	f.Add(formatIntent(stream.Range{First: 3, Last: 9}), int64(3))
	f.Add("member-1", int64(0))
	f.Fuzz(func(t *testing.T, metadata string, committed int64) {
		r, ok, err := parseIntent(metadata, committed)
		if err != nil || !ok {
			return
		}
		again, ok, err := parseIntent(formatIntent(r), committed)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, r, again)
	})
}
