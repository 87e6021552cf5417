//go:build embedded

package e2e_test

import (
	"os"
	"testing"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/write/invoke/sandbox"
)

func TestMain(m *testing.M) {
	if handled, exit := sandbox.Child(os.Args[1:]); handled {
		os.Exit(exit)
	}
	os.Exit(embeddedtest.Main(m))
}

// readsOnly skips a test under -short whose subject is how the stores are read.
// make test-kafka runs with -short: a real broker changes nothing for such a test.
func readsOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("reads the stores only")
	}
}
