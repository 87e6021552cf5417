package otlp

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"colonnade/domain"
	"colonnade/write/ingest"
	"colonnade/write/otlp/otlpjson"
)

// The signals beside traces. Exporters send them by default, and an error for each export
// would fill their logs.
const (
	signalMetrics = "metrics"
	signalLogs    = "logs"
)

// Logs publishes the log records that hold events of model calls, and counts the others;
// write/ingest implements it.
type Logs interface {
	Publish(ctx context.Context, source string, logs *logspb.LogsData) (ingest.LogsReceipt, error)
}

// ignored counts the records that the service has no use for, and tells the operator which
// clients send them.
type ignored struct {
	records *prometheus.CounterVec
	log     *slog.Logger
	now     func() time.Time

	mu    sync.Mutex           // guards named
	named map[client]time.Time // when a client was last named
}

// client is the sender of a signal.
type client struct{ signal, key string }

const (
	// nameEvery is how often a client is named: often enough to be found in the log of a day.
	nameEvery = time.Hour
	// maxNamed bounds the clients that are named.
	maxNamed = 1000
)

func newIgnored(reg prometheus.Registerer, log *slog.Logger, now func() time.Time) *ignored {
	i := &ignored{log: log, now: now, named: map[client]time.Time{}, records: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "colonnade_otlp_ignored_total", Help: "Metrics and log records that were received and not kept, by signal.",
	}, []string{"signal"})}
	if err := reg.Register(i.records); err != nil {
		other, ok := errors.AsType[prometheus.AlreadyRegisteredError](err)
		if !ok {
			panic(err) // a mistake of the program
		}
		i.records, _ = other.ExistingCollector.(*prometheus.CounterVec) // both receivers count into one
	}
	return i
}

// note counts records of a signal and names their client at most once an hour.
func (i *ignored) note(ctx context.Context, signal string, n int) {
	i.records.WithLabelValues(signal).Add(float64(n))
	if n == 0 {
		return
	}
	who := client{signal, domain.PrincipalFrom(ctx).KeyPrefix}
	i.mu.Lock()
	now := i.now()
	last, known := i.named[who]
	due := now.Sub(last) >= nameEvery && (known || len(i.named) < maxNamed)
	if due {
		i.named[who] = now
	}
	i.mu.Unlock()
	if due {
		i.log.InfoContext(ctx, "a client sends a signal that is not kept, its exporter can be switched off", slog.String("signal", signal), slog.String("key_prefix", who.key))
	}
}

// mountSignals registers the routes of metrics and log records below a prefix.
func (d *Receiver) mountSignals(r Router, prefix string) {
	op := domain.Operation{
		Method: "POST", Path: prefix + "/v1/metrics", Permission: domain.AddSpans, Tag: "otlp",
		Summary:  "Take metrics, which are counted and not kept, so that no exporter reports an error.",
		Consumes: []string{contentProtobuf, contentJSON}, Response: signalReply{}, Status: statusOK, Limit: d.cfg.MaxWireBytes,
	}
	r.Handle(op, func(c *gin.Context) error { return d.signal(c, d.takeMetrics) })
	op.Path, op.Summary = prefix+"/v1/logs", "Take log records: events of model calls join their spans, others are counted and not kept."
	r.Handle(op, func(c *gin.Context) error { return d.signal(c, d.takeLogs) })
}

// signalReply describes the reply to metrics and log records.
type signalReply struct {
	PartialSuccess *struct{} `json:"partialSuccess,omitempty"`
}

// signal reads the body of one request within bounds, and answers with an empty success in
// the encoding of the request.
func (d *Receiver) signal(c *gin.Context, take func(c *gin.Context, b *body, text string, isJSON bool) error) error {
	b := body{budget: d.ingest.Budget(), cfg: d.cfg}
	defer b.release()
	if err := b.read(c.Request.Body, c.Request.ContentLength, c.GetHeader("Content-Encoding")); err != nil {
		return err
	}
	text := unsafe.String(unsafe.SliceData(b.data), len(b.data)) //nolint:gosec // data is never written again
	asJSON := isJSON(c.ContentType(), text)
	if err := take(c, &b, text, asJSON); err != nil {
		return err
	}
	if asJSON {
		c.Data(statusOK, contentJSON, []byte("{}"))
	} else {
		c.Data(statusOK, contentProtobuf, nil) // an empty message has no bytes
	}
	return nil
}

func (d *Receiver) takeMetrics(c *gin.Context, _ *body, text string, isJSON bool) error {
	count := countMetrics
	if isJSON {
		count = otlpjson.CountMetrics
	}
	n, err := count(text)
	d.ignored.note(c.Request.Context(), signalMetrics, n)
	return err
}

func (d *Receiver) takeLogs(c *gin.Context, b *body, text string, isJSON bool) error {
	if isJSON {
		if err := b.account(len(text)); err != nil {
			return err
		}
		data, err := otlpjson.ConvertLogs(text)
		if err != nil {
			return err
		}
		text = unsafe.String(unsafe.SliceData(data), len(data)) //nolint:gosec // data is never written again
	}
	if err := b.account(len(text)); err != nil { // the message with its objects
		return err
	}
	return takeLogs(c.Request.Context(), d.logs, d.ignored, text)
}

// takeLogs publishes the log records of a LogsData message, and counts those that are not kept.
func takeLogs(ctx context.Context, logs Logs, ignored *ignored, text string) error {
	var data logspb.LogsData // an ExportLogsServiceRequest has the same fields
	if err := proto.Unmarshal([]byte(text), &data); err != nil {
		return domain.Wrap(domain.Rejected, err, "Failed to parse OTLP stream. The body is no message of log records.")
	}
	receipt, err := logs.Publish(ctx, source, &data)
	if err != nil {
		return err
	}
	ignored.note(ctx, signalLogs, receipt.Ignored)
	return nil
}

// countMetrics returns the number of metrics in an ExportMetricsServiceRequest.
func countMetrics(text string) (n int, err error) {
	const resourceMetrics, scopeMetrics, metrics = 1, 2, 2
	err = each(text, resourceMetrics, func(resource string) error {
		return each(resource, scopeMetrics, func(scope string) error {
			return each(scope, metrics, func(string) error { n++; return nil })
		})
	})
	return n, err
}

// each calls f with the messages in one field of a message.
func each(message string, field protowire.Number, f func(string) error) error {
	invalid := func() error {
		return domain.E(domain.Rejected, "Failed to parse OTLP stream. The body is no message of metrics.")
	}
	for message != "" {
		number, kind, head := protowire.ConsumeTag([]byte(message[:min(len(message), 10)]))
		if head < 0 {
			return invalid()
		}
		message = message[head:]
		data := unsafe.Slice(unsafe.StringData(message), len(message)) //nolint:gosec // only read
		size := protowire.ConsumeFieldValue(number, kind, data)
		if size < 0 {
			return invalid()
		}
		if number == field && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			if err := f(unsafe.String(unsafe.SliceData(value), len(value))); err != nil { //nolint:gosec // only read
				return err
			}
		}
		message = message[size:]
	}
	return nil
}

// hasAgent reports whether a User-Agent begins with one of some names.
func hasAgent(agent string, names []string) bool {
	for _, name := range names {
		if name != "" && strings.HasPrefix(agent, name) {
			return true
		}
	}
	return false
}
