//go:build embedded

package app_test

import (
	"os"
	"testing"

	"colonnade/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }
