package sqltext

import (
	"strings"
)

// Statement is one query: text with a ? for each argument.
type Statement struct {
	SQL  string
	Args []any
	// MaxRows is how many rows ClickHouse may have to read, by its index; 0 is no bound.
	MaxRows int
	// MaxBytes is how many bytes of columns it may read; 0 is no bound.
	MaxBytes int64
	// OneStep makes ClickHouse read the columns of all conditions together. By
	// itself it reads condition by condition and opens every part for each: for few
	// rows that is most of the cost.
	OneStep bool
	// StartsFirst makes ClickHouse apply the index of starts before it plans and
	// counts the granules, instead of while it reads.
	StartsFirst bool
	// OneThread makes ClickHouse read with one thread: the statement reads so little
	// that more threads take longer to start than they save.
	OneThread bool
	// RowsPerThread is how many rows are worth a thread; 0 leaves that to ClickHouse.
	// ClickHouse gives less than 163840 rows to one thread, which suits rows of a few
	// bytes, not payloads.
	RowsPerThread int
}

// Writer collects the text and the arguments of a statement.
type Writer struct {
	text strings.Builder
	args []any
}

// Put appends text; each ? in it takes the next of args.
func (w *Writer) Put(text string, args ...any) {
	w.text.WriteString(text)
	w.args = append(w.args, args...)
}

// Statement returns what was put so far.
func (w *Writer) Statement() Statement { return Statement{SQL: w.text.String(), Args: w.args} }
