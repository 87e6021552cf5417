package traces

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

const (
	// maxParts is how many parts of sections a search goes by.
	maxParts = 2000
	// rare is the share of all sections in which what is looked for is rare: of 2, 1.
	rare = 2
	// firstSections is how many sections a search looks at first, and mostSections at
	// once. Traces that take long make sections reach into each other: what lies
	// beyond a window is read again with the next, which has twice as many of them.
	firstSections, mostSections = 2, 96
	// sip is the part of the first sections that is looked at before the rest of them,
	// of 4, 1: what every section has is mostly in many spans of each.
	sip = 4
	// nearSections are the rows of sets that are asked for first, and nearGrowth is how
	// many times as many next: a set is large, and what is in most sections is found in
	// the first. What none of those has is rare, and it is as many times again, but no
	// more than bareSections: in more than maxParts a search would go by time. After a
	// search for what is rare the project's next begins with the second.
	nearSections, nearGrowth = 16, 32
	bareSections             = maxParts * 3 / 4
	// nearby is what is read without asking for sections.
	nearby = 10 * time.Second
)

// part is where documents may be: a section of the stream, or those of its spans
// that came together.
type part struct {
	section     uint64 // as sqltext.Blocks has it
	first, last int64  // the starts of its spans, Unix microseconds
}

// parts is where the documents may be that a condition looks for.
type parts struct {
	// known tells that it is known, and that they are not too many to go by.
	known bool
	of    []part
	// rare tells that they are few of all: nothing else is looked at.
	rare bool
}

// within is where some of them are.
func (p *parts) within(of []part) *sqltext.Blocks {
	w := &sqltext.Blocks{}
	for _, one := range of {
		w.Numbers = append(w.Numbers, one.section)
	}
	slices.Sort(w.Numbers)
	w.Numbers = slices.Compact(w.Numbers)
	return w
}

// first is how many of the first parts are of so many sections at most.
func (p *parts) first(sections int) int {
	seen := make(map[uint64]bool, sections)
	for n, one := range p.of {
		if seen[one.section] = true; len(seen) > sections {
			return n
		}
	}
	return len(p.of)
}

// parts asks where the documents may be that a condition with phrases looks for,
// among the spans of a range. Where there are no sets at all they tell nothing.
func (r *Reader) parts(ctx context.Context, project domain.ProjectID, condition *filtersql.Condition, of order.Range) (out parts, err error) {
	var sections []uint64
	var first, last []int64
	var total uint64
	statement := statements.OffsetBlocks{Project: project, Condition: condition, Range: of, Limit: maxParts + 1}.Statement()
	err = r.db.Query(ctx, "sections", statement, func(rows driver.Rows) error { return rows.Scan(&sections, &first, &last, &total) })
	if err != nil || total == 0 || len(sections) > maxParts {
		return out, err
	}
	for i := range sections {
		out.of = append(out.of, part{sections[i], first[i], last[i]})
	}
	out.known = true
	out.rare = uint64(len(out.within(out.of).Numbers)) <= total/rare
	return out, nil
}

// Within asks in which sections of the stream the documents may be that a
// condition looks for, among the spans of a range, and gives what is left of the
// range. nil where that is not known, or would not be worth a look.
func (r *Reader) Within(ctx context.Context, project domain.ProjectID, condition *filtersql.Condition, of order.Range) (*sqltext.Blocks, order.Range, error) {
	if !condition.HasPhrases() {
		return nil, of, nil
	}
	found, err := r.parts(ctx, project, condition, of)
	if !found.rare {
		return nil, of, err
	}
	within := found.within(found.of)
	left := none()
	for i, p := range found.of {
		if i == 0 {
			left = order.Starts(p.first, p.last)
		}
		left.Low.Start, left.High.Start = min(left.Low.Start, p.first), max(left.High.Start, p.last)
	}
	return within, of.Intersect(left), nil
}

// find asks where the documents of the rest may be, and has the next window end
// where sections do: how much there is to be read says their number, not the time.
// What is known to be near is looked for there first.
func (s *scanner) find(ctx context.Context) (err error) {
	switch {
	case s.said != nil || s.scan.FullTextIndex || !s.scan.Condition.HasPhrases():
		return nil
	case s.whole:
		if !s.sought && s.stretch(s.rest) > nearby {
			s.scan.Within, s.rest, err = s.r.Within(ctx, s.scan.Project, s.scan.Condition, s.rest)
		}
		s.sought = true
		return err
	}
	for !s.done() {
		if !s.sought {
			if s.stretch(s.rest) <= nearby || s.guessed && (s.common || s.stretch(s.window()) <= nearby) {
				return nil
			}
			if err := s.seek(ctx); err != nil {
				return err
			}
		}
		if s.parts == nil || s.align() {
			return nil
		}
		if !s.rest.Intersect(s.asked).Empty() { // a search among all rows may be beyond it, and would go back
			s.skip(s.asked)
		}
		s.parts, s.scan.Within, s.sought, s.guessed = nil, nil, false, false
	}
	return nil
}

// seek asks for the parts of the rest: of a window that is a good guess, of what is
// near, or of all.
func (s *scanner) seek(ctx context.Context) (err error) {
	s.sought, s.asked = true, s.rest
	s.bare = s.bare || s.nearest == 0 && s.r.pace.wasRare(s.project())
	switch {
	case s.byTime:
	case s.guessed:
		s.asked = s.window()
	default:
		if s.asked, err = s.near(ctx); err != nil {
			return err
		}
	}
	found, err := s.r.parts(ctx, s.scan.Project, s.scan.Condition, s.asked)
	s.bare = found.known && len(found.of) == 0
	s.common = found.known && !found.rare && !s.bare
	s.r.pace.sought(s.project(), found.known && !s.common)
	s.r.pace.soughtFor(s.list, s.common)
	s.r.pace.soughtFor(s.kind, s.common)
	switch {
	case !found.known || s.byTime && !found.rare:
	case s.byTime:
		s.scan.Within = found.within(found.of)
	default:
		slices.SortFunc(found.of, func(a, b part) int {
			if s.ascending() {
				return cmp.Compare(a.first, b.first)
			}
			return cmp.Compare(b.last, a.last)
		})
		s.parts = &found
	}
	return err
}

// project is the likeness of no scan: all searches of the project.
func (s *scanner) project() likeness { return likeness{project: s.list.project} }

// nextNear is how many rows of the sets are asked for after so many, of which none
// has what is looked for if bare.
func nextNear(last, growth int, bare bool) int {
	next := max(last*growth, nearSections)
	if bare {
		next = max(next, min(next*growth, bareSections))
	}
	return next
}

// near is the part of the rest that the nearest rows of the sets reach into.
func (s *scanner) near(ctx context.Context) (order.Range, error) {
	s.nearest = nextNear(s.nearest, s.r.nearGrowth, s.bare)
	near := s.rest
	err := s.r.db.Query(ctx, "near_sections", statements.NearOffsetBlocks(s.scan.Project, s.rest, s.scan.Order, s.nearest), func(rows driver.Rows) error {
		var edge int64
		if err := rows.Scan(&edge); err != nil {
			return err
		}
		if s.ascending() {
			near.High = order.Position{Start: edge, SortHash: math.MaxUint64}
		} else {
			near.Low = order.Position{Start: edge}
		}
		return nil
	})
	return near.Intersect(s.rest), err
}

// align has the next window end where sections do. false where none is left in what
// was asked for.
func (s *scanner) align() bool {
	left := s.rest.Intersect(s.asked)
	s.parts.of = slices.DeleteFunc(s.parts.of, func(p part) bool { return left.Intersect(order.Starts(p.first, p.last)).Empty() })
	all, n := len(s.parts.of), 0
	take := max(s.take, firstSections)
	if s.parts.rare && s.parts.first(sqltext.FewBlocks) == all {
		take = sqltext.FewBlocks
	}
	if s.most > 0 {
		take = min(take, s.most)
	}
	for ; n < all; take *= 2 {
		s.aligned = left
		if n = s.parts.first(take); n == all {
			break
		}
		// It ends before the next part begins; many may begin there, and more are taken then.
		if edge := s.parts.of[n]; s.ascending() {
			s.aligned.High = order.Position{Start: edge.first}.Before()
		} else {
			s.aligned.Low = order.Position{Start: edge.last, SortHash: math.MaxUint64}.After()
		}
		if !s.aligned.Empty() {
			break
		}
	}
	if n > 0 && s.take == 0 && !s.guessed && !s.parts.rare {
		s.sip(s.parts.of[:n])
	}
	s.scan.Within = s.parts.within(s.parts.of[:n])
	return all > 0
}

// sip makes the first window a part of what it would be, as these parts lie in it;
// never more: beyond it lie parts that are not among these.
func (s *scanner) sip(of []part) {
	lo, hi := of[0].first, of[0].last
	for _, p := range of {
		lo, hi = min(lo, p.first), max(hi, p.last)
	}
	lo, hi = max(lo, s.aligned.Low.Start), min(hi, s.aligned.High.Start)
	if lo >= hi {
		return
	}
	if s.ascending() {
		s.aligned.High = order.Position{Start: lo + (hi-lo)/sip}
	} else {
		s.aligned.Low = order.Position{Start: hi - (hi-lo)/sip}
	}
}

// fewer takes fewer sections from now on, for the store does not read as many at once.
// Where it would not read those that cannot be told apart by time, windows go by time.
func (s *scanner) fewer() {
	if most := max(len(s.scan.Within.Numbers)/growth, 1); s.most == 0 || most < s.most {
		s.most = most
		return
	}
	s.parts, s.scan.Within = nil, nil
	s.byTime, s.sought, s.guessed = true, false, false
}
