//go:build embedded

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// privateUmask keeps all that a child creates from everybody else: what engines
// create is open to every local user otherwise.
const privateUmask = 0o077

// MakePrivate creates the folder, or takes an existing one away from everybody
// but its owner, with all that is in it. The owner is uid, or this process's user
// where uid is 0. It walks the folder only the first time: what is below a closed
// folder is out of reach, and children create nothing open.
func MakePrivate(dir string, uid int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	own := func(string) error { return nil }
	if os.Geteuid() == 0 {
		own = func(path string) error { return os.Lchown(path, uid, uid) }
	} else {
		uid = os.Geteuid()
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("supervise: %w", err)
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if known && int(stat.Uid) == uid && info.Mode().Perm() == 0o700 {
		return nil
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return errors.Join(own(path), closeToOthers(path, entry))
	})
	// The folder itself comes last: a walk that broke off is made again.
	if err = errors.Join(err, os.Chmod(dir, 0o700), own(dir)); err != nil { //nolint:gosec // a folder has to be entered
		return fmt.Errorf("supervise: closing %s to others: %w", dir, err)
	}
	return nil
}

func closeToOthers(path string, entry fs.DirEntry) error {
	if entry.Type()&fs.ModeSymlink != 0 {
		return nil // it has no mode of its own
	}
	info, err := entry.Info()
	if err != nil || info.Mode().Perm()&privateUmask == 0 {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()&^privateUmask)
}

// MayEnter returns an error that names the folder on the way to dir that a user
// without any rights of others' may not pass, nil where there is none. The folder
// itself does not count.
func MayEnter(dir string) error {
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("supervise: %w", err)
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("another user may not enter %s", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
