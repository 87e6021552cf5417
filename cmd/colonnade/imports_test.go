package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "colonnade"

// importRules lists, for each part of the tree, the prefixes that its packages
// must never reach, directly or through another package. depguard catches the
// direct import while typing; TestImports catches the indirect one.
var importRules = []struct{ part, mustNotReach, because string }{
	{"/domain", "net/http", "the domain speaks no protocol"},
	{"/domain", "database/sql", "the domain does no I/O"},
	{"/domain", module + "/", "the domain imports nothing of ours but itself"},
	{"/write", module + "/read", "the write side and the read side share only domain and migrations/schema"},
	{"/write/registry", module + "/write/api", "endpoints call commands"},
	{"/write/invoke", module + "/write/api", "endpoints call commands"},
	{"/write/evaluate", module + "/write/api", "endpoints call commands"},
	{"/write/ingest", module + "/write/api", "endpoints call commands"},
	{"/read", module + "/write", "the write side and the read side share only domain and migrations/schema"},
	{"/read", "github.com/twmb/franz-go", "the read side does not read Kafka"},
	{"/read/order", "github.com/ClickHouse", "the compiling packages return text and arguments, read/traces and read/analytics run them"},
	{"/read/sqltext", "github.com/ClickHouse", "the compiling packages return text and arguments, read/traces and read/analytics run them"},
	{"/read/filtersql", "github.com/ClickHouse", "the compiling packages return text and arguments, read/traces and read/analytics run them"},
	{"/read/statements", "github.com/ClickHouse", "the compiling packages return text and arguments, read/traces and read/analytics run them"},
	{"/read/analyticssql", "github.com/ClickHouse", "the compiling packages return text and arguments, read/traces and read/analytics run them"},
	{"/read/order", module + "/read/sqltext", "order holds positions, read/sqltext writes them as conditions"},
	{"/read/filtersql", module + "/read/statements", "a statement is made of conditions, not the reverse"},
	{"/write", module + "/deploy", "ClickHouse, Kafka and Postgres are addresses to the core"},
	{"/read", module + "/deploy", "ClickHouse, Kafka and Postgres are addresses to the core"},
	{"/deploy", module + "/domain", "deploy yields addresses and imports nothing of ours"},
}

// TestImports fails if a package reaches another that its side must not know.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-tags", "embedded", "-json=ImportPath,Deps", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var pkg struct {
			ImportPath string
			Deps       []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, r := range importRules {
			if !within(pkg.ImportPath, module+r.part) {
				continue
			}
			for _, dep := range pkg.Deps {
				if within(dep, module+r.part) || within(dep, module+"/domain") && r.part != "/deploy" {
					continue
				}
				if within(dep, strings.TrimSuffix(r.mustNotReach, "/")) && dep != "database/sql/driver" {
					t.Errorf("%s reaches %s: %s", pkg.ImportPath, dep, r.because)
				}
			}
		}
	}
}

func within(pkg, root string) bool { return pkg == root || strings.HasPrefix(pkg, root+"/") }
