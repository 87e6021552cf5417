//go:build embedded

package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// recoverState brings the broker's directory into a state that the broker opens
// without loss, and returns what of its log is damaged. The formats are those of
// the pinned kfake (persist.go there, version 1). It does what Kafka does when it
// starts and kfake does not:
//
//   - it checks every batch of every segment (see repair.go);
//   - after a crash it rebuilds from the log which producer wrote which sequence
//     numbers (see window.go). Otherwise the broker would take a retried batch,
//     whose acknowledgement was lost, for a new one;
//   - it forgets the users of an earlier start: the password may be another one;
//   - it forgets the members of consumer groups. An earlier service that was killed
//     would keep its partitions until its session ended.
func recoverState(dir string) ([]Damage, error) {
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // never used
	}
	if err := os.Remove(filepath.Join(dir, "sasl.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("broker: %w", err)
	}
	orderly, err := forgetMembers(filepath.Join(dir, "session_state.json"))
	if err != nil {
		return nil, err
	}
	// The broker passes over a torn entry at the end of such a log, but would append behind it, where nothing is read again.
	for _, name := range []string{"groups.log", "pids.log"} {
		if err := trimTorn(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	topics, err := readTopics(dir)
	if err != nil {
		return nil, err
	}
	if !orderly {
		if err := removeDeleted(dir, topics); err != nil {
			return nil, err
		}
	}
	committed, err := readCommits(filepath.Join(dir, "groups.log"))
	if err != nil {
		return nil, err
	}
	folders, err := os.ReadDir(filepath.Join(dir, "partitions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("broker: %w", err)
	}
	var damages []Damage
	windows := []window{}
	for _, folder := range folders {
		of, ok := parsePartition(folder.Name())
		if !ok {
			continue
		}
		producers := windowsOf{}
		p := partition{
			partitionName: of, folder: filepath.Join(dir, "partitions", folder.Name()),
			committed: committed[of], gaps: topics[of.topic].compacted,
		}
		found, err := p.repair(producers.push)
		if err != nil {
			return nil, fmt.Errorf("broker: recovering %s: %w", p.folder, err)
		}
		damages = append(damages, found...)
		windows = append(windows, producers.list(of)...)
	}
	if orderly {
		return damages, nil // the broker wrote its windows itself
	}
	return damages, writeWindows(dir, windows)
}

// partitionName names a partition, as its folder does.
type partitionName struct {
	topic  string
	number int32
}

func (n partitionName) String() string {
	return fmt.Sprintf("partition %d of topic %s", n.number, n.topic)
}

func (n partitionName) folder() string {
	return fmt.Sprintf("%s-%d", url.PathEscape(n.topic), n.number)
}

func parsePartition(folder string) (partitionName, bool) {
	dash := strings.LastIndexByte(folder, '-')
	if dash < 0 {
		return partitionName{}, false
	}
	topic, err := url.PathUnescape(folder[:dash])
	if err != nil {
		return partitionName{}, false
	}
	number, err := strconv.ParseInt(folder[dash+1:], 10, 32)
	return partitionName{topic, int32(number)}, err == nil
}

// forgetMembers removes the members of consumer groups, and what their fetches
// had in memory, from the state that an orderly stop left, and reports whether
// there is such a state. Transactions that were open stay: who began one ends it.
func forgetMembers(path string) (orderly bool, err error) {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("broker: %w", err)
	}
	var state map[string]json.RawMessage
	if json.Unmarshal(raw, &state) != nil {
		return true, nil //nolint:nilerr // the broker passes over it
	}
	for _, members := range []string{"classicGroups", "consumerGroups", "shareGroups", "fetchSessions"} {
		delete(state, members)
	}
	if raw, err = json.Marshal(state); err != nil {
		return true, fmt.Errorf("broker: %w", err)
	}
	return true, writeFile(path, raw)
}

// topic is what recovery has to know of one.
type topic struct {
	partitions int
	compacted  bool
}

func readTopics(dir string) (map[string]topic, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "topics.json")) //nolint:gosec // a path inside the data directory
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	var file struct {
		Topics []struct {
			Name       string            `json:"name"`
			Partitions int               `json:"partitions"`
			Configs    map[string]string `json:"configs"`
		} `json:"topics"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("broker: the list of topics in %s is damaged: %w", dir, err)
	}
	topics := make(map[string]topic, len(file.Topics))
	for _, t := range file.Topics {
		topics[t.Name] = topic{t.Partitions, strings.Contains(t.Configs["cleanup.policy"], "compact")}
	}
	return topics, nil
}

// removeDeleted removes the partitions of topics whose deletion a crash cut
// short: a new topic of the same name would append to their files.
func removeDeleted(dir string, topics map[string]topic) error {
	alive := map[string]bool{}
	for name, t := range topics {
		for number := range t.partitions {
			alive[partitionName{name, int32(number)}.folder()] = true
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

// writeFile replaces a file, on disk before it returns. A crash leaves the file
// as it was or as it is to be.
func writeFile(path string, content []byte) error {
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // a path inside the data directory
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}
