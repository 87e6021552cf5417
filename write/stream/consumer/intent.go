package consumer

import (
	"fmt"
	"strconv"
	"strings"

	"colonnade/write/stream"
)

// intentPrefix marks and versions the metadata of a commit that names a range.
const intentPrefix = "colonnade/1:"

func formatIntent(r stream.Range) string {
	return intentPrefix + strconv.FormatInt(r.First, 10) + "-" + strconv.FormatInt(r.Last, 10)
}

// parseIntent returns the range in a commit's metadata; ok is false for empty metadata. Any
// other metadata is an error: a range that is not repeated exactly may store spans twice.
func parseIntent(metadata string, committed int64) (r stream.Range, ok bool, err error) {
	if metadata == "" {
		return stream.Range{}, false, nil
	}
	text, found := strings.CutPrefix(metadata, intentPrefix)
	first, last, pair := strings.Cut(text, "-")
	f, err1 := strconv.ParseInt(first, 10, 64)
	l, err2 := strconv.ParseInt(last, 10, 64)
	if !found || !pair || err1 != nil || err2 != nil || f < 0 || l < f || f != committed {
		return stream.Range{}, false, fmt.Errorf("stream: commit metadata %q at offset %d is not ours", metadata, committed)
	}
	return stream.Range{First: f, Last: l}, true, nil
}
