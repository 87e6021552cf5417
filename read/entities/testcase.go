package entities

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// TestcaseQuery selects testcases; the zero TestcaseQuery selects all of the project.
type TestcaseQuery struct {
	// Flags, Tags and Meta must be contained in the testcase's.
	Flags, Tags, Meta entity.Document
	// IDs restrict to these, and list them in this order; nil restricts nothing.
	IDs []uuid.UUID
	// Revision restricts to what a testset's revision holds, in its order.
	Revision entity.Refs
	// Testsets restrict to the rows of these, whatever revision holds them; nil
	// restricts nothing.
	Testsets []domain.Reference
	Window   domain.Window
}

// Testcase gives one testcase; nil when there is none. Source: contract §5.8.
func (r *Registry) Testcase(ctx context.Context, project domain.ProjectID, id uuid.UUID) (*testset.Testcase, error) {
	t := new(testset.Testcase)
	err := r.pool.QueryRow(ctx, schema.TestcasesByID, uuid.UUID(project), []uuid.UUID{id}).Scan(t.Targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as Artifact
	}
	if err != nil {
		return nil, failed(err, "reading a testcase")
	}
	return t, nil
}

// Testcases returns a page of testcases: in the order of the revision or the ids
// that are asked for, each as often as it occurs there; by creation and each once otherwise.
// A page ends before it is larger than a reply may be.
func (r *Registry) Testcases(ctx context.Context, project domain.ProjectID, q TestcaseQuery) (domain.Page[*testset.Testcase], error) {
	none := domain.Page[*testset.Testcase]{}
	if !q.Revision.IsZero() {
		found, err := entity.Retrieve(ctx, r.in(project), entity.Retrieval{Family: entity.Testsets(), Refs: q.Revision})
		if err != nil || found.Revision == nil {
			return none, err
		}
		if testset.Inline(found.Revision.Data) {
			return none, domain.E(domain.Rejected, "This revision is of before testcases had ids of their own: commit its data again, or read them in the revision.")
		}
		held := testset.IDs(found.Revision.Data)
		if q.IDs == nil {
			q.IDs = held
		} else {
			q.IDs = intersection(held, q.IDs)
		}
	}
	b := dollar().Select(schema.TestcaseColumns).From("testcases t")
	if q.IDs == nil {
		return r.testcasePage(ctx, q.where(q.byCreation(b, project), project), q.Window.Limit)
	}
	listed := q.listed()
	if len(listed) == 0 {
		return none, nil
	}
	b = b.Join("unnest(?::uuid[]) WITH ORDINALITY AS w(id, place) ON w.id = t.id", listed).OrderBy("w.place")
	page, err := r.testcasePage(ctx, q.where(b, project), q.Window.Limit)
	if err == nil && page.Next != uuid.Nil {
		page.Next = q.nextListed(listed, page.Items)
	}
	return page, err
}

// intersection are the ids of a list that are in another as well, in the list's order.
func intersection(list, other []uuid.UUID) []uuid.UUID {
	in := make(map[uuid.UUID]bool, len(other))
	for _, id := range other {
		in[id] = true
	}
	both := make([]uuid.UUID, 0, len(list))
	for _, id := range list {
		if in[id] {
			both = append(both, id)
		}
	}
	return both
}

// listed returns the ids that are asked for from the cursor on. A testset may have the same row
// more than once; it is then listed as often.
func (q TestcaseQuery) listed() []uuid.UUID {
	ids := slices.Clone(q.IDs)
	if q.Window.Order == domain.Descending {
		slices.Reverse(ids)
	}
	next := q.Window.Next
	if next == uuid.Nil {
		return ids
	}
	if [12]byte(next[:12]) == positionPrefix() {
		return ids[min(int(binary.BigEndian.Uint32(next[12:])), len(ids)):]
	}
	i := slices.Index(ids, next)
	if i < 0 {
		return nil
	}
	return ids[i+1:]
}

// positionPrefix returns the first bytes of a UUID that is a position in a list of ids. An id of
// a testcase, which is a hash, does not begin with them.
func positionPrefix() [12]byte { return [12]byte{6: 0x80, 8: 0x80} }

// nextListed returns the cursor behind the items of a page of listed ids: the last id, or its
// position where the list has the id more than once.
func (q TestcaseQuery) nextListed(listed []uuid.UUID, items []*testset.Testcase) uuid.UUID {
	last, occurs := items[len(items)-1].ID, 0
	for _, id := range q.IDs {
		if id == last {
			occurs++
		}
	}
	if occurs == 1 {
		return last
	}
	at := len(q.IDs) - len(listed)
	for _, item := range items {
		i := slices.Index(listed, item.ID) + 1
		at, listed = at+i, listed[i:]
	}
	prefix := positionPrefix()
	next := uuid.UUID(append(prefix[:], 0, 0, 0, 0))
	binary.BigEndian.PutUint32(next[12:], uint32(at)) //nolint:gosec // a testset has at most 10 000 rows
	return next
}

// byCreation orders by the moment a testcase came in and its place then; the
// cursor is the last one's id.
func (q TestcaseQuery) byCreation(b sq.SelectBuilder, project domain.ProjectID) sq.SelectBuilder {
	order, beyond := " DESC", "<"
	if q.Window.Order == domain.Ascending {
		order, beyond = "", ">"
	}
	if q.Window.Next != uuid.Nil {
		b = b.Where("(t.created_at, t.place, t.id) "+beyond+" (SELECT n.created_at, n.place, n.id FROM testcases n WHERE n.project_id = ? AND n.id = ?)", uuid.UUID(project), q.Window.Next)
	}
	return b.OrderBy("t.created_at"+order, "t.place"+order, "t.id"+order)
}

func (q TestcaseQuery) where(b sq.SelectBuilder, project domain.ProjectID) sq.SelectBuilder {
	b = b.Where("t.project_id = ?", uuid.UUID(project))
	b = Query{Flags: q.Flags, Tags: q.Tags, Meta: q.Meta}.filter(b, "t")
	switch {
	case q.Testsets == nil:
	case len(q.Testsets) == 1 && q.Testsets[0].Slug == "":
		// By one id the index gives the order as well.
		b = b.Where("t.testset_id = ?", q.Testsets[0].ID)
	default:
		of := dollar().Select("a.id").From("artifacts a").Where("a.project_id = ?", uuid.UUID(project)).
			Where("a.kind = '" + string(entity.Testset) + "'").Where(anyOf("a", q.Testsets))
		b = b.Where(sq.Expr("t.testset_id IN (?)", of.PlaceholderFormat(sq.Question)))
	}
	if !q.Window.Newest.IsZero() {
		b = b.Where("t.created_at <= ?", q.Window.Newest)
	}
	if !q.Window.Oldest.IsZero() {
		b = b.Where("t.created_at >= ?", q.Window.Oldest)
	}
	return b
}

// testcasePage reads rows until the page is full, in number or in bytes.
func (r *Registry) testcasePage(ctx context.Context, b sq.SelectBuilder, limit int) (domain.Page[*testset.Testcase], error) {
	if limit <= 0 || limit > r.cfg.MaxPage {
		limit = r.cfg.MaxPage
	}
	p := domain.Page[*testset.Testcase]{}
	sql, args, err := b.Limit(uint64(limit) + 1).ToSql() //nolint:gosec // limit is positive
	if err != nil {
		return p, failed(err, "writing a query")
	}
	if err := few(args); err != nil {
		return p, err
	}
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return p, failed(err, "querying testcases")
	}
	defer rows.Close()
	for size := 0; rows.Next(); {
		if size += sizeOf(rows); len(p.Items) == limit || len(p.Items) > 0 && size > r.cfg.MaxTestcaseBytes {
			p.Next = p.Items[len(p.Items)-1].ID
			return p, nil
		}
		t := new(testset.Testcase)
		if err := rows.Scan(t.Targets()...); err != nil {
			return p, failed(err, "querying testcases")
		}
		p.Items = append(p.Items, t)
	}
	if err := rows.Err(); err != nil {
		return p, failed(err, "querying testcases")
	}
	return p, nil
}
