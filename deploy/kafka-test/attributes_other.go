//go:build !linux

package main

import "syscall"

// brokerAttributes keep control-C from the node, which is stopped after the command.
func brokerAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
