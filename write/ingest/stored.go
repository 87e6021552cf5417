package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/migrations/schema"
)

// StoredConfig bounds the reads of a command before it writes.
type StoredConfig struct {
	// Topic is the stream that tokens refer to.
	Topic string
	// WaitTimeout bounds the wait for other edits of the trace, and then the wait until the
	// caller's earlier write is visible.
	WaitTimeout time.Duration
	// QueryTimeout bounds one statement.
	QueryTimeout time.Duration
}

// DefaultStoredConfig returns limits for callers whose own timeout is ten seconds.
func DefaultStoredConfig() StoredConfig {
	return StoredConfig{Topic: "colonnade.spans.v1", WaitTimeout: 5 * time.Second, QueryTimeout: 5 * time.Second}
}

// Validate returns an error that names every invalid field.
func (c StoredConfig) Validate() error {
	if c.Topic == "" || c.WaitTimeout <= 0 || c.QueryTimeout < time.Second {
		return errors.New("ingest: a topic, a positive wait timeout and a query timeout of a second at least are needed")
	}
	return nil
}

// Stored reads a trace for a command that depends on it: an edit of a part of a trace, a
// delete that returns what it deleted. It reads rows that the sink has written, so that a
// caller with earlier writes calls Await first.
type Stored struct {
	cfg   StoredConfig
	conn  driver.Conn
	turns turns
}

// NewStored returns a Stored that queries conn and does not close it.
func NewStored(cfg StoredConfig, conn driver.Conn) (*Stored, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Stored{cfg: cfg, conn: conn, turns: turns{lines: map[tracePlace]*line{}}}, nil
}

// The poll interval of the sink's progress.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// Await returns when every position of the token is visible. It returns Unavailable after
// WaitTimeout, because a command that does not see an earlier write would undo it.
func (s *Stored) Await(ctx context.Context, token domain.Token) error {
	if len(token) == 0 {
		return nil
	}
	deadline, cancel := context.WithTimeout(ctx, s.cfg.WaitTimeout)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		visible, err := s.visible(ctx, token)
		if err != nil || visible {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-deadline.Done():
			timer.Stop()
			if err := ctx.Err(); err != nil {
				return err
			}
			e := domain.E(domain.Unavailable, "An earlier write is not visible yet; send the same request again.")
			e.RetryAfter = time.Second
			return e
		}
	}
}

func (s *Stored) visible(ctx context.Context, token domain.Token) (bool, error) {
	next := map[uint32]uint64{}
	partitions := make([]string, 0, len(token))
	for _, p := range token {
		partitions = append(partitions, strconv.Itoa(int(p.Partition)))
	}
	err := s.query(ctx, "SELECT stream_partition, max(next_offset) FROM "+schema.SinkProgress+
		" WHERE topic = ? AND stream_partition IN ("+strings.Join(partitions, ",")+") GROUP BY stream_partition",
		[]any{s.cfg.Topic}, func(rows driver.Rows) error {
			var partition uint32
			var offset uint64
			err := rows.Scan(&partition, &offset)
			next[partition] = offset
			return err
		})
	pending := slices.ContainsFunc(token, func(p domain.Position) bool {
		return p.Offset < 0 || uint64(p.Offset) >= next[uint32(p.Partition)] //nolint:gosec // neither is negative in a token
	})
	return !pending, err
}

// outlined is a span of a trace skeleton: its key and parent.
type outlined struct {
	traceType trace.Type
	start     int64 // microseconds
	tie       uint64
	partition uint32
	version   uint64
}

// position is the position of the span's record in Kafka.
func (o outlined) position() domain.Position {
	return domain.Position{Partition: int32(o.partition), Offset: int64(o.version >> schema.VersionShift)} //nolint:gosec // both come from the stream
}

// Outline is the skeleton of a stored trace: ids, parents, start times and authors of the
// latest versions of its spans.
type Outline struct {
	Spans []trace.Span
	keys  map[trace.SpanID]outlined
}

// Root returns the first root of the tree, nil for a trace that does not exist.
func (o *Outline) Root() *trace.Span {
	if roots := trace.BuildTree(o.Spans); len(roots) > 0 {
		return roots[0].Span
	}
	return nil
}

// Outline reads the skeleton of a trace. A trace that does not exist has no spans.
func (s *Stored) Outline(ctx context.Context, project domain.ProjectID, id trace.TraceID) (*Outline, error) {
	o := &Outline{keys: map[trace.SpanID]outlined{}}
	where, found, err := s.bounds(ctx, project, id)
	if err != nil || !found {
		return o, err
	}
	err = s.query(ctx, `SELECT span_id, parent_id, toInt8(trace_type), toUnixTimestamp64Micro(start_time), start_ns, sort_hash, stream_partition, version, created_by_id FROM `+schema.Spans+
		` WHERE project_id = ? AND trace_type IN ('invocation', 'annotation', 'unknown') AND `+where+` AND trace_id = unhex('`+id.String()+`')
ORDER BY version DESC LIMIT 1 BY span_id`, []any{project.String()}, func(rows driver.Rows) error {
		var k outlined
		var span, parent string
		var traceType int8
		var nanos uint16
		x := trace.Span{TraceID: id}
		if err := rows.Scan(&span, &parent, &traceType, &k.start, &nanos, &k.tie, &k.partition, &k.version, &x.CreatedBy); err != nil {
			return err
		}
		k.traceType = trace.Type(traceType) //nolint:gosec // an enum is small and positive
		x.Start = k.start*1000 + int64(nanos)
		copy(x.SpanID[:], span)
		copy(x.ParentID[:], parent)
		o.Spans = append(o.Spans, x)
		o.keys[x.SpanID] = k
		return nil
	})
	return o, err
}

// bounds reads the columns of the key that locate a trace besides its id.
func (s *Stored) bounds(ctx context.Context, project domain.ProjectID, id trace.TraceID) (where string, found bool, err error) {
	err = s.query(ctx, `SELECT toUnixTimestamp64Micro(min(min_start)), toUnixTimestamp64Micro(max(max_start)), toUInt16(min(min_partition_week)), toUInt16(max(max_partition_week)) FROM `+
		schema.TraceIndex+` WHERE project_id = ? AND trace_id = unhex('`+id.String()+`') GROUP BY trace_id`, []any{project.String()}, func(rows driver.Rows) error {
		var first, last int64
		var firstWeek, lastWeek uint16
		err := rows.Scan(&first, &last, &firstWeek, &lastWeek)
		where = fmt.Sprintf("start_time BETWEEN fromUnixTimestamp64Micro(%d, 'UTC') AND fromUnixTimestamp64Micro(%d, 'UTC') AND partition_week BETWEEN toDate(%d) AND toDate(%d)",
			first, last, firstWeek, lastWeek)
		found = true
		return err
	})
	return where, found, err
}

// Span reads one span of an outline with its payloads, so that it can be written again.
// Columns that normalizing derives (references, hashes, promoted ids) are not set.
func (s *Stored) Span(ctx context.Context, project domain.ProjectID, o *Outline, id trace.SpanID) (trace.Span, error) {
	k, ok := o.keys[id]
	if !ok {
		return trace.Span{}, domain.E(domain.NotFound, "There is no such span.")
	}
	at := slices.IndexFunc(o.Spans, func(x trace.Span) bool { return x.SpanID == id })
	span := o.Spans[at]
	where := fmt.Sprintf(` WHERE project_id = ? AND trace_type = '%s' AND start_time = fromUnixTimestamp64Micro(%d, 'UTC') AND sort_hash = %d AND trace_id = unhex('%s') AND span_id = unhex('%s') AND version = %d LIMIT 1`,
		k.traceType, k.start, k.tie, span.TraceID, id, k.version)
	if err := s.core(ctx, project, where, &span); err != nil {
		return span, err
	}
	span.Type = k.traceType
	where = fmt.Sprintf(` WHERE project_id = ? AND stream_partition = %d AND stream_offset = %d AND version = %d AND trace_id = unhex('%s') AND span_id = unhex('%s') LIMIT 1`,
		k.partition, k.version>>schema.VersionShift, k.version, span.TraceID, id)
	if err := s.documents(ctx, project, where, &span); err != nil {
		return span, err
	}
	if span.CreatedAt.IsZero() || span.Attributes == nil {
		e := domain.E(domain.Unavailable, "The trace is just being changed; send the same request again.")
		e.RetryAfter = time.Second
		return span, e
	}
	return span, nil
}

func (s *Stored) core(ctx context.Context, project domain.ProjectID, where string, span *trace.Span) error {
	return s.query(ctx, `SELECT toUnixTimestamp64Micro(end_time), end_ns, toInt8(span_type), span_type_declared, toInt8(span_kind), toInt8(status_code), span_name, status_message,
  toUnixTimestamp64Micro(created_at), toUnixTimestamp64Micro(updated_at), created_by_id, updated_by_id FROM `+schema.Spans+where,
		[]any{project.String()}, func(rows driver.Rows) error {
			var end, created, updated int64
			var nanos uint16
			var spanType, kind, status int8
			var declared bool
			var createdBy, updatedBy uuid.UUID
			if err := rows.Scan(&end, &nanos, &spanType, &declared, &kind, &status, &span.Name, &span.StatusMessage, &created, &updated, &createdBy, &updatedBy); err != nil {
				return err
			}
			span.End = end*1000 + int64(nanos)
			span.Kind, span.Status = trace.Kind(kind), trace.Status(status) //nolint:gosec // enums are small and positive
			if declared {
				span.SpanType = trace.SpanType(spanType) //nolint:gosec // as above
			}
			span.CreatedAt, span.CreatedBy, span.UpdatedBy = time.UnixMicro(created).UTC(), createdBy, updatedBy
			if updated != 0 {
				span.UpdatedAt = time.UnixMicro(updated).UTC()
			}
			return nil
		})
}

func (s *Stored) documents(ctx context.Context, project domain.ProjectID, where string, span *trace.Span) error {
	texts := []string{semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals, "attributes", "events", "links", "resource", "scope"}
	for i, name := range texts {
		texts[i] = schema.PayloadExpression(name)
	}
	return s.query(ctx, "SELECT "+strings.Join(texts, ", ")+" FROM "+schema.SpanPayloads+where,
		[]any{project.String()}, func(rows driver.Rows) (err error) {
			var data [4]string
			var attributes, events, links, resource, scope string
			if err := rows.Scan(&data[0], &data[1], &data[2], &data[3], &attributes, &events, &links, &resource, &scope); err != nil {
				return err
			}
			if span.Attributes, err = jsonvalue.ParseObject(attributes); err != nil {
				return err
			}
			if span.Attributes == nil {
				span.Attributes = map[string]any{}
			}
			for i, name := range []string{semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals} {
				if data[i] == "" {
					continue
				}
				value, err := jsonvalue.ParseString(data[i])
				if err != nil {
					return err
				}
				member(member(span.Attributes, semconv.Root), semconv.Data)[name] = value
			}
			if span.Events, err = tracejson.ParseEvents(events); err != nil {
				return err
			}
			if span.Links, err = tracejson.ParseLinks(links); err != nil {
				return err
			}
			if span.Resource, err = jsonvalue.ParseObject(resource); err != nil {
				return err
			}
			span.Scope, err = tracejson.ParseScope(scope)
			return err
		})
}

func member(object map[string]any, key string) map[string]any {
	m, ok := object[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[key] = m
	}
	return m
}

// query runs a statement. Its error is Unavailable.
func (s *Stored) query(parent context.Context, statement string, args []any, each func(driver.Rows) error) (err error) {
	ctx, cancel := context.WithTimeout(parent, s.cfg.QueryTimeout)
	defer cancel()
	defer func() {
		if err != nil && !errors.Is(parent.Err(), context.Canceled) {
			err = &domain.Error{
				Kind: domain.Unavailable, Message: "The span store does not answer. Try again shortly.", RetryAfter: time.Second,
				Err: fmt.Errorf("ingest: look at what is stored: %w", err),
			}
		}
	}()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": int(s.cfg.QueryTimeout / time.Second)}))
	rows, err := s.conn.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
