package testset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"colonnade/domain/entity"
	"colonnade/domain/request"
)

// types says of a CSV row what its cells cannot: which of them are JSON and
// not strings, and which columns the row does not have at all.
type types struct {
	JSON   []string `json:"json,omitempty"`
	Absent []string `json:"absent,omitempty"`
}

// writeCSV writes a header and a line for each testcase (RFC 4180, lines end
// with LF). A string is its cell as it is; anything else is JSON, and the
// column __types__ says so, where there is anything to say. So a spreadsheet
// shows what is there, and the file reads back as it was.
func writeCSV(w io.Writer, testcases []Testcase, neutral bool) error {
	data := columnsOf(testcases)
	header := make([]string, 0, len(data)+5)
	for _, name := range data {
		header = append(header, fileColumn(name))
	}
	typed := slices.ContainsFunc(testcases, func(t Testcase) bool { return !plain(t.Data, data) })
	if typed {
		header = append(header, fileTypes)
	}
	header = append(header, fileID)
	beside := labelsIn(testcases)
	for _, l := range beside {
		header = append(header, l.name)
	}
	out := &csvWriter{w: bufio.NewWriter(w), neutral: neutral}
	out.line(header)
	cells := make([]string, 0, len(header))
	for i := range testcases {
		t := &testcases[i]
		row, hints, err := cellsOf(t.Data, data)
		if err != nil {
			return err
		}
		cells = append(cells[:0], row...)
		if typed {
			cells = append(cells, hints)
		}
		cells = append(cells, t.ID.String())
		for _, l := range beside {
			text := ""
			if document := l.of(t); document != nil {
				if text, err = plainJSON(document); err != nil {
					return err
				}
			}
			cells = append(cells, text)
		}
		if out.line(cells); out.err != nil {
			return out.err
		}
	}
	return errors.Join(out.err, out.w.Flush())
}

type label struct {
	name string
	of   func(*Testcase) entity.Document
}

// labelsIn are what any testcase says beside its data.
func labelsIn(testcases []Testcase) []label {
	all := []label{
		{fileFlags, func(t *Testcase) entity.Document { return t.Flags }},
		{fileTags, func(t *Testcase) entity.Document { return t.Tags }},
		{fileMeta, func(t *Testcase) entity.Document { return t.Meta }},
	}
	return slices.DeleteFunc(all, func(l label) bool {
		return !slices.ContainsFunc(testcases, func(t Testcase) bool { return l.of(&t) != nil })
	})
}

// plain reports whether a row has every column, each a string.
func plain(data entity.Document, columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool {
		_, ok := data[name].(string)
		return !ok
	})
}

func cellsOf(data entity.Document, columns []string) (cells []string, hints string, err error) {
	var t types
	cells = make([]string, len(columns))
	for i, name := range columns {
		value, there := data[name]
		text, isText := value.(string)
		switch {
		case !there:
			t.Absent = append(t.Absent, fileColumn(name))
		case isText:
			cells[i] = text
		default:
			t.JSON = append(t.JSON, fileColumn(name))
			if cells[i], err = plainJSON(value); err != nil {
				return nil, "", err
			}
		}
	}
	if t.JSON == nil && t.Absent == nil {
		return cells, "", nil
	}
	hints, err = plainJSON(t)
	return cells, hints, err
}

// csvWriter remembers the first error.
type csvWriter struct {
	w       *bufio.Writer
	neutral bool
	err     error
}

func (c *csvWriter) line(cells []string) {
	for i, cell := range cells {
		if i > 0 {
			c.write(",")
		}
		if c.neutral && cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			cell = "'" + cell
		}
		if quotable(cell, len(cells) == 1) {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		c.write(cell)
	}
	c.write("\n")
}

// quotable reports whether a cell would not be read back without quotes: an only
// cell that is empty would be a blank line, a byte order mark would be dropped.
func quotable(cell string, alone bool) bool {
	return strings.ContainsAny(cell, ",\"\r\n") || alone && cell == "" || strings.HasPrefix(cell, "\ufeff")
}

func (c *csvWriter) write(text string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(text)
	}
}

// Delimiter is the character between the cells of a CSV file.
type Delimiter string

// Delimiters returns those that a file may have; the first is the usual one.
func Delimiters() []Delimiter { return []Delimiter{",", ";", "\t", "|"} }

// FindDelimiter returns the delimiter that is most frequent in the header of a file, outside of
// quotes; the comma where none is more frequent. Source: contract §0 row 58.
func FindDelimiter(text []byte) Delimiter {
	counts, quoted := map[Delimiter]int{}, false
	for _, c := range strings.TrimLeft(string(text[:min(len(text), maxHeaderBytes)]), "\ufeff\r\n") {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' || c == '\r' {
			break
		}
		counts[Delimiter(c)]++
	}
	best := Delimiters()[0]
	for _, d := range Delimiters()[1:] {
		if counts[d] > counts[best] {
			best = d
		}
	}
	return best
}

// maxHeaderBytes bounds how far a file is searched for its delimiter.
const maxHeaderBytes = 1 << 20

// readCSV reads a header and its rows. Cells are strings but where __types__
// says something else.
func readCSV(text string, delimiter Delimiter) ([]Testcase, error) {
	in := &csvReader{rest: text, line: 1, delimiter: string(delimiter)}
	header, line, err := in.record()
	if errors.Is(err, io.EOF) {
		return nil, atLine("csv_invalid", 1, "a header with the names of the columns is missing")
	}
	if err != nil {
		return nil, err
	}
	if err := checkHeader(header, line); err != nil {
		return nil, err
	}
	testcases, size := []Testcase{}, 0
	for {
		cells, line, err := in.record()
		if errors.Is(err, io.EOF) {
			return testcases, nil
		}
		if err != nil {
			return nil, err
		}
		if len(cells) != len(header) {
			return nil, atLine("csv_invalid", line, "%d cells, where the header has %d", len(cells), len(header))
		}
		t, err := readCSVRow(header, cells)
		if err != nil {
			return nil, atLine("csv_invalid", line, "%s", err)
		}
		// An empty cell is a comma here, and a member of an object in memory.
		size += atLeast(t.Data)
		testcases = append(testcases, t)
		if err := errors.Join(checkCount(len(testcases)), checkBytes(size)); err != nil {
			return nil, err
		}
	}
}

func checkHeader(header []string, line int) error {
	columns, seen := 0, make(map[string]bool, len(header))
	for i, name := range header {
		if name == "" {
			return atLine("csv_invalid", line, "column %d has no name", i+1)
		}
		if !reserved(name) || name == fileDedup {
			columns++
		}
		if seen[dataColumn(name)] {
			return atLine("csv_invalid", line, "two columns are called %q", name)
		}
		seen[dataColumn(name)] = true
	}
	return checkColumns(columns)
}

func readCSVRow(header, cells []string) (Testcase, error) {
	var hints types
	if i := slices.Index(header, fileTypes); i >= 0 && cells[i] != "" {
		value, err := cellJSON(cells[i])
		if err != nil {
			return Testcase{}, fmt.Errorf("%s is not JSON: %w", fileTypes, err)
		}
		if hints, err = readTypes(value); err != nil {
			return Testcase{}, err
		}
	}
	row := make(map[string]any, len(header))
	for i, name := range header {
		isLabel := name == fileFlags || name == fileTags || name == fileMeta
		switch {
		case name == fileTypes, isLabel && cells[i] == "":
		case slices.Contains(hints.Absent, name):
			if cells[i] != "" {
				return Testcase{}, fmt.Errorf("the cell of %q is not empty, though %s says that the row has none", name, fileTypes)
			}
		case isLabel || slices.Contains(hints.JSON, name):
			value, err := cellJSON(cells[i])
			if err != nil {
				return Testcase{}, fmt.Errorf("the cell of %q is not JSON: %w", name, err)
			}
			row[dataColumn(name)] = value
		default:
			row[dataColumn(name)] = cells[i]
		}
	}
	t := Testcase{Data: row}
	return t, labels(&t, row)
}

// cellJSON reads a value as a body's would be: exact, and nothing that a store does not hold.
func cellJSON(cell string) (any, error) {
	value, err := request.ParseValue([]byte(cell))
	if err != nil {
		return nil, err
	}
	return value, request.CheckStorable(value)
}

func readTypes(value any) (types, error) {
	members, _ := value.(map[string]any)
	o := request.ObjectOf(members)
	hints := types{JSON: o.Strings("json"), Absent: o.Strings("absent")}
	o.FailUnknown()
	if err := o.Err(); err != nil || members == nil {
		return hints, fmt.Errorf(`%s is {"json": [names], "absent": [names]}`, fileTypes)
	}
	return hints, nil
}

// csvReader cuts a text into records. It keeps line ends within quotes as they
// are, which encoding/csv does not, and counts lines.
type csvReader struct {
	rest, delimiter string
	// line is the one that rest begins in.
	line int
}

// record gives the next record that is no blank line, and the line that it begins in.
func (c *csvReader) record() (cells []string, line int, err error) {
	for blank := true; blank; {
		blank = c.endOfLine()
	}
	if c.rest == "" {
		return nil, c.line, io.EOF
	}
	line = c.line
	for {
		cell, err := c.cell()
		if err != nil {
			return nil, line, err
		}
		if cells = append(cells, cell); len(cells) > MaxColumns+reservedNames {
			return nil, line, checkColumns(len(cells))
		}
		switch {
		case strings.HasPrefix(c.rest, c.delimiter):
			c.rest = c.rest[1:]
		case c.rest == "" || c.endOfLine():
			return cells, line, nil
		default:
			return nil, line, atLine("csv_invalid", c.line, "something follows a closing quote")
		}
	}
}

// endOfLine takes LF, CR LF or CR, if one is next.
func (c *csvReader) endOfLine() bool {
	for _, end := range [...]string{"\r\n", "\n", "\r"} {
		if rest, ok := strings.CutPrefix(c.rest, end); ok {
			c.rest = rest
			c.line++
			return true
		}
	}
	return false
}

func (c *csvReader) cell() (string, error) {
	if !strings.HasPrefix(c.rest, `"`) {
		end := strings.IndexAny(c.rest, c.delimiter+"\r\n")
		if end < 0 {
			end = len(c.rest)
		}
		cell := c.rest[:end]
		if strings.Contains(cell, `"`) {
			return "", atLine("csv_invalid", c.line, "a quote in a cell that does not begin with one")
		}
		c.rest = c.rest[end:]
		return cell, nil
	}
	line := c.line
	rest := c.rest[1:]
	var b strings.Builder
	for {
		end := strings.IndexByte(rest, '"')
		if end < 0 {
			return "", atLine("csv_invalid", line, "a quote that is never closed")
		}
		b.WriteString(rest[:end])
		c.line += strings.Count(rest[:end], "\n")
		rest = rest[end+1:]
		if !strings.HasPrefix(rest, `"`) {
			c.rest = rest
			return b.String(), nil
		}
		b.WriteByte('"')
		rest = rest[1:]
	}
}
