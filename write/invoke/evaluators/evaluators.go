// Package evaluators holds the handlers that compute their outputs here: the
// evaluators that compare outputs with what was expected (exact match, patterns,
// similarity, JSON differences, trees of matchers), user code in the sandbox, and
// echo, mock and feedback. How they read what they judge is judge.go. Evaluators
// that ask a model or a webhook are in the packages model and webhook beside this
// one; write/invoke runs the handlers.
package evaluators

import (
	"context"
	"time"

	"colonnade/write/invoke/handler"
	"colonnade/write/invoke/sandbox"
)

// Evaluators computes outputs. It is safe for concurrent use.
type Evaluators struct {
	sandbox *sandbox.Sandbox
	embed   Embed
	now     func() time.Time
}

// Embed returns the embeddings of texts by a model.
type Embed func(ctx context.Context, c *handler.Call, model string, texts []string) ([][]float64, error)

// New returns the evaluators; code runs in the sandbox.
func New(code *sandbox.Sandbox, embed Embed, now func() time.Time) *Evaluators {
	return &Evaluators{sandbox: code, embed: embed, now: now}
}

// Handlers returns the handlers by key and version.
func (i *Evaluators) Handlers() map[string]handler.Handler {
	return map[string]handler.Handler{
		"echo:v0":                      i.echo,
		"mock:v0":                      i.mock,
		"feedback:v0":                  i.feedback,
		"code:v0":                      i.code,
		"match:v0":                     i.match,
		"auto_custom_code_run:v0":      i.customCode,
		"auto_exact_match:v0":          i.exactMatch,
		"auto_regex_test:v0":           i.regexTest,
		"auto_starts_with:v0":          i.startsWith,
		"auto_ends_with:v0":            i.endsWith,
		"auto_contains:v0":             i.contains,
		"auto_contains_any:v0":         i.containsAny,
		"auto_contains_all:v0":         i.containsAll,
		"auto_contains_json:v0":        i.containsJSON,
		"auto_json_diff:v0":            i.jsonDiff,
		"auto_levenshtein_distance:v0": i.levenshtein,
		"auto_similarity_match:v0":     i.similarity,
		"field_match_test:v0":          i.fieldMatch,
		"auto_semantic_similarity:v0":  i.semantic,
		"json_multi_field_match:v0":    i.multiFieldMatch,
	}
}
