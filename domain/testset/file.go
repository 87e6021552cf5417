package testset

import "strings"

// The names that files keep for what stands beside the data of a testcase.
// Source: contract §5.8.
const (
	fileID    = "__id__"
	fileFlags = "__flags__"
	fileTags  = "__tags__"
	fileMeta  = "__meta__"
	// fileTypes says of a CSV row which cells are not strings.
	fileTypes = "__types__"
	// fileDedup is what files call the column by which a client tells equal rows apart.
	fileDedup   = "__dedup_id__"
	columnDedup = "testcase_dedup_id"
)

// reserved tells whether files keep a name for themselves.
func reserved(name string) bool {
	if !strings.HasPrefix(name, "__") {
		return false
	}
	switch name {
	case fileID, fileFlags, fileTags, fileMeta, fileTypes, fileDedup:
		return true
	default:
		return false
	}
}
