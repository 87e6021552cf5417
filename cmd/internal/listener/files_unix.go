//go:build unix

package listener

import "syscall"

// Files returns the limit of open files of this process; zero where it is not known.
func Files() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}
