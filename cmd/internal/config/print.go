package config

import (
	"encoding"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const masked = `"********"`

// Print writes the effective configuration as a file that Load reads, each
// setting with its variable and where it came from. Secrets are masked.
func (l *Loaded) Print(w io.Writer) error {
	var b strings.Builder
	var open []string
	for _, f := range l.leaves() {
		parts := strings.Split(f.name, ".")
		sections := parts[:len(parts)-1]
		for i, section := range sections {
			if i >= len(open) || open[i] != section {
				fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), section)
				open = sections[:i+1]
			}
		}
		if len(sections) < len(open) {
			open = sections
		}
		source, ok := l.Sources[f.name]
		if !ok {
			source = FromDefault
		}
		text, hidden := scalar(f)
		line := parts[len(parts)-1] + ": " + text
		if hidden { // read back, the mask would be the secret
			line = "# " + line
		}
		line = strings.Repeat("  ", len(sections)) + line
		fmt.Fprintf(&b, "%-60s # %s, %s\n", line, f.variable(), source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func scalar(f leaf) (text string, hidden bool) {
	v := f.value
	if t, ok := reflect.TypeAssert[encoding.TextMarshaler](v.Addr()); ok {
		if text, err := t.MarshalText(); err == nil {
			return mask(f.name, string(text))
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return strconv.FormatBool(!v.IsNil()), false
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return mask(f.name, string(v.Bytes()))
		}
		items := make([]string, v.Len())
		for i := range items {
			var secret bool
			items[i], secret = mask(f.name, v.Index(i).String())
			hidden = hidden || secret
		}
		return "[" + strings.Join(items, ", ") + "]", hidden
	case reflect.String:
		return mask(f.name, v.String())
	default:
		if d, ok := reflect.TypeAssert[time.Duration](v); ok {
			return d.String(), false
		}
		return fmt.Sprint(v.Interface()), false
	}
}

// mask hides secrets, and passwords within addresses, and tells whether it did.
func mask(name, text string) (shown string, hidden bool) {
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, word := range []string{"key", "password", "secret", "token"} {
		if strings.HasSuffix(last, word) && text != "" {
			return masked, true
		}
	}
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "password="), err != nil && strings.Contains(text, "@"):
		return masked, true // the part that is the password is unknown
	case err == nil && u.User != nil:
		redacted := u.Redacted()
		hidden, text = redacted != text, redacted
	}
	if text == "" || strings.ContainsAny(text, ": #{}[],&*!|>'\"%@`") {
		return strconv.Quote(text), hidden
	}
	return text, hidden
}
