// Package template renders prompt templates: curly, mustache, fstring and
// jinja2, with JSONPath and JSON Pointer placeholders. It is pure: text and
// variables in, text out; no file, no network, no clock, and what a template
// produces is bounded by Limits.
//
// Mustache and jinja2 can loop. Linear tells whether a template can not; one
// that can must be rendered where it can be stopped, which is what
// write/invoke/sandbox, the caller, does. Not here: messages, models, and
// which variables there are (write/invoke). Source: contract §6.
package template

import (
	"regexp"
	"slices"
	"strings"

	"colonnade/domain"
)

// Format is a language of templates.
type Format string

// The formats. Source: contract §6.
const (
	Curly    Format = "curly"
	Mustache Format = "mustache"
	FString  Format = "fstring"
	Jinja2   Format = "jinja2"
)

// ParseFormat reads a prompt's template_format; an empty one is curly, which
// is what prompts mean that say nothing. Source: contract §6.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case "":
		return Curly, nil
	case Curly, Mustache, FString, Jinja2:
		return f, nil
	default:
		return "", domain.E(domain.Rejected, "Unknown template format: %s", s)
	}
}

// Limits bound a rendering. They hold per text.
type Limits struct {
	// MaxTemplateBytes is the longest template that is read.
	MaxTemplateBytes int
	// MaxOutputBytes is the longest text that is produced.
	MaxOutputBytes int
}

// DefaultLimits leave room for any prompt that a model can read.
func DefaultLimits() Limits {
	return Limits{MaxTemplateBytes: 1 << 20, MaxOutputBytes: 8 << 20}
}

// Render fills a template. All errors are the template's or the variables'
// fault: domain.Rejected, domain.TooLarge beyond a limit. A template that is
// not Linear may run for as long as it likes.
func Render(f Format, text string, vars map[string]any, l Limits) (string, error) {
	if len(text) > l.MaxTemplateBytes {
		return "", domain.E(domain.TooLarge, "a template is longer than %d bytes", l.MaxTemplateBytes)
	}
	out := &writer{limit: l.MaxOutputBytes}
	var err error
	switch f {
	case Curly:
		err = renderCurly(out, text, vars)
	case Mustache:
		err = shield(out, text, vars, renderMustache)
	case FString:
		err = renderFString(out, text, vars)
	case Jinja2:
		err = shield(out, text, vars, renderJinja2)
	default:
		err = domain.E(domain.Rejected, "Unknown template format: %s", string(f))
	}
	switch {
	case out.full:
		return "", domain.E(domain.TooLarge, "a template produces more than %d bytes", l.MaxOutputBytes)
	case err != nil:
		return "", err
	default:
		return out.String(), nil
	}
}

var (
	// mustacheLoop finds what makes a mustache template more than a list of
	// variables: sections, and delimiters behind which sections could hide.
	mustacheLoop = regexp.MustCompile(`\{\{\s*[#^=]`)
	// The chain of names is bounded: engines follow one by recursion.
	// jinjaTag finds everything that jinja2 reads, jinjaPlain what is only a variable.
	jinjaTag   = regexp.MustCompile(`\{[{%#]`)
	jinjaPlain = regexp.MustCompile(`\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*){0,64}|\$[^{}]*?)\s*-?\}\}`)
)

// Linear tells whether the rendering takes time and memory proportional to the
// template and the values that it names. It errs to "no".
func Linear(f Format, text string) bool {
	switch f {
	case Curly, FString:
		return true
	case Mustache:
		return !mustacheLoop.MatchString(text)
	case Jinja2:
		return !jinjaTag.MatchString(jinjaPlain.ReplaceAllString(text, ""))
	default:
		return false
	}
}

// unresolved is the error of placeholders that lead nowhere. Source: contract §6.
func unresolved(f Format, names map[string]bool) error {
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	for i, name := range list {
		list[i] = "'" + name + "'"
	}
	return domain.E(domain.Rejected, "Unreplaced variables in %s template: [%s].", string(f), strings.Join(list, ", "))
}

// writer gathers the output up to a limit and notices when it is passed.
type writer struct {
	strings.Builder
	limit int
	full  bool
}

// Write takes what fits; the rest sets full. It fails then, so that an engine
// that looks at errors stops at once.
func (w *writer) Write(p []byte) (int, error) {
	if w.full || w.Len()+len(p) > w.limit {
		w.full = true
		return 0, domain.E(domain.TooLarge, "a template produces more than %d bytes", w.limit)
	}
	return w.Builder.Write(p)
}

// WriteString is Write for a string.
func (w *writer) WriteString(s string) (int, error) {
	if w.full || w.Len()+len(s) > w.limit {
		w.full = true
		return 0, domain.E(domain.TooLarge, "a template produces more than %d bytes", w.limit)
	}
	return w.Builder.WriteString(s)
}
