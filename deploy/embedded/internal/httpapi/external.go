//go:build embedded

package httpapi

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"colonnade/deploy/embedded/internal/chdb"
)

// external is a table that a request brings along for its own query.
type external struct {
	name, structure, format string
	data                    []byte
}

// maxExternal bounds one external table; it is held in memory.
const maxExternal = 256 << 20

// parseForm reads external tables, and the query when it is a field, from a multipart body.
func (req *request) parseForm(r *http.Request) error {
	form, err := r.MultipartReader()
	if err != nil {
		return raise(codeBadArguments, "BAD_ARGUMENTS", "%v", err)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			req.body = strings.NewReader("")
			return nil
		}
		if err != nil {
			return raise(codeBadArguments, "BAD_ARGUMENTS", "%v", err)
		}
		if err := req.addPart(part); err != nil {
			return err
		}
	}
}

func (req *request) addPart(part *multipart.Part) error {
	data, err := io.ReadAll(io.LimitReader(part, maxExternal+1))
	if err != nil {
		return raise(codeNetwork, "NETWORK_ERROR", "%v", err)
	}
	if len(data) > maxExternal {
		return raise(codeBadArguments, "BAD_ARGUMENTS", "External table %q is larger than %d bytes", part.FormName(), maxExternal)
	}
	name := part.FormName()
	if name == "query" || part.FileName() == "" && req.query.Get(name+"_structure") == "" && req.query.Get(name+"_types") == "" && isReserved(name) {
		req.query.Set(name, string(data))
		return nil
	}
	if p, is := strings.CutPrefix(name, "param_"); is {
		req.params = append(req.params, chdb.Param{Name: p, Value: string(data)})
		return nil
	}
	table := external{name: name, structure: req.query.Get(name + "_structure"), format: req.query.Get(name + "_format"), data: data}
	if table.structure == "" {
		var columns []string
		for i, kind := range strings.Split(req.query.Get(name+"_types"), ",") {
			columns = append(columns, "_"+string(rune('1'+i))+" "+kind)
		}
		table.structure = strings.Join(columns, ", ")
	}
	if table.format == "" {
		table.format = "TabSeparated"
	}
	req.external = append(req.external, table)
	return nil
}

// load creates the external table on the session, where it lives until the connection closes.
func (e external) load(s *session) error {
	s.spoiled = true
	if err := s.exec("CREATE TEMPORARY TABLE " + ident(e.name) + " (" + e.structure + ") ENGINE=Memory"); err != nil {
		return err
	}
	insert := s.conn.Insert("INSERT INTO "+ident(e.name), e.format, nil)
	defer insert.Destroy()
	if text := insert.Err(); text != "" {
		return exception(text)
	}
	insert.Append(e.data)
	done := insert.Done()
	defer done.Destroy()
	if text := done.Err(); text != "" {
		return exception(text)
	}
	return nil
}
