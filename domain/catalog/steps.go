package catalog

import (
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"colonnade/domain"
)

// The budget of one validation. The parts of a schema refer to each other, so that each may
// lead to several others over and over, for every element of the value, and each may have a
// pattern or a list to compare with. The library has no bound of its own for this.
const (
	// maxSteps is about a second of one processor: a step is one instruction of a pattern for
	// one character.
	maxSteps = 100_000_000
	// visitSteps is what it costs to check one value against one part.
	visitSteps = 100
	// stringUnit is how many bytes of a string cost as much as a visit.
	stringUnit = 64
	// chainUnit is how many parts that lead to a part cost as much as a visit: the library walks
	// back over them to find a circle.
	chainUnit = 1024
	// lookEvery is after how many steps a validation looks whether its request has ended.
	lookEvery = 1_000_000
)

// errSteps is the error of a validation beyond its budget.
func errSteps() error {
	return domain.E(domain.TooLarge, "The value takes too many steps to be checked against the schema.")
}

// steps is the budget of one validation, which its patterns and parts share.
type steps struct {
	// ended returns why the request has ended, nil while it has not; a nil func never ends.
	ended     func() error
	left      int
	unchecked int
	// over is why the validation was stopped; nil while it was not.
	over error
	// parts is how many parts the schema has, lists how large all its lists are together.
	parts, lists int
}

func newSteps(ended func() error) *steps { return &steps{ended: ended, left: maxSteps} }

// stopped is the panic with which a validation ends: the library has no other way out.
type stopped struct{ err error }

// spend takes steps out of the budget.
func (b *steps) spend(n int) {
	if b.left -= n; b.left < 0 {
		panic(stopped{errSteps()})
	}
	if b.unchecked += n; b.unchecked < lookEvery || b.ended == nil {
		return
	}
	b.unchecked = 0
	if err := b.ended(); err != nil {
		panic(stopped{err})
	}
}

// guard runs what spends steps and returns the error with which it was stopped.
func (b *steps) guard(run func() error) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stopped:
			b.over, err = reason.err, reason.err
		default:
			panic(reason)
		}
	}()
	return run()
}

// count makes a validation pay for every part that reach finds. The library asks each part
// for the format of a value after its type and its list, and before it goes on to those
// below: there a part pays for itself and in advance for those below.
func (b *steps) count(s *jsonschema.Schema) {
	var all []*jsonschema.Schema
	reach(reflect.ValueOf(s), map[*jsonschema.Schema]bool{}, func(s *jsonschema.Schema) { all = append(all, s) })
	b.parts = len(all)
	for _, s := range all {
		b.lists += listSize(s)
	}
	for _, s := range all {
		own, below := s.Format, b.below(s)
		counted := &jsonschema.Format{Validate: func(v any) error {
			b.spend(visitSteps * below.units(s, v, b.parts))
			if own == nil {
				return nil
			}
			return own.Validate(v)
		}}
		if own != nil {
			counted.Name = own.Name
		}
		s.Format = counted
	}
}

// below is what the parts below one part cost.
type below struct {
	// same is the number of parts that are tried with the same value.
	same int
	// once is the cost of those that are tried once, each of those for each element.
	once, each int
}

// units returns the cost of a visit of a value.
func (l below) units(s *jsonschema.Schema, v any, parts int) int {
	n := elements(v)
	units := 1 + parts/chainUnit + n + l.once + l.same*n + l.each*n
	if s.UniqueItems {
		units += weigh(v)
	}
	return units
}

func (b *steps) below(s *jsonschema.Schema) (l below) {
	same := func(parts ...*jsonschema.Schema) {
		for _, p := range parts {
			if p != nil {
				l.same++
				l.once += 1 + listSize(p)
			}
		}
	}
	once := func(parts ...*jsonschema.Schema) {
		for _, p := range parts {
			l.once += 1 + listSize(p)
		}
	}
	each := func(parts ...any) {
		for _, p := range parts {
			if p, ok := p.(*jsonschema.Schema); ok && p != nil {
				l.each += 1 + listSize(p)
			}
		}
	}
	same(s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	same(s.AllOf...)
	same(s.AnyOf...)
	same(s.OneOf...)
	for _, p := range s.DependentSchemas {
		same(p)
	}
	for _, p := range s.Dependencies {
		if p, ok := p.(*jsonschema.Schema); ok {
			same(p)
		}
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		// It leads to any part, found by a walk over all that led here.
		l.same++
		l.once += b.parts + b.lists
	}
	for _, p := range s.Properties {
		once(p)
	}
	for _, p := range s.PatternProperties {
		each(p)
	}
	once(s.PrefixItems...)
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		once(list...)
	}
	each(s.PropertyNames, s.AdditionalProperties, s.UnevaluatedProperties, s.Contains, s.Items, s.AdditionalItems, s.Items2020, s.UnevaluatedItems)
	return l
}

// listSize is what it costs to compare a value with all that a part names.
func listSize(s *jsonschema.Schema) int {
	n := len(s.Required)
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			n += weigh(v)
		}
	}
	if s.Const != nil {
		n += weigh(*s.Const)
	}
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	for _, p := range s.Dependencies {
		if names, ok := p.([]string); ok {
			n += len(names)
		}
	}
	return n
}

// elements is what a visit of the value alone costs, without those in it.
func elements(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	case string:
		return len(v) / stringUnit
	default:
		return 0
	}
}

// weigh is what a walk over the whole value costs.
func weigh(v any) int {
	n := 1 + elements(v)
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			n += len(name)/stringUnit + weigh(member)
		}
	case []any:
		for _, element := range v {
			n += weigh(element)
		}
	default:
	}
	return n
}
