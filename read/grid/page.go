package grid

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

// Query chooses rows and columns of a grid.
type Query struct {
	// Fields are the names of columns; none are those of Grid.names.
	Fields []string
	// Filtering is a filter in JSON whose fields are names of columns; nil holds for all rows.
	Filtering any
	// OrderBy is the column by which rows are ordered, empty for the order of run,
	// scenario and repeat. Rows without a value come last.
	OrderBy    string
	Descending bool
	// Limit is the number of rows of a page, After the cursor of the page before.
	Limit int
	After uuid.UUID
}

// Page is a page of a grid by columns. Each column has a value for every row.
type Page struct {
	Count   int
	Columns map[string][]any
	// Next is the cursor of the next page, zero on the last one.
	Next uuid.UUID
}

// Page returns a page of the rows for which the filter holds. An unknown column is Rejected.
func (g *Grid) Page(q Query) (Page, error) {
	names, unknown := g.expand(q.Fields)
	if unknown != "" {
		return Page{}, noColumn(unknown)
	}
	rows, err := g.filtered(q.Filtering)
	if err != nil {
		return Page{}, err
	}
	if err := g.sort(rows, q.OrderBy, q.Descending); err != nil {
		return Page{}, err
	}
	from := after(rows, q.After)
	page := Page{Columns: make(map[string][]any, len(names))}
	to := min(from+q.Limit, len(rows))
	for _, name := range names {
		values := make([]any, to-from)
		if of, ok := g.column(name); ok {
			for i, r := range rows[from:to] {
				values[i] = of(r)
			}
		}
		page.Columns[name] = values
	}
	if page.Count = to - from; to < len(rows) {
		page.Next = cursor(rows[to-1], to)
	}
	return page, nil
}

func noColumn(name string) error {
	return domain.E(domain.Rejected, "These runs have no column %q.", name)
}

// sort orders rows by a column. Rows with equal values keep their order.
func (g *Grid) sort(rows []*row, by string, descending bool) error {
	if by == "" {
		if descending {
			slices.Reverse(rows)
		}
		return nil
	}
	of, ok := g.column(by)
	if !ok {
		if len(rows) == 0 {
			return nil
		}
		return noColumn(by)
	}
	values := make(map[*row]any, len(rows))
	for _, r := range rows {
		values[r] = of(r)
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		x, y := values[a], values[b]
		if x == nil || y == nil {
			return cmp.Compare(rank(x), rank(y))
		}
		if descending {
			x, y = y, x
		}
		return compare(x, y)
	})
	return nil
}

// rank orders values of different types: booleans, numbers, texts, ids, none.
func rank(v any) int {
	switch v.(type) {
	case bool:
		return 1
	case int64, float64:
		return 2
	case string:
		return 3
	case uuid.UUID:
		return 4
	default:
		return 5
	}
}

func compare(a, b any) int {
	if n := cmp.Compare(rank(a), rank(b)); n != 0 {
		return n
	}
	switch a := a.(type) {
	case bool:
		if b, _ := b.(bool); a != b {
			return map[bool]int{false: -1, true: 1}[a]
		}
		return 0
	case string:
		b, _ := b.(string)
		return strings.Compare(a, b)
	case uuid.UUID:
		b, _ := b.(uuid.UUID)
		return slices.Compare(a[:], b[:])
	default:
		x, _ := jsonvalue.Float64(a)
		y, _ := jsonvalue.Float64(b)
		return cmp.Compare(x, y)
	}
}

// identity returns a hash of what makes a row one.
func (r *row) identity() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(r.run[:]) // a hash never fails
	_, _ = h.Write(r.scenario[:])
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, r.repeat))
	return h.Sum64()
}

// cursor returns the cursor of a page that ends with a row: its identity, and its position
// in case it is gone when the next page is read.
func cursor(last *row, position int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], last.identity())
	binary.BigEndian.PutUint64(id[8:], uint64(position)) //nolint:gosec // a position is not negative
	return id
}

// after returns the position at which the page after a cursor begins.
func after(rows []*row, id uuid.UUID) int {
	if id == uuid.Nil {
		return 0
	}
	identity := binary.BigEndian.Uint64(id[:8])
	if i := slices.IndexFunc(rows, func(r *row) bool { return r.identity() == identity }); i >= 0 {
		return i + 1
	}
	return int(min(binary.BigEndian.Uint64(id[8:]), uint64(len(rows)))) //nolint:gosec // at most the length
}

// filtered returns the rows for which a filter holds.
func (g *Grid) filtered(filtering any) ([]*row, error) {
	rows := make([]*row, len(g.rows))
	for i := range g.rows {
		rows[i] = &g.rows[i]
	}
	columns := map[string]column{}
	named, err := g.named(filtering, columns, []any{"body", "filtering"})
	if err != nil {
		return nil, err
	}
	where, err := filterjson.ParseValue(named, "body", "filtering")
	if err != nil || where == nil {
		return rows, err
	}
	return slices.DeleteFunc(rows, func(r *row) bool {
		values := make(map[string]any, len(columns))
		for name, of := range columns {
			switch v := of(r).(type) {
			case nil:
			case uuid.UUID:
				values[name] = v.String()
			default:
				values[name] = v
			}
		}
		return !filter.Match(where, &trace.Span{Attributes: values})
	}), nil
}

// alias returns the column that the query language of the console names otherwise.
func alias(name string) string {
	switch name {
	case "inputs", "expected", "outputs":
		return "preview." + name
	case "output":
		return "preview.outputs"
	case "latency", "ag.metrics.duration.cumulative":
		return "latency_ms"
	case "ag.metrics.costs.cumulative.total":
		return "cost"
	default:
		return name
	}
}

// named returns a filter whose fields are columns as a filter of attributes: a condition on
// a column becomes one on an attribute of its name. It adds the columns.
func (g *Grid) named(of any, columns map[string]column, loc []any) (any, error) {
	object, ok := of.(map[string]any)
	if !ok {
		return of, nil // the parser says what is wrong
	}
	if list, ok := object["conditions"].([]any); ok {
		children := make([]any, len(list))
		for i := range list {
			child, err := g.named(list[i], columns, append(slices.Clone(loc), "conditions", i))
			if err != nil {
				return nil, err
			}
			children[i] = child
		}
		out := map[string]any{"conditions": children}
		for name, value := range object {
			if name != "conditions" {
				out[name] = value
			}
		}
		return out, nil
	}
	field, ok := object["field"].(string)
	if !ok {
		return of, nil
	}
	if key, ok := object["key"].(string); ok && field == "attributes" {
		field = strings.Join(jsonvalue.SplitPath(key), ".")
	} else if object["key"] != nil {
		return nil, request.Invalid("extra_forbidden", "Extra inputs are not permitted", object["key"], append(slices.Clone(loc), "key")...)
	}
	name := alias(field)
	column, known := g.column(name)
	if !known && len(g.rows) > 0 {
		return nil, noColumn(field)
	}
	if known {
		columns[name] = column
	}
	out := maps.Clone(object)
	out["field"], out["key"] = "attributes", jsonvalue.JoinPath(name)
	return out, nil
}
