package template

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"colonnade/domain"
)

// renderFString renders Python's str.format: {name}, {name[key]}, {name.key},
// conversions !s and !r, format specifications, and doubled braces. A missing
// name is an error. Source: contract §6.
func renderFString(w *writer, source string, vars map[string]any) error {
	for rest := source; rest != ""; {
		at := strings.IndexAny(rest, "{}")
		if at < 0 {
			_, err := w.WriteString(rest)
			return err
		}
		if _, err := w.WriteString(rest[:at]); err != nil {
			return err
		}
		brace := rest[at]
		rest = rest[at+1:]
		switch {
		case strings.HasPrefix(rest, string(brace)):
			rest = rest[1:]
			if _, err := w.WriteString(string(brace)); err != nil {
				return err
			}
		case brace == '}':
			return domain.E(domain.Rejected, "Single '}' encountered in format string")
		default:
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return domain.E(domain.Rejected, "expected '}' before end of string")
			}
			if err := writeField(w, rest[:end], vars); err != nil {
				return err
			}
			rest = rest[end+1:]
		}
	}
	return nil
}

func writeField(w *writer, field string, vars map[string]any) error {
	if strings.Contains(field, "{") {
		return domain.E(domain.Rejected, "a replacement field within '{%s}' is not served", field)
	}
	name, spec, _ := strings.Cut(field, ":")
	name, conversion, converted := strings.Cut(name, "!")
	value, err := lookupField(name, vars)
	if err != nil {
		return err
	}
	budget := w.limit - w.Len()
	if !fits(value, &budget) {
		w.full = true
		return nil
	}
	if converted {
		switch conversion {
		case "s":
			value = python(value)
		case "r", "a":
			value = repr(value)
		default:
			return domain.E(domain.Rejected, "Unknown conversion specifier '%s'", conversion)
		}
	}
	shown, err := format(value, spec, w.limit-w.Len())
	if err != nil {
		return err
	}
	_, err = w.WriteString(shown)
	return err
}

// lookupField follows name, .attribute and [index].
func lookupField(name string, vars map[string]any) (any, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first := name[:end]
	if _, err := strconv.Atoi(first); err == nil || first == "" {
		return nil, domain.E(domain.Rejected, "Replacement index '%s' in template: there are only names", first)
	}
	value, ok := vars[first]
	for rest := name[end:]; ok && rest != ""; {
		var token string
		if rest[0] == '[' {
			inner, after, closed := strings.Cut(rest[1:], "]")
			if !closed {
				return nil, domain.E(domain.Rejected, "Missing ']' in format string")
			}
			token, rest = inner, after
			if rest != "" && rest[0] != '.' && rest[0] != '[' {
				return nil, domain.E(domain.Rejected, "Only '.' or '[' may follow ']' in format field specifier")
			}
		} else {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			token, rest = rest[1:end+1], rest[end+1:]
		}
		if token == "" {
			return nil, domain.E(domain.Rejected, "Empty attribute in format string")
		}
		value, ok = member(value, token)
	}
	if !ok {
		return nil, domain.E(domain.Rejected, "Missing required variable '%s' in template", name)
	}
	return value, nil
}

// python is str() of a value; objects and lists are JSON, as in every format. Source: contract §6.
func python(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	default:
		return text(v)
	}
}

func repr(v any) string {
	s, ok := v.(string)
	if !ok {
		return python(v)
	}
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	body := strconv.Quote(s)
	body = strings.ReplaceAll(body[1:len(body)-1], `\"`, `"`)
	if quote == "'" {
		body = strings.ReplaceAll(body, "'", `\'`)
	}
	return quote + body + quote
}

// spec is Python's format specification mini-language:
// [[fill]align][sign][#][0][width][,][.precision][type].
type spec struct {
	fill             rune
	align, sign      byte
	width, precision int
	grouped          bool
	verb             byte
}

func parseSpec(s string) (spec, error) {
	out := spec{fill: ' ', precision: -1}
	bad := domain.E(domain.Rejected, "Invalid format specifier '%s'", s)
	if first, size := utf8.DecodeRuneInString(s); len(s) > size && strings.IndexByte("<>^=", s[size]) >= 0 {
		out.fill, out.align, s = first, s[size], s[size+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		out.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		out.sign, s = s[0], s[1:]
	}
	if strings.HasPrefix(s, "0") && out.align == 0 {
		out.fill, out.align, s = '0', '=', s[1:]
	}
	var err error
	if out.width, s, err = leadingInt(s, 0); err != nil {
		return spec{}, bad
	}
	if strings.HasPrefix(s, ",") || strings.HasPrefix(s, "_") {
		out.grouped, s = true, s[1:]
	}
	if strings.HasPrefix(s, ".") {
		if out.precision, s, err = leadingInt(s[1:], -1); err != nil || out.precision < 0 {
			return spec{}, bad
		}
	}
	if s != "" {
		out.verb, s = s[0], s[1:]
	}
	if s != "" || out.verb != 0 && strings.IndexByte("sdfFeEgG%xXobcn", out.verb) < 0 {
		return spec{}, bad
	}
	return out, nil
}

func leadingInt(s string, none int) (int, string, error) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 0 {
		return none, s, nil
	}
	n, err := strconv.Atoi(s[:end])
	return n, s[end:], err
}

// maxPrecision is more digits than a float has.
const maxPrecision = 400

// format applies a specification; the text is no longer than room.
func format(value any, specification string, room int) (string, error) {
	if specification == "" {
		return python(value), nil
	}
	s, err := parseSpec(specification)
	if err != nil {
		return "", err
	}
	if s.width > room {
		return "", domain.E(domain.TooLarge, "a field is wider than %d characters", room)
	}
	if s.align == 0 {
		s.align = '<'
		if isNumber(value) {
			s.align = '>'
		}
	}
	var shown string
	if isNumber(value) && s.verb != 's' {
		if shown, err = formatNumber(value, s); err != nil {
			return "", err
		}
	} else {
		if s.verb != 0 && s.verb != 's' || s.align == '=' {
			return "", domain.E(domain.Rejected, "Unknown format code '%s' for text", specification)
		}
		shown = python(value)
		if s.precision >= 0 && s.precision < utf8.RuneCountInString(shown) {
			shown = string([]rune(shown)[:s.precision])
		}
	}
	return pad(shown, s), nil
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, int, float64, json.Number:
		return true
	default:
		return false
	}
}

func formatNumber(value any, s spec) (string, error) {
	f, whole := 0.0, int64(0)
	isWhole := true
	switch v := value.(type) {
	case int64:
		f, whole = float64(v), v
	case int:
		f, whole = float64(v), int64(v)
	case float64:
		f, isWhole = v, false
	case json.Number:
		var err error
		if f, err = v.Float64(); err != nil {
			return "", domain.E(domain.Rejected, "Invalid number '%s'", v)
		}
		whole, err = v.Int64()
		isWhole = err == nil
	default:
	}
	precision := min(s.precision, maxPrecision)
	if s.verb == 0 {
		switch {
		case isWhole:
			s.verb = 'd'
		case precision < 0:
			return signed(python(value), f, s), nil
		default:
			s.verb = 'g'
		}
	}
	if precision < 0 {
		precision = 6
	}
	switch s.verb {
	case 'd', 'n', 'x', 'X', 'o', 'b', 'c':
		if !isWhole {
			return "", domain.E(domain.Rejected, "Unknown format code '%c' for object of type 'float'", s.verb)
		}
		return signed(wholeNumber(whole, s.verb), f, s), nil
	case '%':
		return signed(strconv.FormatFloat(f*100, 'f', precision, 64)+"%", f, s), nil
	case 'g', 'G':
		return signed(strconv.FormatFloat(f, s.verb, max(precision, 1), 64), f, s), nil
	default:
		verb := s.verb
		if verb == 'F' {
			verb = 'f'
		}
		return signed(strconv.FormatFloat(f, verb, precision, 64), f, s), nil
	}
}

func wholeNumber(n int64, verb byte) string {
	switch verb {
	case 'x':
		return strconv.FormatInt(n, 16)
	case 'X':
		return strings.ToUpper(strconv.FormatInt(n, 16))
	case 'o':
		return strconv.FormatInt(n, 8)
	case 'b':
		return strconv.FormatInt(n, 2)
	case 'c':
		if n < 0 || n > math.MaxInt32 {
			return string(utf8.RuneError)
		}
		return string(rune(n))
	default:
		return strconv.FormatInt(n, 10)
	}
}

// signed adds the sign that was asked for and the separators of thousands.
func signed(digits string, f float64, s spec) string {
	if s.grouped {
		digits = group(digits)
	}
	if f >= 0 && (s.sign == '+' || s.sign == ' ') {
		return fmt.Sprintf("%c%s", s.sign, digits)
	}
	return digits
}

func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	end := strings.IndexAny(digits, ".e%")
	if end < 0 {
		end = len(digits)
	}
	var b strings.Builder
	for i, d := range digits[:end] {
		if i > 0 && (end-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String() + digits[end:]
}

func pad(shown string, s spec) string {
	missing := s.width - utf8.RuneCountInString(shown)
	if missing <= 0 {
		return shown
	}
	fill := func(n int) string { return strings.Repeat(string(s.fill), n) }
	switch s.align {
	case '>':
		return fill(missing) + shown
	case '^':
		return fill(missing/2) + shown + fill(missing-missing/2)
	case '=':
		if shown != "" && strings.IndexByte("+- ", shown[0]) >= 0 {
			return shown[:1] + fill(missing) + shown[1:]
		}
		return fill(missing) + shown
	default:
		return shown + fill(missing)
	}
}
