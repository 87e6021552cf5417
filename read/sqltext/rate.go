package sqltext

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"colonnade/domain/trace"
)

// Rate is a share of all traces, chosen by a hash of their ids: the same
// traces in every list, page and process.
type Rate struct {
	limited bool
	below   uint64
}

// NewRate returns the rate of a share between 0 and 1; nil keeps all traces.
func NewRate(share *float64) Rate {
	if share == nil || *share >= 1 {
		return Rate{}
	}
	return Rate{limited: true, below: uint64(math.Ldexp(max(*share, 0), 64))}
}

// All reports whether every trace is in the share.
func (r Rate) All() bool { return !r.limited }

// Keeps reports whether a trace is in the share.
func (r Rate) Keeps(id trace.TraceID) bool { return !r.limited || xxhash.Sum64(id[:]) < r.below }

// Node returns the condition that keeps the traces of the share.
func (r Rate) Node() Node {
	if !r.limited {
		return Constant(true)
	}
	return Expr("xxHash64(trace_id) < ?", r.below)
}
