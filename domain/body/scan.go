package body

import (
	"encoding/json"
	"errors"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
)

// check refuses what is not JSON, what is nested too deeply, and objects that
// name a member twice: readers disagree on which of the two counts. The rest of
// the package walks text that it knows to be well formed.
func check(data []byte, loc []any) error {
	if !json.Valid(data) {
		at := 0
		var probe json.RawMessage
		if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &probe)); ok {
			at = int(syntax.Offset)
		}
		return Invalid("json_invalid", "JSON decode error", nil, below(loc, at)...)
	}
	var open []map[string]bool // nil for an array
	key := false               // a string that begins here names a member
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if len(open) == MaxDepth {
				return Invalid("json_invalid", "JSON is nested too deeply", nil, below(loc, i)...)
			}
			if key = data[i] == '{'; key {
				open = append(open, map[string]bool{})
			} else {
				open = append(open, nil)
			}
		case '}', ']':
			open = open[:len(open)-1]
			key = false
		case ',':
			key = len(open) > 0 && open[len(open)-1] != nil
		case '"':
			end := skipString(data, i)
			if key {
				name, members := text(data[i:end]), open[len(open)-1]
				if members[name] {
					return Invalid("json_invalid", "The member "+name+" is there twice", nil, below(loc, i)...)
				}
				members[name] = true
				key = false
			}
			i = end - 1
		}
	}
	return nil
}

// skipString gives the index after the string that begins at i.
func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skip gives the index after the value that begins at i.
func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch data[i] {
			case '"':
				i = skipString(data, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	default:
		for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && !blank(data[i]) {
			i++
		}
		return i
	}
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func skipBlanks(data []byte, i int) int {
	for i < len(data) && (blank(data[i]) || data[i] == ',' || data[i] == ':') {
		i++
	}
	return i
}

// members calls f with each member of an object, in its order.
func members(data []byte, f func(name string, raw []byte)) {
	for i := skipBlanks(data, 1); data[i] != '}'; i = skipBlanks(data, i) {
		end := skipString(data, i)
		name := text(data[i:end])
		i = skipBlanks(data, end)
		end = skip(data, i)
		f(name, data[i:end])
		i = end
	}
}

// elements calls f with each element of an array.
func elements(data []byte, f func(i int, raw []byte)) {
	n := 0
	for i := skipBlanks(data, 1); data[i] != ']'; i = skipBlanks(data, i) {
		end := skip(data, i)
		f(n, data[i:end])
		n++
		i = end
	}
}

// text decodes a JSON string.
func text(raw []byte) string {
	v, err := jsonvalue.Parse(raw)
	s, ok := v.(string)
	if err != nil || !ok {
		return ""
	}
	return s
}

// shown is a wrong value as the reply shows it: short ones as they are.
func shown(raw []byte) any {
	if len(raw) > maxInputBytes {
		return nil
	}
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil
	}
	return v
}

// kindOf is a value's kind, by its first byte.
func kindOf(raw []byte) byte {
	switch c := raw[0]; c {
	case '{', '[', '"', 't', 'n':
		return c
	case 'f':
		return 't'
	default:
		return '0'
	}
}

// sentence is what an error of a type's own reader says to the caller.
func sentence(err error) string {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Message != "" {
		return e.Message
	}
	return err.Error()
}
