package template

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cbroglie/mustache"

	"colonnade/domain"
)

// mustacheTag is any tag, with its body.
var mustacheTag = regexp.MustCompile(`\{\{\{?\s*([^{}]*?)\s*\}?\}\}`)

// maxNames bounds the parts of a dotted name, which the engine follows by recursion.
const maxNames = 64

// renderMustache renders without HTML escapes, for a prompt is no HTML. A
// missing variable is empty; partials and empty tags are errors. Source: contract §6.
func renderMustache(w *writer, source string, vars map[string]any) (err error) {
	for _, tag := range mustacheTag.FindAllStringSubmatch(source, -1) {
		switch body := tag[1]; {
		case body == "":
			return domain.E(domain.Rejected, "Empty placeholder is not allowed in mustache templates (e.g. '{{}}' or '{{   }}').")
		case body[0] == '>':
			return domain.E(domain.Rejected, "Partials are not supported in mustache templates. Remove the partial tag '%s'.", tag[0])
		case body[0] != '$' && strings.Count(body, ".") > maxNames:
			return domain.E(domain.Rejected, "A name of a mustache template has more than %d parts.", maxNames)
		default:
		}
	}
	if Linear(Mustache, source) && !affordable(source, mustacheTag, vars, w.limit) {
		w.full = true
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = domain.E(domain.Rejected, "Mustache template error: %v", r)
		}
	}()
	// Without a provider of our own the library would read partials from files,
	// which delimiters of the template's choice could name past the check above.
	shown, _ := displayed(vars).(shownObject)
	source = indexElements(source, vars, shown)
	parsed, err := mustache.ParseStringPartialsRaw(source, noPartials{}, true)
	if err != nil {
		return domain.Wrap(domain.Rejected, err, "Mustache template error: %s", err)
	}
	if err := parsed.FRender(w, shown); err != nil {
		return domain.Wrap(domain.Rejected, err, "Mustache template error: %s", err)
	}
	return nil
}

// elementTag is a variable whose dotted name has an index of a list.
var elementTag = regexp.MustCompile(`\{\{(?:\{|&)?\s*([^\s{}#^/!>=&$.]+(?:\.[^\s{}.]+)*?\.[0-9]+(?:\.[^\s{}.]+)*)\s*\}?\}\}`)

// indexElements replaces names that lead through an element of a list, which the engine cannot
// follow, by names of their values. A name that leads nowhere from the top stays as it is.
func indexElements(source string, vars map[string]any, shown shownObject) string {
	return elementTag.ReplaceAllStringFunc(source, func(tag string) string {
		name := elementTag.FindStringSubmatch(tag)[1]
		value, err := resolveDotted(name, vars)
		if err != nil {
			return tag
		}
		// No variable of a caller has this name, because a dotted name is never looked up whole.
		alias := "\x00" + strings.ReplaceAll(name, ".", "\x00")
		shown[alias] = displayed(value)
		return "{{{" + alias + "}}}"
	})
}

// noPartials knows no other template.
type noPartials struct{}

// Get refuses every name.
func (noPartials) Get(name string) (string, error) {
	return "", fmt.Errorf("partials are not supported: %s", name)
}

// The library prints values with fmt. These are the values of JSON that print
// as a prompt shows them; a section walks them like maps and lists all the same.
type (
	shownObject map[string]any
	shownList   []any
	shownFloat  float64
	shownNull   struct{}
)

func (shownNull) Format(fmt.State, rune)         {}
func (o shownObject) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(text(bare(o)))) }
func (l shownList) Format(s fmt.State, _ rune)   { _, _ = s.Write([]byte(text(bare(l)))) }
func (f shownFloat) Format(s fmt.State, _ rune)  { _, _ = s.Write([]byte(text(float64(f)))) }

// displayed wraps values so that they print as text does.
func displayed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(shownObject, len(v))
		for name, member := range v {
			out[name] = displayed(member)
		}
		return out
	case []any:
		out := make(shownList, len(v))
		for i, element := range v {
			out[i] = displayed(element)
		}
		return out
	case float64:
		return shownFloat(v)
	case nil:
		return shownNull{}
	default:
		return v
	}
}

// bare takes the wraps off again.
func bare(v any) any {
	switch v := v.(type) {
	case shownObject:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = bare(member)
		}
		return out
	case shownList:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = bare(element)
		}
		return out
	case shownFloat:
		return float64(v)
	case shownNull:
		return nil
	default:
		return v
	}
}
