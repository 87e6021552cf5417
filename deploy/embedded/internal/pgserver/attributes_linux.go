//go:build embedded

package pgserver

import "syscall"

// serverAttributes lets the kernel ask the server to stop, in order, when the
// supervised child that started it is killed.
func serverAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
