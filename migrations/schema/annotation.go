package schema

import "github.com/google/uuid"

// The keys by which annotation_index and evaluation_index are ordered. One thing has one
// key, whoever names it: what is known by its slug goes by it, so that a caller
// who has only the slug finds it.

// EvaluatorKey is an evaluator's key: its slug, else its id; empty where
// neither is known.
func EvaluatorKey(id uuid.UUID, slug string) string {
	switch {
	case slug != "":
		return slug
	case id != uuid.Nil:
		return id.String()
	default:
		return ""
	}
}

// RevisionKey is the key of a revision, or of a test case: its id, else its
// slug, else its version after the key of what it is a revision of.
func RevisionKey(id uuid.UUID, slug, version, of string) string {
	switch {
	case id != uuid.Nil:
		return id.String()
	case slug != "":
		return slug
	case version != "":
		return of + "@" + version
	default:
		return ""
	}
}
