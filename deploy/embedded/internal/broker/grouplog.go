//go:build embedded

package broker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// nextEntry returns the first entry of a state log (groups.log, pids.log) and how
// many bytes it takes; 0 where the log ends, or is torn or damaged. An entry is its
// length, the checksum of the rest, a version of two bytes, and JSON.
func nextEntry(raw []byte) (content []byte, size int) {
	const frame, version = 8, 2
	if len(raw) < frame {
		return nil, 0
	}
	length := int64(binary.LittleEndian.Uint32(raw))
	if length < version || frame+length > int64(len(raw)) {
		return nil, 0
	}
	size = frame + int(length)
	if checksum(raw[frame:size]) != binary.LittleEndian.Uint32(raw[4:]) {
		return nil, 0
	}
	return raw[frame+version : size], size
}

// trimTorn cuts a state log behind its last whole entry.
func trimTorn(path string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	whole := 0
	for {
		_, size := nextEntry(raw[whole:])
		if size == 0 {
			break
		}
		whole += size
	}
	if whole == len(raw) {
		return nil
	}
	if err := os.Truncate(path, int64(whole)); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}

// readCommits returns the largest offset that any group has committed for each partition.
func readCommits(path string) (map[partitionName]int64, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("broker: %w", err)
	}
	type key struct {
		group string
		of    partitionName
	}
	commits := map[key]int64{}
	for at := 0; ; {
		content, size := nextEntry(raw[at:])
		if size == 0 {
			break
		}
		at += size
		var entry struct {
			Type   string `json:"type"`
			Group  string `json:"g"`
			Topic  string `json:"t"`
			Part   int32  `json:"p"`
			Offset int64  `json:"o"`
		}
		if json.Unmarshal(content, &entry) != nil {
			continue // the broker passes over it as well
		}
		switch k := (key{entry.Group, partitionName{entry.Topic, entry.Part}}); entry.Type {
		case "commit":
			commits[k] = entry.Offset
		case "delete":
			delete(commits, k)
		}
	}
	largest := map[partitionName]int64{}
	for k, offset := range commits {
		largest[k.of] = max(largest[k.of], offset)
	}
	return largest, nil
}
