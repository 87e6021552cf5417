//go:build embedded

package broker

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The broker keeps which producer wrote which sequence numbers in memory, and
// on disk only after an orderly stop. After a crash it would take a retried
// batch, whose acknowledgement was lost, for a new one. Real Kafka rebuilds that
// state from its log; recoverState does the same before the broker opens it, by
// writing the file that an orderly stop would have written. The formats are those
// of the pinned kfake (persist.go there, version 1).

// window is kfake's persistSeqWindowEntry: the last batches of one producer in one partition.
type window struct {
	PID     int64          `json:"pid"`
	Topic   string         `json:"topic"`
	Part    int32          `json:"partition"`
	Entries [5]windowEntry `json:"entries"`
	Count   uint8          `json:"count"`
	At      uint8          `json:"at"`
	Epoch   int16          `json:"epoch"`
	Seen    bool           `json:"seen"`
	NextSeq int32          `json:"next_seq"`
}

type windowEntry struct {
	FirstSeq int32 `json:"first_seq"`
	NextSeq  int32 `json:"next_seq"`
	Offset   int64 `json:"offset"`
}

// headerSize is a record batch's fixed head.
const headerSize = 61

// recoverState brings a directory that was not closed in order into the state
// that the broker can open without loss.
func recoverState(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); errors.Is(err, fs.ErrNotExist) {
		return nil // never used
	}
	if err := restoreEnds(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "session_state.json")); err == nil {
		return nil // closed in order; the broker removes the file when it has read it
	}
	// The broker passes over a torn entry at a log's end, but would append behind it, where nothing is read again.
	for _, name := range []string{"groups.log", "pids.log"} {
		if err := trimTorn(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := removeDeleted(dir); err != nil {
		return err
	}
	folders, err := filepath.Glob(filepath.Join(dir, "partitions", "*"))
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	windows := []window{}
	for _, folder := range folders {
		found, err := scanPartition(folder)
		if err != nil {
			return fmt.Errorf("broker: recovering %s: %w", folder, err)
		}
		windows = append(windows, found...)
	}
	raw, err := json.Marshal(map[string]any{"version": 1, "windows": windows})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	path := filepath.Join(dir, "seq_windows.json")
	if err := os.WriteFile(path+".tmp", raw, 0o600); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return os.Rename(path+".tmp", path)
}

// restoreEnds puts an empty batch at the end of each partition that has lost all
// its segments, and of which it is known where it ended: the broker looks for the
// end of a log in its segments alone, and would begin to count at 0. The keeper
// leaves none empty (see butLast); that of an earlier version did.
func restoreEnds(dir string) error {
	partitions := filepath.Join(dir, "partitions")
	folders, err := os.ReadDir(partitions)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("broker: %w", err)
	}
	for _, folder := range folders {
		if err := restoreEnd(filepath.Join(partitions, folder.Name())); err != nil {
			return fmt.Errorf("broker: the end of %s: %w", folder.Name(), err)
		}
	}
	return nil
}

func restoreEnd(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil || slices.ContainsFunc(files, func(f fs.DirEntry) bool { return filepath.Ext(f.Name()) == ".dat" }) {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "snapshot.json")) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil // never closed
	}
	if err != nil {
		return err
	}
	var snapshot struct {
		HighWatermark int64 `json:"high_watermark"`
		Epoch         int32 `json:"epoch"`
		MaxTimestamp  int64 `json:"max_timestamp"`
	}
	if err := json.Unmarshal(raw, &snapshot); err != nil {
		return err
	}
	if snapshot.HighWatermark <= 0 {
		return nil // nothing was ever in it
	}
	last := snapshot.HighWatermark - 1
	segment := filepath.Join(folder, strconv.FormatInt(last, 10)+".dat")
	if err := os.WriteFile(segment+".tmp", emptyBatch(last, snapshot.Epoch, snapshot.MaxTimestamp), 0o600); err != nil {
		return err
	}
	return os.Rename(segment+".tmp", segment)
}

// emptyBatch is a batch of no records that takes one offset, as compaction leaves them.
func emptyBatch(offset int64, epoch int32, millis int64) []byte {
	b := kmsg.RecordBatch{
		FirstOffset: offset, Length: headerSize - 12, PartitionLeaderEpoch: epoch, Magic: 2,
		FirstTimestamp: millis, MaxTimestamp: millis, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[21:], crc32.MakeTable(crc32.Castagnoli))) //nolint:gosec // the bits are the value
	return b.AppendTo(nil)
}

// removeDeleted removes the partitions of topics whose deletion a crash cut
// short: a topic of the same name, made anew, would append to their files.
func removeDeleted(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, "topics.json")) //nolint:gosec // a path inside the data directory
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	var topics struct {
		Topics []struct {
			Name       string `json:"name"`
			Partitions int    `json:"partitions"`
		} `json:"topics"`
	}
	if err := json.Unmarshal(raw, &topics); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	alive := map[string]bool{}
	for _, topic := range topics.Topics {
		for p := range topic.Partitions {
			alive[fmt.Sprintf("%s-%d", url.PathEscape(topic.Name), p)] = true
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "partitions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("broker: %w", err)
	}
	for _, entry := range entries {
		if !alive[entry.Name()] {
			if err := os.RemoveAll(filepath.Join(dir, "partitions", entry.Name())); err != nil {
				return fmt.Errorf("broker: %w", err)
			}
		}
	}
	return nil
}

// scanPartition reads the heads of a partition's batches in order.
func scanPartition(folder string) ([]window, error) {
	name := filepath.Base(folder)
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return nil, nil
	}
	topic, err := url.PathUnescape(name[:dash])
	if err != nil {
		return nil, err
	}
	part, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil {
		return nil, err
	}
	segments, err := filepath.Glob(filepath.Join(folder, "*.dat"))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(segments, func(a, b string) int { return cmp.Compare(baseOffset(a), baseOffset(b)) })
	byProducer := map[int64]*window{}
	for _, segment := range segments {
		if err := scanSegment(segment, func(head []byte) {
			producer := int64(binary.BigEndian.Uint64(head[43:])) //nolint:gosec // the wire's own bits
			if producer < 0 || binary.BigEndian.Uint16(head[21:])&0x20 != 0 {
				return // not idempotent, or a control batch
			}
			w := byProducer[producer]
			if w == nil {
				w = &window{PID: producer, Topic: topic, Part: int32(part)} //nolint:gosec // parsed as 32 bits
				byProducer[producer] = w
			}
			w.push(head)
		}); err != nil {
			return nil, err
		}
	}
	found := make([]window, 0, len(byProducer))
	for _, w := range byProducer {
		found = append(found, *w)
	}
	return found, nil
}

// push notes one batch, as the broker does when it takes one.
func (w *window) push(head []byte) {
	first := int32(binary.BigEndian.Uint32(head[53:])) //nolint:gosec // the wire's own bits
	epoch := int16(binary.BigEndian.Uint16(head[51:])) //nolint:gosec // the wire's own bits
	entry := windowEntry{
		FirstSeq: first,
		NextSeq:  int32((int64(first) + int64(binary.BigEndian.Uint32(head[57:]))) % math.MaxInt32),
		Offset:   int64(binary.BigEndian.Uint64(head)), //nolint:gosec // the wire's own bits
	}
	if !w.Seen || epoch != w.Epoch {
		w.Seen, w.Epoch, w.Count, w.At, w.Entries = true, epoch, 0, 0, [5]windowEntry{}
	}
	w.Entries[w.At] = entry
	w.At = (w.At + 1) % 5
	w.Count = min(w.Count+1, 5)
	w.NextSeq = entry.NextSeq
}

// scanSegment calls batch with the head of each whole batch in the file. A
// batch that is torn or does not match its checksum ends the segment, as it does for the broker.
func scanSegment(path string, batch func(head []byte)) error {
	file, err := os.Open(path) //nolint:gosec // a path inside the data directory
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, headerSize)
	for at := int64(0); at+headerSize <= info.Size(); {
		if _, err := file.ReadAt(head, at); err != nil {
			return err
		}
		size := 12 + int64(binary.BigEndian.Uint32(head[8:]))
		if size < headerSize || at+size > info.Size() {
			return nil
		}
		if last := at+size == info.Size(); last && !checks(file, at, size, binary.BigEndian.Uint32(head[17:])) {
			return nil
		}
		batch(head)
		at += size
	}
	return nil
}

// checks compares a batch with its checksum. Only the last one can be torn.
func checks(file io.ReaderAt, at, size int64, want uint32) bool {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err := io.Copy(sum, io.NewSectionReader(file, at+21, size-21))
	return err == nil && sum.Sum32() == want
}

func baseOffset(segment string) int64 {
	base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(segment), ".dat"), 10, 64)
	if err != nil {
		return -1
	}
	return base
}

// trimTorn cuts a state log behind its last whole entry: length, checksum of the rest, rest.
func trimTorn(path string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	whole := 0
	for whole+8 <= len(raw) {
		length := int64(binary.LittleEndian.Uint32(raw[whole:]))
		end := int64(whole) + 8 + length
		if length < 2 || end > int64(len(raw)) || crc32.Checksum(raw[whole+8:end], table) != binary.LittleEndian.Uint32(raw[whole+4:]) {
			break
		}
		whole = int(end)
	}
	if whole == len(raw) {
		return nil
	}
	if err := os.Truncate(path, int64(whole)); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}
