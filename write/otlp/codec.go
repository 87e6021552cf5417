package otlp

import (
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // lets clients compress with gzip
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// rawMessage is an encoded message, so that one scanner serves HTTP and gRPC.
type rawMessage struct{ data string }

// codec passes raw messages through and leaves all others to gRPC's own codec.
type codec struct{}

// Name returns the name of the codec that this one replaces.
func (codec) Name() string { return proto.Name }

// Marshal encodes a reply.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal copies the bytes of a raw message, because gRPC reuses its buffers.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	raw, ok := v.(*rawMessage)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	var b strings.Builder
	b.Grow(data.Len())
	for _, piece := range data {
		b.Write(piece.ReadOnlyData())
	}
	raw.data = b.String()
	return nil
}

//nolint:gochecknoinits // gRPC's table of compressors may be written at initialisation only
func init() {
	encoding.RegisterCompressor(zstdCompressor{})
	encoding.RegisterCompressor(zlibCompressor{})
}

// zlibCompressor supports gRPC's deflate, which is zlib.
type zlibCompressor struct{}

// Name returns the value of grpc-encoding.
func (zlibCompressor) Name() string { return "deflate" }

// Compress compresses a reply to a client that sent deflate.
func (zlibCompressor) Compress(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }

// Decompress returns a reader with bounded memory; gRPC stops at the message bound.
func (zlibCompressor) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

// zstdCompressor supports zstd, which the OpenTelemetry collector offers.
type zstdCompressor struct{}

// Name returns the value of grpc-encoding.
func (zstdCompressor) Name() string { return "zstd" }

// Compress compresses a reply to a client that sent zstd.
func (zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// Decompress returns a reader with bounded memory; gRPC stops at the message bound.
func (zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, err
	}
	return &zstdReader{d}, nil
}

// zstdReader closes its decoder at the end of the stream, because gRPC does not close readers.
type zstdReader struct{ decoder *zstd.Decoder }

// Read closes the decoder at the end or on an error.
func (z *zstdReader) Read(p []byte) (int, error) {
	if z.decoder == nil {
		return 0, io.EOF
	}
	n, err := z.decoder.Read(p)
	if errors.Is(err, io.EOF) {
		z.decoder.Close()
		z.decoder = nil
	}
	return n, err
}
