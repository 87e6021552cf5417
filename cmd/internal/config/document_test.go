package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

//go:generate go test -count 1 -run ^TestSettingsDocument$ . -golden

const settingsHead = `<!-- Code generated from the configuration's types by make generate. DO NOT EDIT. -->

# Settings

A setting comes from its default, then from a YAML file (` + "`--config`" + ` or ` + "`COLONNADE_CONFIG`" + `), then from the environment; the
later one wins. The name in the file gives the variable: ` + "`http.addr`" + ` is ` + "`COLONNADE_HTTP_ADDR`" + `. ` + "`colonnade config`" + ` prints the
effective values and where each came from. An unknown key of the file is an error with its line; an unknown variable is a
warning in the log, because Kubernetes creates ` + "`COLONNADE_*`" + ` variables for a service of this name.

Durations are written as ` + "`500ms`" + `, ` + "`10s`" + `, ` + "`5m`" + `, ` + "`168h`" + `; sizes as a number of bytes or ` + "`512KiB`" + `, ` + "`64MiB`" + `, ` + "`3GiB`" + `; lists in the
environment are joined by commas.

Three more variables belong to commands and not to the service: ` + "`COLONNADE_HOST`" + ` and ` + "`COLONNADE_API_KEY`" + ` are the address and the
key that client commands use, and ` + "`COLONNADE_ENGINES_DIR`" + ` is the node_modules folder with the embedded engines.
`

// The document lists every setting with the comment of its field.
func TestSettingsDocument(t *testing.T) {
	t.Parallel()
	const path = "../../../deploy/docs/settings.md"
	d := document{t: t, packages: map[string]map[string]*ast.StructType{}}
	d.b.WriteString(settingsHead)
	l := Loaded{Config: Default()}
	d.section("", reflect.ValueOf(&l.Config).Elem(), "")
	if *golden {
		require.NoError(t, os.WriteFile(path, []byte(d.b.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(d.b.String(), "\n")), "(-want +got), run make generate")
}

type document struct {
	t        *testing.T
	b        strings.Builder
	packages map[string]map[string]*ast.StructType
}

// section writes the settings of one struct and then the sections below it.
func (d *document) section(name string, v reflect.Value, prefix string) {
	title := name
	if title == "" {
		title = "General"
	} else {
		title = "`" + title + "`"
	}
	meanings := d.meanings(v.Type())
	var rows []string
	type below struct {
		name  string
		value reflect.Value
	}
	var sections []below
	for field, value := range v.Fields() {
		if field.Anonymous {
			for f, section := range value.Fields() {
				sections = append(sections, below{prefix + snake(f.Name), section})
			}
			continue
		}
		setting := prefix + snake(field.Name)
		switch {
		case !field.IsExported() || derived(setting):
		case value.Kind() == reflect.Struct && !isText(value):
			sections = append(sections, below{setting, value})
		case settable(value):
			shown, _ := scalar(leaf{setting, value})
			if unquoted, err := strconv.Unquote(shown); err == nil {
				shown = unquoted
			}
			if shown != "" {
				shown = "`" + shown + "`"
			}
			rows = append(rows, fmt.Sprintf("| `%s`<br>`%s` | %s | %s |\n", setting, Variable(setting), shown, meanings[field.Name]))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(&d.b, "\n## %s\n\n| Setting | Default | Meaning |\n|---|---|---|\n%s", title, strings.Join(rows, ""))
	}
	for _, s := range sections {
		d.section(s.name, s.value, s.name+".")
	}
}

// meanings returns the comments of a struct's fields. A field without a comment
// has that of the field before it if the comment names both.
func (d *document) meanings(typ reflect.Type) map[string]string {
	structure := d.structs(typ.PkgPath())[typ.Name()]
	require.NotNil(d.t, structure, typ)
	names := map[string]string{}
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			names[name.Name] = "`" + snake(name.Name) + "`"
		}
	}
	meanings, last := map[string]string{}, ""
	for _, field := range structure.Fields.List {
		if text := field.Doc.Text() + field.Comment.Text(); text != "" {
			text = strings.Join(strings.Fields(text), " ")
			text = regexp.MustCompile(` ?Source: .*$`).ReplaceAllString(text, "")
			last = regexp.MustCompile(`[A-Z][A-Za-z0-9]+`).ReplaceAllStringFunc(text, func(word string) string {
				if setting, ok := names[word]; ok {
					return setting
				}
				return word
			})
			last = strings.ReplaceAll(last, "|", `\|`)
		}
		for i, name := range field.Names {
			if field.Doc != nil && i == 0 || strings.Contains(last, names[name.Name]) {
				meanings[name.Name] = last
			}
		}
	}
	return meanings
}

func (d *document) structs(pkg string) map[string]*ast.StructType {
	if found, ok := d.packages[pkg]; ok {
		return found
	}
	found := map[string]*ast.StructType{}
	files, err := filepath.Glob(filepath.Join("../../..", strings.TrimPrefix(pkg, "colonnade"), "*.go"))
	require.NoError(d.t, err)
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(d.t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if structure, ok := spec.Type.(*ast.StructType); ok {
					found[spec.Name.Name] = structure
				}
			}
			return true
		})
	}
	d.packages[pkg] = found
	return found
}
