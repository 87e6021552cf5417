//go:build embedded

package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Damage is a part of a partition's log that could not be read at the start. The
// log goes on behind it.
type Damage struct {
	partitionName
	// First is the first offset that is missing and Next the first that is there again.
	First, Next int64
	// File keeps the damaged bytes and what lay behind them; empty where there are none.
	File string
}

// String returns what an operator has to know.
func (d Damage) String() string {
	text := fmt.Sprintf("the log of %s is damaged: offsets %d to %d are missing", d.partitionName, d.First, d.Next-1)
	if d.First >= d.Next {
		text = fmt.Sprintf("the log of %s was damaged behind offset %d, no record is missing", d.partitionName, d.First-1)
	}
	if d.File != "" {
		text += "; their bytes are in " + d.File + ", remove that file to end this message"
	}
	return text
}

// partition is a partition's folder that is being repaired.
type partition struct {
	partitionName
	folder string
	// committed is the largest offset that a group has committed.
	committed int64
	// gaps tells that the topic is compacted.
	gaps bool
}

const damagedSuffix = ".damaged"

// snapshot is what an orderly stop wrote about a partition.
type snapshot struct {
	HighWatermark int64 `json:"high_watermark"`
	Epoch         int32 `json:"epoch"`
	MaxTimestamp  int64 `json:"max_timestamp"`
	Segments      []struct {
		BaseOffset int64 `json:"base_offset"`
		Size       int64 `json:"size"`
	} `json:"segments"`
}

// covers reports whether the byte was in the segment when the broker last stopped in order.
func (s snapshot) covers(base int64, at int) bool {
	for _, segment := range s.Segments {
		if segment.BaseOffset == base {
			return segment.Size > int64(at)
		}
	}
	return false
}

// repair checks every segment and calls each with every batch that is whole. A
// segment ends at its first damaged byte: what is behind it moves to a file that
// the broker does not read, and the log goes on at an offset that no record ever
// had. It returns the damage of this and of earlier starts.
func (p partition) repair(each func(batchHeader)) ([]Damage, error) {
	bases, damages, err := p.list()
	if err != nil {
		return nil, err
	}
	was, known, err := p.snapshot()
	if err != nil {
		return nil, err
	}
	cuts, end, err := p.checkAll(bases, was, each)
	if err != nil {
		return nil, err
	}
	for _, c := range cuts {
		if c.torn {
			continue
		}
		if err := writeFile(c.damage.File, c.rest); err != nil {
			return nil, err
		}
		damages = addDamage(damages, c.damage)
	}
	filled := end.next > end.good
	if filled {
		if err := p.fill(end.next-1, was.Epoch, end.maxTimestamp); err != nil {
			return nil, err
		}
	}
	for _, c := range cuts {
		if err := p.cut(c, filled && c.base == end.next-1); err != nil {
			return nil, err
		}
	}
	if end.unexplained {
		damages = addDamage(damages, Damage{partitionName: p.partitionName, First: end.good, Next: end.next})
	}
	// Last: until then a crash leaves all that is known of the damage to the next start.
	if known && (filled || len(cuts) > 0 || was.HighWatermark != end.next) {
		return damages, os.Remove(filepath.Join(p.folder, "snapshot.json"))
	}
	return damages, nil
}

// logEnd is the end of a partition's log.
type logEnd struct {
	// good is the offset behind the last whole batch, next the first offset that no
	// record ever had.
	good, next   int64
	maxTimestamp int64
	// unexplained tells that records are missing at the end and no damaged bytes are there instead.
	unexplained bool
}

// checkAll checks the segments and returns where they are to be cut.
func (p partition) checkAll(bases []int64, was snapshot, each func(batchHeader)) (cuts []cut, end logEnd, err error) {
	end = logEnd{next: max(was.HighWatermark, p.committed), maxTimestamp: was.MaxTimestamp}
	if len(bases) > 0 {
		end.good = bases[0]
	}
	for i, base := range bases {
		in := bounds{base: base, limit: math.MaxInt64, gaps: p.gaps}
		if i+1 < len(bases) {
			in.limit = bases[i+1]
		}
		found, err := p.check(in, each)
		if err != nil {
			return nil, end, err
		}
		if found.good > 0 {
			end.good, end.maxTimestamp = found.next, found.maxTimestamp
		}
		if found.rest == nil {
			continue
		}
		c := cut{base: base, good: found.good, rest: found.rest, damage: Damage{partitionName: p.partitionName, First: found.next, Next: in.limit}}
		if i+1 == len(bases) {
			lost := lastOffsetIn(found.rest, bounds{base: found.next, limit: in.limit})
			end.next = max(end.next, lost)
			// A write that a crash cut short was not acknowledged, and nothing is behind it.
			c.torn = lost < 0 && !was.covers(base, found.good) && p.committed <= found.next
		}
		cuts = append(cuts, c)
	}
	end.next = max(end.next, end.good)
	// An earlier version removed all segments when everything in them was read.
	end.unexplained = end.next > end.good && (len(bases) > 0 || p.committed > was.HighWatermark)
	for i := range cuts {
		c := &cuts[i]
		if c.damage.Next == math.MaxInt64 {
			c.damage.Next = end.next
			end.unexplained = end.unexplained && c.torn
		}
		c.damage.File = filepath.Join(p.folder, fmt.Sprintf("%d-%d%s", c.damage.First, c.damage.Next, damagedSuffix))
	}
	return cuts, end, nil
}

func addDamage(to []Damage, d Damage) []Damage {
	if slices.Contains(to, d) {
		return to
	}
	return append(to, d)
}

// list returns the partition's segments in order, and the damage that earlier starts found.
func (p partition) list() (bases []int64, damages []Damage, err error) {
	files, err := os.ReadDir(p.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		if text, ok := strings.CutSuffix(file.Name(), ".dat"); ok {
			if base, err := strconv.ParseInt(text, 10, 64); err == nil {
				bases = append(bases, base)
			}
		}
		if text, ok := strings.CutSuffix(file.Name(), damagedSuffix); ok {
			first, next, _ := strings.Cut(text, "-")
			from, err1 := strconv.ParseInt(first, 10, 64)
			to, err2 := strconv.ParseInt(next, 10, 64)
			if err1 == nil && err2 == nil {
				damages = append(damages, Damage{p.partitionName, from, to, filepath.Join(p.folder, file.Name())})
			}
		}
	}
	slices.Sort(bases)
	return bases, damages, nil
}

// snapshot reads what the last orderly stop wrote; false where there is none that can be read.
func (p partition) snapshot() (s snapshot, known bool, err error) {
	path := filepath.Join(p.folder, "snapshot.json")
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if json.Unmarshal(raw, &s) != nil {
		return snapshot{}, false, nil //nolint:nilerr // the broker reads the segments then
	}
	return s, true, nil
}

// checked is a segment and what is behind its last whole batch; nil where nothing is.
type checked struct {
	segment
	rest []byte
}

// check reads one segment, and writes its index file anew where that does not
// describe it: the broker would take the wrong entries for the batches.
func (p partition) check(in bounds, each func(batchHeader)) (c checked, err error) {
	raw, err := os.ReadFile(p.path(in.base, ".dat"))
	if err != nil {
		return c, err
	}
	index, err := os.ReadFile(p.path(in.base, ".idx"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.segment = checkSegment(raw, index, in, each)
	if c.good < len(raw) {
		c.rest = raw[c.good:]
	}
	if len(c.epochs) > 0 {
		if err := patch(p.path(in.base, ".dat"), raw, c.epochs); err != nil {
			return c, err
		}
	}
	if !sameIndex(index, c.index) {
		return c, writeFile(p.path(in.base, ".idx"), c.index)
	}
	return c, nil
}

// patch writes four bytes of raw at each of the positions.
func patch(path string, raw []byte, positions []int) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // a path inside the data directory
	if err != nil {
		return err
	}
	for _, at := range positions {
		_, failed := file.WriteAt(raw[at:at+4], int64(at))
		err = errors.Join(err, failed)
	}
	return errors.Join(err, file.Sync(), file.Close())
}

func (p partition) path(base int64, extension string) string {
	return filepath.Join(p.folder, strconv.FormatInt(base, 10)+extension)
}

// cut is where a segment ends from now on.
type cut struct {
	base int64
	good int
	rest []byte
	// torn is a write that a crash cut short: nothing of it need be kept.
	torn   bool
	damage Damage
}

// cut ends a segment behind its good part. One without a good part goes, unless
// an empty batch has replaced it.
func (p partition) cut(c cut, replaced bool) error {
	switch {
	case c.good > 0:
		return os.Truncate(p.path(c.base, ".dat"), int64(c.good))
	case replaced:
		return nil
	}
	if err := os.Remove(p.path(c.base, ".idx")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(p.path(c.base, ".dat"))
}

// fill puts an empty batch at the offset, in a segment of its own: the broker
// looks for the end of a log in its segments alone, and would give the offsets
// before it a second time.
func (p partition) fill(offset int64, epoch int32, millis int64) error {
	batch := emptyBatch(offset, epoch, millis)
	if err := writeFile(p.path(offset, ".idx"), appendIndexEntry(nil, batch)); err != nil {
		return err
	}
	return writeFile(p.path(offset, ".dat"), batch)
}

// emptyBatch returns a batch of no records that takes one offset, as compaction leaves them.
func emptyBatch(offset int64, epoch int32, millis int64) batchHeader {
	b := kmsg.RecordBatch{
		FirstOffset: offset, Length: headerSize - frameSize, PartitionLeaderEpoch: epoch, Magic: 2,
		FirstTimestamp: millis, MaxTimestamp: millis, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	b.CRC = int32(checksum(b.AppendTo(nil)[atAttributes:])) //nolint:gosec // the bits are the value
	return b.AppendTo(nil)
}
