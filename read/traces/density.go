package traces

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/read/statements"
)

// How far a list that begins at some moment has to look depends on how dense spans are
// there: a minute of a full load has as many as a calm day. Statistics know how many roots
// started in each minute, and pace how many rows a list has for each of them: together they
// tell how long a stretch is that has enough, at a moment that no list was read at before.

// density remembers how many roots started in the minutes of days that lists began at. As
// pace it is a guess: it decides how long the first stretch is, never what is in it.
type density struct {
	mu   sync.Mutex
	days map[dayOf]*day
}

// dayOf names a day of a project: how many lie between 1970 and it.
type dayOf struct {
	project domain.ProjectID
	number  int64
}

// day is how many roots started in each of its minutes, by trace type, as was known at a moment.
type day struct {
	roots [minutesOfDay][trace.Unknown]uint32
	asked time.Time
}

const (
	minutesOfDay = 24 * 60
	minuteMicros = int64(time.Minute / time.Microsecond)
	dayMicros    = minutesOfDay * minuteMicros
	// counting is how long it takes, at most and about, until statistics have a minute that is over.
	counting = 2 * time.Minute
	// A day is asked for again after a while: spans may come late, most come for the last hour.
	dayFresh, latelyFresh = 10 * time.Minute, time.Minute
	lately                = time.Hour
	// doubtful is how old a day has to be to be asked for again where rows were not as it let
	// expect: history that is being filled in makes one wrong within seconds.
	doubtful = 5 * time.Second
	// evensOut is in what time minutes with many roots and with few make up for each other.
	evensOut = 10 * time.Minute
	// wholeMinute is the least share of the roots of the minute before that a minute has in which
	// as many came all the time.
	wholeMinute = .75
	// newDays is how many days from its beginning are asked for to size a stretch, and mostDays
	// how many are looked at if they are known; where a list needs more the rest is taken to be as they are.
	newDays, mostDays = 2, 400
	// maxDays bounds those that are remembered, 17 KB each.
	maxDays = 512
)

func newDensity() *density { return &density{days: map[dayOf]*day{}} }

// stretch is how long it takes from a start, in an order, until so many roots of some types
// started; days beyond a start where the list ends are not looked at. ok is false where that
// is not known.
func (r *Reader) stretch(ctx context.Context, project domain.ProjectID, types []trace.Type, from, to int64, order domain.Order, roots float64) (step time.Duration, ok bool, err error) {
	at, counted := from, 0.0
	for days := range mostDays {
		if order == domain.Ascending && at >= to || order != domain.Ascending && at <= to {
			break
		}
		d := r.density.known(project, dayNumber(at, order), r.now())
		if d == nil && days < newDays {
			if d, err = r.day(ctx, project, dayNumber(at, order)); err != nil {
				return 0, false, err
			}
		}
		if d == nil {
			break
		}
		var enough bool
		if at, counted, enough = d.walk(types, at, order, counted, roots); enough {
			return micros(from, at), true, nil
		}
	}
	if counted == 0 {
		return 0, false, nil
	}
	return time.Duration(min(float64(micros(from, at))*roots/counted, float64(forever))), true, nil
}

// rootsIn is how many roots of some types started between two starts, whichever is first. ok
// is false where that is not known without asking.
func (r *Reader) rootsIn(project domain.ProjectID, types []trace.Type, a, b int64) (roots float64, ok bool) {
	at, end := min(a, b), max(a, b)
	for days := 0; at < end; days++ {
		number := dayNumber(at, domain.Ascending)
		d := r.density.known(project, number, r.now())
		if d == nil || days == mostDays {
			return 0, false
		}
		for m := (at - number*dayMicros) / minuteMicros; m < minutesOfDay && at < end; m++ {
			next := min(number*dayMicros+(m+1)*minuteMicros, end)
			roots += d.started(types, m) * float64(next-at) / float64(minuteMicros)
			at = next
		}
	}
	return roots, true
}

// uneven tells that spans come or cease to come within a short stretch between two starts, or
// beside it: far more roots started in one of its minutes than in another. How they lie in such
// a minute is not known, so that rows found there do not tell how many there are for each root.
// It is false where that is not known without asking.
func (r *Reader) uneven(project domain.ProjectID, types []trace.Type, a, b int64) bool {
	if micros(a, b) > evensOut {
		return false
	}
	least, most := math.Inf(1), 0.0
	for at := (min(a, b)/minuteMicros - 1) * minuteMicros; at <= max(a, b)+minuteMicros; at += minuteMicros {
		roots, ok := r.rootsAt(project, types, at)
		if !ok {
			return false
		}
		least, most = min(least, roots), max(most, roots)
	}
	return most >= emptyRoots && most > perRootChange*least
}

// ceases tells that spans cease to come in the minute of a start, or just before it: far fewer
// roots started in it than in the minute before. It is false where that is not known without asking.
func (r *Reader) ceases(project domain.ProjectID, types []trace.Type, from int64) bool {
	before, ok := r.rootsAt(project, types, from-minuteMicros)
	roots, known := r.rootsAt(project, types, from)
	return ok && known && before >= emptyRoots && roots < wholeMinute*before
}

// rootsAt is how many roots started in the minute of a start. ok is false where that is not
// known without asking.
func (r *Reader) rootsAt(project domain.ProjectID, types []trace.Type, at int64) (roots float64, ok bool) {
	number := dayNumber(at, domain.Ascending)
	d := r.density.known(project, number, r.now())
	if d == nil {
		return 0, false
	}
	return d.started(types, (at-number*dayMicros)/minuteMicros), true
}

// started is how many roots of some types started in a minute.
func (d *day) started(types []trace.Type, minute int64) (roots float64) {
	for _, t := range types {
		roots += float64(d.roots[minute][t-1])
	}
	return roots
}

// walk goes from a start within the day in an order until so many roots were counted, and
// tells whether they were; to the day's end if not. Where in its minute what comes after a
// pause is, nobody knows: the minute is taken whole, unless that is much.
func (d *day) walk(types []trace.Type, at int64, order domain.Order, counted, roots float64) (end int64, all float64, enough bool) {
	begin := dayNumber(at, order) * dayMicros
	for pause := false; ; {
		minute := (at - begin) / minuteMicros
		edge := begin + (minute+1)*minuteMicros
		if order != domain.Ascending {
			minute = (at - begin - 1) / minuteMicros
			edge = begin + minute*minuteMicros
		}
		started := d.started(types, minute)
		part, goal := started*math.Abs(float64(edge-at))/float64(minuteMicros), roots
		if pause {
			goal = max(roots, counted+min(part, emptyRoots))
		}
		if pause = started == 0; !pause && counted+part >= goal {
			way := int64((goal - counted) / started * float64(minuteMicros))
			if order != domain.Ascending {
				way = -way
			}
			return at + way, goal, true
		}
		counted, at = counted+part, edge
		if (at-begin)%dayMicros == 0 {
			return at, counted, false
		}
	}
}

// day asks for a day; one that the store cannot hold is empty.
func (r *Reader) day(ctx context.Context, project domain.ProjectID, number int64) (*day, error) {
	first := number * minutesOfDay * 60
	if first < 0 || first > math.MaxUint32-2*minutesOfDay*60 { // what a DateTime holds
		return &day{}, nil
	}
	d := &day{asked: r.now()}
	err := r.db.Query(ctx, "density", statements.RootsPerMinute(project, first, first+minutesOfDay*60), func(rows driver.Rows) error {
		var second int64
		var of uint8
		var roots uint64
		if err := rows.Scan(&second, &of, &roots); err != nil {
			return err
		}
		if minute := (second - first) / 60; minute >= 0 && minute < minutesOfDay && of >= uint8(trace.Invocation) && of <= uint8(trace.Unknown) {
			d.roots[minute][of-1] = uint32(min(roots, math.MaxUint32))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.goOn(first)
	r.density.keep(dayOf{project, number}, d)
	return d, nil
}

// goOn takes minutes that statistics may not have yet for like the last that they have.
func (d *day) goOn(first int64) {
	known := (d.asked.Add(-counting).Unix() - first) / 60
	if known <= 0 || known >= minutesOfDay {
		return
	}
	for m := known; m < minutesOfDay && first+m*60 <= d.asked.Unix(); m++ {
		for t, roots := range d.roots[known-1] {
			d.roots[m][t] = max(d.roots[m][t], roots)
		}
	}
}

// known gives a day that was asked for not long ago; nil for none.
func (d *density) known(project domain.ProjectID, number int64, now time.Time) *day {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := d.days[dayOf{project, number}]
	if of == nil {
		return nil
	}
	fresh := dayFresh
	if of.asked.UnixMicro()-(number+1)*dayMicros < lately.Microseconds() {
		fresh = latelyFresh
	}
	if now.Sub(of.asked) > fresh {
		return nil
	}
	return of
}

// doubt forgets the days of a stretch between two starts that were not asked for just now,
// and tells whether there were any: rows were not as they let expect.
func (d *density) doubt(project domain.ProjectID, a, b int64, now time.Time) (forgot bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first, last := dayNumber(min(a, b), domain.Ascending), dayNumber(max(a, b), domain.Descending)
	for of, known := range d.days {
		if of.project == project && of.number >= first && of.number <= last && now.Sub(known.asked) > doubtful {
			delete(d.days, of)
			forgot = true
		}
	}
	return forgot
}

func (d *density) keep(of dayOf, known *day) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.days) >= maxDays {
		clear(d.days)
	}
	d.days[of] = known
}

// dayNumber is the day that a walk from a start in an order is in next.
func dayNumber(at int64, order domain.Order) int64 {
	if order != domain.Ascending {
		at--
	}
	number := at / dayMicros
	if at%dayMicros < 0 {
		number--
	}
	return number
}

// micros is the time between two starts.
func micros(a, b int64) time.Duration {
	return time.Duration(min(max(a, b)-min(a, b), forever.Microseconds())) * time.Microsecond
}
