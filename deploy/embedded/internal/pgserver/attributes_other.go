//go:build embedded && !linux

package pgserver

import "syscall"

// serverAttributes keeps control-C in the terminal from the server.
func serverAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
