// Package load generates realistic traces, sends them at a given rate,
// and checks afterwards that all of them can be read.
//
// A Generator is deterministic: the same seed and index give the same trace.
// It encodes a few hundred runs once and afterwards only copies them and
// patches ids and times, so that making load costs a small part of what taking
// it costs. Benchmarks and tests use the Generator; the subcommand uses Run.
package load

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain/trace"
)

// Shape says what the traffic looks like.
type Shape struct {
	// Seed makes all ids, texts and structures.
	Seed uint64
	// SpanBytes is the average size of an encoded span.
	SpanBytes int
	// AnnotationShare is the share of traces that are annotations, 0..1.
	AnnotationShare float64
	// Runs is the number of different agent runs; their texts repeat after that.
	Runs int
	// Tag marks every span under ag.tags.load, so that runs can be distinguished.
	Tag string
}

// DefaultShape is what an agent product sends.
func DefaultShape() Shape {
	return Shape{Seed: 1, SpanBytes: 2048, AnnotationShare: 0.2, Runs: 400, Tag: "load"}
}

// Validate names every field that cannot work.
func (s Shape) Validate() error {
	switch {
	case s.SpanBytes < 600 || s.SpanBytes > 1<<20:
		return fmt.Errorf("load: spans of %d bytes: must be between 600 and 1048576", s.SpanBytes)
	case s.AnnotationShare < 0 || s.AnnotationShare > 0.9:
		return fmt.Errorf("load: annotation share %g: must be between 0 and 0.9", s.AnnotationShare)
	case s.Runs < 1 || s.Runs > 100_000:
		return fmt.Errorf("load: %d runs: must be between 1 and 100000", s.Runs)
	default:
		return nil
	}
}

// Trace is what Append made.
type Trace struct {
	ID         trace.TraceID
	Spans      int
	Annotation bool
	// Sum adds up a hash of every span; sums of traces add up to the sum of all. Verify finds the same in replies.
	Sum uint64
}

// Generator makes traces. It is safe for concurrent use.
type Generator struct {
	shape       Shape
	invocations []template
	annotations []template
}

// NewGenerator encodes the templates; the text is scaled until spans have the asked-for size.
func NewGenerator(shape Shape) (*Generator, error) {
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	g := &Generator{shape: shape}
	scale, words := 1.0, strings.Fields(vocabulary)
	for range 4 {
		g.invocations, g.annotations = g.invocations[:0], g.annotations[:0]
		for i := range shape.Runs {
			w := &writer{rand: rand.New(rand.NewPCG(shape.Seed, uint64(i))), scale: scale, tag: shape.Tag, words: words} //nolint:gosec // repeatable on purpose
			g.invocations = append(g.invocations, w.run())
			g.annotations = append(g.annotations, w.annotation())
		}
		scale *= max(float64(shape.SpanBytes-fixedBytes)/max(g.meanSpanBytes()-fixedBytes, 1), 0.01)
	}
	return g, nil
}

// fixedBytes is about what a span has besides texts that scale.
const fixedBytes = 500

func (g *Generator) meanSpanBytes() float64 {
	bytes, spans := 0, 0
	for _, t := range g.invocations {
		bytes += len(t.body)
		spans += len(t.spans)
	}
	return float64(bytes) / float64(spans)
}

// Append appends the trace of this index, ending at the given time, as
// ResourceSpans of an ExportTraceServiceRequest; a body is any number of them
// in a row. An annotation is linked to the last invocation before it.
func (g *Generator) Append(dst []byte, index uint64, end time.Time) ([]byte, Trace) {
	h := mix(g.shape.Seed, index)
	annotation := index > 0 && g.isAnnotation(index)
	kind := g.invocations
	if annotation {
		kind = g.annotations
	}
	t := &kind[h%uint64(len(kind))]
	at := len(dst)
	dst = append(dst, t.body...)
	body := dst[at:]

	made := Trace{ID: g.traceID(index), Spans: len(t.spans), Annotation: annotation}
	var linkTrace trace.TraceID
	var linkSpan trace.SpanID
	if annotation {
		target := index - 1
		for target > 0 && g.isAnnotation(target) {
			target--
		}
		linkTrace, linkSpan = g.traceID(target), spanID(g.traceID(target), 0)
	}
	start := end.UnixNano() - t.duration
	for i := range t.spans {
		s := &t.spans[i]
		id, parent := spanID(made.ID, i), trace.SpanID{}
		copy(body[s.traceID:], made.ID[:])
		copy(body[s.spanID:], id[:])
		if s.parent >= 0 {
			parent = spanID(made.ID, s.parent)
			copy(body[s.parentID:], parent[:])
		}
		from, to := uint64(start+s.start), uint64(start+s.end) //nolint:gosec // times after 1970
		binary.LittleEndian.PutUint64(body[s.startTime:], from)
		binary.LittleEndian.PutUint64(body[s.endTime:], to)
		for _, event := range s.events {
			binary.LittleEndian.PutUint64(body[event:], to)
		}
		putDecimal(body[s.sessionID:s.sessionID+idDigits], h>>8%1_000_000)
		putDecimal(body[s.userID:s.userID+idDigits], h>>8%1_000_000/7)
		if s.linkTrace > 0 {
			copy(body[s.linkTrace:], linkTrace[:])
			copy(body[s.linkSpan:], linkSpan[:])
		}
		made.Sum += spanSum(made.ID, id, parent, from, to, s.digest)
	}
	return dst, made
}

func (g *Generator) isAnnotation(index uint64) bool {
	return float64(mix(g.shape.Seed+1, index)>>11)/(1<<53) < g.shape.AnnotationShare
}

func (g *Generator) traceID(index uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:], mix(g.shape.Seed+2, index)|1)
	binary.BigEndian.PutUint64(id[8:], mix(g.shape.Seed+3, index))
	return id
}

func spanID(t trace.TraceID, i int) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], mix(binary.BigEndian.Uint64(t[8:]), uint64(i))|1) //nolint:gosec // an index
	return id
}

// mix is splitmix64 over both: each index is far from its neighbours.
func mix(seed, index uint64) uint64 {
	x := seed*0x9e3779b97f4a7c15 + index*0xbf58476d1ce4e5b9 + 0x94d049bb133111eb
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func putDecimal(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}

// spanSum returns a span's part of a checksum: of its ids, times and content.
func spanSum(t trace.TraceID, id, parent trace.SpanID, start, end, digest uint64) uint64 {
	var b [56]byte
	copy(b[:], t[:])
	copy(b[16:], id[:])
	copy(b[24:], parent[:])
	binary.LittleEndian.PutUint64(b[32:], start)
	binary.LittleEndian.PutUint64(b[40:], end)
	binary.LittleEndian.PutUint64(b[48:], digest)
	return xxhash.Sum64(b[:])
}
