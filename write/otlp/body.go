package otlp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"colonnade/domain"
	"colonnade/write/ingest"
)

// maxZstdWindow bounds the memory in bytes that a zstd frame needs besides its output.
const maxZstdWindow = 8 << 20

// body reads a request body. It reserves memory from the budget before it allocates, so
// that neither a large body nor a decompression bomb exceeds the bounds.
type body struct {
	budget *ingest.Budget
	cfg    Config
	data   []byte
	taken  int64
}

// account reserves n more bytes of the budget until release.
func (b *body) account(n int) error {
	if err := b.budget.Acquire(int64(n)); err != nil {
		return err
	}
	b.taken += int64(n)
	return nil
}

func (b *body) release() { b.budget.Release(b.taken) }

// read reads and decompresses the body. The first bytes decide the compression, because
// proxies both drop and wrongly keep Content-Encoding; the header decides only where no
// known format begins with these bytes. Errors are Rejected, TooLarge and Unavailable.
func (b *body) read(r io.Reader, length int64, encoding string) error {
	limited := &wireReader{r: r, left: b.cfg.MaxWireBytes}
	buffered := bufio.NewReader(limited)
	reader, err := decompressor(buffered, encoding)
	if err != nil {
		return b.failed(limited, err)
	}
	size := int64(64 << 10)
	if reader == io.Reader(buffered) && length > 0 {
		size = min(length+1, b.cfg.MaxWireBytes+1) // not compressed: one allocation
	}
	err = b.fill(reader, int(size))
	if closer, ok := reader.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err == nil {
		// The zlib reader stops at the end of its stream: bytes after it would be ignored silently.
		if _, more := buffered.Peek(1); more == nil {
			err = errTrailing
		}
	}
	if err != nil {
		return b.failed(limited, err)
	}
	return nil
}

var (
	errTrailing     = errors.New("otlp: bytes after the end of the compressed body")
	errDecompressed = errors.New("otlp: decompressed body over its bound")
	errWire         = errors.New("otlp: body over its bound")
	errEncoding     = errors.New("otlp: unknown content encoding")
)

// fill reads to the end and doubles the buffer when it is full.
func (b *body) fill(r io.Reader, size int) error {
	if err := b.account(size); err != nil {
		return err
	}
	b.data = make([]byte, 0, size)
	for {
		if len(b.data) == cap(b.data) {
			grow := min(cap(b.data), int(b.cfg.MaxBodyBytes)+1-cap(b.data))
			if grow <= 0 {
				return errDecompressed
			}
			if err := b.account(grow); err != nil {
				return err
			}
			larger := make([]byte, len(b.data), len(b.data)+grow)
			copy(larger, b.data)
			b.data = larger
		}
		n, err := r.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		if int64(len(b.data)) > b.cfg.MaxBodyBytes {
			return errDecompressed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// failed returns the error for a body that could not be read.
func (b *body) failed(wire *wireReader, err error) error {
	const mib = 1 << 20
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	_, cut := errors.AsType[*http.MaxBytesError](err)
	switch {
	case wire.over || cut || errors.Is(err, errWire):
		// The cause is left out: the HTTP server's bound has an error text of its own.
		return domain.E(domain.TooLarge, "OTLP batch size exceeds %dMB limit.", b.cfg.MaxWireBytes/mib)
	case errors.Is(err, errDecompressed), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return domain.Wrap(domain.TooLarge, err, "OTLP batch size exceeds %dMB limit once decompressed.", b.cfg.MaxBodyBytes/mib)
	case errors.Is(err, errEncoding):
		return domain.Wrap(domain.Rejected, err, "Invalid request body: its Content-Encoding is none of gzip, zlib, deflate, zstd.")
	default:
		return domain.Wrap(domain.Rejected, err, "Invalid request body: not a valid OTLP stream.")
	}
}

// decompressor returns the reader that the body's first bytes ask for.
func decompressor(r *bufio.Reader, encoding string) (io.Reader, error) {
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r) // reads all members
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case len(head) > 1 && head[0] == 0x78 && slices.Contains([]byte{0x01, 0x5e, 0x9c, 0xda}, head[1]):
		return zlib.NewReader(r)
	}
	switch encoding {
	case "", "identity", "gzip", "x-gzip", "zlib", "deflate", "zstd":
		// A proxy has decompressed the body and kept the header.
		return r, nil
	default:
		return nil, errEncoding
	}
}

// wireReader fails with errWire after left bytes.
type wireReader struct {
	r    io.Reader
	left int64
	over bool
}

// Read reads at most one byte beyond the bound, to find that the body is longer.
func (w *wireReader) Read(p []byte) (int, error) {
	if w.left < 0 {
		w.over = true
		return 0, errWire
	}
	if int64(len(p)) > w.left+1 {
		p = p[:w.left+1]
	}
	n, err := w.r.Read(p)
	w.left -= int64(n)
	if w.left < 0 {
		w.over = true
		return 0, errWire
	}
	return n, err
}
