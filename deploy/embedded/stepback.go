//go:build embedded

package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mergeThread is what the engine calls a thread that merges.
const mergeThread = "MergeMutate"

// stepBack gives the engine's merging threads this nice value once they are
// there. The engine has a setting for it, which asks for CAP_SYS_NICE; neither a
// user nor root in a container has that, and to raise one's own nice value takes
// no capability. The threads come together, with the first table.
func stepBack(ctx context.Context, nice int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for before := 0; ; {
		set := reniced(nice)
		if set > 0 && set == before { // all that were coming are there
			return
		}
		before = set
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// reniced counts the merging threads that have the value now.
func reniced(nice int) (set int) {
	names, _ := filepath.Glob("/proc/self/task/*/comm") // fails for a bad pattern alone
	for _, file := range names {
		name, err := os.ReadFile(file) //nolint:gosec // a thread of ours
		if err != nil || strings.TrimSpace(string(name)) != mergeThread {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && syscall.Setpriority(syscall.PRIO_PROCESS, id, nice) == nil {
			set++
		}
	}
	return set
}
