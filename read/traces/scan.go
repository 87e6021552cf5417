package traces

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/read/clickhouse"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/sqltext"
	"colonnade/read/statements"
)

// The windows of a scan. A list begins at one end of time and is mostly
// satisfied nearby, so a scan looks at a short stretch first and at more the
// fewer rows that gave. A needle's rows are found by the index, for which the
// length of the stretch hardly counts.
const (
	firstWindow = 15 * time.Minute
	growth      = 4
	// fastGrowth is for windows that gave almost nothing.
	fastGrowth = 16
	// forever bounds them: from now it is before all that the store can hold.
	forever = 290 * 365 * 24 * time.Hour
	// shortest is the shortest that a window of documents gets.
	shortest = time.Second
	// mostInVain is how many times what a first window may read a later one may.
	mostInVain = 16
	// worthALeap is how far the next spans have to be for a window to reach all the way to them.
	worthALeap = 4 * time.Hour
	// emptyRoots is how many roots the window after one without rows, or a pause, should have at least.
	emptyRoots = 1000
	// enoughRows tell by themselves how they lie.
	enoughRows = 8
	// longAgo is before all data: an ascending scan from there looks for the first row.
	longAgo = 946684800000000 // 2000-01-01 in Unix microseconds
)

// scanner walks through the rows of a condition in order, a window at a time.
type scanner struct {
	r *Reader
	// name is that of its statements in metrics, or begins it.
	name string
	scan statements.Scan
	list likeness
	// kind names the lists that ask for other values of the same: what one of them knows is a
	// guess for another that was not read yet.
	kind likeness
	// rest is what was not looked at.
	rest order.Range
	// step is how long the next window is. Before it comes pause, as long as nothing came
	// before now the last time: the first window of a list from now on has both. beyond is
	// the step with which those were too much; 0 while they were not.
	step, pause, beyond time.Duration
	// whole takes the rest as one window.
	whole bool
	begun bool
	// from is where the scan began, a start, found how many rows it gave since, and firstAt
	// where the first of them is.
	from, firstAt int64
	found         int
	// newest is the start of the first row of a scan from now on, and not 0 before there is one; 0 for other scans.
	newest int64
	// far is where the rest has its first span, as far as statistics know; 0 for nothing known.
	far int64
	// leapt is how long a window without rows was when they were last asked and knew of
	// nothing far; 0 for not asked.
	leapt time.Duration
	// tooMuch is how long a window of a condition was that the store would not read,
	// and twice that with each that it read since: it may be sparse by now; 0 for
	// none. unbounded has it read them whatever is in them: even the shortest was
	// too much.
	tooMuch   time.Duration
	unbounded bool
	// fine is how long the last window was that the store read, a pause aside; 0 for none, and
	// for one that reached over a gap: neither tells how much there is to read.
	fine time.Duration
	// maxRows is what the store may read for the next window: more with each that was about
	// as long as that allows and had few rows or none. What was looked at in vain bounds what
	// may be: else what nothing finds takes as many windows as there is to read.
	maxRows int
	// shrunk tells that a window of a list of everything was made shorter: what the
	// shorter one lacks is read in order, or the list would crawl through a gap.
	shrunk bool
	// until is when the search ends.
	until time.Time
	// said tells where the rows are; nil for anywhere.
	said *said
	// guessed tells that step is that of a list that was read lately, and measured that it is
	// by how dense spans are where it begins: as long as it took until roots started.
	// borrowed tells that it is the guess of a list of its kind.
	guessed, measured, borrowed bool
	roots                       float64
	// missed is how many measured windows had not enough, and misled that spans are not as
	// statistics let expect, or mostly are not where they cease to come: the next window is
	// sized by where they are in fact. expected is how many roots the first window should have had.
	missed   int
	misled   bool
	expected float64
	granules *granules
	// sought tells that it was asked where documents with the condition's words are
	// in asked, and parts what is left of that; nil where windows go by time, as they
	// do for good with byTime. aligned is the next window otherwise, and take how many
	// sections one should have, 0 at first, and most how many the store reads at once, 0
	// while it read all; nearest is how many rows of the sets were asked for last, 0 at
	// first, and bare that none of them has what is looked for.
	sought, byTime bool
	asked, aligned order.Range
	parts          *parts
	take, most     int
	nearest        int
	bare           bool
	// common tells that what was asked for is in most sections that are near. Before it is
	// asked, that it was the last time: rows that decide by themselves are then read as far
	// as they are guessed to be enough. often is the search among all rows; nil where that
	// is no way to go, or is none any more.
	common bool
	often  *often
}

func (r *Reader) scanner(scan statements.Scan, rest order.Range) *scanner {
	said := r.saidBy(scan)
	scan.SkipRecheck = scan.Condition.Rechecks
	s := &scanner{
		r: r, name: "scan", scan: scan, rest: rest, step: firstWindow,
		whole: said != nil || scan.Condition.Selective(), said: said, until: r.now().Add(r.cfg.QueryTimeout), maxRows: r.pace.maxRows,
	}
	s.list = likeness{scan.Project, scan.Fingerprint(), s.open()}
	s.kind = likeness{project: scan.Project, scan: scan.Condition.Fingerprint}
	s.often = newOften(s)
	return s
}

func (s *scanner) done() bool { return s.rest.Empty() }

func (s *scanner) ascending() bool { return s.scan.Order == domain.Ascending }

// next gives the rows of the next windows: limit rows or a few less, none only at the end.
func (s *scanner) next(ctx context.Context, limit int) ([]keyRow, error) {
	if err := s.begin(ctx, limit); err != nil {
		return nil, err
	}
	if rows, err := s.amongAll(ctx, limit); err != nil || len(rows) > 0 {
		return rows, err
	}
	for !s.done() {
		if s.r.now().After(s.until) {
			return nil, s.r.db.TooLong(nil)
		}
		if err := s.find(ctx); err != nil || s.done() {
			return nil, err
		}
		window := s.window()
		if s.said != nil {
			var err error
			if window, s.scan.Positions, err = s.said.next(ctx, window, limit); err != nil || len(s.scan.Positions) == 0 {
				s.rest = none()
				return nil, err
			}
		}
		s.scan.Range, s.scan.Limit = window, limit
		rows, read, err := s.read(ctx)
		if err == nil && s.scan.SkipRecheck && s.scan.Condition.RechecksPayloads && bytesOf(rows) > s.r.cfg.MaxBesideBytes {
			s.scan.SkipRecheck = false // what is that large is looked into where it is
			rows, read, err = s.read(ctx)
		}
		if err != nil {
			return nil, err
		}
		if !read {
			continue
		}
		s.advance(window, rows, limit)
		if len(rows) < limit {
			s.miss(len(rows))
			if err := s.measureRest(ctx, limit, len(rows)); err != nil {
				return nil, err
			}
		}
		if len(rows) > 0 || s.done() {
			s.learn(window, rows, limit)
			return rows, nil
		}
		if err := s.leap(ctx, window); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// read gives the rows of the scan's window. read is false where the window is
// too much to be read and was made smaller.
func (s *scanner) read(ctx context.Context) (rows []keyRow, read bool, err error) {
	stretch := s.stretch(s.scan.Range)
	types := len(s.scan.Condition.Types)
	shrinks := (s.scan.Condition.SearchesPayloads || s.scan.Plain() || types > 1) && !s.whole && !s.unbounded
	refused := s.r.pace.refused(s.list, s.r.now())
	if shrinks || types > 1 && (refused == 0 || stretch < refused) {
		maxRows := s.maxRows
		switch {
		case s.scan.Positions != nil:
			maxRows = 0 // they bound what is read
		case s.whole, s.parts != nil:
			maxRows = s.r.pace.maxNeedleRows
		}
		rows, err := s.r.keys(ctx, s.name+"_narrow", s.scan.Narrow(maxRows))
		if !clickhouse.HasCode(err, clickhouse.CodeTooManyRows) || maxRows == 0 {
			sortByPlace(rows, s.scan.Order)
			return rows, true, err
		}
		if s.parts != nil {
			s.fewer()
			return nil, false, nil
		}
		if s.resumed() {
			return nil, false, nil
		}
		if s.maxRows == s.r.pace.maxRows { // what a list begins with
			s.r.pace.refuse(s.list, stretch, s.r.now())
		}
		if s.measured {
			s.misled = true
			s.granules.refused()
			s.r.density.doubt(s.scan.Project, s.scan.Range.Low.Start, s.scan.Range.High.Start, s.r.now())
		}
		if shrinks && s.shrink(stretch) {
			return nil, false, s.measureAgain(ctx)
		}
	}
	rows, err = s.r.scanned(ctx, s.name, s.scan)
	return rows, true, err
}

// stretch is how long a window is, what lies in the future and in a pause aside: counted with
// it, what was refused behind the pause would bound a window by how long that lasted. One that
// ends within it counts whole.
func (s *scanner) stretch(window order.Range) time.Duration {
	end := window.High.Start
	for _, before := range []int64{s.r.now().UnixMicro(), s.r.now().UnixMicro() - s.pause.Microseconds()} {
		if before > window.Low.Start {
			end = min(end, before)
		}
	}
	return time.Duration(min(end-window.Low.Start, forever.Microseconds())) * time.Microsecond
}

// resumed tells that a pause is over, of a window that begins with it and was too much: a
// shorter one was as well.
func (s *scanner) resumed() bool {
	if s.pause == 0 {
		return false
	}
	if s.beyond == 0 {
		s.beyond = s.step
		return false
	}
	s.step, s.pause, s.shrunk = s.beyond, 0, false
	return true
}

// shrink makes the next window shorter than one that was too much, and tells
// whether it did. Documents are searched before their rows are put in order, so
// an ordered read would not help, and one of rows that few are of reads far more of
// what is dense than a window does. Where every row counts, a shorter window is
// likely to have enough; it is tried once, and what it lacks is read in order, unless
// it is known where spans are. Of years, which a guess may be, it is the first window at once.
func (s *scanner) shrink(refused time.Duration) bool {
	s.measured = s.measured && s.tooMuch == 0 // once more: spans are not as statistics let expect
	times := fastGrowth
	if s.measured { // it is longer than needed by no more than that
		times = growth
	}
	s.roots /= float64(times)
	shorter := min(min(s.step, refused)/time.Duration(times), firstWindow)
	switch {
	case s.scan.Plain() && !s.measured && !s.shrunk:
		s.step, s.shrunk = shorter, true
	case s.scan.Plain() && !s.measured:
		s.unbounded = true
	case shorter >= shortest && s.far != 0: // what is near far is dense; the way there is empty
		s.step = shorter
	case shorter >= shortest:
		if s.fine <= refused/2 { // where spans are as they were before
			shorter = max(shorter, s.fine)
		}
		s.step, s.tooMuch = shorter, refused
	case s.far != 0: // it is not, whatever statistics say
		s.far, s.leapt, s.step = 0, forever, firstWindow
	default:
		s.unbounded, s.tooMuch = true, 0
	}
	return !s.unbounded
}

// learn remembers how the rows lie.
func (s *scanner) learn(window order.Range, rows []keyRow, limit int) {
	if s.scan.Positions != nil || s.whole || s.parts != nil && s.parts.rare {
		return
	}
	if s.guessed && !s.list.open && s.found+len(rows) == 0 {
		return // none here says nothing of how they lie where there are some
	}
	at := window.Low.Start
	if s.ascending() {
		at = window.High.Start
	}
	if len(rows) >= limit {
		at = rows[len(rows)-1].Start
	}
	if s.newest != 0 && s.found == 0 {
		s.newest = s.r.now().UnixMicro()
		if len(rows) > 0 {
			s.newest, s.from = rows[0].Start, rows[0].Start
		}
	}
	if s.found == 0 && len(rows) > 0 {
		s.firstAt = rows[0].Start
	}
	s.found += len(rows)
	s.learnRoots(at)
	s.r.pace.learn(s.list, math.Abs(float64(s.from-at))/float64(max(s.found, 1)), at, s.newest, s.r.now())
}

// learnRoots remembers how many rows there were for each root up to a start. A pause before
// the first of them says nothing: of how roots lie within a minute nothing is known. Nor does
// a place where spans come or cease to come, if there is any other guess, or far more rows than
// before where it is long ago that anybody asked how many roots there are.
func (s *scanner) learnRoots(at int64) {
	if s.list.open {
		return
	}
	from := s.from
	if s.found >= enoughRows {
		from = s.firstAt
	}
	roots, ok := s.r.rootsIn(s.scan.Project, s.scan.Condition.Types, from, at)
	if _, known := s.r.pace.roots(s.list, false, 1); (known || s.scan.Plain()) && s.r.uneven(s.scan.Project, s.scan.Condition.Types, from, at) {
		return
	}
	if !ok || s.r.pace.burst(s.list, s.found, roots) && s.r.density.doubt(s.scan.Project, from, at, s.r.now()) {
		return
	}
	s.r.pace.sawRoots(s.list, s.found, roots)
	s.r.pace.sawRoots(s.kind, s.found, roots)
}

// leap asks where the next spans are when a window had no rows, unless it was sized by that:
// nobody uses a project at night, and what nobody used for a year is still asked for. Where there are
// none the rest is one window: if statistics are wrong about that, and it is too much, it
// gets shorter as any other.
func (s *scanner) leap(ctx context.Context, window order.Range) error {
	stretch := s.stretch(window)
	again := s.leapt == 0 || s.tooMuch > 0 && stretch/growth >= s.leapt
	if s.whole || s.parts != nil || s.measured || s.done() || !again || s.tooMuch == 0 && stretch < firstWindow {
		return nil
	}
	from := s.rest.High.Start
	if s.ascending() {
		from = s.rest.Low.Start
	}
	second := int64(0)
	err := s.r.db.Query(ctx, s.name+"_gap", statements.NextRollupMinute(s.scan.Project, from, s.scan.Order), func(rows driver.Rows) error { return rows.Scan(&second) })
	minute := time.Unix(second, 0).UnixMicro()
	switch {
	case err != nil:
		return err
	case minute == 0: // none are left
		s.leapt, s.step, s.tooMuch = forever, forever, 0
	case math.Abs(float64(from-minute)) < float64(worthALeap.Microseconds()):
		s.leapt = stretch // spans are near: they do not match
	default:
		s.far, s.step = minute, firstWindow
	}
	return nil
}

// begin decides how long the first window is.
func (s *scanner) begin(ctx context.Context, limit int) error {
	if s.begun {
		return nil
	}
	s.begun = true
	if err := s.first(ctx); err != nil || s.whole || s.done() {
		return err
	}
	s.from = s.rest.High.Start
	if s.ascending() {
		s.from = s.rest.Low.Start
	}
	if s.list.open {
		s.newest = s.from
	}
	step, pause, known := s.r.pace.step(s.list, s.scan.Plain(), limit, s.from, s.r.now())
	if !s.list.open || !known {
		if measured, err := s.measure(ctx, limit); err != nil || measured {
			return err
		}
	}
	if known {
		s.step, s.pause, s.guessed = step, pause, true
		s.common = s.wasCommon(s.list)
	}
	switch refused := s.r.pace.refused(s.list, s.r.now()); {
	case refused == 0:
	case !s.scan.Plain():
		s.step, s.tooMuch = max(min(s.step, refused/growth), shortest), refused
	case !s.guessed: // a guess is of rows that were found since
		s.step = min(s.step, refused/growth)
	}
	return nil
}

func (s *scanner) wasCommon(list likeness) bool {
	return !s.scan.Condition.SearchesPayloads && s.r.pace.wasCommon(list)
}

// measure sizes the first window of a list by how dense spans are there, and tells whether
// that is known. What was refused elsewhere then says nothing. A list from now on is sized so
// where nothing is known of it: of the last minutes it tells more than statistics do.
func (s *scanner) measure(ctx context.Context, limit int) (measured bool, err error) {
	like := s.list
	if s.roots, s.guessed = s.r.pace.roots(like, s.scan.Plain(), limit); !s.guessed {
		like = s.kind
		s.roots, s.guessed = s.r.pace.roots(like, s.scan.Plain(), limit)
		s.borrowed = s.guessed
	}
	s.expected = s.roots
	if from := min(s.rest.High.Start, s.r.now().UnixMicro()); !s.ascending() {
		s.misled = s.misled || s.r.ceases(s.scan.Project, s.scan.Condition.Types, from)
	}
	step, measured, err := s.stretchOf(ctx)
	if err != nil || !measured {
		s.guessed, s.borrowed = false, false
		return false, err
	}
	s.step, s.measured, s.common = step, true, s.guessed && s.wasCommon(like)
	return true, nil
}

// stretchOf is how long it takes from where the rest begins until as many roots started as
// the next window should have.
func (s *scanner) stretchOf(ctx context.Context) (step time.Duration, ok bool, err error) {
	if s.misled {
		if step, ok, err = s.byGranules(ctx); err != nil || ok {
			return step, ok, err
		}
	}
	from, to := min(s.rest.High.Start, s.r.now().UnixMicro()), s.rest.Low.Start
	if s.ascending() {
		from, to = to, s.rest.High.Start
	}
	step, ok, err = s.r.stretch(ctx, s.scan.Project, s.scan.Condition.Types, from, to, s.scan.Order, s.roots)
	return max(step, time.Millisecond), ok, err
}

// measureRest sizes the next window likewise after one that had not enough, found rows. Where
// a list from now on has none in what was guessed, a pause began since it was last read.
func (s *scanner) measureRest(ctx context.Context, limit, found int) error {
	if s.measured || found > 0 || !s.list.open || !s.guessed || s.whole || s.parts != nil || s.done() {
		return s.measureAgain(ctx)
	}
	_, err := s.measure(ctx, limit)
	return err
}

// measureAgain sizes the next window likewise, after one that was too much.
func (s *scanner) measureAgain(ctx context.Context) error {
	if !s.measured || s.whole || s.parts != nil || s.done() {
		return nil
	}
	step, ok, err := s.stretchOf(ctx)
	if err != nil {
		return err
	}
	if !ok {
		s.measured, step = false, max(s.step, firstWindow)
	}
	if s.step = step; s.tooMuch > 0 {
		s.step = min(step, s.tooMuch/2)
	}
	return nil
}

// first finds where an ascending scan without lower bound has its first row:
// windows from 1900 on would find nothing for long.
func (s *scanner) first(ctx context.Context) error {
	if s.whole || !s.ascending() || s.rest.Low.Start > longAgo {
		return nil
	}
	everything, err := filtersql.Filter(nil)
	if err != nil {
		return err
	}
	everything.Types = s.scan.Condition.Types
	first := s.scan
	first.Condition, first.Range, first.Limit, first.Rate, first.Except = everything, s.rest, 1, sqltext.Rate{}, nil
	rows, err := s.r.scanned(ctx, s.name+"_first", first)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		s.rest = none()
		return nil
	}
	s.rest.Low = rows[0].Position
	return nil
}

// open tells that the rest begins now, or later, and goes back.
func (s *scanner) open() bool { return !s.ascending() && s.rest.High.Start >= s.r.now().UnixMicro() }

// window is the next stretch of the rest.
func (s *scanner) window() order.Range {
	w := s.rest
	step := s.step.Microseconds()
	switch {
	case s.whole:
	case s.parts != nil:
		return s.aligned
	case s.ascending():
		end := w.Low.Start + step
		if s.far != 0 {
			end = max(end, s.far+step)
		}
		if end < w.High.Start && end > w.Low.Start {
			w.High = order.Position{Start: end}
		}
	default:
		// Clocks that run ahead put spans into the future: the first window has them all.
		end := min(w.High.Start, s.r.now().UnixMicro())
		begin := end - step - s.pause.Microseconds()
		if s.far != 0 {
			begin = min(begin, s.far-step)
		}
		if begin > w.Low.Start && begin < end {
			w.Low = order.Position{Start: begin}
		}
	}
	return w
}

// advance takes what was seen off the rest and sizes the next window.
func (s *scanner) advance(window order.Range, rows []keyRow, limit int) {
	if len(rows) >= limit {
		s.behind(rows)
		if s.borrowed && s.common {
			s.r.pace.soughtFor(s.list, true)
		}
		return
	}
	stretch := s.stretch(window)
	if s.far != 0 {
		stretch = 0 // most of it is a gap
	}
	s.guessed, s.borrowed, s.pause = s.guessed && !s.borrowed, false, 0
	s.skip(window)
	if s.parts != nil {
		s.take = min(max(s.take*2, firstSections), mostSections)
		return
	}
	s.far, s.unbounded = 0, s.unbounded || s.shrunk
	// Neither a pause nor a minute that half is one says anything of what spans have.
	s.common = s.common && s.measured && (len(rows) == 0 || s.r.uneven(s.scan.Project, s.scan.Condition.Types, window.Low.Start, window.High.Start))
	// A word that a window has nowhere is rare enough for the index to find it in all the rest.
	s.whole = s.whole || len(rows) == 0 && s.scan.FullTextIndex
	few, times := len(rows) < limit/fastGrowth, growth
	if few {
		times = fastGrowth
	}
	if s.fine = stretch; few {
		s.inVain()
	}
	s.roots *= float64(times)
	if len(rows) == 0 { // where within a minute its spans are is not known: they may all come before
		s.roots = max(s.roots, emptyRoots)
	}
	s.step = min(s.step, forever/fastGrowth) * time.Duration(times)
	switch {
	case s.tooMuch > 0:
		s.step = min(s.step, s.tooMuch/2)
		s.tooMuch = min(s.tooMuch, forever/2) * 2
	case few: // a stretch that the pace suggested may have been very short
		s.step = max(s.step, firstWindow)
	}
}

// inVain takes that a window had few rows or none. Documents are no rows of a few bytes.
func (s *scanner) inVain() {
	long := s.granules != nil && s.granules.bounded || s.tooMuch > 0 && s.fine >= s.tooMuch/growth
	if long && !s.scan.Condition.SearchesPayloads {
		s.maxRows = min(2*s.maxRows, mostInVain*s.r.pace.maxRows)
	}
}

// behind leaves of the rest what comes after some rows.
func (s *scanner) behind(rows []keyRow) {
	last := rows[len(rows)-1].Position
	if s.ascending() {
		s.rest.Low = last.After()
	} else {
		s.rest.High = last.Before()
	}
}

// skip takes a window off the rest.
func (s *scanner) skip(window order.Range) {
	if s.ascending() {
		s.rest.Low = window.High.After()
	} else {
		s.rest.High = window.Low.Before()
	}
}

// scanned runs a scan. Its rows are in the scan's order, Limit of them at most.
func (r *Reader) scanned(ctx context.Context, name string, scan statements.Scan) ([]keyRow, error) {
	rows, err := r.keys(ctx, name, scan.Keys())
	sortByPlace(rows, scan.Order)
	return rows[:min(len(rows), scan.Limit)], err
}

// sortByPlace puts rows into the order of a list; rows at one place stay as they are.
func sortByPlace(rows []keyRow, order domain.Order) {
	slices.SortStableFunc(rows, func(a, b keyRow) int {
		if order == domain.Ascending {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(b.SortHash, a.SortHash))
	})
}

// keys runs a statement of statements.Keys columns.
func (r *Reader) keys(ctx context.Context, name string, s sqltext.Statement) ([]keyRow, error) {
	scan := newKeyScan()
	var out []keyRow
	err := r.db.Query(ctx, name, s, func(rows driver.Rows) error {
		k, err := scan.scan(rows)
		out = append(out, k)
		return err
	})
	return out, err
}

// latest keeps of each span the row of its latest version, in the order of the rows.
func latest(rows []keyRow) []keyRow {
	best := make(map[identity]uint64, len(rows))
	for _, k := range rows {
		best[k.identity] = max(best[k.identity], k.version)
	}
	out := rows[:0:0]
	for _, k := range rows {
		if version, there := best[k.identity]; there && version == k.version {
			out = append(out, k)
			delete(best, k.identity)
		}
	}
	return out
}
