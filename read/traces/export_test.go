package traces

// RefuseNarrow lets the store refuse every stretch that a list's pace suggests.
func (r *Reader) RefuseNarrow() { r.pace.maxRows, r.pace.maxNeedleRows = 1, 1 }
