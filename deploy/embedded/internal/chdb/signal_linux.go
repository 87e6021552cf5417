//go:build embedded

package chdb

import (
	"syscall"
	"unsafe"
)

const (
	lastSignal     = 64
	rtmin          = 34 // glibc's SIGRTMIN: system.stack_trace asks threads with it
	saOnStack      = 0x08000000
	sigActionWords = 4 // handler, flags, restorer, mask: the kernel's layout on amd64 and arm64
)

type sigAction [sigActionWords]uintptr

// guardSignals runs a call into the library and puts every signal handler back
// that the call replaced. libchdb resets handlers to the default in its first
// connect and even in the call that is meant to leave them alone; Go's crash
// handling and preemption live on them. Signal 34 is the exception: it keeps
// the engine's handler, on Go's signal stacks, because its default ends the process.
func guardSignals(call func()) {
	var before [lastSignal + 1]sigAction
	for s := 1; s <= lastSignal; s++ {
		rtSigaction(s, nil, &before[s])
	}
	call()
	for s := 1; s <= lastSignal; s++ {
		var after sigAction
		rtSigaction(s, nil, &after)
		if after == before[s] {
			continue
		}
		if s == rtmin {
			after[1] |= saOnStack
			rtSigaction(s, &after, nil)
			continue
		}
		rtSigaction(s, &before[s], nil)
	}
}

func rtSigaction(signal int, set, old *sigAction) {
	// An unsupported signal number leaves both as they are.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0) //nolint:gosec // signal numbers are small
}
