// Package semconv names the attributes of the ag namespace and says what each
// may hold: the schema of contract §1.5 as names and predicates. It fits and
// stores nothing; write/normalize applies it, the read side spells paths by it.
package semconv

import "slices"

// Root is the attribute below which everything of ours lives.
const Root = "ag"

// The members of ag. Anything else there is parked under Unsupported.
const (
	Type        = "type"
	Data        = "data"
	Metrics     = "metrics"
	Flags       = "flags"
	Tags        = "tags"
	Meta        = "meta"
	Exception   = "exception"
	References  = "references"
	Selector    = "selector"
	Session     = "session"
	User        = "user"
	Unsupported = "unsupported"
)

// Agent is sent by clients and has no place in the schema: it is parked, and
// its id is promoted from there. Source: contract §1.4.
const Agent = "agent"

// Refs is what clients call References on the wire. Source: contract §1.4.
const Refs = "refs"

// The members of ag.type. Node is the client's word for Span and wins over it.
// Source: contract §0 row 13.
const (
	TypeTrace = "trace"
	TypeSpan  = "span"
	TypeNode  = "node"
)

// The members of ag.data.
const (
	Parameters = "parameters"
	Inputs     = "inputs"
	Internals  = "internals"
	Outputs    = "outputs"
)

// The members of ag.metrics, all four always present, and of each of them.
const (
	Duration    = "duration"
	Errors      = "errors"
	Tokens      = "tokens"
	Costs       = "costs"
	Cumulative  = "cumulative"
	Incremental = "incremental"
)

// The names of token and cost vectors that the service itself reads. Any other name may stand beside them.
const (
	Prompt        = "prompt"
	Completion    = "completion"
	Total         = "total"
	CacheRead     = "cache_read"
	Cached        = "cached"
	CacheCreation = "cache_creation"
)

// The members of a reference, and of ag.session and ag.user (ID only).
const (
	ID      = "id"
	Slug    = "slug"
	Version = "version"
)

// Configuration below ag.meta becomes ag.data.parameters. Source: contract §1.4.
const Configuration = "configuration"

// DefaultOutput is the only member of outputs that an instrumented function
// returned whole; it is unwrapped. Source: contract §1.10.
const DefaultOutput = "__default__"

// ExceptionEvent is the name of the events that count as errors. Source: contract §1.6.
const ExceptionEvent = "exception"

// The literals in front of an ag attribute whose value is not a primitive. Source: contract §1.2.
const (
	JSONPrefix = "@ag.type=json:"
	NonePrefix = "@ag.type=none:"
)

// Member reports whether ag has a member of this name.
func Member(name string) bool {
	switch name {
	case Type, Data, Metrics, Flags, Tags, Meta, Exception, References, Selector, Session, User, Unsupported:
		return true
	default:
		return false
	}
}

// ReferenceKey reports whether key is one of the 22 of ag.references. Source: interface.md §2.6.
func ReferenceKey(key string) bool {
	switch key {
	case "application", "application_variant", "application_revision",
		"workflow", "workflow_variant", "workflow_revision",
		"evaluator", "evaluator_variant", "evaluator_revision",
		"testset", "testset_variant", "testset_revision",
		"query", "query_variant", "query_revision",
		"environment", "environment_variant", "environment_revision",
		"snippet", "snippet_variant", "snippet_revision",
		"testcase":
		return true
	default:
		return false
	}
}

// LegacyReference gives today's key of a member of an outdated reference: the
// variant's version is the revision's, and so is the environment's. Other keys
// stay as they are. Source: contract §1.4.
func LegacyReference(key, member string) string {
	switch {
	case key == "variant" && member == Version:
		return "application_revision"
	case key == "variant":
		return "application_variant"
	case key == "environment" && member == Version:
		return "environment_revision"
	default:
		return key
	}
}

// Hashed reports whether a reference under this key is part of a span's hash. Source: contract §1.8.
func Hashed(key string) bool { return key != "testset_variant" && key != "testset_revision" }

// ValidSlug reports whether s is a slug: ^[a-zA-Z0-9_\-][a-zA-Z0-9_.\-]*$. Source: contract §5.1.
func ValidSlug(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		case c == '.' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// Label reports whether v may stand in ag.flags and ag.tags: a boolean, a
// string, a whole number, or an object of labels. Source: contract §1.5.
func Label(v any) bool {
	switch v := v.(type) {
	case bool, string, int64:
		return true
	case map[string]any:
		for _, e := range v {
			if !Label(e) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// Scalar reports whether the metric is one number (duration, errors) rather than a vector of named ones.
func Scalar(metric string) bool { return slices.Contains([]string{Duration, Errors}, metric) }
