//go:build embedded

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFullDisk starts where less is free than must stay so: the service is not
// ready, and names the disk and its free space where it says so.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := launch(t, []string{"COLONNADE_DATA_DIR=" + data, "COLONNADE_EMBEDDED_DISK_RESERVE_BYTES=1024GiB"}, "serve", "--embedded")
	s.await("but is not ready: it waits for disk")
	require.Regexp(t, `disk +the disk of `+data+` is full: \d+ MiB are free, and below 1048576 MiB no writes are taken`, s.out.String())
	require.Contains(t, s.out.String(), "writes are refused")
	require.NoError(t, s.stop())
}
