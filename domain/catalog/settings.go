package catalog

import (
	"slices"
	"strings"
)

// Setting describes a parameter of a template in the form of GET /simple/evaluators/templates,
// from which clients of the reference draw a form. Source: contract §5.8.
type Setting struct {
	Label       string `json:"label"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Default     any    `json:"default,omitempty"`
	// Options are the values of a parameter that takes no others.
	Options []any `json:"options,omitempty"`
	// GroundTruthKey marks the parameter that names the column of the expected answer.
	GroundTruthKey bool `json:"ground_truth_key,omitempty"`
}

// correctAnswerKey names the column of a testset that holds the expected answer.
const correctAnswerKey = "correct_answer_key"

// Settings returns the template's parameters by name, never nil.
func (t Template) Settings() map[string]Setting {
	settings := map[string]Setting{}
	defaults, _ := t.Data["parameters"].(map[string]any)
	for name, schema := range t.parameters() {
		s := Setting{Label: label(name), Type: "string", Default: defaults[name], GroundTruthKey: name == correctAnswerKey}
		if typ, ok := schema["type"].(string); ok {
			s.Type = typ
		}
		s.Description, _ = schema["description"].(string)
		s.Options, _ = schema["enum"].([]any)
		settings[name] = s
	}
	return settings
}

// DirectUse reports whether an evaluator of the template works without any setting: it has
// parameters or needs none, and no default is a blank to be filled in.
func (t Template) DirectUse() bool {
	defaults, ok := t.Data["parameters"].(map[string]any)
	if !ok {
		return false // feedback, hook and code do nothing before somebody says what
	}
	blank := func(v any) bool {
		switch v := v.(type) {
		case string:
			return v == ""
		case []any:
			return len(v) == 0
		default:
			return v == nil
		}
	}
	for _, v := range defaults {
		if blank(v) {
			return false
		}
	}
	return true
}

// parameters returns the schemas of the template's parameters by name.
func (t Template) parameters() map[string]map[string]any {
	schemas, _ := t.Data["schemas"].(map[string]any)
	schema, _ := schemas["parameters"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	out := map[string]map[string]any{}
	for name, p := range properties {
		out[name], _ = p.(map[string]any)
	}
	return out
}

// label writes a parameter's name as people read it: "Correct Answer Key".
func label(name string) string {
	words := slices.Collect(strings.SplitSeq(name, "_"))
	for i, w := range words {
		switch {
		case w == "json" || w == "url":
			words[i] = strings.ToUpper(w)
		case w != "":
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
