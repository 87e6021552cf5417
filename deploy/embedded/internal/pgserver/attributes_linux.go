//go:build embedded

package pgserver

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Capabilities of Linux, by their bits: one may do what it likes with files of
// others, the other may only read them and search folders.
const (
	capOverride   = 1
	capReadSearch = 2
)

// serverAttributes lets the kernel ask the server to stop, in order, when the
// supervised child that started it is killed. With search the server keeps
// root's right to pass through folders.
func serverAttributes(search bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	if search {
		attributes.AmbientCaps = []uintptr{searchCapability()}
	}
	return attributes
}

func mayLendSearch() bool { return searchCapability() != 0 }

// searchCapability is the weakest of our capabilities that lets a process
// search closed folders; 0 when we have none, as in a container that took them away.
func searchCapability() uintptr {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "CapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	held, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		return 0
	}
	for _, capability := range []uintptr{capReadSearch, capOverride} {
		if held&(1<<capability) != 0 {
			return capability
		}
	}
	return 0
}
