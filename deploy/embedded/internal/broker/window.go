//go:build embedded

package broker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
)

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

// windowsOf are the windows of a partition, by producer.
type windowsOf map[int64]*window

// push adds one batch, as the broker does when it takes one.
func (ws windowsOf) push(b batchHeader) {
	producer := b.producerID()
	if producer < 0 || b.attributes()&attributeControl != 0 {
		return // not idempotent, or a control batch
	}
	w := ws[producer]
	if w == nil {
		w = &window{PID: producer}
		ws[producer] = w
	}
	first := int32(binary.BigEndian.Uint32(b[atFirstSequence:])) //nolint:gosec // the wire's own bits
	epoch := int16(binary.BigEndian.Uint16(b[atProducerEpoch:])) //nolint:gosec // the wire's own bits
	if !w.Seen || epoch != w.Epoch {
		w.Seen, w.Epoch, w.Count, w.At, w.Entries = true, epoch, 0, 0, [5]windowEntry{}
	}
	w.NextSeq = int32((int64(first) + int64(binary.BigEndian.Uint32(b[atRecordCount:]))) % math.MaxInt32)
	w.Entries[w.At] = windowEntry{FirstSeq: first, NextSeq: w.NextSeq, Offset: b.first()}
	w.At = (w.At + 1) % 5
	w.Count = min(w.Count+1, 5)
}

// list returns the windows with the partition's name in them.
func (ws windowsOf) list(of partitionName) []window {
	list := make([]window, 0, len(ws))
	for _, w := range ws {
		w.Topic, w.Part = of.topic, of.number
		list = append(list, *w)
	}
	return list
}

// writeWindows writes the file that an orderly stop would have written.
func writeWindows(dir string, windows []window) error {
	raw, err := json.Marshal(map[string]any{"version": 1, "windows": windows})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return writeFile(filepath.Join(dir, "seq_windows.json"), raw)
}
