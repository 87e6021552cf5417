package testset

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// Delta is a change of a testset: of columns in all rows, then of rows. Source: contract §5.8.
type Delta struct {
	columns columnDelta
	rows    rowDelta
	// document is the form that all families have; nil unless it was given.
	document *entity.Delta
	loc      []any
}

type columnDelta struct {
	add, remove []string
	// replace are old and new names.
	replace [][2]string
}

type rowDelta struct {
	add, replace []Testcase
	remove       []uuid.UUID
}

// ReadDelta reads `{rows?: {add?, remove?, replace?}, columns?: {add?, remove?,
// replace?}}`: testcases, ids, testcases with their ids; names, names, pairs of
// an old and a new name. Or it reads the delta of every other family, on the
// data as replies have it.
func ReadDelta(o *request.Object) Delta {
	d := Delta{loc: o.Loc()}
	if !o.Has("rows") && !o.Has("columns") {
		document := entity.ReadDelta(o)
		d.document = &document
		return d
	}
	if c := o.Object("columns"); c != nil {
		d.columns = readColumnDelta(c)
	}
	if r := o.Object("rows"); r != nil {
		d.rows = rowDelta{add: readRows(r, "add"), remove: r.UUIDs("remove"), replace: readReplaced(r)}
		r.FailUnknown()
	}
	o.FailUnknown()
	return d
}

func readColumnDelta(o *request.Object) columnDelta {
	d := columnDelta{add: o.Strings("add"), remove: o.Strings("remove")}
	for i, e := range o.List("replace") {
		pair, _ := e.([]any)
		if len(pair) != 2 {
			o.Fail("tuple_type", "Input should be the old and the new name", e, "replace", i)
			continue
		}
		before, ok1 := pair[0].(string)
		after, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			o.Fail("string_type", "Input should be a valid string", e, "replace", i)
			continue
		}
		d.replace = append(d.replace, [2]string{before, after})
		checkNewColumn(o, after, "replace", i)
	}
	for i, name := range d.add {
		checkNewColumn(o, name, "add", i)
	}
	o.FailUnknown()
	return d
}

func checkNewColumn(o *request.Object, name string, loc ...any) {
	if name == "" || reserved(name) {
		o.Fail("value_error", "This is no name for a column", name, loc...)
	}
}

// readReplaced reads rows of which each says by its id which one it replaces.
func readReplaced(o *request.Object) []Testcase {
	given := o.Objects("replace")
	rows := make([]Testcase, len(given))
	for i, e := range given {
		e.Require("id")
		rows[i] = readRow(e)
	}
	return rows
}

// Apply gives the testset with the delta applied; what it gives has no ids
// yet, and the given rows are not touched. What the delta names and the
// testset does not have, and what contradicts itself, is Invalid with its
// location, all of it at once.
func (d Delta) Apply(base []Testcase) (Data, error) {
	if d.document != nil {
		return d.applyDocument(base)
	}
	names, err := d.renames(base)
	if err != nil {
		return Data{}, err
	}
	replaced, gone, err := d.changes(base)
	if err != nil {
		return Data{}, err
	}
	if err := d.affordable(base, replaced, gone); err != nil {
		return Data{}, err
	}
	rows := make([]Testcase, 0, len(base)+len(d.rows.add))
	for _, t := range base {
		if gone[t.ID] {
			continue
		}
		with := replaced[t.ID]
		t.Data = d.columns.apply(t.Data, names)
		rows = append(rows, t.with(with))
	}
	return Data{Testcases: append(rows, d.rows.add...)}, nil
}

// affordable refuses columns that are more than a testset may hold before each row has them.
func (d Delta) affordable(base []Testcase, replaced map[uuid.UUID]Testcase, gone map[uuid.UUID]bool) error {
	added, rows := entity.Document{}, 0
	for _, name := range d.columns.add {
		added[name] = ""
	}
	for i := range base {
		if !gone[base[i].ID] && replaced[base[i].ID].Data == nil {
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	return errors.Join(checkColumns(len(added)), checkBytes(rows*atLeast(added)))
}

// with is a row replaced by another; what that does not say stays.
func (t Testcase) with(other Testcase) Testcase {
	for _, label := range []struct{ to, given *entity.Document }{
		{&t.Data, &other.Data}, {&t.Flags, &other.Flags}, {&t.Tags, &other.Tags}, {&t.Meta, &other.Meta},
	} {
		if *label.given != nil {
			*label.to = *label.given
		}
	}
	return t
}

// renames are the new names of columns; a column that goes has none.
func (d Delta) renames(base []Testcase) (map[string]string, error) {
	var fields []domain.Field
	bad := func(msg, name string, loc ...any) {
		fields = append(fields, domain.Field{Type: "value_error", Loc: at(append(slices.Clone(d.loc), "columns"), loc...), Msg: msg, Input: name})
	}
	there := map[string]bool{}
	for _, name := range columnsOf(base) {
		there[name] = true
	}
	names := map[string]string{}
	change := func(before, after string, loc ...any) {
		if _, twice := names[before]; twice {
			bad("The column is changed twice", before, loc...)
		}
		if !there[before] {
			bad("The testset has no such column", before, loc...)
		}
		names[before] = after
	}
	for i, name := range d.columns.remove {
		change(name, "", "remove", i)
	}
	for i, pair := range d.columns.replace {
		change(pair[0], pair[1], "replace", i)
	}
	taken := maps.Clone(there)
	for name := range names {
		delete(taken, name)
	}
	claim := func(name string, loc ...any) {
		if taken[name] {
			bad("There is a column of this name", name, loc...)
		}
		taken[name] = true
	}
	for i, pair := range d.columns.replace {
		claim(pair[1], "replace", i)
	}
	for i, name := range d.columns.add {
		claim(name, "add", i)
	}
	return names, refuse(fields)
}

// apply gives a row's columns under their new names, and the added ones empty.
func (d columnDelta) apply(data entity.Document, names map[string]string) entity.Document {
	if len(names) == 0 && len(d.add) == 0 {
		return data
	}
	out := make(entity.Document, len(data)+len(d.add))
	for name, value := range data {
		after, changed := names[name]
		switch {
		case !changed:
			out[name] = value
		case after != "":
			out[after] = value
		default: // removed
		}
	}
	for _, name := range d.add {
		out[name] = ""
	}
	return out
}

// changes are the rows to replace and those to leave out.
func (d Delta) changes(base []Testcase) (replaced map[uuid.UUID]Testcase, gone map[uuid.UUID]bool, err error) {
	var fields []domain.Field
	there := make(map[uuid.UUID]bool, len(base))
	for i := range base {
		there[base[i].ID] = true
	}
	rows := append(slices.Clone(d.loc), "rows")
	gone = map[uuid.UUID]bool{}
	for i, id := range d.rows.remove {
		if !there[id] {
			fields = append(fields, noSuchTestcase(id, at(rows, "remove", i)))
		}
		gone[id] = true
	}
	replaced = map[uuid.UUID]Testcase{}
	for i, t := range d.rows.replace {
		loc := at(rows, "replace", i, "id")
		if !there[t.ID] {
			fields = append(fields, noSuchTestcase(t.ID, loc))
		}
		if _, twice := replaced[t.ID]; twice || gone[t.ID] {
			fields = append(fields, domain.Field{Type: "value_error", Loc: loc, Msg: "The testcase is changed twice", Input: t.ID.String()})
		}
		replaced[t.ID] = t
	}
	return replaced, gone, refuse(fields)
}

// applyDocument applies a delta to the data as a reply has it. Changed ids
// count where the testcases are as they were.
func (d Delta) applyDocument(base []Testcase) (Data, error) {
	rows, ids := make([]any, len(base)), make([]uuid.UUID, len(base))
	for i := range base {
		t := &base[i]
		row := map[string]any{"id": t.ID.String(), "data": map[string]any(t.Data)}
		for name, label := range map[string]entity.Document{"flags": t.Flags, "tags": t.Tags, "meta": t.Meta} {
			if label != nil {
				row[name] = map[string]any(label)
			}
		}
		rows[i], ids[i] = row, t.ID
	}
	before := entity.Document{memberIDs: Stored(ids)[memberIDs], memberTestcases: rows}
	after, err := d.document.Apply(before)
	if err != nil {
		return Data{}, err
	}
	member := func(doc entity.Document, name string) entity.Document { return entity.Document{name: doc[name]} }
	if entity.Same(member(before, memberTestcases), member(after, memberTestcases)) && !entity.Same(member(before, memberIDs), member(after, memberIDs)) {
		delete(after, memberTestcases)
	}
	o := request.ObjectOf(after, d.loc...)
	changed := ReadData(o)
	return changed, o.Err()
}
