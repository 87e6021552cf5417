package consumer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"colonnade/write/stream"
)

// Partition is one assigned partition. Its methods are for the worker of the partition
// alone. Poll and Commit may run at the same time, but two Polls or two Commits may not.
type Partition struct {
	consumer *session
	number   int32
	// member is the id of the member that the broker assigned it to.
	member   string
	intended stream.Range
	pending  bool // intended holds a range
	// ending reports that the partition is being released.
	ending atomic.Bool

	mu sync.Mutex
	// epoch is the leader epoch to commit with, by which the broker finds lost records. The
	// epoch of a record after the committed one finds them as well.
	epoch int32
	// queue holds fetched records that Poll has not returned, bytes is their size in memory.
	queue []fetched
	bytes int
	// weigh returns the weight of a record in Poll. The first weighed records of the queue
	// weigh weight together.
	weigh           func(value []byte) int
	weighed, weight int
	// next is the offset of the record that Poll returns next.
	next int64
	// paused reports that the queue is full.
	paused bool
	// held ends the pause after a failed fetch; nil outside of a pause. failures is how many
	// fetches failed, one after the other.
	held     *time.Timer
	failures int
	// arrived has a value once records were added to the queue.
	arrived chan struct{}
}

type fetched struct {
	record *kgo.Record
	at     time.Time
	weight int // set by weighQueue
}

// recordBytes is about the memory of a fetched record without its value.
const recordBytes = 512

func (f *fetched) bytes() int { return len(f.record.Value) + recordBytes }

// Number returns the number of the partition.
func (p *Partition) Number() int32 { return p.number }

// Log returns the id of the topic: a topic that is deleted and created again under its name
// has another one, and its offsets begin at zero. Empty where the broker gives topics no ids.
func (p *Partition) Log() string {
	id := uuid.UUID(p.consumer.topic)
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// Intended returns the range that the former owner, or this process before a crash, was making
// durable when it ended. The range must be repeated exactly, with PollTo, before any other
// record is processed. ok is false where no range is pending.
func (p *Partition) Intended() (r stream.Range, ok bool) { return p.intended, p.pending }

// Next returns the offset of the record that Poll returns next.
func (p *Partition) Next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// WeighBy sets the weight of a record in Poll by its value, at least 1; the default is the
// length of the value. It must be called before the first Poll.
func (p *Partition) WeighBy(weigh func(value []byte) int) { p.weigh = weigh }

// Poll waits for a record, and then until records of that weight were fetched or linger has
// passed since the first was. A batch has at least one record, and its offsets ascend.
// Records that cannot be decoded have their Err. The error is that of the context.
func (p *Partition) Poll(ctx context.Context, weight int, linger time.Duration) ([]stream.Record, error) {
	var timer *time.Timer
	var expired <-chan time.Time
	for {
		first, full := p.peek(weight)
		if full {
			break
		}
		if !first.IsZero() && timer == nil {
			timer = time.NewTimer(linger - p.consumer.now().Sub(first))
			defer timer.Stop()
			expired = timer.C
		}
		select {
		case <-p.arrived:
			continue
		case <-expired:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		break
	}
	return p.take(func(sum int, _ int64) bool { return sum < weight }), nil
}

// PollTo waits for the records from Next through last and returns them, whatever their size.
// Offsets that the topic no longer has are left out, because their loss was reported when it
// was found.
func (p *Partition) PollTo(ctx context.Context, last int64) ([]stream.Record, error) {
	var records []stream.Record
	for p.Next() <= last {
		batch := p.take(func(_ int, offset int64) bool { return offset <= last })
		records = append(records, batch...)
		if len(batch) > 0 {
			continue
		}
		if p.beyond(last) {
			break
		}
		select {
		case <-p.arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return records, nil
}

// peek returns when the oldest queued record was fetched, the zero time for none, and whether
// the queue has records of that weight.
func (p *Partition) peek(weight int) (first time.Time, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return time.Time{}, false
	}
	p.weighQueue()
	// The queue may have more records than the batch, which ends where offsets do not ascend: a shorter batch does no harm.
	return p.queue[0].at, p.weight >= weight
}

// weighQueue weighs the records that were fetched since its last call.
func (p *Partition) weighQueue() {
	for ; p.weighed < len(p.queue); p.weighed++ {
		f := &p.queue[p.weighed]
		if f.weight = len(f.record.Value); p.weigh != nil {
			f.weight = p.weigh(f.record.Value)
		}
		p.weight += f.weight
	}
}

// beyond reports whether the queue begins after an offset.
func (p *Partition) beyond(last int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) > 0 && p.queue[0].record.Offset > last
}

// take removes records from the queue while more returns true for the weight so far and the
// next offset. It stops where the offsets do not ascend, because a range is named by its ends.
func (p *Partition) take(more func(weight int, offset int64) bool) []stream.Record {
	p.mu.Lock()
	p.weighQueue() // records may have been added since peek
	n, bytes, weight := 0, 0, 0
	for n < len(p.queue) {
		f := &p.queue[n]
		if !more(weight, f.record.Offset) || n > 0 && f.record.Offset <= p.queue[n-1].record.Offset {
			break
		}
		bytes += f.bytes()
		weight += f.weight
		n++
	}
	taken := p.queue[:n:n]
	p.queue = p.queue[n:]
	p.bytes -= bytes
	p.weight -= weight
	p.weighed -= n
	if n > 0 {
		p.next = taken[n-1].record.Offset + 1
		p.epoch = taken[n-1].record.LeaderEpoch
	}
	resume := p.paused && p.bytes < p.consumer.cfg.PartitionBufferBytes/2
	if resume {
		p.paused = false
		if p.held == nil {
			p.consumer.resume(p.number)
		}
	}
	if len(p.queue) == 0 {
		p.queue = nil // so that the fetched buffers can be collected
	}
	p.mu.Unlock()

	p.consumer.metrics.buffered.Sub(float64(bytes))
	records := make([]stream.Record, n)
	for i, f := range taken {
		records[i] = stream.Decode(f.record)
	}
	return records
}

// push adds fetched records to the queue, and pauses fetching while it is full.
func (p *Partition) push(records []*kgo.Record, at time.Time) {
	p.mu.Lock()
	bytes := 0
	for _, k := range records {
		f := fetched{record: k, at: at}
		p.queue = append(p.queue, f)
		bytes += f.bytes()
	}
	p.bytes += bytes
	p.failures = 0
	if !p.paused && p.bytes > p.consumer.cfg.PartitionBufferBytes {
		p.paused = true
		p.consumer.pause(p.number)
	}
	p.mu.Unlock()
	p.consumer.metrics.buffered.Add(float64(bytes))
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// drop empties the queue of a partition that is released.
func (p *Partition) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.consumer.metrics.buffered.Sub(float64(p.bytes))
	p.queue, p.bytes, p.weighed, p.weight = nil, 0, 0, 0
	if p.held != nil {
		p.held.Stop()
	}
	if p.paused || p.held != nil {
		p.paused, p.held = false, nil
		p.consumer.resume(p.number)
	}
}

const (
	// firstHold is the pause after a failed fetch. It doubles with each further failure, up to
	// maxHold, so that a partition is read again within seconds after it recovers.
	firstHold = 100 * time.Millisecond
	maxHold   = 5 * time.Second
)

// hold pauses fetching after a failed fetch.
func (p *Partition) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending.Load() {
		return // drop was called, or is about to be
	}
	pause := min(firstHold<<min(p.failures, 8), maxHold)
	p.failures++
	if p.held != nil {
		p.held.Stop()
	}
	p.consumer.pause(p.number)
	p.held = time.AfterFunc(pause, p.release)
}

// release ends the pause of hold.
func (p *Partition) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		return
	}
	p.held = nil
	if !p.paused {
		p.consumer.resume(p.number)
	}
}

// Intend commits r.First as the offset, with the range in the commit's metadata. It must be
// called before the range is made durable: after a crash the next owner finds it in Intended.
func (p *Partition) Intend(ctx context.Context, r stream.Range) error {
	if r.Last < r.First || r.First < 0 {
		return fmt.Errorf("stream: %d-%d is no range", r.First, r.Last)
	}
	return p.consumer.commit(ctx, p, "intend", r.First, formatIntent(r))
}

// Commit moves the group's offset to next. It must be called after everything before next is
// durable.
func (p *Partition) Commit(ctx context.Context, next int64) error {
	return p.consumer.commit(ctx, p, "commit", next, "")
}

func (p *Partition) leaderEpoch() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// tail returns the offset that the next fetched record should have.
func (p *Partition) tail() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.queue); n > 0 {
		return p.queue[n-1].record.Offset + 1
	}
	return p.next
}
