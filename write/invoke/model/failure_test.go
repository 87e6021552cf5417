package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoliciesOfAPrompt(t *testing.T) {
	t.Parallel()
	all := []category{categoryAvailability, categoryCapacity, categoryTransient, categoryAccess, categoryContext, categoryAny}
	for policy, want := range map[string][]category{
		"": nil, "off": nil, "availability": all[:1], "capacity": all[:2], "transient": all[:3], "any": all,
	} {
		var got []category
		for _, c := range all {
			if retries(policy, c) {
				got = append(got, c)
			}
		}
		require.Equal(t, want, got, policy)
	}
	require.True(t, fallsBack("access", categoryAccess))
	require.False(t, fallsBack("access", categoryContext))
	require.True(t, fallsBack("context", categoryContext))
	require.False(t, fallsBack("", categoryAvailability))
	require.False(t, fallsBack("any", categoryNone))
}
