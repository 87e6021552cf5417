package spanmetrics

import (
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
)

// Stored is ag.metrics as it was stored: JSON of which only the numbers that are summed
// are parsed. Cumulate and SetCumulative keep their sums beside the text, and its JSON and
// value include them.
type Stored struct {
	text        jsonvalue.Raw
	incremental metrics
	cumulative  metrics
}

// Parse parses the object ag.metrics; ok is false if jsonvalue.Append did not write it.
// The result shares the memory of text.
func Parse(text jsonvalue.Raw) (m *Stored, ok bool) {
	m = &Stored{text: text}
	r := jsonvalue.ReadCanonical(text)
	number := func(isSummed bool, n *jsonvalue.Number) bool {
		if !isSummed {
			return r.Skip()
		}
		return r.Number(n)
	}
	ok = r.Members(func(group string) bool {
		parts := &m.incremental.tokens
		switch {
		case !r.IsObject():
			return r.Skip()
		case group == semconv.Errors:
			return r.Members(func(key string) bool { return number(key == semconv.Incremental, &m.incremental.errors) })
		case group == semconv.Costs:
			parts = &m.incremental.costs
		case group != semconv.Tokens:
			return r.Skip()
		}
		return r.Members(func(key string) bool {
			if !r.IsObject() {
				return r.Skip()
			}
			return r.Members(func(part string) bool {
				i := partOf(part)
				return number(key == semconv.Incremental && i < partCount, &parts[min(i, total)])
			})
		})
	})
	return m, ok && r.AtEnd()
}

// Value returns the metrics as a tree, with their sums; nil if the text is not JSON.
func (m *Stored) Value() any {
	v, _ := jsonvalue.ParseString(string(m.AppendJSON(nil)))
	return v
}

// AppendJSON appends the metrics with their sums.
func (m *Stored) AppendJSON(dst []byte) []byte {
	if m.cumulative == (metrics{}) {
		return append(dst, m.text...)
	}
	var memory overrides
	return jsonvalue.AppendOverridden(dst, m.text, memory.of(&m.cumulative))
}

// setCumulative keeps the sums that metrics.write would put into a tree: those that are not zero.
func (m *Stored) setCumulative(s *metrics) {
	to := m.cumulative.all()
	for k, n := range s.all() {
		if !isZero(*n) {
			*to[k] = *n
		}
	}
}

// overrides is the memory of the overrides of one object, so that none is allocated for each.
type overrides struct {
	parts      [2 * partCount]jsonvalue.Override
	cumulative [3]jsonvalue.Override
	groups     [3]jsonvalue.Override
}

// of returns the overrides of ag.metrics for some sums, in the order of their keys.
func (o *overrides) of(s *metrics) []jsonvalue.Override {
	groups := o.groups[:0]
	group := func(key string, parts []jsonvalue.Override, sums *[partCount]jsonvalue.Number) {
		for _, i := range [...]int{completion, prompt, total} {
			if !isZero(sums[i]) {
				parts = append(parts, jsonvalue.Override{Key: partName(i), Number: sums[i]})
			}
		}
		if len(parts) > 0 {
			at := len(groups)
			o.cumulative[at] = jsonvalue.Override{Key: semconv.Cumulative, Members: parts}
			groups = append(groups, jsonvalue.Override{Key: key, Members: o.cumulative[at : at+1]})
		}
	}
	group(semconv.Costs, o.parts[:0:partCount], &s.costs)
	if !isZero(s.errors) {
		at := len(groups)
		o.cumulative[at] = jsonvalue.Override{Key: semconv.Cumulative, Number: s.errors}
		groups = append(groups, jsonvalue.Override{Key: semconv.Errors, Members: o.cumulative[at : at+1]})
	}
	group(semconv.Tokens, o.parts[partCount:partCount], &s.tokens)
	return groups
}
