// Package otlp is the door for OpenTelemetry exporters: OTLP over HTTP in
// protobuf and JSON, and OTLP over gRPC, plain or compressed. It bounds a body
// before its memory is spent, brings every encoding to the one that the scan
// reads, and answers as OTLP clients expect.
//
// Not here: what a span is (write/otlp/wire), what becomes of it (write/ingest), the
// status of a failed HTTP request (the engine). Callers: cmd/internal/app.
// Source: contract §0 rows 1, 14, 28 and §1.1; the OTLP specification 1.9.
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

// source is what records of this door name as their source.
const source = "otlp"

// Config bounds requests and sets what differs between installations.
type Config struct {
	// MaxWireBytes bounds a body as it comes, MaxBodyBytes the same body decompressed.
	MaxWireBytes, MaxBodyBytes int64
	// SuccessStatus answers a request that was taken in: 202, or 200 for strict OTLP clients.
	SuccessStatus int
	// GRPCAddr is where the gRPC listener stands; empty means none.
	GRPCAddr string
	// MaxMessageBytes bounds a gRPC message, compressed and decompressed.
	MaxMessageBytes int
	// MaxCalls bounds the gRPC messages that are read at a time, ReadTimeout how long one may take to come.
	MaxCalls    int
	ReadTimeout time.Duration
	// RetryAfter is what a gRPC client is told when MaxCalls are under way.
	RetryAfter time.Duration
	// DrainTimeout bounds how long a stopping gRPC server lets calls finish.
	DrainTimeout time.Duration
	// MaxConnectionIdle closes a gRPC connection that has no call for so long,
	// MaxConnectionAge any: a client that holds connections and sends nothing does
	// not keep them, and a client behind a load balancer finds new servers.
	MaxConnectionIdle, MaxConnectionAge time.Duration
	// TLS is for the gRPC listener; nil means plain text.
	TLS *tls.Config
}

// DefaultConfig is the contract's.
func DefaultConfig() Config {
	return Config{
		MaxWireBytes: 10 << 20, MaxBodyBytes: 64 << 20, SuccessStatus: statusAccepted,
		GRPCAddr: "127.0.0.1:4317", MaxMessageBytes: 16 << 20, MaxCalls: 64, ReadTimeout: 20 * time.Second,
		RetryAfter: time.Second, DrainTimeout: 20 * time.Second,
		MaxConnectionIdle: 2 * time.Minute, MaxConnectionAge: 30 * time.Minute,
	}
}

const (
	statusOK       = 200
	statusAccepted = 202
)

// Validate tells every field that cannot work.
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

// Router takes routes; the engine implements it.
type Router interface {
	Handle(op domain.Operation, h func(*gin.Context) error)
}

// Door is the HTTP door.
type Door struct {
	cfg     Config
	ingest  *ingest.Ingest
	now     func() time.Time
	log     *slog.Logger
	metrics metrics
}

// New makes the HTTP door.
func New(cfg Config, ing *ingest.Ingest, now func() time.Time, log *slog.Logger, reg prometheus.Registerer) (*Door, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Door{cfg: cfg, ingest: ing, now: now, log: log.With(slog.String("component", "otlp")), metrics: newMetrics(reg, "http")}, nil
}

// Mount declares the routes. /otlp/v1/traces is the contract's path; /v1/traces
// is what an exporter makes of a bare address.
func (d *Door) Mount(r Router) {
	for _, path := range []string{"/otlp/v1/traces", "/v1/traces"} {
		r.Handle(domain.Operation{
			Method: "POST", Path: path, Permission: domain.EditSpans, Tag: "otlp",
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

// export is one request: read within bounds, bring JSON to protobuf, take in, answer.
func (d *Door) export(c *gin.Context) error {
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
		d.reply(c, receipt)
		return nil
	}()
	d.metrics.observe(encoding, err, d.now().Sub(start))
	return err
}

// fromJSON brings an OTLP/JSON body to protobuf, which is smaller; both are in memory for a while.
func (d *Door) fromJSON(b *body, text string) (string, *wire.Refusals, error) {
	if err := b.account(len(text)); err != nil {
		return "", nil, err
	}
	data, refused, err := otlpjson.Convert(text)
	if err != nil {
		return "", nil, err
	}
	return unsafe.String(unsafe.SliceData(data), len(data)), refused, nil //nolint:gosec // data is never written again
}

// unreadable says of a body that could not be scanned what it was meant to be.
func unreadable(err error, receipt ingest.Receipt) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Kind == domain.Rejected && receipt.Rejected.Count == 0 {
		return domain.Wrap(domain.Rejected, err, "Failed to parse OTLP stream. %s", e.Message)
	}
	return err
}

// isJSON tells whether a body is OTLP/JSON: by its type, or by its first
// character, with which no OTLP message can begin.
func isJSON(contentType, body string) bool {
	return contentType == contentJSON || strings.HasPrefix(body, "{")
}

const (
	contentJSON     = "application/json"
	contentProtobuf = "application/x-protobuf"
)

// reply answers JSON, which every exporter either reads or ignores, or protobuf
// to a client that asks for it. Source: contract §0 row 1.
func (d *Door) reply(c *gin.Context, receipt ingest.Receipt) {
	if token := receipt.Token.String(); token != "" {
		c.Header(domain.TokenHeader, token)
	}
	if wantsProtobuf(c.Request.Header.Values("Accept")) {
		data, err := proto.Marshal(response(receipt))
		if err != nil { // only text that is not UTF-8 could do that
			data = nil
		}
		c.Data(d.cfg.SuccessStatus, contentProtobuf, data)
		return
	}
	c.Data(d.cfg.SuccessStatus, contentJSON, appendReceipt(nil, receipt))
}

// wantsProtobuf tells whether a client asks for protobuf more than for JSON, by
// the most specific range that names each. Source: RFC 9110 §12.5.1.
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
			protobuf.hear(name, contentProtobuf, quality)
			json.hear(name, contentJSON, quality)
		}
	}
	return protobuf.quality > json.quality
}

// preference is how much a client wants a type, and how specific it said so.
type preference struct {
	quality  float64
	specific int
}

func (p *preference) hear(name, own string, quality float64) {
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

// response is the receipt as OTLP says it.
func response(receipt ingest.Receipt) *collectorpb.ExportTraceServiceResponse {
	r := new(collectorpb.ExportTraceServiceResponse)
	if n := receipt.Rejected.Count; n > 0 {
		r.PartialSuccess = &collectorpb.ExportTracePartialSuccess{
			RejectedSpans: int64(n), ErrorMessage: strings.ToValidUTF8(receipt.Message(), "\uFFFD"),
		}
	}
	return r
}
