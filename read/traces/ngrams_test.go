//go:build embedded

package traces_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/ngram"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/traces"
)

// A search finds the same spans where sets of n-grams tell which sections of the
// stream to look at, and where there are none.
func TestSearchByNgrams(t *testing.T) {
	t.Parallel()
	const size = 30
	for _, covered := range []bool{true, false} {
		t.Run(fmt.Sprint("covered ", covered), func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.covered = covered
			all := library()
			for i := 0; i < len(all); i += size {
				s.insert(all[i : i+size]...)
				s.nextSection()
			}
			conditions := some(append(containing(searches()...), attributes()...))
			if !covered { // all are put where all is covered
				conditions = everySecond(conditions, 1)
			}
			asked := s.search(all, conditions...)
			require.NotZero(t, asked["sections"].count)
		})
	}
}

// everySecond are half of the cases, for n and n+1 all.
func everySecond[T any](cases []T, n int) (out []T) {
	for i, c := range cases {
		if i%2 == n%2 {
			out = append(out, c)
		}
	}
	return out
}

// attributes are conditions on attributes whose text, if they hold, stands in the documents.
func attributes() []string {
	return []string{
		`{"field":"attributes","key":"ag.data.inputs.q","operator":"contains","value":"owers"}`,
		`{"field":"attributes","key":"ag.data.inputs.q","operator":"contains","value":"PARIS","options":{"case_sensitive":true}}`,
		`{"field":"attributes","key":"ag.data.inputs.q","operator":"startswith","value":"back\\slash and"}`,
		`{"field":"attributes","key":"ag.data.inputs.q","operator":"endswith","value":"policy V2"}`,
		`{"field":"attributes","key":"ag.data.inputs.q","operator":"like","value":"%quoted_words%"}`,
		`{"field":"attributes","key":"ag.data.outputs","value":"a xylophone"}`,
		`{"field":"attributes","key":"ag.data.outputs","operator":"in","value":["answer 12","answer 400","nothing"]}`,
		`{"field":"attributes","key":"ag.data.outputs","operator":"not_in","value":["answer 12","answer 400","nothing"]}`,
		`{"field":"attributes","key":"ag.data.inputs","value":{"q":"東京の天気"}}`,
		`{"field":"attributes","key":"ag.type.trace","operator":"contains","value":"nvocatio"}`,
		`{"field":"events","operator":"in","value":[{"name":"note","attributes":{"text":"event number6"}}]}`,
		`{"operator":"or","conditions":[{"field":"attributes","key":"ag.data.outputs","operator":"contains","value":"xyloph"},{"field":"content","operator":"contains","value":"12345678"}]}`,
		`{"operator":"nand","conditions":[{"field":"attributes","key":"ag.data.outputs","operator":"contains","value":"answer"},{"field":"content","operator":"contains","value":"spring"}]}`,
		`{"field":"attributes","key":"ag.data.outputs","operator":"contains","value":"xyloph"},{"field":"content","operator":"contains","value":"-spring"},{"field":"attributes","key":"ag.data.inputs.q","operator":"startswith","value":"back"}`,
	}
}

// says has a span's inputs be a text.
func says(s *trace.Span, text string) {
	s.Attributes["ag"].(map[string]any)["data"] = map[string]any{"inputs": text}
}

// newSections makes a store of n spans, each in a section of its own, that start so far
// from each other, the first that long ago; each says what they have.
func newSections(t *testing.T, n int, every time.Duration, each func(n int, one *trace.Span)) (*store, []trace.Span) {
	t.Helper()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets
	all := make([]trace.Span, n)
	for i := range all {
		all[i] = span(uint64(i), uint64(i), now.Add(-time.Duration(i+1)*every))
		each(i, &all[i])
	}
	s.insert(all...)
	return s, all
}

// A word that hardly occurs is looked for where it may be: one statement more,
// whatever the time.
func TestNgramsNarrowASearch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	all := library()
	for i := 0; i < len(all); i += 30 {
		s.insert(all[i : i+30]...)
		s.nextSection()
	}
	asked := s.search(all, containing("xylophone")...)
	require.EqualValues(t, 1, asked["sections"].count)
	require.EqualValues(t, 1, asked["scan_narrow"].count)
	asked = s.search(all, containing("nowhere-to-be-seen")...)
	require.Zero(t, asked["scan_narrow"].count, "it is nowhere")
	asked = s.search(all, containing("spring")...) // is in all of them
	require.EqualValues(t, 1, asked["sections"].count)
	asked = s.search(all, containing("12", "many -spring")...)
	require.Zero(t, asked["sections"].count, "there is no n-gram in it")

	plan := strings.Join(explain(t, s.conn, "SELECT count() FROM span_payloads_packed WHERE project_id = ? AND (stream_partition, intDiv(stream_offset, 1024)) IN ((0,3),(0,7)) AND text != ''", s.project.String()), "\n")
	require.Contains(t, plan, "intDiv(stream_offset, 1024)) in 2-element set", "the key finds a section")
}

// Digit n-grams narrow a search for a number whose n-grams of five bytes occur everywhere.
func TestDigitNgramsNarrowASearch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	const sought, anywhere = "Order-4821173", -1
	var pieces []string
	for i := range len(sought) - ngram.Size + 1 {
		pieces = append(pieces, sought[i:i+ngram.Size])
	}
	insert := func(from, sections uint64) {
		for n := range sections {
			one := span(from+n, from+n, now.Add(-time.Duration(n)*time.Minute))
			text := strings.Join(pieces, "|")
			if n == 3 {
				text = "your " + sought + " is here"
			}
			says(&one, text)
			s.insert(one)
			s.nextSection()
		}
	}
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, prometheus.NewRegistry())
	require.NoError(t, err)
	within := func(search string) int {
		c, err := filtersql.Filter(where(t, containing(search)[0]))
		require.NoError(t, err)
		within, _, err := r.Within(t.Context(), s.project, c, order.Everything())
		require.NoError(t, err)
		if within == nil {
			return anywhere
		}
		return len(within.Numbers)
	}
	insert(0, 8)
	require.Equal(t, 1, within(sought))
	require.Equal(t, 1, within("4821173"))
	require.Equal(t, 1, within(`"R ORDER-4821"`), "folded")
	require.Equal(t, anywhere, within("21173"), "five digits alone are no digit n-gram")
	require.Zero(t, within("4821174"))
}

// never is no share: a search looks into sections, however many spans match.
const never = 2

// Where words are in many sections, which reach into each other, windows end where
// sections do: each match is found once and in order, whatever the store refuses.
func TestWindowsEndWithSections(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets / 2
	random := rand.New(rand.NewPCG(7, 8))
	var all []trace.Span
	for n := range uint64(440) {
		one := span(n/3, n, now.Add(-time.Duration(440-n)*20*time.Second-time.Duration(random.IntN(60))*time.Minute))
		words := []string{"common", strconv.Itoa(1_000_000 + int(n))}
		for word, of := range map[string]uint64{"amber": 9, "beryl": 14, "coral": 1} {
			if n/2%20 < of {
				words = append(words, word)
			}
		}
		says(&one, strings.Join(words, " "))
		all = append(all, one)
	}
	s.insert(all...)
	tests := []struct {
		search string
		most   int  // rows the store looks at for a window
		few    bool // what is in few sections is read at once
	}{
		{search: "coral", few: true},
		{search: "amber"},
		{search: "beryl"},
		{search: "common"},
		{search: "1000321", few: true},
		{search: "common", most: 600},
		{search: "beryl", most: 600},
		{search: "coral", most: 500},
		{search: "amber", most: 1},
		{search: "beryl", most: 1},
	}
	for i, tt := range some(tests) {
		orders := []domain.Order{domain.Descending, domain.Ascending}
		if tt.most > 0 { // it is the same walk by other windows
			orders = everySecond(orders, i)
		}
		for _, order := range orders {
			t.Run(fmt.Sprint(tt.search, " ", order, " ", tt.most), func(t *testing.T) {
				t.Parallel()
				registry := prometheus.NewRegistry()
				reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
				require.NoError(t, err)
				reader.LimitOften(0, 0, never)
				if tt.most > 0 {
					reader.LimitNarrow(tt.most)
				}
				e := where(t, containing(tt.search)[0])
				windows := []domain.Window{{Limit: 45}, {Limit: 300}, {Limit: 40, Oldest: now.Add(-2*time.Hour - time.Second), Newest: now.Add(-time.Hour - time.Second)}}
				read := func(reader *traces.Reader, window domain.Window) {
					window.Order = order
					got := s.walk(t, reader, e, window)
					matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool {
						at := time.Unix(0, s.Start)
						return !filter.Match(e, &s) || !window.Oldest.IsZero() && (at.Before(window.Oldest) || !at.Before(window.Newest))
					})
					require.Equal(t, idsInOrder(matching, order), got)
				}
				for _, window := range windows {
					read(reader, window)
				}
				statements := statementsOf(t, registry)
				require.NotZero(t, statements["sections"].count)
				scans := statements["scan_narrow"].count + statements["scan"].count
				require.Equal(t, tt.few, scans <= statements["sections"].count)
				random := rand.New(rand.NewPCG(9, uint64(len(order))))
				for range 2 {
					newest := now.Add(-time.Duration(random.IntN(200))*time.Minute - time.Second)
					windows = append(windows, domain.Window{Limit: 1 + random.IntN(60), Newest: newest, Oldest: newest.Add(-time.Duration(random.IntN(90)) * time.Minute)})
				}
				for _, window := range windows[1:] { // by those who have read nothing yet, and guess nothing, as the first had of the first
					reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, prometheus.NewRegistry())
					require.NoError(t, err)
					reader.LimitOften(0, 0, never)
					read(reader, window)
				}
			})
		}
	}
}

// What is in most sections is found by the sets that are near; those of all others
// are read for what is not near alone.
func TestNearestSectionsFirst(t *testing.T) {
	t.Parallel()
	const sections = 60
	s, all := newSections(t, sections, time.Minute, func(n int, one *trace.Span) {
		text := "common"
		switch n {
		case 0, 1, sections - 2, sections - 1: // a page looks for one more than it has
			text = "at both ends"
		case 20, 21, sections - 22, sections - 21:
			text = "a little further"
		}
		says(one, text)
	})
	for _, tt := range []struct {
		search string
		limit  int
		asked  uint64 // how often for sets
	}{
		{"common", 3, 1},
		{`"both ends"`, 1, 1},
		{`"both ends"`, 2, 3}, // near, further, all
		{`"little further"`, 1, 2},
		{`"little further"`, 3, 2},
		{"nowhere", 3, 2}, // nothing near: all
	} {
		for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
			registry := prometheus.NewRegistry()
			r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now.Add(time.Hour) }, registry)
			require.NoError(t, err)
			r.GrowNear(2)
			r.LimitOften(0, 0, never)
			e := where(t, containing(tt.search)[0])
			page, err := r.Spans(t.Context(), s.project, e, domain.Window{Limit: tt.limit, Order: order})
			require.NoError(t, err)
			matching := slices.DeleteFunc(slices.Clone(all), func(s trace.Span) bool { return !filter.Match(e, &s) })
			want := idsInOrder(matching, order)
			require.Equal(t, want[:min(tt.limit, len(want))], idsOf(page.Items), tt.search)
			statements := statementsOf(t, registry)
			require.Equal(t, tt.asked, statements["sections"].count, "%s %d %s", tt.search, tt.limit, order)
			require.Equal(t, tt.asked, statements["near_sections"].count, "%s %d %s", tt.search, tt.limit, order)
		}
	}
}

// After a search for what is rare the next does not begin with the nearest sections alone,
// and after one for what is common it does.
func TestRareAfterRare(t *testing.T) {
	t.Parallel()
	const sections = 60
	s, _ := newSections(t, sections, time.Minute, func(n int, one *trace.Span) {
		text := "common"
		if n == sections-5 {
			text = "a xylophone, a celesta"
		}
		says(one, text)
	})
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now.Add(time.Hour) }, registry)
	require.NoError(t, err)
	r.LimitOften(0, 0, never)
	before := uint64(0)
	for _, tt := range []struct {
		search string
		limit  int
		found  int
		asked  uint64 // how often for sets
	}{{"xylophone", 3, 1, 2}, {"celesta", 3, 1, 1}, {"nowhere", 3, 0, 1}, {"common", 3, 3, 1}, {"elsewhere", 3, 0, 2}} {
		page, err := r.Spans(t.Context(), s.project, where(t, containing(tt.search)[0]), domain.Window{Limit: tt.limit})
		require.NoError(t, err)
		require.Len(t, page.Items, tt.found, tt.search)
		asked := statementsOf(t, registry)["sections"].count
		require.Equal(t, tt.asked, asked-before, tt.search)
		before = asked
	}
}

// A search that found nothing near asks for many more sets, but not for so many that
// it would have to go by time if all of them had it.
func TestNextNear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		last int
		bare bool
		want int
	}{{0, false, 16}, {0, true, 512}, {16, false, 512}, {16, true, 1500}, {512, false, 16384}, {512, true, 16384}, {1500, true, 48000}} {
		require.Equal(t, tt.want, traces.NextNear(tt.last, tt.bare), "%d %t", tt.last, tt.bare)
	}
}

// Where the store would not read all sections of a window, fewer are taken, and
// nothing else is looked at.
func TestFewerSectionsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	const sections, spans = 12, 32 // of each
	s.apart = schema.BlockOffsets / spans
	var all, sought []trace.Span
	for n := range uint64(sections * spans) {
		one := span(n, n, now.Add(-time.Duration(n+1)*time.Minute))
		text := "something else"
		if n%(2*spans) == 7 {
			text = "a xylophone"
		}
		says(&one, text)
		if all = append(all, one); text != "something else" {
			sought = append(sought, one)
		}
	}
	s.insert(all...)
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		registry := prometheus.NewRegistry()
		r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
		require.NoError(t, err)
		r.LimitNarrow(sections*spans + 4*spans) // all rows of spans, and the documents of one section, not those of six
		page, err := r.Spans(t.Context(), s.project, where(t, containing("xylophone")[0]), domain.Window{Limit: 50, Order: order})
		require.NoError(t, err)
		require.Equal(t, idsInOrder(sought, order), idsOf(page.Items))
		statements := statementsOf(t, registry)
		require.Equal(t, uint64(1+sections/2), statements["scan_narrow"].count, "one that is refused, then one for each section")
		require.Equal(t, uint64(1), statements["sections"].count)
		require.Zero(t, statements["scan"].count)
	}
}

// Sections whose spans all start at one moment cannot be told apart by time.
func TestSectionsOfOneMoment(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.covered = true
	s.apart = schema.BlockOffsets
	var all []trace.Span
	for n := range uint64(40) {
		at := now.Add(-time.Hour)
		if n >= 30 {
			at = at.Add(time.Duration(n%2)*2*time.Second - time.Second) // some before, some after
		}
		one := span(n, n, at)
		says(&one, "common")
		all = append(all, one)
	}
	s.insert(all...)
	e := where(t, containing("common")[0])
	for _, order := range []domain.Order{domain.Descending, domain.Ascending} {
		for _, limit := range []int{3, 12, 50} {
			for _, oldest := range []time.Time{{}, now.Add(-2 * time.Hour)} {
				r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, prometheus.NewRegistry())
				require.NoError(t, err)
				r.LimitOften(0, 0, never)
				require.Equal(t, idsInOrder(all, order), s.walk(t, r, e, domain.Window{Limit: limit, Order: order, Oldest: oldest}), "%s %d", order, limit)
			}
		}
	}
}

// Where a guess was wrong, what lies beyond its window is found, too.
func TestBeyondAGuessedWindow(t *testing.T) {
	t.Parallel()
	s, _ := newSections(t, 300, time.Second, func(n int, one *trace.Span) {
		text := "something else"
		if n < 30 || n >= 242 && n%2 == 0 { // only what is far has it again
			text = "this word"
		}
		says(one, text)
	})
	e := where(t, containing(`"this word"`)[0])
	for oldest := 250; oldest < 300; oldest += 4 { // as far as the guess goes, and a little further
		reader, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, prometheus.NewRegistry())
		require.NoError(t, err)
		reader.LimitOften(0, 0, never)
		_, err = reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 30, Oldest: now.Add(-31 * time.Second)})
		require.NoError(t, err)
		page, err := reader.Spans(t.Context(), s.project, e, domain.Window{Limit: 60, Oldest: now.Add(-time.Duration(oldest) * time.Second)})
		require.NoError(t, err)
		require.Equal(t, 30+(oldest-242)/2, len(page.Items), "%d s", oldest) //nolint:testifylint // a page is long
	}
}

// What most sections have is read without asking for them again, as long as as much is
// found as the last time; where it is rare, it is asked for.
func TestCommonValuesAreNotSoughtAgain(t *testing.T) {
	t.Parallel()
	s, all := newSections(t, 300, time.Minute, func(n int, one *trace.Span) {
		model := "a-model"
		if n >= 100 && n != 290 {
			model = "another"
		}
		one.Attributes["gen_ai"] = map[string]any{"request": map[string]any{"model": model}}
	})
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	e := where(t, `{"field":"attributes","key":"gen_ai.request.model","value":"a-model"}`)
	before := uint64(0)
	for _, tt := range []struct {
		name  string
		from  int // the span that the page begins with, if it has it; 0 for now
		limit int
		asks  bool
	}{
		{"at first", 0, 10, true},
		{"again", 0, 10, false},
		{"from another moment", 30, 10, false},
		{"and another", 50, 10, false},
		{"where it ends", 94, 10, true},
		{"where it is rare", 110, 1, true},
		{"where it is rare, again", 110, 1, true},
		{"the list from now on is another", 0, 10, false},
	} {
		window := domain.Window{Limit: tt.limit}
		if tt.from > 0 {
			window.Newest = time.Unix(0, all[tt.from-1].Start)
		}
		page, err := r.Spans(t.Context(), s.project, e, window)
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all[tt.from:]), func(s trace.Span) bool { return !filter.Match(e, &s) })
		want := idsInOrder(matching, domain.Descending)
		require.Equal(t, want[:min(tt.limit, len(want))], idsOf(page.Items), tt.name)
		asked := statementsOf(t, registry)["sections"].count
		require.Equal(t, tt.asks, asked > before, tt.name)
		before = asked
	}
}

// Where a load ends or begins less is found than was expected: that says nothing of how common
// a value is.
func TestCommonValuesAreNotSoughtAtAnEdge(t *testing.T) {
	t.Parallel()
	const edge = 150
	s, all := newSections(t, 300, time.Minute, func(_ int, one *trace.Span) {
		one.Attributes["gen_ai"] = map[string]any{"request": map[string]any{"model": "a-model"}}
	})
	s.rollUp(now, slices.Concat(all, slices.Repeat(all[edge:edge+1], 50_000))...)
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	e := where(t, `{"field":"attributes","key":"gen_ai.request.model","value":"a-model"}`)
	for n, from := range []int{30, edge, edge - 1, edge + 1} {
		page, err := r.Spans(t.Context(), s.project, e, domain.Window{Limit: 10, Newest: time.Unix(0, all[from].Start).Add(time.Microsecond)})
		require.NoError(t, err)
		require.Equal(t, idsInOrder(all[from:from+10], domain.Descending), idsOf(page.Items))
		require.Equal(t, uint64(1), statementsOf(t, registry)["sections"].count, n) // the first page has
	}
}

// Of a value that nobody looked for it is guessed that it is as common as another of the
// same key was, where it is known how dense spans are; it is asked for where it is not.
func TestCommonAsAnotherValue(t *testing.T) {
	t.Parallel()
	s, all := newSections(t, 400, time.Minute, func(n int, one *trace.Span) {
		model := "late"
		switch {
		case n == 398:
			model = "seldom"
		case n >= 200:
			model = "early"
		}
		one.Attributes["gen_ai"] = map[string]any{"request": map[string]any{"model": model}}
	})
	s.rollUp(now, all...)
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	before := statementsOf(t, registry)
	for n, tt := range []struct {
		model string
		from  int
		asks  bool
		scans uint64
	}{
		{"early", 210, true, 4},
		{"early", 230, false, 1},
		{"late", 20, false, 1},
		{"late", 100, false, 1},
		{"nowhere", 30, true, 1},
		{"seldom", 30, true, 1},
		{"seldom", 30, true, 1},
		{"late", 40, false, 1},
	} {
		e := where(t, fmt.Sprintf(`{"field":"attributes","key":"gen_ai.request.model","value":%q}`, tt.model))
		page, err := r.Spans(t.Context(), s.project, e, domain.Window{Limit: 10, Newest: time.Unix(0, all[tt.from-1].Start)})
		require.NoError(t, err)
		matching := slices.DeleteFunc(slices.Clone(all[tt.from:]), func(s trace.Span) bool { return !filter.Match(e, &s) })
		want := idsInOrder(matching, domain.Descending)
		require.Equal(t, want[:min(10, len(want))], idsOf(page.Items), n)
		asked := statementsOf(t, registry)
		require.Equal(t, tt.asks, asked["sections"].count > before["sections"].count, n)
		require.Equal(t, tt.scans, asked["scan_narrow"].count-before["scan_narrow"].count, n)
		before = asked
	}
}

// What only documents tell is asked for each time: all of a window's would be read in
// place of those of its sections.
func TestCommonWordsAreSoughtAgain(t *testing.T) {
	t.Parallel()
	s, _ := newSections(t, 60, time.Minute, func(_ int, one *trace.Span) { says(one, "common") })
	registry := prometheus.NewRegistry()
	r, err := traces.New(traces.DefaultConfig(), s.conn, func() time.Time { return now }, registry)
	require.NoError(t, err)
	r.LimitOften(0, 0, never)
	for look := range uint64(3) {
		page, err := r.Spans(t.Context(), s.project, where(t, containing("common")[0]), domain.Window{Limit: 10})
		require.NoError(t, err)
		require.Len(t, page.Items, 10)
		require.Equal(t, look+1, statementsOf(t, registry)["sections"].count)
	}
}
