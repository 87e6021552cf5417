//go:build embedded

package kills_test

import (
	"os"
	"testing"

	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) {
	if handled, exit := sinkChild(); handled {
		os.Exit(exit)
	}
	os.Exit(embeddedtest.Main(m))
}
