package stream

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Partition is one assigned partition, in the hands of one worker. Its methods
// are for that worker alone, which may poll while it commits, but calls neither
// of both twice at a time.
type Partition struct {
	consumer *session
	number   int32
	// member is who the broker assigned it to.
	member   string
	intended Range
	pending  bool // intended holds a range
	// ending holds once the partition is being given up.
	ending atomic.Bool

	mu sync.Mutex
	// epoch is the leader epoch to commit with; the broker compares it to find lost
	// records. That of a later record than the commit's finds them as well.
	epoch int32
	// queue holds fetched records that Poll has not given out, bytes is what they
	// take in memory.
	queue []fetched
	bytes int
	// weigh tells what a record counts for in Poll; the first weighed of the queue
	// count for weight.
	weigh           func(value []byte) int
	weighed, weight int
	// next is the offset that Poll gives out next.
	next int64
	// paused holds while the queue is full.
	paused bool
	// held ends the pause after a fetch that failed; nil outside of one. failures is
	// how many failed, one after the other.
	held     *time.Timer
	failures int
	// arrived has room for one signal: the queue is not empty.
	arrived chan struct{}
}

type fetched struct {
	record *kgo.Record
	at     time.Time
	weight int // set by weighQueue
}

// recordBytes is about what a fetched record takes in memory beside its value.
const recordBytes = 512

func (f *fetched) bytes() int { return len(f.record.Value) + recordBytes }

// Number is the partition's number.
func (p *Partition) Number() int32 { return p.number }

// Log names the log that the partition is of: a topic that is deleted and made
// again under its name is another, whose offsets begin anew. It is empty where
// the broker gives topics no ids.
func (p *Partition) Log() string {
	id := uuid.UUID(p.consumer.topic)
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// Intended is the range that the previous owner, or this one before a crash,
// was making durable when it ended. It must be repeated exactly, with PollTo,
// before anything else. ok is false where nothing is pending.
func (p *Partition) Intended() (r Range, ok bool) { return p.intended, p.pending }

// Next is the offset of the record that Poll gives out next.
func (p *Partition) Next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// WeighBy sets what Poll counts a record for by its value: at least 1. Without it
// that is the value's length. Call it before the first Poll.
func (p *Partition) WeighBy(weigh func(value []byte) int) { p.weigh = weigh }

// Poll waits for a record and then gathers until records of that weight are
// there, or linger has passed since the first was fetched. A batch holds at least
// one record, ascending offsets, and records that did not decode, with their Err.
// The error is the context's.
func (p *Partition) Poll(ctx context.Context, weight int, linger time.Duration) ([]Record, error) {
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

// PollTo waits for and gives the records from Next through last, however large
// they are together. Offsets that the log no longer holds are left out: their
// loss was reported when it was found.
func (p *Partition) PollTo(ctx context.Context, last int64) ([]Record, error) {
	var records []Record
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

// peek tells when the oldest queued record was fetched (zero: there is none)
// and whether a batch is complete: records of that weight are there, or the log
// jumped back.
func (p *Partition) peek(weight int) (first time.Time, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return time.Time{}, false
	}
	p.weighQueue()
	// weight is that of the whole queue, also behind a jump: a shorter batch is harmless.
	return p.queue[0].at, p.weight >= weight
}

// weighQueue weighs what was fetched since it was last called.
func (p *Partition) weighQueue() {
	for ; p.weighed < len(p.queue); p.weighed++ {
		f := &p.queue[p.weighed]
		if f.weight = len(f.record.Value); p.weigh != nil {
			f.weight = p.weigh(f.record.Value)
		}
		p.weight += f.weight
	}
}

// beyond tells whether the queue begins after an offset.
func (p *Partition) beyond(last int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) > 0 && p.queue[0].record.Offset > last
}

// take removes records from the queue while more says so of the weight and the
// offset so far, but never across a jump back: a range must be ascending to be
// named by its ends.
func (p *Partition) take(more func(weight int, offset int64) bool) []Record {
	p.mu.Lock()
	p.weighQueue() // also what came since peek
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
		p.queue = nil // lets go of the fetched buffers
	}
	p.mu.Unlock()

	p.consumer.metrics.buffered.Sub(float64(bytes))
	records := make([]Record, n)
	for i, f := range taken {
		records[i] = decode(f.record)
	}
	return records
}

// push adds fetched records and stops fetching when the worker is far behind.
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

// drop empties the queue of a partition that is given up.
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
	// firstHold is the pause after a fetch that failed. It doubles with each that
	// follows, up to maxHold: a partition that can be read again is so within seconds.
	firstHold = 100 * time.Millisecond
	maxHold   = 5 * time.Second
)

// hold stops fetching for a while.
func (p *Partition) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending.Load() {
		return // drop has been, or is about to be
	}
	pause := min(firstHold<<min(p.failures, 8), maxHold)
	p.failures++
	if p.held != nil {
		p.held.Stop()
	}
	p.consumer.pause(p.number)
	p.held = time.AfterFunc(pause, p.release)
}

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

// Intend commits r.First as the offset, with the range in the commit's
// metadata. Call it before making the range durable; after a crash the next
// owner finds it in Intended.
func (p *Partition) Intend(ctx context.Context, r Range) error {
	if r.Last < r.First || r.First < 0 {
		return fmt.Errorf("stream: %d-%d is no range", r.First, r.Last)
	}
	return p.consumer.commit(ctx, p, "intend", r.First, formatIntent(r))
}

// Commit moves the group's offset: everything before next is durable. Call it
// after durability.
func (p *Partition) Commit(ctx context.Context, next int64) error {
	return p.consumer.commit(ctx, p, "commit", next, "")
}

func (p *Partition) leaderEpoch() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch
}

// tail is the offset the next fetched record should have.
func (p *Partition) tail() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.queue); n > 0 {
		return p.queue[n-1].record.Offset + 1
	}
	return p.next
}
