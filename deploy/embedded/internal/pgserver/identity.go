//go:build embedded

package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// nobody is the customary number of the unprivileged user, for machines that do not name it.
const nobody = 65534

// identity is the user that the server runs as: Postgres refuses to be root.
type identity struct {
	drop     bool // we are root and must become uid and gid
	uid, gid int
	// search lets the server pass through folders that are closed to its user:
	// data below root's home, or in a temporary folder, is a common wish.
	search bool
}

// chooseIdentity returns this process's own user, or, for root, the user of the configuration.
func chooseIdentity(c Config) (identity, error) {
	if os.Geteuid() != 0 {
		return identity{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	who := identity{drop: true, uid: c.UID, gid: c.UID}
	if c.UID == 0 {
		who = who.named()
	}
	return who.reaching(c.Dir)
}

// named returns a user that the system has a name for: initdb asks for it, the
// server does not.
func (w identity) named() identity {
	if !w.drop {
		return w
	}
	w.uid, w.gid = nobody, nobody
	if u, err := user.Lookup("nobody"); err == nil {
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID == nil && errGID == nil && uid > 0 {
			w.uid, w.gid = uid, gid
		}
	}
	return w
}

// reaching makes sure that the server gets to dir: by its own rights, or by
// root's right to search folders, which it then keeps.
func (w identity) reaching(dir string) (identity, error) {
	err := w.canEnter(dir)
	if err != nil && mayLendSearch() {
		w.search = true
		return w, nil
	}
	return w, err
}

// own makes the user the owner of the path.
func (w identity) own(path string) error {
	if !w.drop {
		return nil
	}
	return os.Lchown(path, w.uid, w.gid)
}

// ownAll makes the user the owner of a folder and of all that is in it.
func (w identity) ownAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, w.own(path))
	})
}

// canEnter checks every folder down to dir: one closed to others on the way,
// such as root's home, keeps an unprivileged server out of its own data.
func (w identity) canEnter(dir string) error {
	if !w.drop || w.search {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("pgserver: %w", err)
		}
		stat, is := info.Sys().(*syscall.Stat_t)
		mayEnter := !is || info.Mode()&0o001 != 0 || int(stat.Uid) == w.uid && info.Mode()&0o100 != 0 || int(stat.Gid) == w.gid && info.Mode()&0o010 != 0
		if !mayEnter {
			return fmt.Errorf("postgres cannot run as root, and the unprivileged user %d that it runs as may not enter %s: choose another data directory, or do not start as root", w.uid, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// command runs one of the server's programs as the identity, in an environment of its own.
func command(bin, program string, who identity, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, program), args...) //nolint:gosec,noctx // a program of the engine that was found; it is ended by halt
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = serverAttributes(who.search)
	if who.drop {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)} //nolint:gosec // ids of the system
	}
	return cmd
}
