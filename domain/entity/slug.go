package entity

import (
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"

	"colonnade/domain"
)

// SlugPattern is the form of a slug.
const SlugPattern = `^[a-zA-Z0-9_\-][a-zA-Z0-9_.\-]*$`

var slugPattern = regexp.MustCompile(SlugPattern)

const (
	// reservedSlug is the prefix of slugs that are reserved for Colonnade.
	reservedSlug = "__ag__"
	// maxSlug is the length of a slug that a btree entry of Postgres can hold.
	maxSlug = 1024
)

// CheckSlug rejects an invalid slug: Invalid for its form, at loc, and Rejected for the reserved
// prefix.
func CheckSlug(slug string, loc ...any) error {
	refuse := func(typ, msg string) error {
		return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: typ, Loc: loc, Msg: msg, Input: slug}}}
	}
	switch {
	case slug == "":
		return refuse("missing", "Field required")
	case len(slug) > maxSlug:
		return refuse("string_too_long", fmt.Sprintf("String should have at most %d characters", maxSlug))
	case !slugPattern.MatchString(slug):
		return refuse("string_pattern_mismatch", "String should match pattern '"+slugPattern.String()+"'")
	case strings.HasPrefix(slug, reservedSlug):
		return domain.E(domain.Rejected, "Slugs that begin with %s are reserved.", reservedSlug)
	default:
		return nil
	}
}

// NewSlug returns the slug of a variant or revision that was given none: 12 hex digits.
func NewSlug(random io.Reader) (string, error) {
	b := make([]byte, 6)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("entity: reading randomness: %w", err)
	}
	return hex.EncodeToString(b), nil
}

// SlugConflict returns the error of a slug that is in use.
func SlugConflict(slug string) error {
	message := fmt.Sprintf("A resource with slug '%s' already exists in this project.", slug)
	return &domain.Error{Kind: domain.Conflict, Message: message, Detail: map[string]any{
		"message": message, "conflict": map[string]any{"slug": slug},
	}}
}
