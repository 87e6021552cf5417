package testset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// Format is what a file of testcases is written in.
type Format string

// The formats. Source: contract §5.8.
const (
	CSV  Format = "csv"
	JSON Format = "json"
)

// The names that files keep for what stands beside the data of a testcase.
// Source: contract §5.8.
const (
	fileID    = "__id__"
	fileFlags = "__flags__"
	fileTags  = "__tags__"
	fileMeta  = "__meta__"
	// fileTypes says of a CSV row which cells are not strings.
	fileTypes = "__types__"
	// fileDedup is what files call the column by which a client tells equal rows apart.
	fileDedup   = "__dedup_id__"
	columnDedup = "testcase_dedup_id"
)

// reservedNames is how many there are.
const reservedNames = 6

// reserved reports whether files keep a name for themselves.
func reserved(name string) bool {
	switch name {
	case fileID, fileFlags, fileTags, fileMeta, fileTypes, fileDedup:
		return true
	default:
		return false
	}
}

// fileColumn is the name that files have for a column of the data.
func fileColumn(name string) string {
	if name == columnDedup {
		return fileDedup
	}
	return name
}

// dataColumn is the other way.
func dataColumn(name string) string {
	if name == fileDedup {
		return columnDedup
	}
	return name
}

// Read reads a file. What is wrong with it is Invalid and names the line; more
// than a testset may hold is TooLarge. Ids in it mean nothing: they follow from
// the rows.
//
// The delimiter is that of a CSV file; empty means the one that FindDelimiter returns.
func Read(format Format, delimiter Delimiter, text []byte) ([]Testcase, error) {
	if len(text) > MaxFileBytes {
		return nil, tooLarge("A file of testcases has at most %d MiB.", MaxFileBytes>>20)
	}
	if bad := firstBad(text); bad >= 0 {
		return nil, atLine(string(format)+"_invalid", lineOf(text, bad), "the text is not UTF-8, or has the character NUL, which cannot be stored")
	}
	if format == JSON {
		return readJSON(text)
	}
	if delimiter == "" {
		delimiter = FindDelimiter(text)
	}
	return readCSV(string(bytes.TrimPrefix(text, []byte("\ufeff"))), delimiter) // spreadsheets begin with it
}

// firstBad is where a text stops being one; negative when it does not.
func firstBad(text []byte) int {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return i
	}
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func lineOf(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// atLine is a problem of a file, with the line as its location.
func atLine(typ string, line int, format string, args ...any) error {
	msg := fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
	return refuse([]domain.Field{{Type: typ, Loc: []any{"body", "file", line}, Msg: msg}})
}

// labels takes what stands beside the data out of a row of a file.
func labels(t *Testcase, row map[string]any) error {
	for _, label := range []struct {
		name string
		to   *entity.Document
	}{{fileFlags, &t.Flags}, {fileTags, &t.Tags}, {fileMeta, &t.Meta}} {
		value := row[label.name]
		delete(row, label.name)
		if value == nil {
			continue
		}
		m, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not a JSON object", label.name)
		}
		*label.to = m
	}
	for name, value := range t.Flags {
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("the flag %q is not true or false", name)
		}
	}
	delete(row, fileID)
	return nil
}

// readJSON reads a list of objects, row by row: a list that is too long is not
// held in memory.
func readJSON(text []byte) ([]Testcase, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	broken := func(err error) error {
		offset := int(dec.InputOffset())
		if syntax, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // the decoder's own, never wrapped
			offset = int(syntax.Offset)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF { //nolint:errorlint // as above
			offset, err = len(text), errors.New("the list has no end")
		}
		return atLine("json_invalid", lineOf(text, min(offset, len(text))), "%s", err)
	}
	first, err := dec.Token()
	if err != nil {
		return nil, broken(err)
	}
	if first != json.Delim('[') {
		return nil, atLine("json_invalid", lineOf(text, int(dec.InputOffset())), "a file of testcases is a list of objects")
	}
	testcases, columns := []Testcase{}, map[string]bool{}
	line, counted := 1, 0
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, broken(err)
		}
		start := int(dec.InputOffset()) - len(raw)
		line += bytes.Count(text[counted:start], []byte("\n"))
		counted = start
		t, err := readJSONRow(raw, line)
		if err != nil {
			return nil, err
		}
		testcases = append(testcases, t)
		for name := range t.Data {
			columns[name] = true
		}
		if err := checkSize(len(testcases), len(columns)); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, broken(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, atLine("json_invalid", lineOf(text, int(dec.InputOffset())), "something follows the list")
	}
	return testcases, nil
}

func readJSONRow(raw []byte, line int) (Testcase, error) {
	o, err := request.ParseObject(raw)
	if err != nil {
		return Testcase{}, atLine("json_invalid", line, "a testcase is an object: %s", err)
	}
	row := map[string]any{}
	for _, name := range o.Names() {
		if column := dataColumn(name); row[column] == nil {
			row[column] = o.Any(name)
		}
	}
	t := Testcase{Data: row}
	if err := labels(&t, row); err != nil {
		return t, atLine("json_invalid", line, "%s", err)
	}
	if _, ok := row[fileTypes]; ok {
		return t, atLine("json_invalid", line, "%s belongs to CSV", fileTypes)
	}
	if _, ok := row[""]; ok {
		return t, atLine("json_invalid", line, "a column has no name")
	}
	return t, nil
}

func checkSize(rows, columns int) error {
	if err := checkCount(rows); err != nil {
		return err
	}
	return checkColumns(columns)
}

// Write writes testcases as a file that Read reads back as they are, row by
// row. Neutral is for CSV that a person opens in a spreadsheet: a cell that one
// would run as a formula gets a quote in front. Such a file does not read back
// as it was, so it is asked for.
func Write(w io.Writer, format Format, testcases []Testcase, neutral bool) error {
	if format == JSON {
		return writeJSON(w, testcases)
	}
	return writeCSV(w, testcases, neutral)
}

func writeJSON(w io.Writer, testcases []Testcase) error {
	before := "["
	for i := range testcases {
		t := &testcases[i]
		row := make(map[string]any, len(t.Data)+1)
		for name, value := range t.Data {
			row[fileColumn(name)] = value
		}
		row[fileID] = t.ID
		t.putLabels(row, fileFlags, fileTags, fileMeta)
		text, err := plainJSON(row)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, before+text); err != nil {
			return err
		}
		before = ",\n"
	}
	if len(testcases) > 0 {
		before = ""
	}
	_, err := io.WriteString(w, before+"]\n")
	return err
}

// plainJSON is JSON with members sorted and without escapes that only HTML needs.
func plainJSON(value any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", fmt.Errorf("testset: writing JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// FileName is the name under which a file is offered: what was asked for, of
// which nothing stays that a header, a shell or a file system takes amiss, or
// the other one.
func FileName(asked, otherwise string, format Format) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r == ' ':
			return r
		default:
			return '_'
		}
	}, asked)
	name = strings.Trim(name, ". ")
	if name == "" {
		name = otherwise
	}
	const most = 128
	if len(name) > most {
		name = name[:most]
	}
	return strconv.Quote(strings.TrimSuffix(name, "."+string(format)) + "." + string(format))
}
