package tail

// holding holds the records that were read from the topic and are not yet visible. A
// partition with too many bytes is paused until the sink has caught up.
type holding struct {
	source     Source
	limit      int // bytes of a partition
	bytes      int
	partitions map[int32]*waiting
}

// waiting holds the records of one partition, ascending by offset.
type waiting struct {
	records []Record
	bytes   int
	paused  bool
}

// recordBytes is the size at which a record counts beside its spans.
const recordBytes = 256

func (r *Record) size() int { return r.Bytes + recordBytes }

func (h *holding) add(r Record) {
	w := h.partitions[r.At.Partition]
	if w == nil {
		w = &waiting{}
		h.partitions[r.At.Partition] = w
	}
	w.records = append(w.records, r)
	w.bytes += r.size()
	h.bytes += r.size()
	if w.bytes > h.limit && !w.paused {
		w.paused = true
		h.source.Pause(r.At.Partition)
	}
}

// take removes and returns the records of a partition below an offset.
func (h *holding) take(number int32, next int64) []Record {
	w := h.partitions[number]
	if w == nil {
		return nil
	}
	n := 0
	for n < len(w.records) && w.records[n].At.Offset < next {
		w.bytes -= w.records[n].size()
		h.bytes -= w.records[n].size()
		n++
	}
	out := w.records[:n]
	w.records = w.records[n:]
	if w.paused && w.bytes <= h.limit/2 {
		w.paused = false
		h.source.Resume(number)
	}
	if len(w.records) == 0 {
		delete(h.partitions, number)
	}
	return out
}
