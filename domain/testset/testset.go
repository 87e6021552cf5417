// Package testset is what the revisions of a testset hold: testcases, each an
// object of columns, in order. Here: how a testcase is named by what it says,
// how testcases are read from bodies and files (CSV, JSON) and written to
// them, what a delta of rows and columns does, how much a testset may hold;
// pure.
//
// Not here: the versioned entity that revisions belong to (domain/entity), SQL
// (write/registry/testcases and read/entities, the callers), multipart (write/api).
package testset

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
)

// What one revision may hold: enough for an evaluation that runs for days, and
// little enough that a reply with all of it is tens of megabytes.
const (
	MaxTestcases = 10_000
	MaxColumns   = 1000
	// MaxBytes bounds the testcases of a revision as JSON. A file says more than
	// they do: ids, and in CSV what a cell is.
	MaxBytes     = 10 << 20
	MaxFileBytes = 2 * MaxBytes
)

// Testcase is one row. It never changes: one that says something else is
// another one. Source: contract §5.8.
type Testcase struct {
	// ID is uuid.Nil until Name gives it.
	ID        uuid.UUID
	TestsetID uuid.UUID
	// Data are the columns; numbers are json.Number.
	Data              entity.Document
	Flags, Tags, Meta entity.Document
	CreatedAt         time.Time
	CreatedByID       uuid.UUID
}

// Targets are the addresses that a row in the order of schema.TestcaseColumns is scanned into.
func (t *Testcase) Targets() []any {
	return []any{&t.ID, &t.TestsetID, &t.Data, &t.Flags, &t.Tags, &t.Meta, &t.CreatedAt, &t.CreatedByID}
}

// content is the part of a testcase that its id is derived from. Absent members are left out,
// so that later members change no id.
type content struct {
	Data  entity.Document `json:"data"`
	Flags entity.Document `json:"flags,omitempty"`
	Tags  entity.Document `json:"tags,omitempty"`
	Meta  entity.Document `json:"meta,omitempty"`
}

// Name gives the testcases of a testset their ids, which follow from the
// testset and what each says (UUIDv8 of SHA-256): equal rows of a testset are
// one testcase, those of two testsets are two. More than a revision may hold
// is TooLarge.
func Name(testset uuid.UUID, testcases []Testcase) error {
	if err := checkCount(len(testcases)); err != nil {
		return err
	}
	size := 0
	for i := range testcases {
		if size += atLeast(testcases[i].Data); size > MaxBytes {
			return checkBytes(size) // a long name is shared by all rows until each is written out
		}
	}
	size, err := name(testset, testcases)
	if err != nil {
		return err
	}
	if err := checkBytes(size); err != nil {
		return err
	}
	return checkColumns(len(columnsOf(testcases)))
}

// name gives the ids, and the size of all contents.
func name(testset uuid.UUID, testcases []Testcase) (size int, err error) {
	for i := range testcases {
		t := &testcases[i]
		text, err := json.Marshal(content{t.Data, t.Flags, t.Tags, t.Meta}) // sorts the members
		if err != nil {
			return 0, fmt.Errorf("testset: naming testcase %d: %w", i, err)
		}
		t.TestsetID, t.ID = testset, uuid.NewHash(sha256.New(), testset, text, 8)
		size += len(text)
	}
	return size, nil
}

// atLeast is a size that the JSON of a row surely has.
func atLeast(data entity.Document) int {
	size := 0
	for name, value := range data {
		size += len(name) + len(`"":0,`)
		if text, ok := value.(string); ok {
			size += len(text)
		}
	}
	return size
}

func checkBytes(n int) error {
	if n > MaxBytes {
		return tooLarge("A testset holds at most %d MiB of testcases.", MaxBytes>>20)
	}
	return nil
}

func checkCount(n int) error {
	if n > MaxTestcases {
		return tooLarge("A testset holds at most %d testcases.", MaxTestcases)
	}
	return nil
}

func checkColumns(n int) error {
	if n > MaxColumns {
		return tooLarge("A testset has at most %d columns.", MaxColumns)
	}
	return nil
}

func tooLarge(format string, args ...any) error { return domain.E(domain.TooLarge, format, args...) }

// JSON is the wire form of a testcase that stands alone. Source: contract §5.8.
func (t *Testcase) JSON() map[string]any {
	m := t.within()
	m["set_id"] = t.TestsetID
	return m
}

// within is the form of a testcase in a revision, which says itself whose it is.
func (t *Testcase) within() map[string]any {
	m := map[string]any{"id": t.ID, "testset_id": t.TestsetID, "data": t.Data, "created_at": t.CreatedAt.UTC(), "created_by_id": t.CreatedByID}
	t.putLabels(m, "flags", "tags", "meta")
	return m
}

// putLabels adds what a testcase says beside its data, under these names.
func (t *Testcase) putLabels(m map[string]any, flags, tags, meta string) {
	for _, label := range []struct {
		name  string
		value entity.Document
	}{{flags, t.Flags}, {tags, t.Tags}, {meta, t.Meta}} {
		if label.value != nil {
			m[label.name] = label.value
		}
	}
}

// columnsOf are the names of all columns, sorted.
func columnsOf(testcases []Testcase) []string {
	seen := map[string]bool{}
	for i := range testcases {
		for name := range testcases[i].Data {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
