package sink

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/payload"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// The types as the blocks declare them. An enum goes as its number; the server
// checks and converts it.
const (
	typeUUID  = "UUID"
	typeEnum  = "Int8"
	typeTime  = "DateTime64(6, 'UTC')"
	typeTrace = "FixedString(16)"
	typeSpan  = "FixedString(8)"
	typeWord  = "LowCardinality(String)"
)

// columns makes a block's columns one by one.
type columns struct{ native.Block }

func (b *columns) fixed(name, typ string, width int) *native.Fixed {
	c := native.NewFixed(width)
	b.Add(name, typ, c)
	return c
}

func (b *columns) text(name string) *native.String {
	c := &native.String{}
	b.Add(name, "String", c)
	return c
}

func (b *columns) word(name string) *native.Dictionary {
	c := native.NewDictionary()
	b.Add(name, typeWord, c)
	return c
}

// spanColumns are the rows of the table spans. Source: migrations/clickhouse/0001_schema.sql.
type spanColumns struct {
	columns
	project, traceType, start, tie, week, trace, span, parent     *native.Fixed
	startNS, end, endNS, version, partition, hash                 *native.Fixed
	createdAt, updatedAt, createdBy, updatedBy                    *native.Fixed
	spanType, declared, traceDeclared, kind, status, hashID       *native.Fixed
	name, message, session, user, agent                           *native.String
	service, model, provider                                      *native.Dictionary
	application, variant, revision, evaluator, evaluatorRevision  *native.Fixed
	testsetRevision, testcase                                     *native.Fixed
	applicationSlug, evaluatorSlug, environmentSlug               *native.Dictionary
	linkCount, linkTrace, linkSpan, linkTraceElems, linkSpanElems *native.Fixed
	linkTraces, linkSpans                                         *native.List
	eventElems                                                    *native.Dictionary
	events                                                        *native.List
	payloadBytes                                                  *native.Fixed
	leafColumns
}

func newSpanColumns(keys *keySet) *spanColumns {
	c := &spanColumns{leafColumns: newLeafColumns(keys)}
	c.project = c.fixed("project_id", typeUUID, 16)
	c.traceType = c.fixed("trace_type", typeEnum, 1)
	c.start = c.fixed("start_time", typeTime, 8)
	c.tie = c.fixed("sort_hash", "UInt64", 8)
	c.week = c.fixed("partition_week", "Date", 2)
	c.trace = c.fixed("trace_id", typeTrace, 16)
	c.span = c.fixed("span_id", typeSpan, 8)
	c.parent = c.fixed("parent_id", typeSpan, 8)
	c.startNS = c.fixed("start_ns", "UInt16", 2)
	c.end = c.fixed("end_time", typeTime, 8)
	c.endNS = c.fixed("end_ns", "UInt16", 2)
	c.version = c.fixed("version", "UInt64", 8)
	c.partition = c.fixed("stream_partition", "UInt32", 4)
	c.hash = c.fixed("content_hash", "UInt64", 8)
	c.createdAt = c.fixed("created_at", typeTime, 8)
	c.updatedAt = c.fixed("updated_at", typeTime, 8)
	c.createdBy = c.fixed("created_by_id", typeUUID, 16)
	c.updatedBy = c.fixed("updated_by_id", typeUUID, 16)
	c.spanType = c.fixed("span_type", typeEnum, 1)
	c.declared = c.fixed("span_type_declared", "Bool", 1)
	c.traceDeclared = c.fixed("trace_type_declared", typeEnum, 1)
	c.kind = c.fixed("span_kind", typeEnum, 1)
	c.status = c.fixed("status_code", typeEnum, 1)
	c.name = c.text("span_name")
	c.message = c.text("status_message")
	c.session = c.text("session_id")
	c.user = c.text("user_id")
	c.agent = c.text("agent_id")
	for i, name := range schema.NumberColumns() {
		c.numbers[i] = c.fixed(name, "Float64", 8)
	}
	c.service = c.word("service")
	c.model = c.word("model")
	c.provider = c.word("provider")
	c.application = c.fixed("application_id", typeUUID, 16)
	c.applicationSlug = c.word("application_slug")
	c.variant = c.fixed("application_variant_id", typeUUID, 16)
	c.revision = c.fixed("application_revision_id", typeUUID, 16)
	c.evaluator = c.fixed("evaluator_id", typeUUID, 16)
	c.evaluatorSlug = c.word("evaluator_slug")
	c.evaluatorRevision = c.fixed("evaluator_revision_id", typeUUID, 16)
	c.testsetRevision = c.fixed("testset_revision_id", typeUUID, 16)
	c.testcase = c.fixed("testcase_id", typeUUID, 16)
	c.environmentSlug = c.word("environment_slug")
	c.hashID = c.fixed("hash_id", typeUUID, 16)
	c.nested()
	c.payloadBytes = c.fixed("payload_bytes", "UInt32", 4)
	return c
}

// nested makes the arrays and maps.
func (c *spanColumns) nested() {
	c.linkCount = c.fixed("link_count", "UInt16", 2)
	c.linkTrace = c.fixed("link_trace_id", typeTrace, 16)
	c.linkSpan = c.fixed("link_span_id", typeSpan, 8)
	c.linkTraceElems, c.linkSpanElems = native.NewFixed(16), native.NewFixed(8)
	c.linkTraces, c.linkSpans = native.NewList(c.linkTraceElems), native.NewList(c.linkSpanElems)
	c.Add("link_trace_ids", "Array("+typeTrace+")", c.linkTraces)
	c.Add("link_span_ids", "Array("+typeSpan+")", c.linkSpans)
	c.eventElems = native.NewDictionary()
	c.events = native.NewList(c.eventElems)
	c.Add("event_names", "Array("+typeWord+")", c.events)
	c.Add("attributes_string", "Map("+typeWord+", String)", c.str)
	c.Add("attributes_enum", "Map("+typeWord+", "+typeWord+")", c.label)
	c.Add("attributes_number", "Map("+typeWord+", Float64)", c.num)
	c.Add("attributes_bool", "Map("+typeWord+", Bool)", c.bool)
	c.Add("attributes_unindexed", "Array("+typeWord+")", c.long)
	c.Add("search_terms", "Array(String)", c.kv)
}

// append adds the row of an entry.
func (c *spanColumns) append(e *entry, partition int32, d *document) {
	s := e.span
	c.project.UUID(e.key.project)
	c.traceType.Uint8(uint8(s.Type))
	c.start.Int64(e.start)
	c.tie.Uint64(e.tie)
	c.week.Uint16(e.week)
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	c.parent.Bytes(s.ParentID[:])
	c.startNS.Uint16(e.startNS)
	end, endNS := split(s.End)
	c.end.Int64(end)
	c.endNS.Uint16(endNS)
	c.version.Uint64(e.version)
	c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.hash.Uint64(e.hash)
	c.createdAt.Int64(micros(e.createdAt))
	c.updatedAt.Int64(micros(e.updatedAt))
	c.createdBy.UUID(e.createdBy)
	c.updatedBy.UUID(e.updatedBy)
	c.spanType.Uint8(uint8(s.EffectiveType()))
	c.declared.Bool(s.SpanType != 0)
	c.traceDeclared.Uint8(uint8(e.declared))
	c.kind.Uint8(uint8(s.Kind))
	c.status.Uint8(uint8(s.Status))
	c.name.Append(s.Name)
	c.message.Append(s.StatusMessage)
	c.session.Append(s.SessionID)
	c.user.Append(s.UserID)
	c.agent.Append(s.AgentID)
	c.service.Append(service(s))
	c.model.Append(model(s))
	c.provider.Append(provider(s))
	c.links(s.Links)
	for i := range s.Events {
		c.eventElems.Append(s.Events[i].Name)
	}
	c.events.End()
	c.leafColumns.append(e.key.project, d)
	c.references(s.References)
	c.identifiers(s)
	c.kv.End()
	c.payloadBytes.Uint32(uint32(min(uint64(d.bytes()), math.MaxUint32))) //nolint:gosec // bounded right here
}

func (c *spanColumns) links(links []trace.Link) {
	var first trace.Link
	if len(links) > 0 {
		first = links[0]
	}
	c.linkCount.Uint16(uint16(min(len(links), math.MaxUint16)))
	c.linkTrace.Bytes(first.TraceID[:])
	c.linkSpan.Bytes(first.SpanID[:])
	for _, l := range links {
		c.linkTraceElems.Bytes(l.TraceID[:])
		c.linkSpanElems.Bytes(l.SpanID[:])
		c.kvElems.Append3(schema.LinkTerm, "trace=", l.TraceID.String())
		c.kvElems.Append3(schema.LinkTerm, "span=", l.SpanID.String())
	}
	c.linkTraces.End()
	c.linkSpans.End()
}

// references fills the typed columns and the tokens.
func (c *spanColumns) references(refs []trace.Reference) {
	var application, variant, revision, evaluator, evaluatorRevision, testsetRevision, testcase, environment domain.Reference
	for _, r := range refs {
		switch r.Key {
		case "application":
			application = r.Reference
		case "application_variant":
			variant = r.Reference
		case "application_revision":
			revision = r.Reference
		case "evaluator":
			evaluator = r.Reference
		case "evaluator_revision":
			evaluatorRevision = r.Reference
		case "testset_revision":
			testsetRevision = r.Reference
		case "testcase":
			testcase = r.Reference
		case "environment":
			environment = r.Reference
		default: // the others are found by their tokens
		}
		if r.ID != uuid.Nil {
			c.token(r.Key, "id=", r.ID.String())
		}
		if r.Slug != "" {
			c.token(r.Key, "slug=", r.Slug)
		}
		if r.Version != "" {
			c.token(r.Key, "version=", r.Version)
		}
	}
	c.application.UUID(application.ID)
	c.applicationSlug.Append(application.Slug)
	c.variant.UUID(variant.ID)
	c.revision.UUID(revision.ID)
	c.evaluator.UUID(evaluator.ID)
	c.evaluatorSlug.Append(evaluator.Slug)
	c.evaluatorRevision.UUID(evaluatorRevision.ID)
	c.testsetRevision.UUID(testsetRevision.ID)
	c.testcase.UUID(testcase.ID)
	c.environmentSlug.Append(environment.Slug)
}

// token adds a reference's token with its key and without.
func (c *spanColumns) token(key, member, value string) {
	c.kvElems.Append3(schema.RefTerm+key+".", member, value)
	c.kvElems.Append3(schema.RefTerm, member, value)
}

func (c *spanColumns) identifiers(s *trace.Span) {
	var hash uuid.UUID
	for i := range s.Hashes {
		hash = s.Hashes[0].ID
		c.kvElems.Append3(schema.HashTerm, s.Hashes[i].ID.String(), "")
	}
	c.hashID.UUID(hash)
	for _, t := range [...]struct{ token, id string }{{schema.SessionTerm, s.SessionID}, {schema.UserTerm, s.UserID}, {schema.AgentTerm, s.AgentID}} {
		if t.id != "" {
			c.kvElems.Append3(t.token, t.id, "")
		}
	}
}

// documentColumns are the rows of the table span_payloads_packed. Source:
// migrations/clickhouse/0001_schema.sql.
type documentColumns struct {
	columns
	project, partition, offset, version, week, start, trace, span *native.Fixed
	text, head                                                    *native.String
	lengths                                                       *native.Fixed

	row []byte // the text or head in hand
}

// textOrder is the order of a span's texts in a row (schema.PayloadCount).
func textOrder() [schema.PayloadCount]int {
	return [...]int{textInputs, textOutputs, textParameters, textInternals, textEvents, textAttributes, textLinks, textResource, textScope}
}

func newDocumentColumns() *documentColumns {
	c := &documentColumns{}
	c.project = c.fixed("project_id", typeUUID, 16)
	c.partition = c.fixed("stream_partition", "UInt32", 4)
	c.offset = c.fixed("stream_offset", "UInt64", 8)
	c.version = c.fixed("version", "UInt64", 8)
	c.week = c.fixed("partition_week", "Date", 2)
	c.start = c.fixed("start_time", typeTime, 8)
	c.trace = c.fixed("trace_id", typeTrace, 16)
	c.span = c.fixed("span_id", typeSpan, 8)
	c.text = c.columns.text("text")
	c.head = c.columns.text("head")
	c.lengths = c.fixed("lengths", "FixedString(36)", 4*schema.PayloadCount)
	return c
}

// append adds the row of a span; numbers are those of its row of spans.
func (c *documentColumns) append(e *entry, partition int32, d *document, numbers [schema.NumberCount]float64) {
	s := e.span
	c.project.UUID(e.key.project)
	c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.offset.Uint64(e.version >> schema.VersionShift)
	c.version.Uint64(e.version)
	c.week.Uint16(e.week)
	c.start.Int64(e.start)
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	var lengths [4 * schema.PayloadCount]byte
	c.row = c.row[:0]
	for i, n := range textOrder() {
		if i == schema.SearchedPayloads {
			c.text.AppendBytes(c.row)
			c.row = c.row[:0]
		}
		binary.LittleEndian.PutUint32(lengths[4*i:], uint32(len(d.texts[n]))) //nolint:gosec // a span is at most megabytes
		c.row = append(c.row, d.texts[n]...)
	}
	c.lengths.Bytes(lengths[:])
	var metrics [spanmetrics.Count]float64
	copy(metrics[:], numbers[1:]) // the first is the duration
	head := payload.Header{Span: *s, Declared: e.declared, Metrics: metrics}
	head.Span.CreatedAt, head.Span.UpdatedAt, head.Span.CreatedBy, head.Span.UpdatedBy = e.createdAt, e.updatedAt, e.createdBy, e.updatedBy
	if len(s.Hashes) > 0 {
		head.Hash = s.Hashes[0].ID
	}
	c.row = payload.AppendHeader(c.row, &head)
	c.head.AppendBytes(c.row)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
