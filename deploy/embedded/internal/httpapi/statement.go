//go:build embedded

package httpapi

import "strings"

// statement is what must be known of a SQL text before it is handed to the
// engine: enough to choose between streaming, materialising and inserting. The
// engine's parser alone decides what the text means.
type statement struct {
	sql     string
	keyword string // first word, upper case
	format  string // name in the FORMAT clause, as written
	// head ends before FORMAT or at the end of VALUES in an INSERT that carries data; -1 in any other statement.
	head int
	// data begins after the FORMAT clause or VALUES of an INSERT.
	data      int
	several   bool // something follows a semicolon
	temporary bool // TEMPORARY stands somewhere outside strings
	selects   bool // an INSERT whose rows come from a SELECT
	// outside tells INTO OUTFILE or FROM INFILE: files of a client, which here would be those of this process.
	outside bool
	// file tells that the name of the function file() stands somewhere; it reads any file, readonly or not.
	file bool
}

// analyse walks the text once, skipping strings, quoted names and comments.
func analyse(sql string) statement {
	s := statement{sql: sql, head: -1}
	var last string // the word before this one; empty after anything that is not a word
	depth := 0
	ended := false
	for i := 0; i < len(sql); {
		c := sql[i]
		if next := skipBlank(sql, i); next > i {
			i = next
			continue
		}
		if ended {
			s.several = true
			return s
		}
		switch {
		case c == '\'' || c == '"' || c == '`':
			next := skipQuoted(sql, i)
			if c != '\'' && (sql[i+1:max(i+1, next-1)] == "file" || strings.ContainsRune(sql[i:next], '\\')) && last != "." {
				s.file = true // an escape in a name could spell anything
			}
			i, last = next, ""
			continue
		case isWordByte(c):
			start := i
			for i < len(sql) && isWordByte(sql[i]) {
				i++
			}
			if sql[start:i] == "file" && last != "." {
				s.file = true
			}
			word := strings.ToUpper(sql[start:i])
			if done := s.word(word, last, depth, start, i); done {
				return s
			}
			last = word
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ';' && depth <= 0:
			ended = true
		case c == '.':
			last = "."
			i++
			continue
		default:
		}
		last = ""
		i++
	}
	return s
}

// word takes one word at depth; it tells true when the rest of the text is data.
func (s *statement) word(word, last string, depth, start, end int) bool {
	if s.keyword == "" {
		s.keyword = word
		return false
	}
	switch word {
	case "TEMPORARY":
		s.temporary = true
	case "OUTFILE", "INFILE":
		s.outside = s.outside || last == "INTO" || last == "FROM"
	default:
	}
	if depth > 0 || last == "INTO" || last == "TABLE" || last == "." {
		return false
	}
	switch {
	case word == "FORMAT":
		name, after := nextWord(s.sql, end)
		if name == "" || name[0] >= '0' && name[0] <= '9' {
			return false
		}
		s.format = name
		if s.keyword == "INSERT" {
			s.head, s.data = start, skipToData(s.sql, after)
			return true
		}
	case s.keyword == "INSERT" && word == "VALUES":
		s.head, s.data, s.format = start, end, "Values"
		return !s.selects
	case s.keyword == "INSERT" && (word == "SELECT" || word == "WITH" || word == "WATCH"):
		s.selects = true
	default:
	}
	return false
}

// reads tells that the statement leaves no trace.
func (s *statement) reads() bool {
	switch s.keyword {
	case "SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "CHECK", "VALUES", "FROM":
		return true
	default:
		return false
	}
}

// streams tells that the engine's streaming call takes the statement.
func (s *statement) streams() bool {
	return s.keyword == "SELECT" || s.keyword == "WITH" || s.keyword == "FROM"
}

// changesSession tells that the connection is not as it was after the statement.
func (s *statement) changesSession() bool {
	return s.keyword == "SET" || s.keyword == "USE" || s.temporary
}

// refusal is what a server would say to a statement that the library would
// carry out, because the library is also a command line on its own machine.
func (s *statement) refusal(readonly string) error {
	switch {
	case s.keyword == "":
		return raise(codeSyntax, "SYNTAX_ERROR", "Empty query")
	case s.outside:
		return raise(codeOutfile, "INTO_OUTFILE_NOT_ALLOWED", "INTO OUTFILE and FROM INFILE are not allowed")
	case s.keyword == "QUIT" || s.keyword == "EXIT" || s.keyword == "LOGOUT" || s.keyword == "HELP":
		return raise(codeSyntax, "SYNTAX_ERROR", "Syntax error: failed at position 1 (%s)", s.keyword)
	case readonly == "1" && s.file:
		return raise(codeReadonly, "READONLY", "Cannot read files in readonly mode: a column named file must be written with its table's name before it, t.file")
	case readonly == "1" && s.keyword == "KILL":
		return raise(codeReadonly, "READONLY", "Cannot kill statements in readonly mode")
	default:
		return nil
	}
}

// takesBody tells that the statement is an INSERT whose rows follow its text.
func (s *statement) takesBody() bool {
	return s.head >= 0 && (!s.selects || s.format != "Values")
}

func skipBlank(sql string, i int) int {
	for i < len(sql) {
		switch {
		case sql[i] == ' ' || sql[i] >= '\t' && sql[i] <= '\r':
			i++
		case strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "# ") || strings.HasPrefix(sql[i:], "#!"):
			end := strings.IndexByte(sql[i:], '\n')
			if end < 0 {
				return len(sql)
			}
			i += end + 1
		case strings.HasPrefix(sql[i:], "/*"):
			end := strings.Index(sql[i+2:], "*/")
			if end < 0 {
				return len(sql)
			}
			i += 2 + end + 2
		default:
			return i
		}
	}
	return i
}

func skipQuoted(sql string, i int) int {
	quote := sql[i]
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case quote:
			if i+1 < len(sql) && sql[i+1] == quote {
				i++
				continue
			}
			return i + 1
		default:
		}
	}
	return len(sql)
}

func nextWord(sql string, i int) (word string, end int) {
	i = skipBlank(sql, i)
	start := i
	for i < len(sql) && isWordByte(sql[i]) {
		i++
	}
	return sql[start:i], i
}

// skipToData passes what may stand between a format's name and its data, as the server does: blanks and one line end.
func skipToData(sql string, i int) int {
	for i < len(sql) && (sql[i] == ' ' || sql[i] == '\t' || sql[i] == '\f') {
		i++
	}
	if i < len(sql) && sql[i] == '\r' {
		i++
	}
	if i < len(sql) && sql[i] == '\n' {
		i++
	}
	return i
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
