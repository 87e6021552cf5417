package testset

import (
	"slices"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// View says how much of a revision's data a reply shows; the zero View is all
// of it.
type View struct {
	WithoutIDs, WithoutTestcases bool
	// Window bounds the rows of one revision: in its own order or backwards,
	// after the testcase Next, at most Limit of them where that is given.
	Window domain.Window
}

// ReadView reads include_testcases and include_testcase_ids, which are on
// unless they are false.
func ReadView(o *request.Object) View {
	off := func(name string) bool {
		on := o.Bool(name)
		return on != nil && !*on
	}
	return View{WithoutTestcases: off("include_testcases"), WithoutIDs: off("include_testcase_ids")}
}

// ReadWindow reads which rows of one revision are shown.
func (v *View) ReadWindow(o *request.Object) {
	if o == nil {
		return
	}
	v.Window = domain.Window{Next: o.UUID("next"), Order: domain.Order(o.Enum("order", string(domain.Ascending), string(domain.Descending)))}
	if limit := o.Int("limit", 1); limit != nil {
		v.Window.Limit = *limit
	}
	o.FailUnknown()
}

// Wanted are the ids that a view of stored data shows, in order.
func (v View) Wanted(data entity.Document) []uuid.UUID {
	ids := IDs(data)
	if v.Window.Order == domain.Descending {
		slices.Reverse(ids)
	}
	if v.Window.Next != uuid.Nil {
		i := slices.Index(ids, v.Window.Next)
		if i < 0 {
			return nil
		}
		ids = ids[i+1:]
	}
	if v.Window.Limit > 0 && len(ids) > v.Window.Limit {
		ids = ids[:v.Window.Limit]
	}
	return ids
}

// Needs reports whether the testcases themselves are shown and have to be fetched.
func (v View) Needs(data entity.Document) bool {
	return !v.WithoutTestcases && data != nil && !Inline(data)
}

// Show gives the data as a reply has it, with the testcases that Wanted names.
// A revision of before whose ids name nothing shows the ids alone.
func (v View) Show(data entity.Document, found map[uuid.UUID]*Testcase) entity.Document {
	if data == nil {
		return nil
	}
	shown := entity.Document{}
	if Inline(data) {
		for name, value := range data {
			if name == memberTestcases && v.WithoutTestcases || name == memberIDs && v.WithoutIDs {
				continue
			}
			shown[name] = value
		}
		return shown
	}
	ids := v.Wanted(data)
	if !v.WithoutIDs {
		shown[memberIDs] = Stored(ids)[memberIDs]
	}
	if v.WithoutTestcases {
		return shown
	}
	rows := make([]any, 0, len(ids))
	for _, id := range ids {
		if t := found[id]; t != nil {
			rows = append(rows, t.within())
		}
	}
	if len(rows) == len(ids) {
		shown[memberTestcases] = rows
	} else {
		shown[memberIDs] = Stored(ids)[memberIDs]
	}
	return shown
}
