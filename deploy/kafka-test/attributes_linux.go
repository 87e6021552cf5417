package main

import "syscall"

// brokerAttributes keep control-C from the node, which is stopped after the
// command, and end the node with this process however that ends.
func brokerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
