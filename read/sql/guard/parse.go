package guard

import (
	"strings"
)

// Limits of a statement.
const (
	// MaxBytes bounds the text of a statement.
	MaxBytes = 64 << 10
	// maxSubqueries bounds the words SELECT and JOIN.
	maxSubqueries = 200
)

// Statement is a text that passed the first check.
type Statement struct {
	// SQL is the text without comments, semicolons at its end and the FORMAT clause. What is
	// left stands where it stood.
	SQL string
	// Format is the name in the FORMAT clause, empty without one.
	Format string
	// Describe is the view that DESCRIBE names; Tables reports that the statement is SHOW
	// TABLES. Both are answered without a check of trees.
	Describe string
	Tables   bool
}

// token is a piece of the text between blanks and comments.
type token struct {
	kind       byte // 'w' word or number, 'q' quoted name, 's' string, else the character itself
	text       string
	start, end int
}

// Parse splits the text and refuses what the trees of ClickHouse do not show: clauses that
// change settings or write files, several statements, and characters whose meaning depends
// on the version of the lexer.
func Parse(sql string) (Statement, error) {
	if len(sql) > MaxBytes {
		return Statement{}, refuse("The statement is longer than %d bytes.", MaxBytes)
	}
	tokens, text, err := scan(sql)
	if err != nil {
		return Statement{}, err
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].kind == ';' {
		text[tokens[len(tokens)-1].start] = ' '
		tokens = tokens[:len(tokens)-1]
	}
	var s Statement
	if n := len(tokens); n > 2 && tokens[n-2].is("FORMAT") && tokens[n-1].kind == 'w' && tokens[n-3].kind != '.' {
		s.Format = tokens[n-1].text
		for i := tokens[n-2].start; i < tokens[n-1].end; i++ {
			text[i] = ' '
		}
		tokens = tokens[:n-2]
	}
	if len(tokens) == 0 {
		return Statement{}, refuse("The statement is empty.")
	}
	s.SQL = strings.TrimRight(string(text), " \t\r\n")
	switch first := tokens[0]; {
	case first.is("SELECT"), first.is("WITH"), first.kind == '(':
		return s, checkTokens(tokens)
	case first.is("SHOW") && len(tokens) == 2 && tokens[1].is("TABLES"):
		s.Tables = true
		return s, nil
	case first.is("DESCRIBE") || first.is("DESC"):
		rest := tokens[1:]
		if len(rest) > 1 && rest[0].is("TABLE") {
			rest = rest[1:]
		}
		if len(rest) == 1 && rest[0].kind == 'w' {
			s.Describe = rest[0].text
			return s, nil
		}
	default:
	}
	return Statement{}, refuse("Only SELECT, DESCRIBE <view> and SHOW TABLES run here.")
}

func (t token) is(word string) bool { return t.kind == 'w' && strings.EqualFold(t.text, word) }

func checkTokens(tokens []token) error {
	subqueries := 0
	for i, t := range tokens {
		switch {
		case t.kind == ';':
			return refuse("Several statements in one are not allowed.")
		case t.is("SETTINGS"), t.is("INTO"), t.is("OUTFILE"), t.is("APPLY"), t.is("PARALLEL"):
			if i > 0 && tokens[i-1].kind == '.' {
				break
			}
			return refuse("%s is not allowed here; a column of that name is written in quotes.", strings.ToUpper(t.text))
		case t.is("SELECT"), t.is("JOIN"):
			if subqueries++; subqueries > maxSubqueries {
				return refuse("The statement has more than %d joins and subqueries.", maxSubqueries)
			}
		case t.kind == 'w' || t.kind == 's':
			if strings.Contains(strings.ToLower(t.text), "aggregatefunction") {
				return refuse("The type AggregateFunction is not allowed here.")
			}
		default:
		}
		if i+1 < len(tokens) && tokens[i+1].kind == '(' && (t.kind == 'q' || t.kind == 'w' && !beforeBracket(t.text)) {
			if i > 0 && tokens[i-1].kind == '.' {
				return refuse("A function with a name of several parts is not allowed here.")
			}
			if CheckTableFunction(t.text) == nil && i > 0 && (tokens[i-1].is("FROM") || tokens[i-1].is("JOIN") || tokens[i-1].kind == ',' || tokens[i-1].kind == '(') {
				continue
			}
			if err := CheckFunction(t.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// beforeBracket reports whether a bracket after the word opens no arguments of a function:
// keywords, and types of a CAST.
func beforeBracket(word string) bool {
	switch strings.ToUpper(word) {
	case "SELECT", "FROM", "IN", "AS", "AND", "OR", "NOT", "WHERE", "ON", "USING", "OVER", "BY", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN",
		"LIKE", "ILIKE", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "ANY", "HAVING", "PREWHERE", "QUALIFY", "LIMIT", "OFFSET", "JOIN",
		"COLUMNS", "SETS", "ROLLUP", "CUBE", "WITH", "INTERVAL", "FILTER", "REGEXP", "TO", "STEP", "GROUP", "ORDER", "RETURNING", "DIV", "MOD",
		"DECIMAL", "DECIMAL32", "DECIMAL64", "DECIMAL128", "DATETIME64", "DATETIME", "NULLABLE", "LOWCARDINALITY", "FIXEDSTRING", "ENUM8", "ENUM16", "INTERPOLATE":
		return true
	default:
		return false
	}
}
