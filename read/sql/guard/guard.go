// Package guard decides whether a statement of an analyst may run. It is pure: the caller
// (read/sql) asks ClickHouse for the syntax tree and the query tree of the statement.
//
// The text is checked first (Parse), then the syntax tree (CheckSyntax), then the names
// (CheckNames); each check refuses what it does not know. The query tree must come last,
// because ClickHouse computes scalar subqueries to make it.
package guard

import (
	"fmt"
	"strings"
)

// RefusedError is a statement that may not run. Its text names what is refused.
type RefusedError struct{ What string }

// Error returns what is refused.
func (r *RefusedError) Error() string { return r.What }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// maxDepth bounds the lines of a tree that are inside each other.
const maxDepth = 2000

// CheckSyntax checks the lines of EXPLAIN AST. Unqualified tables are those of the
// project's database, which is the current one.
func CheckSyntax(lines []string, database string) error {
	if len(lines) == 0 {
		return refuse("The statement is empty.")
	}
	var stack []node // the nodes that the line is inside of
	for i, line := range lines {
		depth := len(line) - len(strings.TrimLeft(line, " "))
		if depth > len(stack) || depth > maxDepth || (i == 0) != (depth == 0) {
			return refuse("The syntax of the statement is not understood.")
		}
		stack = stack[:depth]
		n := readNode(line[depth:])
		if i == 0 && n.kind != "SelectWithUnionQuery" {
			return refuse("Only SELECT statements run here.")
		}
		if err := n.check(stack, database); err != nil {
			return err
		}
		if depth > 0 {
			stack[depth-1].seen++
		}
		stack = append(stack, n)
	}
	return nil
}

// node is a line of EXPLAIN AST.
type node struct {
	kind, name string
	seen       int // children so far
}

func readNode(line string) node {
	kind, rest, _ := strings.Cut(line, " ")
	if end := strings.LastIndex(rest, " (alias "); end >= 0 {
		rest = rest[:end]
	} else if strings.HasPrefix(rest, "(alias ") || strings.HasPrefix(rest, "(children ") {
		rest = ""
	} else if end := strings.LastIndex(rest, " (children "); end >= 0 {
		rest = rest[:end]
	}
	return node{kind: kind, name: rest}
}

func (n node) check(parents []node, database string) error {
	parent := node{}
	if len(parents) > 0 {
		parent = parents[len(parents)-1]
	}
	switch n.kind {
	case "SelectWithUnionQuery", "SelectQuery", "SelectIntersectExceptQuery", "ExpressionList", "Asterisk", "QualifiedAsterisk",
		"ColumnsRegexpMatcher", "ColumnsListMatcher", "ColumnsTransformerList", "ColumnsExceptTransformer", "ColumnsReplaceTransformer",
		"ColumnsReplaceTransformer::Replacement", "TablesInSelectQuery", "TablesInSelectQueryElement", "TableExpression", "TableJoin",
		"ArrayJoin", "Subquery", "WithElement", "OrderByElement", "WindowListElement", "WindowDefinition", "InterpolateElement", "SampleRatio", "Literal":
		return nil
	case "Identifier":
		inSecond := parent.kind == "ExpressionList" && parent.seen == 1 && len(parents) > 1 && setFunction(parents[len(parents)-2].name)
		if inSecond {
			return checkTable(n.name, database)
		}
		return nil
	case "TableIdentifier":
		return checkTable(n.name, database)
	case "Function":
		if parent.kind == "TableExpression" {
			return CheckTableFunction(n.name)
		}
		return CheckFunction(n.name)
	default:
		return refuse("%s is not allowed here.", n.kind)
	}
}

func setFunction(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), "in")
}

func checkTable(name, database string) error {
	if first, _, qualified := strings.Cut(name, "."); qualified && first != database {
		return refuse("The table %s is not one of this project: GET /sql/schema lists its views.", name)
	}
	return nil
}

// noTable is what ClickHouse reads where a SELECT has no FROM; CheckSyntax refuses it where a
// statement names it.
const noTable = "system.one"

// CheckNames checks the lines of EXPLAIN QUERY TREE: every table is one of the views of the
// project's database.
func CheckNames(lines []string, database string, views []string) error {
	for _, line := range lines {
		kind, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		switch kind {
		case "TABLE":
			if strings.HasPrefix(rest, "EXPRESSION") { // the head of the sides of a join
				continue
			}
			_, name, found := strings.Cut(rest, "table_name: ")
			name, _, _ = strings.Cut(name, ", ")
			ok := name == noTable
			for _, view := range views {
				ok = ok || name == database+"."+view
			}
			if !found || !ok {
				return refuse("The table %s is not one of this project: GET /sql/schema lists its views.", name)
			}
		case "TABLE_FUNCTION":
			_, name, _ := strings.Cut(rest, "table_function_name: ")
			name, _, _ = strings.Cut(name, ", ")
			if err := CheckTableFunction(name); err != nil {
				return err
			}
		default:
		}
	}
	return nil
}
