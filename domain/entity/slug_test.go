package entity_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/entity"
)

func TestCheckSlug(t *testing.T) {
	t.Parallel()
	for slug, ok := range map[string]bool{
		"a": true, "my-app_2.v1": true, "_x": true, "-x": true, "A": true, strings.Repeat("a", 1024): true,
		"": false, ".x": false, "a b": false, "a/b": false, "ä": false, "a\n": false, strings.Repeat("a", 1025): false,
	} {
		err := entity.CheckSlug(slug, "body", "slug")
		require.Equal(t, ok, err == nil, slug)
		if !ok {
			require.Equal(t, domain.Invalid, domain.KindOf(err), slug)
		}
	}
	require.Equal(t, domain.Rejected, domain.KindOf(entity.CheckSlug("__ag__mine")))
}

func TestNewSlug(t *testing.T) {
	t.Parallel()
	slug, err := entity.NewSlug(rand.Reader)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{12}$`, slug)
	_, err = entity.NewSlug(strings.NewReader("short"))
	require.Error(t, err)
}
