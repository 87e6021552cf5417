//go:build embedded

package broker

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A segment file holds record batches of Kafka's format 2, one behind the other,
// and its index file one entry of indexEntrySize bytes for each batch. Source:
// persist.go of the pinned kfake, version 1.
const (
	// headerSize is a record batch's fixed header, frameSize the part of it that its length does not count.
	headerSize = 61
	frameSize  = 12

	indexEntrySize = 15
	indexVersion   = 1
)

// Fields of a record batch's header. The checksum covers what follows it.
const (
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atChecksum        = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atFirstSequence   = 53
	atRecordCount     = 57

	attributeTransactional = 0x10
	attributeControl       = 0x20
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// batchHeader is the beginning of a batch that wholeBatch has found whole.
type batchHeader []byte

func (b batchHeader) first() int64 { return int64(binary.BigEndian.Uint64(b)) } //nolint:gosec // the wire's own bits
func (b batchHeader) next() int64 {
	return b.first() + int64(binary.BigEndian.Uint32(b[atLastOffsetDelta:])) + 1
}
func (b batchHeader) size() int { return frameSize + int(binary.BigEndian.Uint32(b[atLength:])) }
func (b batchHeader) leaderEpoch() int32 {
	return int32(binary.BigEndian.Uint32(b[atLeaderEpoch:])) //nolint:gosec // the wire's own bits
}

func (b batchHeader) maxTimestamp() int64 {
	return int64(binary.BigEndian.Uint64(b[atMaxTimestamp:])) //nolint:gosec // the wire's own bits
}
func (b batchHeader) attributes() uint16 { return binary.BigEndian.Uint16(b[atAttributes:]) }
func (b batchHeader) producerID() int64 {
	return int64(binary.BigEndian.Uint64(b[atProducerID:])) //nolint:gosec // the wire's own bits
}

// wholeBatch returns the batch that raw begins with; false where raw begins with
// anything else, or with a batch that is cut off or does not match its checksum.
func wholeBatch(raw []byte) (batchHeader, bool) {
	if len(raw) < headerSize || raw[atMagic] != 2 {
		return nil, false
	}
	b := batchHeader(raw)
	length := int64(binary.BigEndian.Uint32(raw[atLength:]))
	if length < headerSize-frameSize || frameSize+length > int64(len(raw)) || binary.BigEndian.Uint32(raw[atLastOffsetDelta:]) > math.MaxInt32 {
		return nil, false
	}
	return b, checksum(raw[atAttributes:b.size()]) == binary.BigEndian.Uint32(raw[atChecksum:])
}

// segment is what a check of a segment file found.
type segment struct {
	// good is the number of bytes from the beginning that hold whole batches in order.
	good int
	// next is the offset behind them, and maxTimestamp that of the last of them.
	next, maxTimestamp int64
	// index is what the index file should hold for them.
	index []byte
	// epochs are the positions of leader epochs in the segment that were put right.
	epochs []int
}

// bounds are the offsets that a segment's batches may have.
type bounds struct {
	base, limit int64 // limit is the next segment's base
	// gaps allows offsets that are left out, as compaction does.
	gaps bool
}

// checkSegment reads a segment from its beginning up to the first byte that
// cannot be part of it, and calls each with every batch before that. The
// checksum of a batch does not cover its leader epoch, and an index entry that
// has it once more is checked by one byte alone: where they differ, the one
// that goes on from the batch before is right, and raw is changed to it.
func checkSegment(raw, index []byte, in bounds, each func(batchHeader)) segment {
	s := segment{next: in.base, maxTimestamp: -1}
	epoch := int32(0)
	for number := 0; ; number++ {
		b, ok := wholeBatch(raw[s.good:])
		if !ok || b.first() < s.next || b.next() > in.limit || !in.gaps && b.first() != s.next {
			return s
		}
		if indexed, ok := indexedEpoch(index, number); ok && indexed == epoch && b.leaderEpoch() != epoch {
			binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
			s.epochs = append(s.epochs, s.good+atLeaderEpoch)
		}
		epoch = b.leaderEpoch()
		s.good += b.size()
		s.next, s.maxTimestamp = b.next(), b.maxTimestamp()
		s.index = appendIndexEntry(s.index, b)
		each(b)
	}
}

// lastOffsetIn searches damaged bytes for whole batches of these bounds and
// returns the offset behind the last one, or -1 where there is none. What comes
// later must not be given an offset that such a batch had.
func lastOffsetIn(damaged []byte, in bounds) int64 {
	last := int64(-1)
	for at := 0; at+headerSize <= len(damaged); {
		b, ok := wholeBatch(damaged[at:])
		if !ok || b.first() < in.base || b.next() > in.limit {
			at++
			continue
		}
		last = max(last, b.next())
		at += b.size()
	}
	return last
}

func indexedEpoch(index []byte, number int) (int32, bool) {
	at := number * indexEntrySize
	if at+indexEntrySize > len(index) {
		return 0, false
	}
	entry := index[at : at+indexEntrySize]
	if entry[0] != indexVersion || byte(checksum(entry[2:])) != entry[1] { //nolint:gosec // its lowest byte is the check
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(entry[2:])), true //nolint:gosec // the file's own bits
}

// appendIndexEntry appends the entry of a batch: version, checksum, leader epoch,
// the largest timestamp so far (which the broker computes anew), and whether
// the batch is part of a transaction.
func appendIndexEntry(index []byte, b batchHeader) []byte {
	var entry [indexEntrySize]byte
	entry[0] = indexVersion
	binary.LittleEndian.PutUint32(entry[2:], uint32(b.leaderEpoch()))  //nolint:gosec // the wire's own bits
	binary.LittleEndian.PutUint64(entry[6:], uint64(b.maxTimestamp())) //nolint:gosec // the wire's own bits
	if a := b.attributes(); a&attributeTransactional != 0 && a&attributeControl == 0 {
		entry[14] = 1
	}
	entry[1] = byte(checksum(entry[2:])) //nolint:gosec // its lowest byte is the check
	return append(index, entry[:]...)
}

// sameIndex reports whether an index file says the same as one that was just
// made, but for the timestamps, which the broker computes anew.
func sameIndex(index, made []byte) bool {
	if len(index) != len(made) {
		return false
	}
	for number := range len(made) / indexEntrySize {
		at := number * indexEntrySize
		was, is := index[at:at+indexEntrySize], made[at:at+indexEntrySize]
		if _, ok := indexedEpoch(index, number); !ok || !bytes.Equal(was[2:6], is[2:6]) || was[14] != is[14] {
			return false
		}
	}
	return true
}
