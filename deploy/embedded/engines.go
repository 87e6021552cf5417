//go:build embedded

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// enginesHint ends every sentence about an engine that is not there.
const enginesHint = "run make engines (it needs npm), or set COLONNADE_ENGINES_DIR to the node_modules folder with the engines"

// enginesDir finds the node_modules folder with the native engines.
func (c Config) enginesDir() (string, error) {
	for _, given := range []string{c.EnginesDir, os.Getenv("COLONNADE_ENGINES_DIR")} {
		if given == "" {
			continue
		}
		if !isDir(given) {
			return "", fmt.Errorf("there is no folder %s with the engines: %s", given, enginesHint)
		}
		return filepath.Abs(given)
	}
	const inTree = "deploy/embedded/engines/node_modules"
	if exe, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		if at := filepath.Join(filepath.Dir(exe), "..", inTree); isDir(at) {
			return filepath.Abs(at)
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if at := filepath.Join(dir, inTree); isDir(at) {
			return at, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the embedded engines are not fetched: " + enginesHint)
		}
		dir = parent
	}
}

// npmArch is npm's name for this processor.
func npmArch() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x64"
	case "386":
		return "ia32"
	default:
		return runtime.GOARCH
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // a folder that the operator names
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
