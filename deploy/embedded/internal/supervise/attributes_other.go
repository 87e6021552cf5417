//go:build embedded && !linux

package supervise

import "syscall"

// processAttributes puts the child into a process group of its own, so that
// control-C reaches the parent alone. The lifeline alone ends it with the parent.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
