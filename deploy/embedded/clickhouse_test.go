//go:build embedded

package embedded_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
)

// TestClickHouseExactlyOnceAcrossKills kills the engine in the middle of
// batches. A batch that failed is sent again under its token, as the sink
// does: at the end every row is there, and none twice.
func TestClickHouseExactlyOnceAcrossKills(t *testing.T) {
	t.Parallel()
	const kills, rows = 4, 2000
	s := start(t, embedded.Config{Dir: stackDir(t), Only: []string{embedded.ClickHouse}})
	conn := open(t, s.ClickHouse)
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (a UInt64, s String) ENGINE=MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window=1000"))
	send := func(batchNo uint64) error {
		ctx := clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"insert_deduplication_token": fmt.Sprint("t:", batchNo)}))
		batch, err := conn.PrepareBatch(ctx, "INSERT INTO t")
		if err != nil {
			return err
		}
		for i := range uint64(rows) {
			if err := batch.Append(batchNo*rows+i, "some text to move"); err != nil {
				return err
			}
		}
		return batch.Send()
	}
	stop := make(chan struct{})
	sent := make(chan uint64)
	progress := make(chan struct{}, 1)
	go func() {
		for n := uint64(0); ; n++ {
			select {
			case <-stop:
				sent <- n
				return
			default:
			}
			for tries := 0; ; tries++ {
				err := send(n)
				if err == nil {
					break
				}
				if tries == 100 {
					t.Errorf("batch %d: %v", n, err)
					break
				}
			}
			select {
			case progress <- struct{}{}:
			default:
			}
		}
	}()
	for range kills {
		for range 5 {
			<-progress
		}
		old := s.PID(embedded.ClickHouse)
		require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
		require.Eventually(t, func() bool { pid := s.PID(embedded.ClickHouse); return pid != 0 && pid != old }, 2*time.Minute, time.Millisecond)
	}
	close(stop)
	batches := <-sent
	var count, distinct uint64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(), uniqExact(a) FROM t").Scan(&count, &distinct))
	require.Equal(t, batches*rows, count)
	require.Equal(t, batches*rows, distinct)
	t.Logf("%d batches across %d kills", batches, kills)
}
