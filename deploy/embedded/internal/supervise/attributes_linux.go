//go:build embedded

package supervise

import "syscall"

// processAttributes puts the child into a process group of its own, so that
// control-C reaches the parent alone, and lets the kernel end it with the
// parent even when the lifeline cannot be read any more.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
