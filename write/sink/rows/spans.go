package rows

import (
	"math"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/trace"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/migrations/schema"
	"colonnade/write/sink/internal/native"
)

// The types as the blocks declare them. An enum goes as its number; the server
// checks and converts it.
const (
	TypeUUID           = "UUID"
	TypeEnum           = "Int8"
	TypeTime           = "DateTime64(6, 'UTC')"
	TypeTraceID        = "FixedString(16)"
	TypeSpanID         = "FixedString(8)"
	typeLowCardinality = "LowCardinality(String)"
)

// Columns is a block whose columns are added one by one.
type Columns struct{ native.Block }

// Fixed adds a column whose values have one width in bytes.
func (b *Columns) Fixed(name, typ string, width int) *native.Fixed {
	c := native.NewFixed(width)
	b.Add(name, typ, c)
	return c
}

// Text adds a column of strings.
func (b *Columns) Text(name string) *native.String {
	c := &native.String{}
	b.Add(name, "String", c)
	return c
}

// LowCardinality adds a column of strings that a dictionary holds.
func (b *Columns) LowCardinality(name string) *native.Dictionary {
	c := native.NewDictionary()
	b.Add(name, typeLowCardinality, c)
	return c
}

// spanColumns holds the rows of the table spans. Source: migrations/clickhouse/0001_schema.sql.
type spanColumns struct {
	Columns
	project, traceType, start, sortHash, partitionWeek, trace, span *native.Fixed
	startNS, end, endNS, version, partition, hash                   *native.Fixed
	createdAt, updatedAt, createdBy, updatedBy                      *native.Fixed
	declared, traceDeclared, kind, status, hashID                   *native.Fixed
	name, message, session, user, agent                             *native.String
	service, model, provider                                        *native.Dictionary
	application, variant, revision, evaluator, evaluatorRevision    *native.Fixed
	testsetRevision, testcase                                       *native.Fixed
	applicationSlug, evaluatorSlug, environmentSlug                 *native.Dictionary
	linkCount, linkTrace, linkSpan, linkTraceElems, linkSpanElems   *native.Fixed
	linkTraces, linkSpans                                           *native.List
	eventElems                                                      *native.Dictionary
	events                                                          *native.List
	payloadBytes                                                    *native.Fixed
	treeColumns
	attributeColumns
}

// treeColumns hold the place of a span in its tree and what the roll-up of metrics reads
// beside them.
type treeColumns struct {
	parent, root, spanType, response, failure *native.Fixed
	// LastTraits are those of the last row.
	LastTraits spanmetrics.Traits
}

func newSpanColumns(recorded func(AttributeKey) bool) *spanColumns {
	c := &spanColumns{attributeColumns: newAttributeColumns(recorded)}
	c.project = c.Fixed("project_id", TypeUUID, 16)
	c.traceType = c.Fixed("trace_type", TypeEnum, 1)
	c.start = c.Fixed("start_time", TypeTime, 8)
	c.sortHash = c.Fixed("sort_hash", "UInt64", 8)
	c.partitionWeek = c.Fixed("partition_week", "Date", 2)
	c.trace = c.Fixed("trace_id", TypeTraceID, 16)
	c.span = c.Fixed("span_id", TypeSpanID, 8)
	c.parent = c.Fixed("parent_id", TypeSpanID, 8)
	c.root = c.Fixed("is_root", "Bool", 1)
	c.startNS = c.Fixed("start_ns", "UInt16", 2)
	c.end = c.Fixed("end_time", TypeTime, 8)
	c.endNS = c.Fixed("end_ns", "UInt16", 2)
	c.version = c.Fixed("version", "UInt64", 8)
	c.partition = c.Fixed("stream_partition", "UInt32", 4)
	c.hash = c.Fixed("content_hash", "UInt64", 8)
	c.createdAt = c.Fixed("created_at", TypeTime, 8)
	c.updatedAt = c.Fixed("updated_at", TypeTime, 8)
	c.createdBy = c.Fixed("created_by_id", TypeUUID, 16)
	c.updatedBy = c.Fixed("updated_by_id", TypeUUID, 16)
	c.spanType = c.Fixed("span_type", TypeEnum, 1)
	c.declared = c.Fixed("span_type_declared", "Bool", 1)
	c.traceDeclared = c.Fixed("trace_type_declared", TypeEnum, 1)
	c.kind = c.Fixed("span_kind", TypeEnum, 1)
	c.status = c.Fixed("status_code", TypeEnum, 1)
	c.name = c.Text("span_name")
	c.message = c.Text("status_message")
	c.response = c.Fixed("response_hash", "UInt64", 8)
	c.failure = c.Fixed("failure_hash", "UInt64", 8)
	c.session = c.Text("session_id")
	c.user = c.Text("user_id")
	c.agent = c.Text("agent_id")
	for i, name := range schema.NumberColumns() {
		c.numbers[i] = c.Fixed(name, "Float64", 8)
	}
	c.service = c.LowCardinality("service")
	c.model = c.LowCardinality("model")
	c.provider = c.LowCardinality("provider")
	c.application = c.Fixed("application_id", TypeUUID, 16)
	c.applicationSlug = c.LowCardinality("application_slug")
	c.variant = c.Fixed("application_variant_id", TypeUUID, 16)
	c.revision = c.Fixed("application_revision_id", TypeUUID, 16)
	c.evaluator = c.Fixed("evaluator_id", TypeUUID, 16)
	c.evaluatorSlug = c.LowCardinality("evaluator_slug")
	c.evaluatorRevision = c.Fixed("evaluator_revision_id", TypeUUID, 16)
	c.testsetRevision = c.Fixed("testset_revision_id", TypeUUID, 16)
	c.testcase = c.Fixed("testcase_id", TypeUUID, 16)
	c.environmentSlug = c.LowCardinality("environment_slug")
	c.hashID = c.Fixed("hash_id", TypeUUID, 16)
	c.nested()
	c.payloadBytes = c.Fixed("payload_bytes", "UInt32", 4)
	return c
}

// nested adds the arrays and maps.
func (c *spanColumns) nested() {
	c.linkCount = c.Fixed("link_count", "UInt16", 2)
	c.linkTrace = c.Fixed("link_trace_id", TypeTraceID, 16)
	c.linkSpan = c.Fixed("link_span_id", TypeSpanID, 8)
	c.linkTraceElems, c.linkSpanElems = native.NewFixed(16), native.NewFixed(8)
	c.linkTraces, c.linkSpans = native.NewList(c.linkTraceElems), native.NewList(c.linkSpanElems)
	c.Add("link_trace_ids", "Array("+TypeTraceID+")", c.linkTraces)
	c.Add("link_span_ids", "Array("+TypeSpanID+")", c.linkSpans)
	c.eventElems = native.NewDictionary()
	c.events = native.NewList(c.eventElems)
	c.Add("event_names", "Array("+typeLowCardinality+")", c.events)
	c.Add("attributes_string", "Map("+typeLowCardinality+", String)", c.stringMap)
	c.Add("attributes_enum", "Map("+typeLowCardinality+", "+typeLowCardinality+")", c.enumMap)
	c.Add("attributes_number", "Map("+typeLowCardinality+", Float64)", c.numberMap)
	c.Add("attributes_bool", "Map("+typeLowCardinality+", Bool)", c.boolMap)
	c.Add("attributes_unindexed", "Array("+typeLowCardinality+")", c.unindexed)
	c.Add("search_terms", "Array(String)", c.searchTerms)
}

// append adds the row of a span.
func (c *spanColumns) append(e *Entry, partition int32, d *Content) {
	s := e.Span
	c.project.UUID(e.Key.Project)
	c.traceType.Uint8(uint8(s.Type))
	c.start.Int64(e.Start)
	c.sortHash.Uint64(e.SortHash)
	c.partitionWeek.Uint16(e.PartitionWeek)
	c.trace.Bytes(s.TraceID[:])
	c.span.Bytes(s.SpanID[:])
	c.parent.Bytes(s.ParentID[:])
	c.root.Bool(s.IsRoot())
	c.startNS.Uint16(e.StartNS)
	end, endNS := SplitTime(s.End)
	c.end.Int64(end)
	c.endNS.Uint16(endNS)
	c.version.Uint64(e.Version)
	c.partition.Uint32(uint32(partition)) //nolint:gosec // a partition's number is never negative
	c.hash.Uint64(e.ContentHash)
	c.createdAt.Int64(Micros(e.CreatedAt))
	c.updatedAt.Int64(Micros(e.UpdatedAt))
	c.createdBy.UUID(e.CreatedBy)
	c.updatedBy.UUID(e.UpdatedBy)
	c.spanType.Uint8(uint8(s.EffectiveType()))
	c.declared.Bool(s.SpanType != 0)
	c.traceDeclared.Uint8(uint8(e.Declared))
	c.kind.Uint8(uint8(s.Kind))
	c.status.Uint8(uint8(s.Status))
	c.name.Append(s.Name)
	c.message.Append(s.StatusMessage)
	c.LastTraits = spanmetrics.TraitsOf(s)
	c.response.Uint64(c.LastTraits.Response)
	c.failure.Uint64(uint64(c.LastTraits.Failure))
	c.session.Append(s.SessionID)
	c.user.Append(s.UserID)
	c.agent.Append(s.AgentID)
	c.service.Append(s.Service())
	c.model.Append(s.Model())
	c.provider.Append(s.Provider())
	c.links(s.Links)
	for i := range s.Events {
		c.eventElems.Append(s.Events[i].Name)
	}
	c.events.End()
	c.attributeColumns.append(e.Key.Project, d)
	c.references(s.References)
	c.identifiers(s)
	c.searchTerms.End()
	c.payloadBytes.Uint32(uint32(min(uint64(d.size()), math.MaxUint32))) //nolint:gosec // bounded right here
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
		c.termElems.Append3(schema.LinkTerm, "trace=", l.TraceID.String())
		c.termElems.Append3(schema.LinkTerm, "span=", l.SpanID.String())
	}
	c.linkTraces.End()
	c.linkSpans.End()
}

// references adds the typed columns and the search terms of references.
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
		default: // search terms find the others
		}
		if r.ID != uuid.Nil {
			c.addReferenceTerms(r.Key, "id=", r.ID.String())
		}
		if r.Slug != "" {
			c.addReferenceTerms(r.Key, "slug=", r.Slug)
		}
		if r.Version != "" {
			c.addReferenceTerms(r.Key, "version=", r.Version)
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

// addReferenceTerms adds a reference's search term with its key and without.
func (c *spanColumns) addReferenceTerms(key, member, value string) {
	c.termElems.Append3(schema.RefTerm+key+".", member, value)
	c.termElems.Append3(schema.RefTerm, member, value)
}

func (c *spanColumns) identifiers(s *trace.Span) {
	var hash uuid.UUID
	for i := range s.Hashes {
		hash = s.Hashes[0].ID
		c.termElems.Append3(schema.HashTerm, s.Hashes[i].ID.String(), "")
	}
	c.hashID.UUID(hash)
	for _, t := range [...]struct{ token, id string }{{schema.SessionTerm, s.SessionID}, {schema.UserTerm, s.UserID}, {schema.AgentTerm, s.AgentID}} {
		if t.id != "" {
			c.termElems.Append3(t.token, t.id, "")
		}
	}
}

// Micros returns a time as microseconds since 1970, 0 for the zero time.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
