package template

import (
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// pythonNone is null as Jinja2 of Python has it: it prints as None, is false, and is a value, so
// that the filter default leaves it. The engine prints nil, which it also has for what is not
// there, as nothing.
type pythonNone []struct{}

// String returns None.
func (pythonNone) String() string { return "None" }

// MarshalJSON returns null, for the filter tojson.
func (pythonNone) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// pythonic returns a value with None for null.
func pythonic(v any) any {
	switch v := v.(type) {
	case nil:
		return pythonNone{}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = pythonic(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = pythonic(element)
		}
		return out
	default:
		return v
	}
}

// pythonTests are the engine's, with None for null.
func pythonTests() *exec.TestSet {
	return exec.NewTestSet(map[string]exec.TestFunction{}).Update(builtins.Tests).Update(exec.NewTestSet(map[string]exec.TestFunction{
		"none": func(_ *exec.Context, in *exec.Value, _ *exec.VarArgs) (bool, error) {
			if in.IsNil() {
				return true, nil
			}
			_, none := in.Interface().(pythonNone)
			return none, nil
		},
	}))
}

var (
	// pythonTag is what Jinja2 evaluates; power an expression of two plain operands in it.
	pythonTag = regexp.MustCompile(`\{[{%].*?[}%]\}`)
	power     = regexp.MustCompile(`([^\w.])([A-Za-z_][\w.]*|\d+)\s*\*\*\s*([A-Za-z_][\w.]*|\d+)([^\w.])`)
)

// integerPowers replaces a power, of which the engine makes a float, by a call that keeps whole
// numbers whole. A tag with a text in it, or with several powers, stays as it is.
func integerPowers(source string) string {
	return pythonTag.ReplaceAllStringFunc(source, func(tag string) string {
		if strings.Count(tag, "**") != 1 || strings.ContainsAny(tag, `'"`) {
			return tag
		}
		return power.ReplaceAllString(tag, "${1}"+powerFunction+"($2, $3)${4}")
	})
}

// powerFunction is no name that a caller's variable has: it begins with two underscores.
const powerFunction = "__power"

// maxExponent bounds a power of whole numbers, which grows without bound.
const maxExponent = 1024

// integerPower returns a**b, whole where both are.
func integerPower(_ *exec.Evaluator, args *exec.VarArgs) *exec.Value {
	a, b := args.Args[0], args.Args[1]
	if !a.IsInteger() || !b.IsInteger() || b.Integer() < 0 || b.Integer() > maxExponent {
		return exec.AsValue(math.Pow(a.Float(), b.Float()))
	}
	out := new(big.Int).Exp(big.NewInt(int64(a.Integer())), big.NewInt(int64(b.Integer())), nil)
	if out.IsInt64() {
		return exec.AsValue(out.Int64())
	}
	return exec.AsValue(out.String())
}
