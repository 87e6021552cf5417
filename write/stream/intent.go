package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// intentPrefix marks and versions the metadata of a commit that names a range.
const intentPrefix = "colonnade/1:"

func formatIntent(r Range) string {
	return intentPrefix + strconv.FormatInt(r.First, 10) + "-" + strconv.FormatInt(r.Last, 10)
}

// parseIntent reads a commit's metadata. Empty metadata names no range. Anything
// that is neither is an error: skipping a range that was half written would lose
// its exactness silently.
func parseIntent(metadata string, committed int64) (r Range, ok bool, err error) {
	if metadata == "" {
		return Range{}, false, nil
	}
	text, found := strings.CutPrefix(metadata, intentPrefix)
	first, last, pair := strings.Cut(text, "-")
	f, err1 := strconv.ParseInt(first, 10, 64)
	l, err2 := strconv.ParseInt(last, 10, 64)
	if !found || !pair || err1 != nil || err2 != nil || f < 0 || l < f || f != committed {
		return Range{}, false, fmt.Errorf("stream: commit metadata %q at offset %d is not ours", metadata, committed)
	}
	return Range{First: f, Last: l}, true, nil
}
