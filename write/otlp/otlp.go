// Package otlp is the receiver for OpenTelemetry exporters: OTLP over HTTP in protobuf and
// JSON, and OTLP over gRPC, compressed or not. It bounds a body before it allocates memory,
// converts JSON to protobuf, and answers as OTLP clients expect.
//
// Package wire decodes spans, write/ingest publishes them, and cmd/internal/server chooses
// the status of a failed HTTP request.
// Source: the OTLP specification 1.9; deploy/docs/api.md.
package otlp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/otlp/otlpjson"
	"colonnade/write/otlp/wire"
)

// source is the source that records of this receiver name.
const source = "otlp"

// Config holds the limits of requests and the settings of the receivers.
type Config struct {
	// MaxWireBytes bounds a body as it is sent, MaxBodyBytes the same body decompressed.
	MaxWireBytes, MaxBodyBytes int64
	// SuccessStatus is the status of an accepted request: 202, or 200 for strict OTLP clients.
	SuccessStatus int
	// ProtobufReplyAgents are beginnings of User-Agent whose clients get a protobuf reply to a
	// protobuf request: they report an error for the JSON reply that all others get.
	ProtobufReplyAgents []string
	// GRPCAddr is the address of the gRPC listener; empty means no listener.
	GRPCAddr string
	// MaxMessageBytes bounds a gRPC message, compressed and decompressed.
	MaxMessageBytes int
	// MaxCalls bounds the gRPC messages that are read at a time, ReadTimeout the time to receive one.
	MaxCalls    int
	ReadTimeout time.Duration
	// RetryAfter is the delay that a gRPC client is asked for while MaxCalls messages are being read.
	RetryAfter time.Duration
	// DrainTimeout bounds the time in which calls finish after the gRPC server begins to stop.
	DrainTimeout time.Duration
	// MaxConnectionIdle is the time without a call after which a gRPC connection is closed,
	// MaxConnectionAge the age at which any is: idle clients do not keep connections, and
	// clients behind a load balancer find new servers.
	MaxConnectionIdle, MaxConnectionAge time.Duration
	// TLS is for the gRPC listener; nil means plain text.
	TLS *tls.Config
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		MaxWireBytes: 10 << 20, MaxBodyBytes: 64 << 20, SuccessStatus: statusAccepted,
		ProtobufReplyAgents: []string{"OTel-OTLP-Exporter-JavaScript"},
		GRPCAddr:            "127.0.0.1:4317", MaxMessageBytes: 16 << 20, MaxCalls: 64, ReadTimeout: 20 * time.Second,
		RetryAfter: time.Second, DrainTimeout: 20 * time.Second,
		MaxConnectionIdle: 2 * time.Minute, MaxConnectionAge: 30 * time.Minute,
	}
}

const (
	statusOK       = 200
	statusAccepted = 202
)

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	var errs []error
	if c.MaxWireBytes <= 0 || c.MaxBodyBytes <= 0 || c.MaxMessageBytes <= 0 || c.MaxCalls <= 0 || c.ReadTimeout <= 0 {
		errs = append(errs, errors.New("otlp: the bounds on bodies, messages, calls and reading must be positive"))
	}
	if c.MaxConnectionIdle <= 0 || c.MaxConnectionAge <= 0 {
		errs = append(errs, errors.New("otlp: the idle time and the age of a connection must be positive"))
	}
	if c.SuccessStatus != statusOK && c.SuccessStatus != statusAccepted {
		errs = append(errs, fmt.Errorf("otlp: success status must be 200 or 202, not %d", c.SuccessStatus))
	}
	if _, _, err := net.SplitHostPort(c.GRPCAddr); c.GRPCAddr != "" && err != nil {
		errs = append(errs, fmt.Errorf("otlp: grpc addr: %w", err))
	}
	return errors.Join(errs...)
}

// Router registers routes; cmd/internal/server implements it.
type Router interface {
	Handle(op domain.Operation, h func(*gin.Context) error)
}

// Receiver is the HTTP receiver.
type Receiver struct {
	cfg     Config
	ingest  *ingest.Ingest
	logs    Logs
	now     func() time.Time
	log     *slog.Logger
	metrics metrics
	ignored *ignored
}

// New returns the HTTP receiver.
func New(cfg Config, ing *ingest.Ingest, logs Logs, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Receiver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	log = log.With(slog.String("component", "otlp"))
	return &Receiver{cfg: cfg, ingest: ing, logs: logs, now: now, log: log, metrics: newMetrics(reg, "http"), ignored: newIgnored(reg, log, now)}, nil
}

// Mount registers the routes. /otlp/v1/traces is the documented path; an exporter that is
// configured with a bare address sends to /v1/traces, and the Langfuse SDK to
// /api/public/otel/v1/traces, whose /api the server strips.
func (d *Receiver) Mount(r Router) {
	for _, prefix := range []string{"/otlp", "", "/public/otel"} {
		d.mountSignals(r, prefix)
		r.Handle(domain.Operation{
			Method: "POST", Path: prefix + "/v1/traces", Permission: domain.AddSpans, Tag: "otlp",
			Summary:  "Take spans in, as OTLP protobuf or OTLP/JSON, plain or compressed with gzip, zlib or zstd.",
			Consumes: []string{contentProtobuf, contentJSON},
			Response: exportReply{}, Status: d.cfg.SuccessStatus, Limit: d.cfg.MaxWireBytes,
		}, d.export)
	}
	r.Handle(domain.Operation{
		Method: "GET", Path: "/otlp/v1/traces", Permission: domain.Authenticated, Tag: "otlp",
		Summary: "Tell that spans are taken in here.",
	}, ready)
}

func ready(c *gin.Context) error {
	c.Data(statusOK, contentJSON, []byte(`{"status":"ready"}`))
	return nil
}

// export handles one request: it reads the body within bounds, converts JSON to protobuf,
// publishes the spans and answers.
func (d *Receiver) export(c *gin.Context) error {
	start := d.now()
	encoding := "protobuf"
	err := func() error {
		b := body{budget: d.ingest.Budget(), cfg: d.cfg}
		defer b.release()
		if err := b.read(c.Request.Body, c.Request.ContentLength, c.GetHeader("Content-Encoding")); err != nil {
			return err
		}
		text := unsafe.String(unsafe.SliceData(b.data), len(b.data)) //nolint:gosec // data is never written again
		var refused *wire.Refusals
		if isJSON(c.ContentType(), text) {
			encoding = "json"
			var err error
			if text, refused, err = d.fromJSON(&b, text); err != nil {
				return err
			}
		}
		receipt, err := d.ingest.OTLP(c.Request.Context(), source, text, refused)
		if err != nil {
			return unreadable(err, receipt)
		}
		d.reply(c, encoding, receipt)
		return nil
	}()
	d.metrics.observe(encoding, err, d.now().Sub(start))
	return err
}

// fromJSON converts an OTLP/JSON body to protobuf, which is smaller; both are in memory during the conversion.
func (d *Receiver) fromJSON(b *body, text string) (string, *wire.Refusals, error) {
	if err := b.account(len(text)); err != nil {
		return "", nil, err
	}
	data, refused, err := otlpjson.Convert(text)
	if err != nil {
		return "", nil, err
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), refused, nil //nolint:gosec // data is never written again
}

// unreadable returns the error for a body that could not be scanned; it names the expected format.
func unreadable(err error, receipt ingest.Receipt) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Kind == domain.Rejected && receipt.Rejected.Count == 0 {
		return domain.Wrap(domain.Rejected, err, "Failed to parse OTLP stream. %s", e.Message)
	}
	return err
}

// isJSON reports whether a body is OTLP/JSON: by its type, or by its first character, with
// which no protobuf message of OTLP begins.
func isJSON(contentType, body string) bool {
	return contentType == contentJSON || strings.HasPrefix(body, "{")
}

const (
	contentJSON     = "application/json"
	contentProtobuf = "application/x-protobuf"
)

// reply answers in JSON, which most exporters read or ignore, or in protobuf where the
// client asks for it or is known to need it. Source: deploy/docs/api.md.
func (d *Receiver) reply(c *gin.Context, encoding string, receipt ingest.Receipt) {
	if token := receipt.Token.String(); token != "" {
		c.Header(domain.TokenHeader, token)
	}
	if wantsProtobuf(c.Request.Header.Values("Accept")) || encoding == "protobuf" && hasAgent(c.GetHeader("User-Agent"), d.cfg.ProtobufReplyAgents) {
		c.Header("Colonnade-Count", strconv.Itoa(receipt.Count))
		data, err := proto.Marshal(response(receipt))
		if err != nil { // only text that is not UTF-8 fails
			data = nil
		}
		c.Data(d.cfg.SuccessStatus, contentProtobuf, data)
		return
	}
	c.Data(d.cfg.SuccessStatus, contentJSON, appendReceipt(nil, receipt))
}

// wantsProtobuf reports whether a client prefers protobuf to JSON, by the most specific
// media range that matches each. Source: RFC 9110 §12.5.1.
func wantsProtobuf(accept []string) bool {
	protobuf, json := preference{}, preference{}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, parameters, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, given := parameters["q"]; given {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			protobuf.consider(name, contentProtobuf, quality)
			json.consider(name, contentJSON, quality)
		}
	}
	return protobuf.quality > json.quality
}

// preference is the quality of the most specific media range that matches a type.
type preference struct {
	quality  float64
	specific int
}

func (p *preference) consider(name, own string, quality float64) {
	specific := 0
	switch name {
	case own:
		specific = 3
	case "application/*":
		specific = 2
	case "*/*":
		specific = 1
	}
	if specific > p.specific {
		p.quality, p.specific = quality, specific
	}
}

// response returns the receipt as an ExportTraceServiceResponse.
func response(receipt ingest.Receipt) *collectorpb.ExportTraceServiceResponse {
	r := new(collectorpb.ExportTraceServiceResponse)
	if n := receipt.Rejected.Count; n > 0 {
		r.PartialSuccess = &collectorpb.ExportTracePartialSuccess{
			RejectedSpans: int64(n), ErrorMessage: strings.ToValidUTF8(receipt.Message(), "\uFFFD"),
		}
	}
	return r
}
