//go:build embedded

package pgserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldest is the oldest major version of a machine's own server that is taken.
const oldest = 15

// chooseBinaries finds the folder with postgres and initdb: the packaged one,
// or the machine's own. Data that exists already decides the major version.
func chooseBinaries(ctx context.Context, c Config, who identity) (string, error) {
	wanted := 0
	if raw, err := os.ReadFile(filepath.Join(c.dataDir(), "PG_VERSION")); err == nil {
		wanted, _ = strconv.Atoi(strings.TrimSpace(string(raw))) // an odd file: the server itself will refuse it
	}
	var seen []string
	if c.Packaged != "" {
		native, err := makeUsable(c.Packaged, c.Dir, who)
		if err != nil {
			return "", err
		}
		bin := filepath.Join(native, "bin")
		if wanted == 0 {
			return bin, nil
		}
		major := majorOf(ctx, bin)
		if major == wanted {
			return bin, nil
		}
		seen = append(seen, fmt.Sprintf("%d in %s", major, bin))
	}
	for _, bin := range machineBinaries() {
		major := majorOf(ctx, bin)
		if major == wanted || wanted == 0 && major >= oldest {
			return bin, nil
		}
		seen = append(seen, fmt.Sprintf("%d in %s", major, bin))
	}
	switch {
	case wanted != 0:
		return "", fmt.Errorf("the data in %s is of Postgres %d, and only these are here: %s", c.dataDir(), wanted, strings.Join(seen, ", "))
	default:
		return "", errors.New("there is no embedded Postgres for this platform and no server of version 15 or later on this machine: run make engines, or give the address of a server")
	}
}

// machineBinaries lists the folders where systems put a server, newest first.
func machineBinaries() []string {
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin", "/usr/local/pgsql/bin"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		slices.Reverse(matches)
		found = append(found, matches...)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, filepath.Dir(resolved))
		}
	}
	return slices.DeleteFunc(found, func(bin string) bool {
		return !isFile(filepath.Join(bin, "postgres")) || !isFile(filepath.Join(bin, "initdb"))
	})
}

// majorOf asks the binary; 0 when it cannot even say.
func majorOf(ctx context.Context, bin string) int {
	output, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output() //nolint:gosec // a program of the engine that was found
	fields := strings.Fields(string(output))
	if err != nil || len(fields) < 3 {
		return 0
	}
	digits, _, _ := strings.Cut(fields[2], ".")
	major, _ := strconv.Atoi(digits) // a development version is taken for none
	return major
}

// trimForVersion leaves out what initdb learned only in version 16: settings.
func trimForVersion(ctx context.Context, bin string, args []string) []string {
	if major := majorOf(ctx, bin); major >= 16 || major == 0 {
		return args
	}
	at := slices.Index(args, "-c")
	return args[:at]
}

// makeUsable gives the package what npm takes away, its symbolic links between
// libraries, in place if it can. A package that cannot be written, or that the
// server's user may not enter, is copied once. The copy lies beside the folder of
// the data, which is closed to the user that creates the data.
func makeUsable(native, dir string, who identity) (string, error) {
	if who.canEnter(native) == nil {
		if err := link(native); err == nil {
			return native, nil
		}
	}
	copied := dir + ".engine"
	if isFile(filepath.Join(copied, "complete")) {
		return copied, nil
	}
	if err := os.RemoveAll(copied); err != nil { // of a copy that was cut off
		return "", fmt.Errorf("pgserver: %w", err)
	}
	if err := copyTree(native, copied); err != nil {
		return "", fmt.Errorf("pgserver: copying the engine: %w", err)
	}
	if err := link(copied); err != nil {
		return "", fmt.Errorf("pgserver: %w", err)
	}
	return copied, os.WriteFile(filepath.Join(copied, "complete"), nil, 0o600)
}

// link creates the links that the package lists and that are missing.
func link(native string) error {
	raw, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json")) //nolint:gosec // a file of the engine
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(raw, &links); err != nil {
		return err
	}
	for _, l := range links {
		source, target := within(native, l.Source), within(native, l.Target)
		if _, err := os.Lstat(target); err == nil {
			continue
		}
		relative, err := filepath.Rel(filepath.Dir(target), source)
		if err != nil {
			return err
		}
		if err := os.Symlink(relative, target); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// within places a listed path, which begins with "native/", in the folder.
func within(native, path string) string {
	return filepath.Join(native, strings.TrimPrefix(path, "native/"))
}

// copyTree copies folders, files and links, readable for everybody.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return errors.Join(os.MkdirAll(target, 0o700), os.Chmod(target, 0o755)) //nolint:gosec // programs that another user runs, whatever the umask
		case entry.Type()&fs.ModeSymlink != 0:
			where, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(where, target) //nolint:gosec // both trees are ours
		case strings.HasSuffix(path, ".a"):
			return nil // for linking against, not for running
		default:
			return copyFile(path, target)
		}
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from) //nolint:gosec // a file of the engine
	if err != nil {
		return err
	}
	defer in.Close()                                                       //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // programs that another user runs
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(0o755)) // whatever the umask
}
