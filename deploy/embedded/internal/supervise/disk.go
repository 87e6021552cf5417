//go:build embedded

package supervise

import (
	"fmt"
	"syscall"
)

// FreeBytes returns how much this process's user may still write to the disk of a folder.
func FreeBytes(dir string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("supervise: the disk of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * stat.Bsize, nil //nolint:gosec // no disk has 8 EiB
}
