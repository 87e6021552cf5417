//go:build embedded

package broker

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// damaged is a data directory with a partition of 30 records, each a batch of
// 1 070 bytes or so. A group has committed the first 20.
type damaged struct {
	dir, folder string
	opts        []kfake.Opt
}

func (d damaged) file(name string) string { return filepath.Join(d.folder, name) }

// invert inverts one byte; at counts from the end where it is negative.
func (d damaged) invert(t *testing.T, name string, at int) {
	t.Helper()
	raw, err := os.ReadFile(d.file(name))
	require.NoError(t, err)
	if at < 0 {
		at += len(raw)
	}
	raw[at] ^= 0xff
	require.NoError(t, os.WriteFile(d.file(name), raw, 0o600))
}

func (d damaged) cut(t *testing.T, name string, bytes int64) {
	t.Helper()
	info, err := os.Stat(d.file(name))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(d.file(name), info.Size()-bytes))
}

// newDamaged fills a directory and stops its broker in order, or, with crash,
// leaves the directory as it is while the broker runs.
func newDamaged(t *testing.T, crash bool, segmentBytes int) damaged {
	t.Helper()
	d := damaged{dir: t.TempDir()}
	d.folder = filepath.Join(d.dir, "partitions", "t-0")
	d.opts = []kfake.Opt{kfake.DataDir(d.dir), kfake.SyncWrites(), kfake.BrokerConfigs(map[string]string{"log.segment.bytes": strconv.Itoa(segmentBytes)})}
	c, client := cluster(t, append([]kfake.Opt{kfake.SeedTopics(1, "t")}, d.opts...)...)
	for i := range 30 {
		record := &kgo.Record{Topic: "t", Key: []byte(strconv.Itoa(i)), Value: make([]byte, 1000)}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	}
	commit(t, kadm.NewClient(client), "sink", 0, 20)
	if crash {
		copied := t.TempDir()
		require.NoError(t, os.CopyFS(copied, os.DirFS(d.dir)))
		d.opts[0] = kfake.DataDir(copied)
		d.dir, d.folder = copied, filepath.Join(copied, "partitions", "t-0")
	}
	client.Close()
	c.Close()
	return d
}

// A damaged byte costs what is behind it in its segment and nothing else: what
// is written from then on can be read, at offsets that no record ever had. (The
// broker appended where it did not read: every later write was acknowledged and
// never visible.)
func TestDamage(t *testing.T) {
	t.Parallel()
	const whole, small = 1 << 20, 5000
	for _, tt := range []struct {
		name    string
		segment int
		damage  func(t *testing.T, d damaged)
		crash   bool
		// lost are the first and the last record that cannot be read any more; none where they are zero.
		lost [2]int
		// missing is what is reported, files how many keep the damaged bytes.
		missing []string
		files   int
	}{
		{name: "nothing", segment: whole, damage: func(*testing.T, damaged) {}},
		{
			name: "200 bytes before the end", segment: whole, lost: [2]int{29, 29}, missing: []string{"offsets 29 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "0.dat", -200) },
		},
		{
			name: "64 bytes in the middle", segment: whole, lost: [2]int{14, 29}, missing: []string{"offsets 14 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) {
				t.Helper()
				for i := range 64 {
					d.invert(t, "0.dat", 16000+i)
				}
			},
		},
		{
			name: "the first byte", segment: whole, lost: [2]int{0, 29}, missing: []string{"offsets 0 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "0.dat", 0) },
		},
		{
			name: "the first byte of the only record of the last segment", segment: 1000, lost: [2]int{29, 29}, missing: []string{"offsets 29 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "29.dat", 0) },
		},
		{
			name: "an earlier segment", segment: small, lost: [2]int{6, 9}, missing: []string{"offsets 6 to 9 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "5.dat", 1500) },
		},
		{
			name: "the end is cut off", segment: whole, lost: [2]int{29, 29}, missing: []string{"offsets 29 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.cut(t, "0.dat", 100) },
		},
		{
			name: "the last batch is cut off", segment: 1000, lost: [2]int{29, 29}, missing: []string{"offsets 29 to 29 are missing"},
			damage: func(t *testing.T, d damaged) { t.Helper(); require.NoError(t, os.Remove(d.file("29.dat"))) },
		},
		{
			name: "an index", segment: small,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "25.idx", 20); d.invert(t, "5.idx", 3) },
		},
		{
			name: "a leader epoch", segment: whole,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "0.dat", atLeaderEpoch+1) },
		},
		{
			name: "an index is gone", segment: whole,
			damage: func(t *testing.T, d damaged) { t.Helper(); require.NoError(t, os.Remove(d.file("0.idx"))) },
		},
		{
			name: "the snapshot", segment: small,
			damage: func(t *testing.T, d damaged) {
				t.Helper()
				raw, err := os.ReadFile(d.file("snapshot.json"))
				require.NoError(t, err)
				broken := strings.Replace(string(raw), `"high_watermark":30`, `"high_watermark":10`, 1)
				require.NotEqual(t, string(raw), broken)
				require.NoError(t, os.WriteFile(d.file("snapshot.json"), []byte(broken), 0o600))
			},
		},
		{
			name: "the snapshot and the records that a group has read", segment: small, lost: [2]int{16, 29}, missing: []string{"offsets 16 to 19 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) {
				t.Helper()
				d.invert(t, "snapshot.json", 0)
				d.invert(t, "15.dat", 1100)
				d.cut(t, "15.dat", 3000)
				require.NoError(t, os.Remove(d.file("20.dat")))
				require.NoError(t, os.Remove(d.file("25.dat")))
			},
		},
		{
			name: "in the middle, after a crash", segment: whole, crash: true, lost: [2]int{14, 29}, missing: []string{"offsets 14 to 29 are missing"}, files: 1,
			damage: func(t *testing.T, d damaged) { t.Helper(); d.invert(t, "0.dat", 16000) },
		},
		{
			name: "a write that a crash cut short", segment: whole, crash: true,
			damage: func(t *testing.T, d damaged) {
				t.Helper()
				file, err := os.OpenFile(d.file("0.dat"), os.O_APPEND|os.O_WRONLY, 0o600)
				require.NoError(t, err)
				_, err = file.Write(batch(30, 7, 0, 0, 1)[:50])
				require.NoError(t, err)
				require.NoError(t, file.Close())
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDamaged(t, tt.crash, tt.segment)
			tt.damage(t, d)
			damages, err := recoverState(d.dir)
			require.NoError(t, err)
			require.Len(t, damages, len(tt.missing))
			for i, want := range tt.missing {
				require.Contains(t, damages[i].String(), "the log of partition 0 of topic t is damaged: "+want)
			}
			kept, err := filepath.Glob(d.file("*.damaged"))
			require.NoError(t, err)
			require.Len(t, kept, tt.files)
			for i := range kept {
				require.Equal(t, kept[i], damages[i].File)
			}
			want := make([]string, 0, 33)
			for i := range 30 {
				if tt.lost == [2]int{} || i < tt.lost[0] || i > tt.lost[1] {
					want = append(want, strconv.Itoa(i))
				}
			}
			last := int64(29)
			if tt.missing != nil && strings.HasSuffix(tt.missing[0], "to 19 are missing") {
				last = 19 // nothing tells of the others
			}
			for _, key := range []string{"first", "second"} { // a second start finds the same
				c, client := cluster(t, d.opts...)
				record := &kgo.Record{Topic: "t", Key: []byte(key), Value: make([]byte, 1000)}
				require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
				last++
				require.Equal(t, last, record.Offset)
				want = append(want, key)
				require.Equal(t, want, readKeys(t, c, len(want)))
				client.Close()
				c.Close()
				again, err := recoverState(d.dir)
				require.NoError(t, err)
				require.Len(t, again, tt.files)
			}
		})
	}
}

func readKeys(t *testing.T, c *kfake.Cluster, n int) []string {
	t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("t"))
	require.NoError(t, err)
	defer reader.Close()
	keys := make([]string, 0, n)
	for len(keys) < n {
		fetches := reader.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			require.Zero(t, r.LeaderEpoch)
			keys = append(keys, string(r.Key))
		})
	}
	return keys
}
