// Package migrations creates the tables of ClickHouse and Postgres on which both sides
// build: one file of DDL for each, applied once. Names of tables and columns that Go
// code needs are in migrations/schema.
//
// Before the first release a change of the schema changes these files; afterwards it
// is a new file, and a released file never changes. A file is applied whole and
// recorded with its checksum in schema_migrations. A database whose record does not
// have the files as they are here was made by another build: it is refused, and
// nothing in it is touched.
//
// ClickHouse has no transactions for DDL, so a ClickHouse file that stopped in the
// middle runs again from its start, and each statement must bear repetition (IF NOT
// EXISTS). A Postgres file and its record are one transaction.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed clickhouse postgres
var files embed.FS

// file is one migration as it stands in the source tree.
type file struct {
	name     string
	text     string
	checksum string
}

// read gives the .sql files of a store in the order of their names.
func read(from fs.FS, store string) ([]file, error) {
	names, err := fs.Glob(from, path.Join(store, "*.sql"))
	if err != nil {
		return nil, fmt.Errorf("migrations: list files of %s: %w", store, err)
	}
	slices.Sort(names)
	var out []file
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, fmt.Errorf("migrations: read %s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		out = append(out, file{name: path.Base(name), text: string(text), checksum: hex.EncodeToString(sum[:])})
	}
	return out, nil
}

// ErrOtherBuild tells that a database has tables of another build.
var ErrOtherBuild = errors.New("set up by another build of colonnade, whose tables this build cannot use")

// pending returns the files that are not recorded yet. It fails if the record has a
// file with another text, or files without the first of these: every file builds on
// those before it, and CREATE ... IF NOT EXISTS would leave the tables of both builds
// mixed.
func pending(store string, all []file, recorded map[string]string) ([]file, error) {
	var out []file
	for i, f := range all {
		checksum, done := recorded[f.name]
		switch {
		case done && checksum != f.checksum, !done && i == 0 && len(recorded) > 0:
			return nil, fmt.Errorf("migrations: %s was %w (%s differs). Before the first release there is no upgrade: "+
				"start with an empty data directory (of a cluster, with empty ClickHouse and Postgres databases), or run the build that made this one", store, ErrOtherBuild, f.name)
		case !done:
			out = append(out, f)
		}
	}
	return out, nil
}

// split gives the statements of a file: its text cut at semicolons that stand
// outside quotes and comments. Pieces that hold no statement are left out.
func split(text string) []string {
	var out []string
	start, content := 0, false
	add := func(end int) {
		if statement := strings.TrimSpace(text[start:end]); content && statement != "" {
			out = append(out, statement)
		}
		start, content = end+1, false
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "--"):
			i += skipTo(text[i:], "\n")
		case strings.HasPrefix(text[i:], "/*"):
			i += skipTo(text[i:], "*/")
		case c == '\'' || c == '"' || c == '`':
			i += quoted(text[i:])
			content = true
		case c == ';':
			add(i)
			i++
		default:
			content = content || !strings.ContainsRune(" \t\r\n", rune(c))
			i++
		}
	}
	add(len(text))
	return out
}

func skipTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

// quoted is the length of the quoted piece that text begins with. A quote
// within it is doubled or follows a backslash.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			if i+1 < len(text) && text[i+1] == text[0] {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(text)
}
