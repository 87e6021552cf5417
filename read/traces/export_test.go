package traces

// LookAge is how long those who wait share a look.
const LookAge = lookAge

// RefuseNarrow lets the store refuse every stretch that is to be read at once.
func (r *Reader) RefuseNarrow() { r.LimitNarrow(1) }

// LimitNarrow lets it refuse those in which it would have to look at more rows.
func (r *Reader) LimitNarrow(rows int) { r.pace.maxRows, r.pace.maxNeedleRows = rows, rows }
