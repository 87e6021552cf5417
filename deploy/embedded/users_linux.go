//go:build embedded

package embedded

import (
	"fmt"
	"os"

	"colonnade/deploy/embedded/internal/supervise"
)

// firstUser is the id of the first engine's user where this process is root.
// systemd leaves the ids from 60706 to 61183 unused, and so do the ranges of
// distributions: https://systemd.io/UIDS-GIDS. The ids need no names.
const firstUser = 60801

// userOf returns the user that an engine runs as, 0 for this process's own. Root
// gives each engine a user of its own, so that one that is taken over reads
// neither the others' data nor the machine's.
func userOf(engine string) int {
	if os.Geteuid() != 0 {
		return 0
	}
	switch engine {
	case Kafka:
		return firstUser
	case ClickHouse:
		return firstUser + 1
	default:
		return firstUser + 2
	}
}

// mayRunAs returns why a child cannot be another user: it must get to its folder
// and be allowed to read the executable.
func mayRunAs(dir string) error {
	if err := supervise.MayEnter(dir); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	info, err := os.Stat(exe)
	if err != nil {
		return err
	}
	if info.Mode()&0o005 != 0o005 {
		return fmt.Errorf("another user may not execute %s", exe)
	}
	return nil
}
