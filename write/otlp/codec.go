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

// rawMessage is a message kept as it came, so that one scan serves all doors.
type rawMessage struct{ data string }

// codec keeps raw messages raw and leaves all others to gRPC's own codec.
type codec struct{}

// Name is that of the codec it stands in for.
func (codec) Name() string { return proto.Name }

// Marshal encodes a reply.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal copies the bytes of a raw message once: gRPC takes its buffers back.
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

// zlibCompressor lets clients compress with what gRPC calls deflate and is zlib.
type zlibCompressor struct{}

// Name is what grpc-encoding calls it.
func (zlibCompressor) Name() string { return "deflate" }

// Compress is used when a reply goes to a client that sent it.
func (zlibCompressor) Compress(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }

// Decompress reads with bounded memory; gRPC stops at the message bound.
func (zlibCompressor) Decompress(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }

// zstdCompressor lets clients compress with zstd, as the OpenTelemetry collector does.
type zstdCompressor struct{}

// Name is what grpc-encoding calls it.
func (zstdCompressor) Name() string { return "zstd" }

// Compress is used when a reply goes to a client that sent zstd.
func (zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// Decompress reads with bounded memory; gRPC stops at the message bound.
func (zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, err
	}
	return &zstdReader{d}, nil
}

// zstdReader lets go of the decoder at the end: gRPC does not close readers.
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
