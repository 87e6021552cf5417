package testset

import (
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// Members of a testset revision's data. Stored are the ids alone; revisions of
// before hold testcases as they were sent.
const (
	memberIDs       = "testcase_ids"
	memberTestcases = "testcases"
)

// Data is what a commit says that a testset holds.
type Data struct {
	// Testcases are rows; they win over IDs, which then are those of a reply that
	// was sent back. Nil means that none were given.
	Testcases []Testcase
	// IDs name rows that the testset has already.
	IDs []uuid.UUID

	loc []any
}

// ReadData reads `{testcase_ids?, testcases?}`. Source: contract §5.8.
func ReadData(o *request.Object) Data {
	d := Data{loc: o.Loc(), IDs: o.UUIDs(memberIDs)}
	if o.Has(memberTestcases) {
		d.Testcases = readRows(o, memberTestcases)
	}
	if len(d.IDs) > MaxTestcases {
		o.Fail("too_long", checkCount(len(d.IDs)).Error(), nil, memberIDs)
	}
	o.FailUnknown()
	return d
}

// Missing is the error of ids that name no testcase of the testset, nil when
// all are among those that were found.
func (d Data) Missing(found map[uuid.UUID]bool) error {
	var fields []domain.Field
	for i, id := range d.IDs {
		if !found[id] {
			fields = append(fields, noSuchTestcase(id, at(d.loc, memberIDs, i)))
		}
	}
	return refuse(fields)
}

func noSuchTestcase(id uuid.UUID, loc []any) domain.Field {
	return domain.Field{Type: "value_error", Loc: loc, Msg: "The testset has no such testcase", Input: id.String()}
}

func at(loc []any, more ...any) []any { return append(slices.Clip(loc), more...) }

func refuse(fields []domain.Field) error {
	if len(fields) == 0 {
		return nil
	}
	return &domain.Error{Kind: domain.Invalid, Message: fields[0].Msg, Fields: fields}
}

// readRows reads a list of testcases; never nil.
func readRows(o *request.Object, member string) []Testcase {
	if n := len(o.List(member)); n > MaxTestcases {
		o.Fail("too_long", checkCount(n).Error(), nil, member)
		return []Testcase{}
	}
	given := o.Objects(member)
	rows := make([]Testcase, len(given))
	for i, e := range given {
		rows[i] = readRow(e)
		if rows[i].Data == nil {
			rows[i].Data = entity.Document{} // a testcase without data has no columns
		}
	}
	return rows
}

// readRow reads `{id?, data?, flags?, tags?, meta?}`. Members that only the
// service sets may be there: clients send back what they got.
func readRow(o *request.Object) Testcase {
	t := Testcase{ID: o.UUID("id"), Data: readColumns(o), Tags: entity.Document(o.Map("tags")), Meta: entity.Document(o.Map("meta"))}
	if flags := o.Object("flags"); flags != nil {
		t.Flags = entity.Document{}
		for _, name := range flags.Names() {
			if b := flags.Bool(name); b != nil {
				t.Flags[name] = *b
			}
		}
	}
	o.Ignore("slug", "set_id", "testset_id", "created_at", "updated_at", "deleted_at", "created_by_id", "updated_by_id", "deleted_by_id")
	o.FailUnknown()
	return t
}

// readColumns reads a row's data. The names that files keep for what stands
// beside the data are no columns, but the one by which a client tells equal
// rows apart, which goes by two names.
func readColumns(o *request.Object) entity.Document {
	given := o.Map("data")
	if given == nil {
		return nil
	}
	data := make(entity.Document, len(given))
	for name, value := range given {
		switch {
		case name == fileDedup:
			if _, both := given[columnDedup]; both {
				o.Fail("value_error", fileDedup+" and "+columnDedup+" are the same column", value, "data", name)
			}
			data[columnDedup] = value
		case reserved(name):
			o.Fail("value_error", "A name that files keep for themselves", value, "data", name)
		case name == "":
			o.Fail("value_error", "A column has a name", value, "data", name)
		default:
			data[name] = value
		}
	}
	return data
}

// Stored is the data of a revision as it is kept.
func Stored(ids []uuid.UUID) entity.Document {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return entity.Document{memberIDs: list}
}

// Inline reports whether a revision of before holds its testcases itself.
func Inline(data entity.Document) bool { return data[memberTestcases] != nil }

// IDs are those that a stored revision holds, in order; nil for one that holds
// its testcases itself.
func IDs(data entity.Document) []uuid.UUID {
	if Inline(data) {
		return nil
	}
	list, _ := data[memberIDs].([]any)
	ids := make([]uuid.UUID, 0, len(list))
	for _, e := range list {
		text, _ := e.(string)
		if id, err := uuid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// FromInline gives the testcases of a revision that holds them itself: each
// with its own id where that is one, or the id that follows from what it says.
// An object without data is data.
func FromInline(testset uuid.UUID, data entity.Document) ([]Testcase, error) {
	list, _ := data[memberTestcases].([]any)
	testcases := make([]Testcase, 0, len(list))
	own := make([]uuid.UUID, 0, len(list))
	for _, e := range list {
		given, _ := e.(map[string]any)
		text, _ := given["id"].(string)
		id, err := uuid.Parse(text)
		if err != nil {
			id = uuid.Nil
		}
		t := Testcase{Data: document(given["data"]), Flags: document(given["flags"]), Tags: document(given["tags"]), Meta: document(given["meta"])}
		if t.Data == nil {
			t = Testcase{Data: given}
		}
		testcases, own = append(testcases, t), append(own, id)
	}
	// It was taken when there were no bounds, and is read as it is.
	if _, err := name(testset, testcases); err != nil {
		return nil, err
	}
	for i, id := range own {
		if id != uuid.Nil {
			testcases[i].ID = id
		}
	}
	return testcases, nil
}

func document(value any) entity.Document {
	m, _ := value.(map[string]any)
	return m
}
