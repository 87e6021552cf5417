//go:build embedded

package httpapi

import (
	"cmp"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"colonnade/deploy/embedded/internal/chdb"
)

// request is one HTTP request, taken apart the way a ClickHouse server does.
type request struct {
	query    url.Values
	queryID  string
	database string
	format   string // default_format
	settings map[string]string
	params   []chdb.Param
	external []external

	compress       bool // answer in ClickHouse's frames
	wait           bool // wait_end_of_query: no byte before the whole result
	sessionID      string
	sessionTimeout time.Duration
	sessionCheck   bool
	sessionClose   bool
	revision       int // client_protocol_version, 0 when not sent

	body io.Reader // what follows the statement's own parameter, decoded
}

// parseRequest reads everything but the body of an INSERT.
func parseRequest(r *http.Request) (*request, error) {
	q := r.URL.Query()
	req := &request{
		query: q, queryID: q.Get("query_id"), format: q.Get("default_format"), settings: map[string]string{},
		compress: truthy(q.Get("compress")), wait: truthy(q.Get("wait_end_of_query")),
		sessionID: q.Get("session_id"), sessionCheck: truthy(q.Get("session_check")), sessionClose: truthy(q.Get("close_session")),
		sessionTimeout: time.Minute,
	}
	req.database = cmp.Or(q.Get("database"), r.Header.Get("X-ClickHouse-Database"), Database)
	if req.database == "default" {
		req.database = Database
	}
	req.format = cmp.Or(req.format, r.Header.Get("X-ClickHouse-Format"), "TabSeparated")
	req.queryID = cmp.Or(req.queryID, rand.Text())
	if seconds, err := strconv.Atoi(q.Get("session_timeout")); err == nil && seconds > 0 {
		req.sessionTimeout = min(time.Duration(seconds)*time.Second, time.Hour)
	}
	req.revision, _ = strconv.Atoi(q.Get("client_protocol_version")) // absent or odd: an old client
	body, err := decodedBody(r, truthy(q.Get("decompress")))
	if err != nil {
		return nil, err
	}
	req.body = body
	isForm := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
	for name, values := range q {
		value := values[0]
		switch {
		case isReserved(name):
		case strings.HasPrefix(name, "param_"):
			req.params = append(req.params, chdb.Param{Name: name[len("param_"):], Value: value})
		case isForm && (strings.HasSuffix(name, "_format") || strings.HasSuffix(name, "_structure") || strings.HasSuffix(name, "_types")):
		default:
			req.settings[name] = value
		}
	}
	if r.Method == http.MethodGet && req.settings["readonly"] == "" {
		req.settings["readonly"] = "2" // a GET changes nothing, as on a server
	}
	if isForm {
		return req, req.parseForm(r)
	}
	return req, nil
}

// isReserved names the parameters that are no settings of the statement:
// those of HTTP itself, and those that only matter to a real server's HTTP.
func isReserved(name string) bool {
	switch name {
	case "query", "query_id", "quota_key", "database", "default_format", "user", "password", "role",
		"compress", "decompress", "session_id", "session_timeout", "session_check", "close_session",
		"buffer_size", "wait_end_of_query", "stacktrace", "client_protocol_version",
		"network_compression_method", "network_zstd_compression_level", "enable_http_compression",
		"http_zlib_compression_level", "send_progress_in_http_headers", "http_headers_progress_interval_ms",
		"cancel_http_readonly_queries_on_client_close", "http_response_buffer_size", "http_wait_end_of_query":
		return true
	default:
		return false
	}
}

// decodedBody undoes Content-Encoding and ClickHouse's own frames.
func decodedBody(r *http.Request, frames bool) (io.Reader, error) {
	var body io.Reader = r.Body
	var err error
	switch coding := r.Header.Get("Content-Encoding"); coding {
	case "", "identity":
	case "gzip":
		body, err = gzip.NewReader(body)
	case "deflate":
		body, err = zlib.NewReader(body)
	case "br":
		body = brotli.NewReader(body)
	case "zstd":
		var decoder *zstd.Decoder
		if decoder, err = zstd.NewReader(body, zstd.WithDecoderConcurrency(1)); err == nil {
			body = decoder.IOReadCloser()
		}
	default:
		return nil, raise(codeBadArguments, "BAD_ARGUMENTS", "Unknown compression method: %s", coding)
	}
	if err != nil {
		return nil, raise(codeCannotDecode, "CANNOT_DECOMPRESS", "%v", err)
	}
	if frames {
		body = &frameReader{compress.NewReader(body)}
	}
	return body, nil
}

// frameReader gives the end of the frames the name that io expects; ch-go wraps it.
type frameReader struct{ *compress.Reader }

func (f *frameReader) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.EOF
	}
	return n, err
}

// headSize is how much of a body is looked at for an INSERT's head; a server looks at as much.
const headSize = 256 << 10

// statement yields the SQL, and what remains of the body as data when the SQL is an INSERT that takes it.
func (req *request) statement() (statement, io.Reader, error) {
	text := req.query.Get("query")
	if text != "" {
		if s := analyse(text); s.takesBody() {
			return s, req.body, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(req.body, headSize))
	if err != nil {
		return statement{}, nil, raise(codeNetwork, "NETWORK_ERROR", "reading the request: %v", err)
	}
	if text != "" && len(head) > 0 {
		text += "\n"
	}
	s := analyse(text + string(head))
	if s.takesBody() && s.format != "Values" {
		return s, req.body, nil
	}
	if len(head) == headSize {
		rest, err := io.ReadAll(req.body)
		if err != nil {
			return statement{}, nil, raise(codeNetwork, "NETWORK_ERROR", "reading the request: %v", err)
		}
		s = analyse(s.sql + string(rest))
	}
	return s, nil, nil
}

func truthy(s string) bool { return s == "1" || s == "true" }
