package handler

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"colonnade/domain"
	"colonnade/domain/trace"
)

const (
	// minRedacted is the length from which a value is removed from texts: a shorter one
	// occurs in them by chance.
	minRedacted = 8
	redacted    = "***"
)

// Redactor replaces the secrets that a call has used in what it leaves behind: a host that
// gets a secret may send it back. It recognizes a value as it is and as JSON writes it, not
// one that the host encodes in another way. It is safe for concurrent use; a nil Redactor
// replaces nothing.
type Redactor struct {
	mu       sync.Mutex
	values   []string
	replacer *strings.Replacer
}

// Add makes the redactor replace a value from now on.
func (r *Redactor) Add(value string) {
	// A header is sent without the blanks around it.
	value = strings.TrimSpace(value)
	if r == nil || len(value) < minRedacted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, form := range forms(value) {
		if !slices.Contains(r.values, form) {
			r.values = append(r.values, form)
		}
	}
	// Where one value begins another, the longer one comes first.
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(r.values))
	for _, v := range r.values {
		pairs = append(pairs, v, redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
}

// forms returns a value and how encoders of JSON write it.
func forms(value string) []string {
	all := []string{value}
	var b strings.Builder
	for _, html := range []bool{false, true} {
		b.Reset()
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(value) == nil {
			all = append(all, strings.Trim(strings.TrimSpace(b.String()), `"`))
		}
	}
	return all
}

func (r *Redactor) current() *strings.Replacer {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replacer
}

// Value returns canonical JSON without the values, names of members included.
func (r *Redactor) Value(value any) any {
	if replacer := r.current(); replacer != nil {
		return replaced(replacer, Canonical(value))
	}
	return value
}

func replaced(by *strings.Replacer, value any) any {
	switch v := value.(type) {
	case string:
		return by.Replace(v)
	case []any:
		for i := range v {
			v[i] = replaced(by, v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[by.Replace(name)] = replaced(by, member)
		}
		return out
	default:
		return value
	}
}

// Error returns an error of the same kind and problem whose texts are without the values.
func (r *Redactor) Error(err error) error {
	replacer := r.current()
	if replacer == nil || err == nil {
		return err
	}
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return &redactedError{err, replacer}
	}
	safe := *e
	safe.Message = replacer.Replace(e.Message)
	safe.Err = &redactedError{err, replacer}
	return &safe
}

// redactedError is an error for logs.
type redactedError struct {
	err error
	by  *strings.Replacer
}

// Error returns the text without the values.
func (e *redactedError) Error() string { return e.by.Replace(e.err.Error()) }

// Unwrap returns the error as it was.
func (e *redactedError) Unwrap() error { return e.err }

// Spans replaces the values in spans that are to be published.
func (r *Redactor) Spans(spans []trace.Span) {
	replacer := r.current()
	if replacer == nil {
		return
	}
	for i := range spans {
		s := &spans[i]
		s.Name, s.StatusMessage = replacer.Replace(s.Name), replacer.Replace(s.StatusMessage)
		s.Attributes = Object(replaced(replacer, Canonical(s.Attributes)))
		events := slices.Clone(s.Events)
		for n := range events {
			events[n].Name = replacer.Replace(events[n].Name)
			events[n].Attributes = Object(replaced(replacer, Canonical(events[n].Attributes)))
		}
		s.Events = events
	}
}
