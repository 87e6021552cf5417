//go:build embedded

package app_test

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
	if handled, exit := sinkChild(); handled {
		os.Exit(exit)
	}
	os.Exit(embeddedtest.Main(m))
}
