package guard

import (
	"slices"
	"strings"

	"colonnade/migrations/schema"
)

// Server describes the ClickHouse that a tool is to believe it talks to.
type Server struct {
	// Database is the database of the project's views.
	Database string
	// Views are the names of the project's views, without those that only tools read.
	Views []string
	// Version and TimeZone are those of the engine.
	Version, TimeZone string
}

// ForTools exchanges what a tool asks to find its way. Tables of system and of
// information_schema become the views of the same content that show this project alone, SHOW
// and EXISTS become a SELECT over them, and functions that describe the server become
// literals. Names of views in a database "default" lose it, and a SETTINGS clause at the end
// goes. What comes out is checked like any other text.
func ForTools(sql string, s Server) (string, error) {
	if len(sql) > MaxBytes {
		return "", refuse("The statement is longer than %d bytes.", MaxBytes)
	}
	tokens, _, err := scan(sql)
	if err != nil {
		return "", err
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].kind == ';' {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return "", refuse("The statement is empty.")
	}
	end := tokens[len(tokens)-1].end
	format := ""
	if n := len(tokens); n > 2 && tokens[n-2].is("FORMAT") && tokens[n-1].kind == 'w' {
		format, end = " FORMAT "+tokens[n-1].text, tokens[n-3].end
		tokens = tokens[:n-2]
	}
	if at := settingsClause(tokens); at > 0 {
		tokens, end = tokens[:at], tokens[at-1].end
	}
	text, err := s.question(tokens)
	if err != nil {
		return "", err
	}
	if text == "" {
		text = s.exchange(sql[:end], tokens)
	}
	return text + format, nil
}

// settingsClause returns the index of SETTINGS where the statement ends with a clause of
// plain settings, else 0.
func settingsClause(tokens []token) int {
	at := slices.IndexFunc(tokens, func(t token) bool { return t.is("SETTINGS") })
	if at <= 0 || tokens[at-1].kind == '.' {
		return 0
	}
	rest := tokens[at+1:]
	for len(rest) >= 3 && rest[0].kind == 'w' && rest[1].kind == '=' && (rest[2].kind == 'w' || rest[2].kind == 's') {
		if rest = rest[3:]; len(rest) == 0 {
			return at
		}
		if rest[0].kind != ',' {
			return 0
		}
		rest = rest[1:]
	}
	return 0
}

// question returns the SELECT that answers SHOW, EXISTS or DESCRIBE, empty for another statement.
func (s Server) question(tokens []token) (string, error) {
	rest := tokens[1:]
	next := func(words ...string) bool {
		if len(rest) == 0 || !slices.ContainsFunc(words, rest[0].is) {
			return false
		}
		rest = rest[1:]
		return true
	}
	switch first := tokens[0]; {
	case first.is("USE"):
		return "SELECT 1 WHERE 0", nil // there is one database
	case first.is("DESCRIBE"), first.is("DESC"):
		next("TABLE")
		if view, ok := s.view(rest); ok {
			return "DESCRIBE TABLE " + view, nil
		}
	case first.is("EXISTS"):
		next("TABLE", "VIEW")
		if name, ok := lastName(rest); ok {
			return "SELECT toUInt8(count() > 0) AS result FROM system_tables WHERE name = " + quoteString(name), nil
		}
	case first.is("SHOW") && next("DATABASES", "SCHEMAS"):
		return showNames("system_databases", rest)
	case first.is("SHOW"):
		next("FULL")
		if next("TABLES") {
			if next("FROM", "IN") && len(rest) > 0 {
				rest = rest[1:]
			}
			return showNames("system_tables", rest)
		}
	default:
	}
	return "", nil
}

// showNames returns the SELECT of SHOW with its LIKE.
func showNames(view string, rest []token) (string, error) {
	text := "SELECT name FROM " + view
	if n := len(rest); n > 0 {
		not := ""
		if rest[0].is("NOT") {
			not, rest = "NOT ", rest[1:]
		}
		if len(rest) != 2 || !rest[0].is("LIKE") && !rest[0].is("ILIKE") || rest[1].kind != 's' {
			return "", refuse("Of SHOW only SHOW DATABASES and SHOW TABLES run here, with FROM, LIKE and NOT LIKE.")
		}
		text += " WHERE name " + not + rest[0].text + " " + rest[1].text
	}
	return text + " ORDER BY name", nil
}

// view returns the view that the tokens of a name denote, in whichever database.
func (s Server) view(tokens []token) (string, bool) {
	name, ok := lastName(tokens)
	if len(tokens) == 3 {
		if view, found := exchangedTable(tokens[0], tokens[2]); found {
			return view, true
		}
	}
	return name, ok && (slices.Contains(s.Views, name) || slices.Contains(schema.ToolViewNames(), name))
}

// lastName returns the last part of a name of one or two parts.
func lastName(tokens []token) (string, bool) {
	switch {
	case len(tokens) == 1 && tokens[0].isName():
		return tokens[0].text, true
	case len(tokens) == 3 && tokens[0].isName() && tokens[1].kind == '.' && tokens[2].isName():
		return tokens[2].text, true
	default:
		return "", false
	}
}

func (t token) isName() bool { return t.kind == 'w' || t.kind == 'q' }

// exchange replaces names and functions in the text of the tokens.
func (s Server) exchange(sql string, tokens []token) string {
	var out strings.Builder
	done := 0
	replace := func(from, to int, text string) {
		out.WriteString(sql[done:from])
		out.WriteString(text)
		done = to
	}
	for i := 0; i+2 < len(tokens); i++ {
		a, dot, b := tokens[i], tokens[i+1], tokens[i+2]
		if i > 0 && tokens[i-1].kind == '.' || !a.isName() {
			continue
		}
		if dot.kind == '.' && b.isName() {
			view, ok := exchangedTable(a, b)
			if !ok && a.text == "default" && slices.Contains(s.Views, b.text) {
				view, ok = b.text, true
			}
			if ok {
				replace(a.start, b.end, view)
				i += 2
			}
			continue
		}
		if literal, ok := s.literal(a.text); ok && a.kind == 'w' && dot.kind == '(' && b.kind == ')' {
			replace(a.start, b.end, literal)
			i += 2
		}
	}
	out.WriteString(sql[done:])
	return out.String()
}

// literal returns what a function that describes the server returns.
func (s Server) literal(function string) (string, bool) {
	switch strings.ToLower(function) {
	case "version":
		return quoteString(s.Version), true
	case "currentdatabase", "current_database", "database", "schema":
		return quoteString(s.Database), true
	case "currentuser", "current_user", "user":
		return "'default'", true
	case "displayname", "hostname", "fqdn", "fullhostname":
		return "'colonnade'", true
	case "timezone", "servertimezone":
		return quoteString(s.TimeZone), true
	case "revision":
		return "toUInt32(0)", true
	case "uptime":
		return "toUInt32(0)", true
	default:
		return "", false
	}
}

// quoteString returns a string literal.
func quoteString(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(s) + "'"
}

// exchangedTable returns the view that stands for a table of system or information_schema.
// The name of a view has no dot, because the syntax tree shows no quotes.
func exchangedTable(database, table token) (string, bool) {
	view := strings.ToLower(database.text) + "_" + strings.ToLower(table.text)
	return view, slices.Contains(schema.ToolViewNames(), view)
}
