package guard

import (
	_ "embed"
	"strings"
	"sync"
)

// functionList has a line for each function of the pinned engine, in lower case: "+" for a
// function that may be called, "a" for an aggregate function that may, "-" for one that may
// not. Refused are functions that read files, networks, dictionaries, settings, identities
// or the state of the server, that wait, and that call a function named by a text.
//
//go:embed functions.txt
var functionList string

// functions returns the sign of each function.
//
//nolint:gochecknoglobals // parsed once from the embedded list
var functions = sync.OnceValue(func() map[string]byte {
	out := make(map[string]byte, 2000)
	for line := range strings.Lines(functionList) {
		out[strings.TrimSpace(line[2:])] = line[0]
	}
	return out
})

// Listed reports whether the list decides about a function.
func Listed(name string) bool {
	_, ok := functions()[strings.ToLower(name)]
	return ok
}

// CheckFunction returns a RefusedError unless a function is listed as allowed, or an aggregate
// function that is with combinators. Names are compared without case.
func CheckFunction(name string) error {
	lower := strings.ToLower(name)
	if Listed(lower) {
		if functions()[lower] == '-' {
			return refuse("The function %s is not allowed here.", name)
		}
		return nil
	}
	for base := lower; ; {
		var cut bool
		if base, cut = withoutCombinator(base); !cut {
			return refuse("The function %s is not allowed here.", name)
		}
		if functions()[base] == 'a' {
			return nil
		}
	}
}

// withoutCombinator cuts the last combinator of an aggregate function. State and Merge are
// missing: their values are memory of the engine.
func withoutCombinator(name string) (string, bool) {
	for _, c := range []string{"if", "array", "map", "ornull", "ordefault", "distinct", "foreach", "argmin", "argmax"} {
		if base, ok := strings.CutSuffix(name, c); ok && base != "" {
			return base, true
		}
	}
	return name, false
}

// TableFunctions returns the table functions that may be called. None of them reads anything.
func TableFunctions() []string {
	return []string{"numbers", "zeros", "generateseries", "generate_series", "values", "sqlstandardvalues"}
}

// CheckTableFunction returns a RefusedError unless a table function is one of TableFunctions.
func CheckTableFunction(name string) error {
	for _, allowed := range TableFunctions() {
		if strings.EqualFold(name, allowed) {
			return nil
		}
	}
	return refuse("The table function %s is not allowed here.", name)
}
