package traces

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"colonnade/read/statements"
)

// What people look for is often in many spans. Then a page of it is among the first few
// hundred that there are: these are read, and the store is asked whose documents have it.
// A search of documents would look into those of a large part of a section, thousands,
// for they do not lie in the order of a list. Of a word that was not looked for lately it
// is asked whether it is in most sections, while the first rows are read; not so where the
// last such word of the project was in many spans: the next mostly is, too.

// oftenLimits bound that search.
type oftenLimits struct {
	// first is how many rows are looked at where it is not known how many of them have
	// what is looked for, and most how many at once.
	first, most int
	// share is how many of the rows have to have it, 0..1: where fewer do, sections are
	// searched. Above 1 they always are.
	share float64
}

func defaultOftenLimits() oftenLimits { return oftenLimits{first: 256, most: 1024, share: 1. / 12} }

// shareSlack is how many times the rows are looked at that it would take by their share.
const shareSlack = 1.25

// often is the search of a scan among all rows.
type often struct {
	// rows is the scan without its condition on documents, of which ahead was read
	// and not looked into.
	rows  *scanner
	ahead []keyRow
}

// newOften is for a scan that is about to begin; nil where it has to be searched otherwise.
func newOften(s *scanner) *often {
	if s.r.limitsOften.share > 1 || s.said != nil || s.whole || s.scan.FullTextIndex || s.scan.Only != nil || !s.scan.Condition.HasPhrases() {
		return nil
	}
	scan := s.scan
	if scan.Condition = s.scan.Condition.WithoutPayloads(); scan.Condition == nil {
		return nil
	}
	rows := s.r.scanner(scan, s.rest)
	rows.name = "rows"
	return &often{rows: rows}
}

// amongAll gives the next rows from among all of them: limit, or a few less where that
// is enough. None where the search has to go on otherwise.
func (s *scanner) amongAll(ctx context.Context, limit int) (found []keyRow, err error) {
	least := s.r.limitsOften.share
	share, known := s.r.pace.share(s.list, least, s.r.now())
	if s.often == nil || s.whole || known && share < least {
		s.often = nil
		return nil, nil
	}
	if last, ok := s.r.pace.share(s.project(), least, s.r.now()); !known && (!ok || last < least) {
		if err := s.taste(ctx); err != nil || s.often == nil {
			return nil, err
		}
	}
	// Who decides by documents asks for an eighth more than is missing.
	for looked := 0; len(found) < limit-limit/9 && !s.done(); {
		if s.r.now().After(s.until) {
			return nil, s.r.db.TooLong(nil)
		}
		rows, err := s.often.next(ctx, s, limit-len(found), share)
		if err != nil {
			return nil, err
		}
		hold, err := s.hold(ctx, rows)
		if err != nil {
			return nil, err
		}
		looked, found = looked+len(rows), append(found, hold...)
		if looked == 0 {
			break
		}
		share = float64(len(found)) / float64(looked)
		s.r.pace.shared(s.list, share, s.r.now())
		s.r.pace.shared(s.project(), share, s.r.now())
		if share < least {
			s.often = nil
			break
		}
	}
	if len(found) > limit {
		found = found[:limit]
		s.behind(found)
	}
	return found, nil
}

// taste reads the first rows while it is asked where what is looked for may be, and
// ends the search among all rows where that is not in most sections that are near.
func (s *scanner) taste(ctx context.Context) error {
	rest := s.rest
	s.often.rows.rest = rest // it may have got less since the scan was made
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		s.often.ahead, err = s.often.rows.next(both, s.r.limitsOften.first)
		return err
	})
	group.Go(func() error { return s.find(both) })
	err := group.Wait()
	if err == nil && (!s.common || s.rest != rest) {
		s.often = nil
		if s.sought { // few rows have it: for a while none are read for it
			s.r.pace.shared(s.list, 0, s.r.now())
		}
	}
	return err
}

// next gives the next rows of the rest, whether they have it or not, of which so many
// would have it by their share; 0 for not known.
func (o *often) next(ctx context.Context, s *scanner, wanted int, share float64) (rows []keyRow, err error) {
	if rows, o.ahead = o.ahead, nil; rows == nil {
		n := s.r.limitsOften.first
		if share > 0 {
			n = max(wanted, min(int(shareSlack*float64(wanted)/share), s.r.limitsOften.most))
		}
		o.rows.rest, o.rows.scan.Except = s.rest, s.scan.Except
		if rows, err = o.rows.next(ctx, n); err != nil {
			return nil, err
		}
	}
	s.rest = o.rows.rest
	var bytes int64
	for i := range rows {
		if bytes += int64(rows[i].bytes); i > 0 && bytes > s.r.cfg.MaxPageBytes {
			rows = rows[:i]
			s.behind(rows)
			break
		}
	}
	return rows, nil
}

// hold gives those of rows whose documents fulfil the condition, and those that have none:
// they were replaced since they were read, and who decides looks for what stands there now.
func (s *scanner) hold(ctx context.Context, rows []keyRow) ([]keyRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	of, no := make([]statements.Version, len(rows)), map[statements.Version]bool{}
	for i := range rows {
		of[i] = versionOf(&rows[i])
	}
	err := s.r.db.Query(ctx, "hold", s.scan.Verify(of), func(rows driver.Rows) error {
		var v statements.Version
		var holds uint8
		err := rows.Scan(&v.Start, &v.Partition, &v.Version, &holds)
		if holds == 0 {
			no[v] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]keyRow, 0, len(rows))
	for i := range rows {
		if !no[of[i]] {
			out = append(out, rows[i])
		}
	}
	return out, nil
}

func versionOf(k *keyRow) statements.Version {
	return statements.Version{Partition: k.partition, Version: k.version, Start: k.Start}
}
