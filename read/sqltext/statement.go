package sqltext

import (
	"strings"
)

// Statement is one query: text with a ? for each argument.
type Statement struct {
	SQL  string
	Args []any
	// MaxRows is how many rows the store may have to read, by its index; 0 is no bound.
	MaxRows int
	// MaxBytes is how many bytes of columns it may read; 0 is no bound.
	MaxBytes int64
	// OneStep has the store read the columns of all conditions together, where it
	// would go condition by condition, each of which opens every part anew: for
	// few rows that is most of what they cost.
	OneStep bool
	// StartsFirst has the store leave out what the index of starts rules out before
	// it plans and counts what there is to read, rather than while it reads.
	StartsFirst bool
	// OneThread has the store read it with one thread: it reads so little that to
	// make more of them, and to wait for each, takes longer than they save.
	OneThread bool
	// RowsPerThread is how many rows are worth a thread; 0 leaves that to the store.
	// It leaves less than 163840 to one of them, which suits rows of a few bytes, not
	// documents.
	RowsPerThread int
}

// writer collects a statement's text and arguments in step.
type Writer struct {
	text strings.Builder
	args []any
}

// put appends text; each ? in it takes the next of args.
func (w *Writer) Put(text string, args ...any) {
	w.text.WriteString(text)
	w.args = append(w.args, args...)
}

func (w *Writer) Statement() Statement { return Statement{SQL: w.text.String(), Args: w.args} }
