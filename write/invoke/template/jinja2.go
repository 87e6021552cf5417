package template

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"

	"colonnade/domain"
)

// renderJinja2 renders with an environment that knows no other template and no
// file. A missing variable is empty. Source: contract §6.
func renderJinja2(w *writer, source string, vars map[string]any) (err error) {
	if Linear(Jinja2, source) && !affordable(source, jinjaPlain, vars, w.limit) {
		w.full = true
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = domain.E(domain.Rejected, "Jinja2 template error: %v", r)
		}
	}()
	shown, _ := pythonic(vars).(map[string]any)
	cfg := config.New()
	cfg.KeepTrailingNewline = false
	t, err := exec.NewTemplate(rootName, cfg, only{source: integerPowers(source)}, environment())
	if err != nil {
		return domain.Wrap(domain.Rejected, err, "Jinja2 template error: %s", reason(err))
	}
	if err := t.Execute(w, exec.NewContext(shown)); err != nil {
		return domain.Wrap(domain.Rejected, err, "Jinja2 template error: %s", reason(err))
	}
	return nil
}

// rootName is the only template there is.
const rootName = "prompt"

// environment is jinja2's own without the tags that read other templates.
func environment() *exec.Environment {
	structures := map[string]parser.ControlStructureParser{}
	for _, name := range []string{
		"autoescape", "block", "break", "call", "continue", "do", "filter", "for", "if", "macro", "raw", "set", "trans", "with",
	} {
		if parse, ok := builtins.ControlStructures.Get(name); ok {
			structures[name] = parse
		}
	}
	return &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables).Update(exec.NewContext(map[string]any{powerFunction: integerPower})),
		Filters:           builtins.Filters,
		Tests:             pythonTests(),
		ControlStructures: exec.NewControlStructureSet(structures),
		Methods:           builtins.Methods,
	}
}

// only is a loader of one text.
type only struct{ source string }

// Read gives the text under its own name and nothing else.
func (o only) Read(path string) (io.Reader, error) {
	if path != rootName {
		return nil, fmt.Errorf("there is no template %q", path)
	}
	return bytes.NewReader([]byte(o.source)), nil
}

// Resolve takes a name as it is.
func (o only) Resolve(path string) (string, error) { return path, nil }

// Inherit is the same loader, wherever it is asked from.
func (o only) Inherit(string) (loaders.Loader, error) { return o, nil }

// maxReason bounds what of the engine's words reaches the caller: it likes to
// repeat the whole template.
const maxReason = 300

// reason is the innermost cause, which is what the author of a template can mend.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text := err.Error()
	if len(text) > maxReason {
		text = text[:maxReason] + "..."
	}
	return text
}
