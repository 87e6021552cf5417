package guard

import (
	"strings"
)

// scan returns the tokens of a statement and its text with comments as blanks.
func scan(sql string) ([]token, []byte, error) {
	var out []token
	text := []byte(sql)
	for i := 0; i < len(sql); {
		c := sql[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--") || c == '#':
			for i < len(sql) && sql[i] != '\n' {
				text[i] = ' '
				i++
			}
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			end := strings.Index(sql[i+2:], "*/")
			if end < 0 {
				return nil, nil, refuse("A comment has no end.")
			}
			for stop := i + 2 + end + 2; i < stop; i++ {
				if text[i] != '\n' {
					text[i] = ' '
				}
			}
			continue
		case c == '\'':
			end, err := skipString(sql, i)
			if err != nil {
				return nil, nil, err
			}
			if len(out) > 0 && out[len(out)-1].end == start && (out[len(out)-1].kind == 'w' || out[len(out)-1].kind == 's') {
				return nil, nil, refuse("A text directly after a word is not allowed here: put a blank between them.")
			}
			out, i = append(out, token{'s', sql[start:end], start, end}), end
		case c == '"' || c == '`':
			end := strings.IndexByte(sql[i+1:], c)
			if end <= 0 {
				return nil, nil, refuse("A quoted name is empty or has no end.")
			}
			name := sql[i+1 : i+1+end]
			if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 }) || strings.HasPrefix(sql[i+2+end:], string(c)) {
				return nil, nil, refuse("A quoted name with backslashes, quotes or control characters is not allowed here.")
			}
			i += end + 2
			out = append(out, token{'q', name, start, i})
		case c == '{':
			end, err := skipParameter(sql, i)
			if err != nil {
				return nil, nil, err
			}
			out, i = append(out, token{'p', sql[start:end], start, end}), end
		case wordByte(c):
			for i < len(sql) && wordByte(sql[i]) {
				i++
			}
			out = append(out, token{'w', sql[start:i], start, i})
		case strings.IndexByte("()[],.;:+-*/%=<>!?|^", c) >= 0:
			i++
			out = append(out, token{c, sql[start:i], start, i})
		default:
			return nil, nil, refuse("The character %q is not allowed outside of quotes.", []rune(sql[i:])[0])
		}
	}
	return out, text, nil
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func skipString(sql string, i int) (int, error) {
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case 0:
			return 0, refuse("A text with a zero byte is not allowed here.")
		case '\\':
			i++
		case '\'':
			if i+1 < len(sql) && sql[i+1] == '\'' {
				i++
				continue
			}
			return i + 1, nil
		default:
		}
	}
	return 0, refuse("A text has no end.")
}

// skipParameter passes {name:Type}. A parameter of the type Identifier would be a name that
// the checks of the text do not see.
func skipParameter(sql string, i int) (int, error) {
	end := strings.IndexByte(sql[i:], '}')
	if end < 0 {
		return 0, refuse("A parameter has no end: they are written {name:Type}.")
	}
	name, kind, ok := strings.Cut(sql[i+1:i+end], ":")
	name = strings.TrimSpace(name)
	plain := func(s, more string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f || !wordByte(byte(r&0x7f)) && !strings.ContainsRune(more, r) })
	}
	if !ok || !plain(name, "") || !plain(kind, " (),'/") {
		return 0, refuse("What stands in braces is no parameter: they are written {name:Type}.")
	}
	if strings.Contains(strings.ToLower(kind), "identifier") || strings.Contains(strings.ToLower(kind), "aggregatefunction") {
		return 0, refuse("A parameter of type %s is not allowed here.", strings.TrimSpace(kind))
	}
	return i + end + 1, nil
}
