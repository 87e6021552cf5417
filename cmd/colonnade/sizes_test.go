package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What one can read in a sitting. Lines are all lines of source, without tests
// and generated code; fields are those that a struct declares itself.
const (
	maxPackageLines = 2000
	maxFileLines    = 400
	maxFields       = 25
	maxMethods      = 40
)

// TestSizes fails on packages, files, structs and method sets that are larger
// than one can read in a sitting. testdata/checks/sizes.txt lists what is
// larger today, and may give a reason behind the figure; see -shrink.
func TestSizes(t *testing.T) {
	t.Parallel()
	s := sizes{}
	for _, file := range ownFiles(t) {
		if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		if !isGenerated(text) {
			require.NoError(t, s.add(file, text))
		}
	}
	hint := fmt.Sprintf("Split it: a package has at most %d lines, a file %d, a struct %d fields, a type %d methods.", maxPackageLines, maxFileLines, maxFields, maxMethods)
	checkExceptions(t, "testdata/checks/sizes.txt", s.tooLarge(), func(subject string) string {
		kind, _, _ := strings.Cut(subject, " ")
		return kind
	}, hint)
}

// sizes counts by subject: "package write/sink", "file write/sink/worker.go",
// "struct write/sink.worker", "methods write/sink.worker".
type sizes map[string]int

func (s sizes) add(file string, text []byte) error {
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir, lines := packageOf(file), bytes.Count(text, []byte("\n"))
	s["package "+dir] += lines
	s["file "+file] = lines
	for _, decl := range tree.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				s["methods "+dir+"."+receiver(decl.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					s.addType(dir+"."+spec.Name.Name, spec.Type)
				}
			}
		}
	}
	return nil
}

func (s sizes) addType(name string, typ ast.Expr) {
	switch typ := typ.(type) {
	case *ast.StructType:
		s["struct "+name] = members(typ.Fields)
	case *ast.InterfaceType:
		s["methods "+name] = members(typ.Methods)
	}
}

func members(list *ast.FieldList) int {
	n := 0
	for _, field := range list.List {
		n += max(len(field.Names), 1) // an embedded one has no name
	}
	return n
}

func receiver(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return receiver(typ.X)
	case *ast.IndexExpr:
		return receiver(typ.X)
	case *ast.IndexListExpr:
		return receiver(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return "?"
}

// tooLarge returns the subjects above their limits. Lines are rounded up, so
// that a line more in a package that waits for its split fails nothing.
func (s sizes) tooLarge() map[string]int {
	limits := map[string]int{"package": maxPackageLines, "file": maxFileLines, "struct": maxFields, "methods": maxMethods}
	rounding := map[string]int{"package": 100, "file": 20, "struct": 1, "methods": 1}
	large := map[string]int{}
	for subject, n := range s {
		kind, _, _ := strings.Cut(subject, " ")
		if n > limits[kind] {
			step := rounding[kind]
			large[subject] = (n + step - 1) / step * step
		}
	}
	return large
}

func TestSizesCounts(t *testing.T) {
	t.Parallel()
	s := sizes{}
	require.NoError(t, s.add("a/b/c.go", []byte(`package b

type One struct {
	x, y int
	Two
}

type Two[T any] struct{ v T }

func (o *One) A() {}
func (o One) B()  {}
func (t *Two[T]) C() {}

type Three interface {
	A()
	B()
}
`)))
	require.NoError(t, s.add("a/b/d.go", []byte("package b\n\nfunc (o *One) D() {}\n")))
	require.Equal(t, sizes{
		"package a/b": 20, "file a/b/c.go": 17, "file a/b/d.go": 3,
		"struct a/b.One": 3, "struct a/b.Two": 1,
		"methods a/b.One": 3, "methods a/b.Two": 1, "methods a/b.Three": 2,
	}, s)
	require.Empty(t, s.tooLarge())
	s["file a/b/c.go"], s["struct a/b.One"] = maxFileLines+1, maxFields
	require.Equal(t, map[string]int{"file a/b/c.go": maxFileLines + 20}, s.tooLarge())
}
