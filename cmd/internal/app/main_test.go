//go:build embedded

package app

import (
	"os"
	"testing"

	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }
