package traces

import (
	"cmp"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/read/compile"
)

// identity names a span of a project.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

// keyRow is a row of compile.Keys.
type keyRow struct {
	compile.Key
	identity
	version uint64
	// created is when the span was received, in Unix milliseconds.
	created int64
	bytes   uint32
	// core is nil unless the scan selected it.
	core *coreRow
}

// bytes8 and bytes16 take a FixedString without a copy in between.
type (
	bytes8  [8]byte
	bytes16 [16]byte
)

// UnmarshalBinary implements encoding.BinaryUnmarshaler for the driver.
func (b *bytes8) UnmarshalBinary(data []byte) error { copy(b[:], data); return nil }

// UnmarshalBinary implements encoding.BinaryUnmarshaler for the driver.
func (b *bytes16) UnmarshalBinary(data []byte) error { copy(b[:], data); return nil }

func traceOf(id *trace.TraceID) *bytes16 { return (*bytes16)(id) }
func spanOf(id *trace.SpanID) *bytes8    { return (*bytes8)(id) }

func (k *keyRow) columns() []any {
	return []any{(*uint8)(&k.Type), &k.Start, &k.Tie, traceOf(&k.trace), spanOf(&k.span), &k.version, &k.created, &k.bytes}
}

func scanKey(rows driver.Rows, core bool) (k keyRow, err error) {
	if !core {
		return k, rows.Scan(k.columns()...)
	}
	k.core, err = scanCoreAfter(rows, k.columns())
	return k, err
}

// coreRow is a row of compile.Core: a span without its documents.
type coreRow struct {
	span trace.Span
	// declared tells whether the client said the span's type.
	declared uint8
	tie      uint64
	hash     uuid.UUID
}

func (c *coreRow) identity() identity { return identity{c.span.TraceID, c.span.SpanID} }

func scanCore(rows driver.Rows) (*coreRow, error) { return scanCoreAfter(rows, nil) }

// scanCoreAfter scans a row that has other columns before those of the core.
func scanCoreAfter(rows driver.Rows, before []any) (*coreRow, error) {
	var start, end, created, updated int64
	var startNano, endNano uint16
	c := new(coreRow)
	s := &c.span
	err := rows.Scan(append(before, (*uint8)(&s.Type), (*uint8)(&s.SpanType), &c.declared, (*uint8)(&s.Kind), (*uint8)(&s.Status),
		&start, &end, &startNano, &endNano, &c.tie, &s.Version, traceOf(&s.TraceID), spanOf(&s.SpanID), spanOf(&s.ParentID),
		&created, &updated, &s.CreatedBy, &s.UpdatedBy, &c.hash,
		&s.Name, &s.StatusMessage, &s.SessionID, &s.UserID, &s.AgentID)...)
	if c.declared == 0 {
		s.SpanType = 0
	}
	s.Start, s.End = start*1000+int64(startNano), end*1000+int64(endNano)
	s.CreatedAt, s.UpdatedAt = moment(created), moment(updated)
	return c, err
}

// moment reads a time of which 1970 means none.
func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// payloadRow is a row of compile.Payload.
type payloadRow struct {
	identity
	version uint64
	data    [4]string // inputs, outputs, parameters, internals
	attributes, events, links,
	resource, scope string
}

func scanPayload(rows driver.Rows) (p payloadRow, err error) {
	err = rows.Scan(traceOf(&p.trace), spanOf(&p.span), &p.version, &p.data[0], &p.data[1], &p.data[2], &p.data[3],
		&p.attributes, &p.events, &p.links, &p.resource, &p.scope)
	return p, err
}

func (p *payloadRow) bytes() int64 {
	n := len(p.attributes) + len(p.events) + len(p.links) + len(p.resource) + len(p.scope)
	for _, d := range p.data {
		n += len(d)
	}
	return int64(n)
}

// dataMembers are the members of ag.data in the order of payloadRow.data.
func dataMembers() [4]string {
	return [...]string{semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals}
}

// parse reads a span's documents, and nothing else of the span but its version.
// Those of attributes stay trace.Documents, so that a page that only shows them
// writes their text.
func (p *payloadRow) parse(from *producers) (s trace.Span, err error) {
	s.Version = p.version
	if s.Attributes, err = trace.ParseAttributes(p.attributes); err != nil {
		return s, err
	}
	for i, name := range dataMembers() {
		if p.data[i] != "" {
			member(member(s.Attributes, semconv.Root), semconv.Data)[name] = trace.Document(p.data[i])
		}
	}
	if s.Events, err = trace.ParseEvents(p.events); err != nil {
		return s, err
	}
	if s.Links, err = trace.ParseLinks(p.links); err != nil {
		return s, err
	}
	if s.Resource, err = from.resource.of(p.resource, trace.ParseObject); err != nil {
		return s, err
	}
	s.Scope, err = from.scope.of(p.scope, trace.ParseScope)
	return s, err
}

// producers are the resource and scope of the span before: those of one program
// are the same, and spans that follow each other share what was read.
type producers struct {
	resource lastRead[map[string]any]
	scope    lastRead[*trace.Scope]
}

// lastRead is a text and what it says.
type lastRead[T any] struct {
	text  string
	value T
}

func (l *lastRead[T]) of(text string, parse func(string) (T, error)) (T, error) {
	if text == l.text {
		return l.value, nil
	}
	value, err := parse(text)
	if err == nil {
		l.text, l.value = text, value
	}
	return value, err
}

// with gives the whole span: the row, its documents, and what is derived from
// both because it is stored nowhere by itself.
func (c *coreRow) with(d trace.Span) trace.Span {
	s := c.span
	s.Attributes, s.Events, s.Links, s.Resource, s.Scope = d.Attributes, d.Events, d.Links, d.Resource, d.Scope
	// The row's type is that of the whole trace; the document's was right when it was written.
	member(member(s.Attributes, semconv.Root), semconv.Type)[semconv.TypeTrace] = s.Type.String()
	s.References = references(s.Attributes)
	if c.hash != uuid.Nil {
		s.Hashes = []trace.Hash{{ID: c.hash, Attributes: map[string]any{"key": "indirect"}}}
	}
	return s
}

// member is an object within an object, made where there is none. What else
// may stand there is not the fitted schema's, and gives way.
func member(object map[string]any, key string) map[string]any {
	m, ok := object[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[key] = m
	}
	return m
}

// references derives the list of references from ag.references, which the sink
// has conformed to the schema. Source: contract §1.4.
func references(attributes map[string]any) []trace.Reference {
	v, _ := trace.Lookup(attributes, []string{semconv.Root, semconv.References})
	object, _ := v.(map[string]any)
	var out []trace.Reference
	for key, v := range object {
		entry, ok := v.(map[string]any)
		if !ok || !semconv.ReferenceKey(key) {
			continue
		}
		r := trace.Reference{Key: key}
		if text, ok := entry[semconv.ID].(string); ok {
			r.ID, _ = uuid.Parse(text) // a malformed one never got past the fitting
		}
		r.Slug, _ = entry[semconv.Slug].(string)
		r.Version, _ = entry[semconv.Version].(string)
		if r.Reference != (domain.Reference{}) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b trace.Reference) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
