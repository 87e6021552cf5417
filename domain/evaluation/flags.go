package evaluation

import (
	"slices"
	"strings"

	"colonnade/domain"
)

// Flag is a yes or no about a run or a queue.
type Flag string

// The flags. What begins with has is read off the steps (Data.Flags); the
// clients and runners set the others.
const (
	IsLive   Flag = "is_live"
	IsActive Flag = "is_active"
	// IsClosed means that neither the run nor its parts may be changed.
	IsClosed Flag = "is_closed"
	// IsQueue means that people are asked for judgments, and that there is a queue in which they
	// find them.
	IsQueue Flag = "is_queue"
	// IsCached means that traces of equal hashes are taken over from other runs.
	IsCached Flag = "is_cached"
	// IsSplit means that repeats fan out at the application, not at the evaluators.
	IsSplit Flag = "is_split"

	HasQueries    Flag = "has_queries"
	HasTestsets   Flag = "has_testsets"
	HasTraces     Flag = "has_traces"
	HasTestcases  Flag = "has_testcases"
	HasEvaluators Flag = "has_evaluators"
	HasCustom     Flag = "has_custom"
	HasHuman      Flag = "has_human"
	HasAuto       Flag = "has_auto"

	// Those of queues.
	IsSequential Flag = "is_sequential"
	IsDefault    Flag = "is_default"
)

// RunFlags are those that every run has.
func RunFlags() []Flag {
	return []Flag{
		IsLive, IsActive, IsClosed, IsQueue, IsCached, IsSplit,
		HasQueries, HasTestsets, HasTraces, HasTestcases, HasEvaluators, HasCustom, HasHuman, HasAuto,
	}
}

// QueueFlags are those that every queue has.
func QueueFlags() []Flag { return []Flag{IsSequential, IsDefault} }

// Derived reports whether the flag is read off the steps, or off the queues of the run: what a
// client says of it means nothing.
func (f Flag) Derived() bool { return f == IsQueue || strings.HasPrefix(string(f), "has_") }

// Flags are the flags that were set or derived; a missing one is false.
type Flags map[Flag]bool

// with gives all of the named flags, as they are here and then as given.
func (f Flags) with(names []Flag, given Flags) Flags {
	out := Flags{}
	for _, name := range names {
		out[name] = f[name]
		if value, ok := given[name]; ok && !name.Derived() {
			out[name] = value
		}
	}
	return out
}

// Flags are those of a run with this data: as they are, then as given, then as
// the steps say. data may be nil.
func (d *Data) Flags(now, given Flags) Flags {
	out := now.with(RunFlags(), given)
	for _, f := range RunFlags() {
		if f.Derived() && f != IsQueue {
			out[f] = false
		}
	}
	if d == nil {
		return out
	}
	for _, s := range d.Steps {
		switch s.Type {
		case Input:
			if f := s.source(); f != "" {
				out[f] = true
			}
		case Annotation:
			out[HasEvaluators] = true
			switch s.Origin {
			case Custom:
				out[HasCustom] = true
			case Human:
				out[HasHuman] = true
			default:
				out[HasAuto] = true
			}
		default:
		}
	}
	return out
}

// QueueFlagsOf are those of a queue: as they are, then as given.
func QueueFlagsOf(now, given Flags) Flags { return now.with(QueueFlags(), given) }

// source tells where an input step takes its scenarios from: what it refers
// to, else what its key begins with; empty where neither says.
func (s Step) source() Flag {
	sources := []struct {
		word string
		flag Flag
	}{{"query", HasQueries}, {"testset", HasTestsets}, {"testcase", HasTestcases}, {"trace", HasTraces}}
	for _, source := range sources {
		for name := range s.References {
			if kind := kindOf(name); kind == source.word {
				return source.flag
			}
		}
	}
	for _, source := range sources {
		if strings.HasPrefix(s.Key, source.word) {
			return source.flag
		}
	}
	return ""
}

// GivenRunFlags are flags as bodies of runs have them: null is as good as
// absent, and no other flag may be named.
type GivenRunFlags map[runFlag]*bool

// GivenQueueFlags are those of bodies of queues.
type GivenQueueFlags map[queueFlag]*bool

type (
	runFlag   Flag
	queueFlag Flag
)

// UnmarshalText reads the name of a flag that runs have.
func (f *runFlag) UnmarshalText(text []byte) error { return known((*Flag)(f), text, RunFlags()) }

// UnmarshalText reads the name of a flag that queues have.
func (f *queueFlag) UnmarshalText(text []byte) error { return known((*Flag)(f), text, QueueFlags()) }

func known(f *Flag, text []byte, names []Flag) error {
	*f = Flag(text)
	if slices.Contains(names, *f) {
		return nil
	}
	const msg = "Extra inputs are not permitted"
	return &domain.Error{Kind: domain.Invalid, Message: msg, Fields: []domain.Field{{Type: "extra_forbidden", Msg: msg, Input: string(text)}}}
}

// Flags are those that were given; nil when none were.
func (g GivenRunFlags) Flags() Flags { return given(g) }

// Flags are those that were given; nil when none were.
func (g GivenQueueFlags) Flags() Flags { return given(g) }

func given[F ~string](g map[F]*bool) Flags {
	var out Flags
	for name, value := range g {
		if value == nil {
			continue
		}
		if out == nil {
			out = Flags{}
		}
		out[Flag(name)] = *value
	}
	return out
}
