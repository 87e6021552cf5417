package stream_test

import (
	"os"
	"testing"

	"colonnade/write/stream/streamtest"
)

func TestMain(m *testing.M) { os.Exit(streamtest.Main(m)) }
