//go:build embedded

package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
)

// run executes the request's statement and writes the answer.
func (d *Server) run(ctx context.Context, req *request, a *answer) error {
	s, data, err := req.statement()
	if err != nil {
		return err
	}
	if err := s.refusal(req.settings["readonly"]); err != nil {
		return err
	}
	if req.revision > 0 && strings.TrimSpace(s.sql) == helloQuery {
		return d.hello(req, a)
	}
	session, done, err := d.session(req)
	if err != nil {
		return err
	}
	defer done()
	for _, table := range req.external {
		if err := table.load(session); err != nil {
			return err
		}
	}
	if s.changesSession() {
		session.spoiled = true
	}
	err = d.execute(ctx, req, session, s, data, a)
	// Until its next statement a connection keeps what the failed one had read and
	// the tables it read from: memory, and a DROP ... SYNC that waits.
	session.failed = err != nil
	return err
}

// execute runs the statement on its connection; data follow an INSERT's head.
func (d *Server) execute(ctx context.Context, req *request, session *session, s statement, data io.Reader, a *answer) error {
	if data != nil {
		return d.insert(req, session, s, data, a)
	}
	if s.several && session.conn.Statements(s.sql) > 1 {
		return raise(codeSyntax, "SYNTAX_ERROR", "Multi-statements are not allowed")
	}
	if s.reads() {
		defer d.pool.killer.whenDone(ctx, session)()
	}
	format := req.format
	if s.format != "" && s.keyword != "INSERT" {
		format = s.format
	}
	a.http.Header().Set("X-ClickHouse-Format", format)
	a.http.Header().Set("X-ClickHouse-Timezone", d.timezone)
	a.http.Header().Set("Content-Type", contentType(format))
	if s.streams() && !req.wait && streamable(format) {
		return stream(req, session, s, a)
	}
	return materialise(req, session, s, a)
}

// materialise runs any statement and sends its result when it is whole.
func materialise(req *request, session *session, s statement, a *answer) error {
	result := session.conn.Query(s.sql, req.format, req.params)
	defer result.Destroy()
	if text := result.Err(); text != "" {
		return exception(text)
	}
	a.summary(result.Summary())
	if err := a.write(result.Bytes()); err != nil {
		return err
	}
	return a.finish()
}

// stream sends a SELECT's result while it is made.
func stream(req *request, session *session, s statement, a *answer) error {
	pieces := session.conn.Stream(s.sql, req.format, req.params)
	finished := false
	defer func() { pieces.Close(finished) }()
	if text := pieces.Err(); text != "" {
		finished = true
		return exception(text)
	}
	for {
		piece := pieces.Next()
		text, data := piece.Err(), piece.Bytes()
		if text != "" || len(data) == 0 {
			piece.Destroy()
			finished = true
			if text != "" {
				return exception(text)
			}
			return a.finish()
		}
		err := a.write(data)
		piece.Destroy()
		if err != nil {
			return err
		}
	}
}

// pieceSize is how much of an INSERT's body goes into one call of the engine:
// big enough that calls do not count, small enough that the engine parses while the rest still arrives.
const pieceSize = 1 << 20

// buffers holds the pieces' memory between requests.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any {
		b := make([]byte, pieceSize)
		return &b
	}}}
}

// insert feeds the data that follows an INSERT's head to the engine. Rows are
// stored when it returns nil; a body that breaks off stores nothing.
func (d *Server) insert(req *request, session *session, s statement, body io.Reader, a *answer) error {
	into := session.conn.Insert(s.sql[:s.head], s.format, req.params)
	defer into.Destroy()
	if text := into.Err(); text != "" {
		return exception(text)
	}
	if inline := s.sql[s.data:]; inline != "" {
		body = io.MultiReader(strings.NewReader(inline), body)
	}
	buffer, _ := d.buffers.pool.Get().(*[]byte)
	defer d.buffers.pool.Put(buffer)
	for {
		n, err := fill(body, *buffer)
		if err != nil && !errors.Is(err, io.EOF) {
			into.Abort()
			return raise(codeNetwork, "NETWORK_ERROR", "reading the data: %v", err)
		}
		if !into.Append((*buffer)[:n]) || err != nil {
			break // the data's end, or a failure of which Done tells why
		}
	}
	result := into.Done()
	defer result.Destroy()
	if text := result.Err(); text != "" {
		return exception(text)
	}
	a.summary(result.Summary())
	return a.finish()
}

// fill reads until the buffer is full. Unlike io.ReadFull it leaves the error
// as it is: EOF is the data's end, ErrUnexpectedEOF a connection that broke.
func fill(r io.Reader, buffer []byte) (int, error) {
	n := 0
	for n < len(buffer) {
		m, err := r.Read(buffer[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// hello answers the driver's first query itself. The engine writes Native
// blocks of revision 0, so that is the revision that the driver needs; but
// it reads this very answer at the revision that it asked for.
func (d *Server) hello(req *request, a *answer) error {
	block := proto.NewBlock()
	for _, c := range []struct {
		name string
		kind column.Type
	}{
		{"displayName()", "String"},
		{"version()", "String"},
		{"revision()", "UInt32"},
		{"timezone()", "String"},
	} {
		if err := block.AddColumn(c.name, c.kind); err != nil {
			return err
		}
	}
	if err := block.Append(displayName, d.version, uint32(0), d.timezone); err != nil {
		return err
	}
	buffer := new(chproto.Buffer)
	if err := block.Encode(buffer, uint64(req.revision)); err != nil { //nolint:gosec // positive, looked at by the caller
		return err
	}
	if err := a.write(bytes.Clone(buffer.Buf)); err != nil {
		return err
	}
	return a.finish()
}

// streamable names the formats whose pieces, one after the other, are the
// whole: the engine ends the format after every piece, so that any format with
// a head or a foot comes out broken.
func streamable(format string) bool {
	switch format {
	case "Native", "TabSeparated", "TSV", "TabSeparatedRaw", "TSVRaw", "CSV", "JSONEachRow", "JSONLines", "NDJSON", "JSONCompactEachRow", "RowBinary", "LineAsString", "RawBLOB", "Null":
		return true
	default:
		return false
	}
}

func contentType(format string) string {
	switch {
	case strings.HasPrefix(format, "JSON") && strings.HasSuffix(format, "EachRow"), format == "NDJSON", format == "JSONLines":
		return "application/x-ndjson; charset=UTF-8"
	case strings.HasPrefix(format, "JSON"):
		return "application/json; charset=UTF-8"
	case strings.HasPrefix(format, "CSV"):
		return "text/csv; charset=UTF-8; header=absent"
	case strings.HasPrefix(format, "TabSeparated"), strings.HasPrefix(format, "TSV"):
		return "text/tab-separated-values; charset=UTF-8"
	case format == "Native", strings.HasPrefix(format, "RowBinary"), format == "Parquet", strings.HasPrefix(format, "Arrow"):
		return "application/octet-stream"
	default:
		return "text/plain; charset=UTF-8"
	}
}
