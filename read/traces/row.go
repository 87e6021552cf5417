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

// keyScan reads the rows of compile.Keys. The driver writes each into the same
// places, so that a row costs no memory but its own.
type keyScan struct {
	to        []any
	row       keyRow
	traceType int8
	created   int64
}

func newKeyScan() *keyScan {
	k := new(keyScan)
	k.to = []any{&k.traceType, &k.row.Start, &k.row.Tie, traceOf(&k.row.trace), spanOf(&k.row.span), &k.row.version, &k.created, &k.row.bytes}
	return k
}

func (k *keyScan) scan(rows driver.Rows) (keyRow, error) {
	err := rows.Scan(k.to...)
	k.row.Type, k.row.created = trace.Type(k.traceType), millis(k.created) //nolint:gosec // an enum's number
	return k.row, err
}

// millis rounds Unix microseconds down to milliseconds.
func millis(micros int64) int64 { return time.UnixMicro(micros).UnixMilli() }

// coreRow is a row of compile.Core: a span without its documents.
type coreRow struct {
	span trace.Span
	tie  uint64
	hash uuid.UUID
}

func (c *coreRow) identity() identity { return identity{c.span.TraceID, c.span.SpanID} }

// coreScan reads the rows of compile.Core, and of scans with them, as keyScan does.
type coreScan struct {
	to                                []any
	row                               coreRow
	traceType, spanType, kind, status int8
	start, end, created, updated      int64
	startNano, endNano                uint16
	// declared tells whether the client said the span's type.
	declared bool
	// bytes is what a scan tells of the size of the documents.
	bytes uint32
}

// newCoreScan makes one; sized tells that the rows are those of a scan.
func newCoreScan(sized bool) *coreScan {
	c := new(coreScan)
	s := &c.row.span
	c.to = []any{
		&c.traceType, &c.spanType, &c.declared, &c.kind, &c.status, &c.start, &c.end, &c.startNano, &c.endNano, &c.row.tie, &s.Version,
		traceOf(&s.TraceID), spanOf(&s.SpanID), spanOf(&s.ParentID), &c.created, &c.updated, &s.CreatedBy, &s.UpdatedBy, &c.row.hash,
		&s.Name, &s.StatusMessage, &s.SessionID, &s.UserID, &s.AgentID,
	}
	if sized {
		c.to = append(c.to, &c.bytes)
	}
	return c
}

func (c *coreScan) scan(rows driver.Rows) (*coreRow, error) {
	if err := rows.Scan(c.to...); err != nil {
		return nil, err
	}
	row := c.row
	s := &row.span
	//nolint:gosec // numbers of enums
	s.Type, s.SpanType, s.Kind, s.Status = trace.Type(c.traceType), trace.SpanType(c.spanType), trace.Kind(c.kind), trace.Status(c.status)
	if !c.declared {
		s.SpanType = 0
	}
	s.Start, s.End = c.start*1000+int64(c.startNano), c.end*1000+int64(c.endNano)
	s.CreatedAt, s.UpdatedAt = moment(c.created), moment(c.updated)
	return &row, nil
}

// scanKey reads a row of a scan with the columns of the core.
func (c *coreScan) scanKey(rows driver.Rows) (keyRow, error) {
	row, err := c.scan(rows)
	if err != nil {
		return keyRow{}, err
	}
	k := row.key()
	k.bytes = c.bytes
	return k, nil
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
