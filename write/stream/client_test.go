package stream_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/write/stream"
)

// TestClientLogOfAnOutage: while a broker is away its client fails every second with
// the same error and other numbers. An hour of that is no 3600 lines, and what comes between
// them is there.
func TestClientLogOfAnOutage(t *testing.T) {
	var lines bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	log := stream.NewClientLog(slog.New(slog.NewTextHandler(&lines, nil)), func() time.Time { return now })
	refused := errors.New("connection refused")
	for i := range 12 {
		log.Log(kgo.LogLevelError, "group manage loop errored", "group", "g", "err", refused, "consecutive_errors", i, "backoff", time.Duration(i+1)*time.Second)
		now = now.Add(time.Second)
	}
	log.Log(kgo.LogLevelError, "group manage loop errored", "group", "g", "err", errors.New("no route to host"))
	log.Log(kgo.LogLevelWarn, "unable to open connection to broker", "err", refused)
	for partition := range int32(2) { // what happened to one partition says nothing of another
		log.Log(kgo.LogLevelWarn, "received OFFSET_OUT_OF_RANGE while consuming", "topic", "t", "partition", partition)
	}

	logged := strings.Split(strings.TrimSpace(lines.String()), "\n")
	require.Len(t, logged, 7)
	for i, want := range []string{
		"consecutive_errors=0 backoff=1s not_logged_before=0", "consecutive_errors=5 backoff=6s not_logged_before=4", "consecutive_errors=10 backoff=11s not_logged_before=4",
		"no route to host", "level=WARN", "partition=0", "partition=1",
	} {
		require.Contains(t, logged[i], want)
	}
}
