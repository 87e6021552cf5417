package evaluation

import (
	"math"
	"slices"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// Outcome is what the table of a run shows of the trace of a result.
type Outcome struct {
	// LatencyMs is the duration of the root in milliseconds, Cost the cost of the whole
	// trace; NaN where the trace has none.
	LatencyMs, Cost float64
	// Inputs and Outputs are previews of the payloads of the root.
	Inputs, Outputs string
	// About is the trace that the root links to first, zero without links: of an
	// annotation the trace that it is about.
	About trace.TraceID
	// JSON is the outputs whole, empty beyond MaxOutputBytes.
	JSON string
	// Numbers, Strings and Bools are the values among the outputs by dotted path; the path
	// of outputs that are one value is empty. Values within lists are only in JSON.
	Numbers map[string]float64
	Strings map[string]string
	Bools   map[string]bool
}

// The bounds of an Outcome.
const (
	// PreviewLength is the length of previews in characters: a table of ten thousand rows
	// with three previews each stays below 20 MB.
	PreviewLength  = 400
	MaxOutputBytes = 64 << 10
	// maxOutcomeValues bounds the values among the outputs of one result.
	maxOutcomeValues = 100
	// maxValueBytes is the length of a text among the outputs, as of attributes.
	maxValueBytes = 512
)

// NoOutcome returns the outcome of a result without a trace.
func NoOutcome() Outcome { return Outcome{LatencyMs: math.NaN(), Cost: math.NaN()} }

// SetOutputs sets the outputs whole and the values among them.
func (o *Outcome) SetOutputs(outputs any) {
	if outputs == nil {
		return
	}
	if text := jsonvalue.Append(nil, outputs); len(text) <= MaxOutputBytes {
		o.JSON = string(text)
	}
	o.Numbers, o.Strings, o.Bools = map[string]float64{}, map[string]string{}, map[string]bool{}
	o.add(outputs)
}

func (o *Outcome) add(value any, keys ...string) {
	if members, ok := value.(map[string]any); ok {
		for name, member := range members {
			o.add(member, append(slices.Clip(keys), name)...)
		}
		return
	}
	if len(o.Numbers)+len(o.Strings)+len(o.Bools) == maxOutcomeValues {
		return
	}
	path := jsonvalue.JoinPath(keys...)
	switch value := value.(type) {
	case bool:
		o.Bools[path] = value
	case string:
		o.Strings[path] = trace.Cut(value, maxValueBytes)
	default:
		if n, ok := jsonvalue.Float64(value); ok {
			o.Numbers[path] = n
		}
	}
}
