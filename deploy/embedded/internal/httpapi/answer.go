//go:build embedded

package httpapi

import (
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"colonnade/deploy/embedded/internal/chdb"
)

// answer writes one response: plain, in ClickHouse's own compressed frames
// (compress=1), or under a Content-Encoding. Nothing is written before the
// first byte of the result, so that an early exception still has a status.
type answer struct {
	http    http.ResponseWriter
	tag     string
	body    io.Writer      // where result bytes go; nil until the first
	coding  io.WriteCloser // the content coding, when there is one
	started bool

	native  *compress.Writer // compress=1
	accepts string           // the content coding that the client asked for
}

func newAnswer(w http.ResponseWriter, r *http.Request, req *request) *answer {
	a := &answer{http: w, tag: strings.ToLower(rand.Text()[:16])}
	if req.compress {
		method := compress.LZ4
		if strings.EqualFold(req.query.Get("network_compression_method"), "ZSTD") {
			method = compress.ZSTD
		}
		a.native = compress.NewWriter(0, method)
	}
	if truthy(req.query.Get("enable_http_compression")) {
		a.accepts = contentCoding(r.Header.Get("Accept-Encoding"))
	}
	h := w.Header()
	h.Set("X-ClickHouse-Server-Display-Name", displayName)
	h.Set("X-ClickHouse-Query-Id", req.queryID)
	h.Set("X-ClickHouse-Exception-Tag", a.tag)
	return a
}

// begin sends the headers.
func (a *answer) begin() error {
	a.started = true
	a.body = a.http
	if a.accepts == "" {
		return nil
	}
	a.http.Header().Set("Content-Encoding", a.accepts)
	var err error
	switch a.accepts {
	case "br":
		a.coding = brotli.NewWriterLevel(a.http, 1)
	case "deflate":
		a.coding, err = zlib.NewWriterLevel(a.http, zlib.BestSpeed)
	case "zstd":
		a.coding, err = zstd.NewWriter(a.http, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	default:
		a.coding, err = gzip.NewWriterLevel(a.http, gzip.BestSpeed)
	}
	a.body = a.coding
	return err
}

// frameSize is the largest piece in one compressed frame, as on a server.
const frameSize = 1 << 20

// write sends result bytes.
func (a *answer) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if !a.started {
		if err := a.begin(); err != nil {
			return err
		}
	}
	for a.native != nil && len(data) > 0 {
		n := min(len(data), frameSize)
		if err := a.native.Compress(data[:n]); err != nil {
			return err
		}
		if _, err := a.body.Write(a.native.Data); err != nil {
			return err
		}
		data = data[n:]
	}
	_, err := a.body.Write(data)
	return err
}

// finish ends a response without an exception.
func (a *answer) finish() error {
	if a.coding != nil {
		return a.coding.Close()
	}
	return nil
}

// fail tells an exception: as a status and text while nothing was sent, and as
// the marked block that clients look for at the end of a broken stream after that.
func (a *answer) fail(err error) {
	var e exception
	if !errors.As(err, &e) {
		e = raise(codeNetwork, "NETWORK_ERROR", "%v", err)
	}
	text := strings.TrimRight(string(e), "\n")
	if !a.started {
		a.http.Header().Set("X-ClickHouse-Exception-Code", strconv.Itoa(e.code()))
		a.http.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		a.http.WriteHeader(e.status())
		_, _ = io.WriteString(a.http, text+"\n") // the client may be gone
		return
	}
	const limit = 16<<10 - 200 // the whole block is at most 16 KiB
	if len(text) > limit {
		text = text[:limit]
	}
	// The block stays outside of the compressed frames: a client meets it where it expects the next frame.
	_, _ = fmt.Fprintf(a.body, "\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n", a.tag, text, len(text)+1, a.tag)
	_ = a.finish()
}

// summary sets the header of counts; it must precede the first byte.
func (a *answer) summary(s chdb.Summary) {
	count := func(n uint64) string { return strconv.FormatUint(n, 10) }
	raw, err := json.Marshal(map[string]string{
		"read_rows": count(s.ReadRows), "read_bytes": count(s.ReadBytes),
		"written_rows": count(s.WrittenRows), "written_bytes": count(s.WrittenBytes),
		"result_rows": count(s.ResultRows), "result_bytes": count(s.ResultBytes),
		"total_rows_to_read": "0", "elapsed_ns": "0",
	})
	if err == nil {
		a.http.Header().Set("X-ClickHouse-Summary", string(raw))
	}
}

// contentCoding picks the coding to answer in from an Accept-Encoding header.
func contentCoding(accept string) string {
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		for part := range strings.SplitSeq(accept, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.TrimSpace(name) == coding {
				return coding
			}
		}
	}
	return ""
}
