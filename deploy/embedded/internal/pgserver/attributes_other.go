//go:build embedded && !linux

package pgserver

import "syscall"

// serverAttributes keeps control-C in the terminal from the server.
func serverAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func mayLendSearch() bool { return false }
