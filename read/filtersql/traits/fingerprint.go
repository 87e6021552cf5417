package traits

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain/filter"
)

// Fingerprint returns a number that is equal for filters that differ in values only,
// such as the calls of two models.
func Fingerprint(e filter.Expr) uint64 {
	var text strings.Builder
	writeFingerprint(&text, e)
	return xxhash.Sum64String(text.String())
}

func writeFingerprint(w *strings.Builder, e filter.Expr) {
	children := func(of []filter.Expr) {
		for _, child := range of {
			writeFingerprint(w, child)
		}
		w.WriteByte(')')
	}
	_, _ = fmt.Fprintf(w, "(%T", e) // a builder takes all
	switch e := e.(type) {
	case filter.And:
		children(e)
	case filter.Or:
		children(e)
	case filter.Not:
		children([]filter.Expr{e.Expr})
	case filter.Attribute:
		_, _ = fmt.Fprintf(w, "%d%q%T)", e.Of, e.Path, e.Test)
	case filter.Text:
		_, _ = fmt.Fprintf(w, "%q%T)", e.Field, e.Test)
	case filter.Time:
		_, _ = fmt.Fprintf(w, "%q)", e.Field)
	case filter.TimeText:
		_, _ = fmt.Fprintf(w, "%q%T)", e.Field, e.Test)
	case filter.Reference:
		_, _ = fmt.Fprintf(w, "%q)", e.Key)
	default: // the type of the others is all that they ask for
		w.WriteByte(')')
	}
}
