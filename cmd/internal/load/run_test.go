package load_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/cmd/internal/load"
)

func TestPlansBeforeTimeAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		over time.Duration
		want string // empty for none
	}{
		{0, ""},
		{14 * 24 * time.Hour, ""},
		{-time.Second, "must be from 0 to"},
		{100 * 365 * 24 * time.Hour, "must be from 0 to"}, // spans before 1970 have no start on the wire
	} {
		plan := load.DefaultPlan()
		plan.Over = tt.over
		err := plan.Validate()
		if tt.want == "" {
			require.NoError(t, err, tt.over)
			continue
		}
		require.ErrorContains(t, err, tt.want, tt.over)
	}
}
