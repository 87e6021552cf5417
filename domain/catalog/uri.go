package catalog

import (
	"fmt"
	"strings"
)

// URI locates a handler: provider:kind:key:version. Source: contract §5.2.
type URI struct{ Provider, Kind, Key, Version string }

// The built-in provider has two names. Source: contract §0 row 2.
const (
	providerService   = "svc"
	providerReference = "agenta"
)

// The kinds that matter here.
const (
	kindBuiltin = "builtin"
	kindCustom  = "custom"
)

// latest is the version of a URI that names none; the only one there is so far is v0.
const (
	latest  = "latest"
	current = "v0"
)

// ParseURI reads one to four parts, filled from the right: key, key:version,
// kind:key:version, provider:kind:key:version. What is missing is svc,
// builtin and latest.
func ParseURI(s string) (URI, error) {
	parts := strings.Split(s, ":")
	for _, p := range parts {
		if strings.TrimSpace(p) == "" || strings.ContainsAny(p, "/?# \t\r\n") {
			return URI{}, fmt.Errorf("%q has an empty part or one with a character that a URI of ours has not", s)
		}
	}
	u := URI{Provider: providerService, Kind: kindBuiltin, Version: latest}
	switch len(parts) {
	case 1:
		u.Key = parts[0]
	case 2:
		u.Key, u.Version = parts[0], parts[1]
	case 3:
		u.Kind, u.Key, u.Version = parts[0], parts[1], parts[2]
	case 4:
		u = URI{Provider: parts[0], Kind: parts[1], Key: parts[2], Version: parts[3]}
	default:
		return URI{}, fmt.Errorf("%q has more than four parts", s)
	}
	return u, nil
}

// Managed reports whether our own runtime serves the handler.
func (u URI) Managed() bool { return u.Provider == providerService || u.Provider == providerReference }

// known reports whether a managed handler exists.
func (u URI) known() bool {
	switch u.Kind {
	case kindCustom:
		switch u.Key {
		case "hook", "code", "feedback", "mock", "snippet", "trace":
			return true
		default:
			return false
		}
	case kindBuiltin:
		switch u.Key {
		case "chat", "completion", "llm", "agent", "prompt", "skill", "human", "match", "echo",
			"auto_exact_match", "auto_regex_test", "field_match_test", "json_multi_field_match", "auto_webhook_test",
			"auto_custom_code_run", "auto_ai_critique", "auto_starts_with", "auto_ends_with", "auto_contains",
			"auto_contains_any", "auto_contains_all", "auto_contains_json", "auto_json_diff",
			"auto_levenshtein_distance", "auto_similarity_match", "auto_semantic_similarity":
			return true
		default:
			return false
		}
	default:
		return false
	}
}

// URL is where our runtime serves the handler: {base}/{key}/{version}; empty
// for handlers that are not ours. Source: contract §5.2.
func (u URI) URL(base string) string {
	if !u.Managed() {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/" + u.Key + "/" + u.Resolved().Version
}

// Resolved names a version: latest is the current one of our own handlers.
func (u URI) Resolved() URI {
	if u.Version == latest && u.Managed() {
		u.Version = current
	}
	return u
}

// String is the four parts joined by colons.
func (u URI) String() string { return u.Provider + ":" + u.Kind + ":" + u.Key + ":" + u.Version }
