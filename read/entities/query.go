package entities

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/testset"
	"colonnade/migrations/schema"
)

// Query selects records of one level. The zero Query selects all that are not
// archived. Source: interface.md §2.11, contract §5.1.
type Query struct {
	// Flags, Tags and Meta must be contained in the record's.
	Flags, Tags, Meta entity.Document
	// Name, Description and Message are substrings, in any case.
	Name, Description, Message string
	// Slugs are exact, any of them; nil means any.
	Slugs    []string
	FolderID uuid.UUID
	// Authors and Dates are those of revisions, any of them.
	Authors []uuid.UUID
	Dates   []time.Time
	// Artifacts, Variants and Revisions restrict each level to what they name.
	// An empty list matches nothing, nil restricts nothing.
	Artifacts, Variants, Revisions []domain.Reference
	// OfArtifacts and OfVariants restrict once more, to children of these.
	OfArtifacts, OfVariants []domain.Reference
	// Archived includes what is archived.
	Archived bool
	// View is how much of testset revisions is shown.
	View   testset.View
	Window domain.Window
}

// dollar writes the placeholders that Postgres reads.
func dollar() sq.StatementBuilderType { return sq.StatementBuilder.PlaceholderFormat(sq.Dollar) }

// Artifacts gives a page of artifacts, by creation.
func (r *Registry) Artifacts(ctx context.Context, project domain.ProjectID, f entity.Family, q Query) (domain.Page[*entity.Artifact], error) {
	b := dollar().Select(schema.ArtifactColumns).From(schema.ArtifactTables)
	b = q.where(b, "a", project, f)
	return page(ctx, r, b, "a", q.Window, r.cfg.MaxPage, func(a *entity.Artifact) (uuid.UUID, []any) { return a.ID, a.Targets() })
}

// Variants gives a page of variants, by creation.
func (r *Registry) Variants(ctx context.Context, project domain.ProjectID, f entity.Family, q Query) (domain.Page[*entity.Variant], error) {
	b := dollar().Select(schema.VariantColumns).From(schema.VariantTables)
	b = q.where(b, "v", project, f)
	return page(ctx, r, b, "v", q.Window, r.cfg.MaxPage, func(v *entity.Variant) (uuid.UUID, []any) { return v.ID, v.Targets() })
}

// Revisions gives a page of revisions with their data, by creation.
func (r *Registry) Revisions(ctx context.Context, project domain.ProjectID, f entity.Family, q Query) (domain.Page[*entity.Revision], error) {
	b := dollar().Select(schema.RevisionColumns).From(schema.RevisionTables)
	b = q.where(b, "r", project, f)
	found, err := page(ctx, r, b, "r", q.Window, r.maxRevisions(f), func(v *entity.Revision) (uuid.UUID, []any) { return v.ID, v.Targets() })
	if err != nil {
		return found, err
	}
	if f.Kind == entity.Testset {
		whole, err := r.in(project).showTestsets(ctx, q.View, found.Items)
		if err == nil && whole < len(found.Items) {
			found.Items, found.Next = found.Items[:whole], found.Items[whole-1].ID
		}
		return found, err
	}
	return found, r.show(ctx, project, f, found.Items...)
}

func (r *Registry) maxRevisions(f entity.Family) int {
	switch f.Kind {
	case entity.Environment:
		return r.cfg.MaxEnvironments
	case entity.Testset:
		return r.cfg.MaxTestsets
	default:
		return r.cfg.MaxRevisions
	}
}

// where adds every condition of a query; t is the alias of the level's table.
func (q Query) where(b sq.SelectBuilder, t string, project domain.ProjectID, f entity.Family) sq.SelectBuilder {
	b = b.Where(t+".project_id = ?", uuid.UUID(project))
	b = ofFamily(b, t, f)
	if !q.Archived {
		b = b.Where(t + ".deleted_at IS NULL")
	}
	b = q.filter(b, t)
	if q.FolderID != uuid.Nil {
		b = b.Where("a.folder_id = ?", q.FolderID)
	}
	if q.Message != "" {
		b = b.Where("strpos(fold(r.message), fold(?)) > 0", q.Message)
	}
	if q.Authors != nil {
		b = b.Where("r.author_id = ANY(?)", q.Authors)
	}
	if q.Dates != nil {
		b = b.Where("r.date = ANY(?)", q.Dates)
	}
	return q.restrict(b, t)
}

// filter adds what records of every table are chosen by.
func (q Query) filter(b sq.SelectBuilder, t string) sq.SelectBuilder {
	for _, c := range []struct {
		column string
		value  entity.Document
	}{{"flags", q.Flags}, {"tags", q.Tags}, {"meta", q.Meta}} {
		if len(c.value) > 0 {
			b = b.Where(t+"."+c.column+" @> ?", c.value)
		}
	}
	for _, c := range []struct{ column, value string }{{"name", q.Name}, {"description", q.Description}} {
		if c.value != "" {
			b = b.Where("strpos(fold("+t+"."+c.column+"), fold(?)) > 0", c.value)
		}
	}
	if q.Slugs != nil {
		b = b.Where(t+".slug = ANY(?)", q.Slugs)
	}
	return b
}

// ofFamily keeps to the rows that a family owns. The words are constants of
// ours and stand in the text, so that the partial indexes apply.
func ofFamily(b sq.SelectBuilder, t string, f entity.Family) sq.SelectBuilder {
	b = b.Where(t + ".kind = '" + string(f.Kind) + "'")
	if f.Role != "" {
		b = b.Where(`a.flags @> '{"` + f.Role + `": true}'`)
	}
	return b
}

// restrict applies the references of each level. Of an artifact, id and slug
// must both match; of the others, either. Source: contract §5.1.
func (q Query) restrict(b sq.SelectBuilder, t string) sq.SelectBuilder {
	for _, parents := range []struct {
		table string
		refs  []domain.Reference
	}{{"a", q.Artifacts}, {"a", q.OfArtifacts}, {"v", q.OfVariants}} {
		if parents.refs == nil {
			continue
		}
		b = b.Where(anyOf(parents.table, parents.refs))
	}
	if q.Variants != nil {
		b = b.Where(either("v", q.Variants))
	}
	if q.Revisions != nil {
		b = b.Where(either(t, q.Revisions))
	}
	return b
}

// anyOf matches what one of the references names, by id and slug.
func anyOf(t string, refs []domain.Reference) sq.Or {
	some := make(sq.Or, 0, len(refs))
	for _, ref := range refs {
		some = append(some, both(t, ref))
	}
	return some
}

func both(t string, ref domain.Reference) sq.And {
	all := sq.And{}
	if ref.ID != uuid.Nil {
		all = append(all, sq.Expr(t+".id = ?", ref.ID))
	}
	if ref.Slug != "" {
		all = append(all, sq.Expr(t+".slug = ?", ref.Slug))
	}
	if len(all) == 0 {
		// A reference that names nothing matches nothing.
		all = append(all, sq.Expr("false"))
	}
	return all
}

func either(t string, refs []domain.Reference) sq.Or {
	some := make(sq.Or, 0, len(refs))
	for _, ref := range refs {
		named := sq.Or{}
		if ref.ID != uuid.Nil {
			named = append(named, sq.Expr(t+".id = ?", ref.ID))
		}
		if ref.Slug != "" {
			named = append(named, sq.Expr(t+".slug = ?", ref.Slug))
		}
		all := sq.And{}
		if len(named) > 0 {
			all = append(all, named)
		}
		if ref.Version != "" && t == "r" {
			all = append(all, sq.Expr("r.version::text = ?", ref.Version))
		}
		if len(all) == 0 {
			all = append(all, sq.Expr("false"))
		}
		some = append(some, all)
	}
	return some
}

// few refuses what is more than a statement of Postgres takes.
func few(args []any) error {
	const most = 65_535
	if len(args) > most {
		return domain.E(domain.Rejected, "The query names too many things: ask for them in parts.")
	}
	return nil
}

// page runs a statement with the window's bounds and one row more than the
// page holds, to know whether there is another. It ends before it is larger than
// a page may be.
func page[T any](ctx context.Context, r *Registry, b sq.SelectBuilder, t string, w domain.Window, most int, targets func(*T) (uuid.UUID, []any)) (domain.Page[*T], error) {
	limit := most
	if w.Limit > 0 {
		limit = min(w.Limit, most)
	}
	if !w.Newest.IsZero() {
		b = b.Where(t+".created_at <= ?", w.Newest)
	}
	if !w.Oldest.IsZero() {
		b = b.Where(t+".created_at >= ?", w.Oldest)
	}
	order, beyond := t+".id DESC", t+".id < ?"
	if w.Order == domain.Ascending {
		order, beyond = t+".id", t+".id > ?"
	}
	if w.Next != uuid.Nil {
		b = b.Where(beyond, w.Next)
	}
	p := domain.Page[*T]{}
	sql, args, err := b.OrderBy(order).Limit(uint64(limit) + 1).ToSql() //nolint:gosec // limit is positive
	if err != nil {
		return p, failed(err, "writing a query")
	}
	if err := few(args); err != nil {
		return p, err
	}
	rows, err := r.pool.Query(ctx, sql, args...)
	if err != nil {
		return p, failed(err, "querying")
	}
	defer rows.Close()
	var last uuid.UUID
	for size := 0; rows.Next(); {
		if size += sizeOf(rows); len(p.Items) == limit || len(p.Items) > 0 && size > r.cfg.MaxPageBytes {
			p.Next = last
			return p, nil
		}
		item := new(T)
		_, into := targets(item)
		if err := rows.Scan(into...); err != nil {
			return p, failed(err, "querying")
		}
		last, _ = targets(item)
		p.Items = append(p.Items, item)
	}
	if err := rows.Err(); err != nil {
		return domain.Page[*T]{}, failed(err, "querying")
	}
	return p, nil
}
