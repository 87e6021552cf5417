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

// rules lists, for each room, the prefixes it must never reach, directly or
// through another package. depguard catches the direct import while typing;
// this test catches the indirect one.
var rules = []struct{ room, mustNotReach, because string }{
	{"/domain", "net/http", "the domain speaks no protocol"},
	{"/domain", "database/sql", "the domain knows no store"},
	{"/domain", module + "/", "the domain imports nothing of ours but itself"},
	{"/write", module + "/read", "the wings share only domain and migrations/schema"},
	{"/read", module + "/write", "the wings share only domain and migrations/schema"},
	{"/read", "github.com/twmb/franz-go", "the read side never sees the stream"},
	{"/read/compile", "github.com/ClickHouse", "compile returns text and arguments"},
	{"/write", module + "/deploy", "services are addresses to the core"},
	{"/read", module + "/deploy", "services are addresses to the core"},
	{"/deploy", module + "/domain", "a deployment knows nothing of the core"},
}

func TestHouse(t *testing.T) {
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
		for _, r := range rules {
			if !within(pkg.ImportPath, module+r.room) {
				continue
			}
			for _, dep := range pkg.Deps {
				if within(dep, module+r.room) || within(dep, module+"/domain") && r.room != "/deploy" {
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
