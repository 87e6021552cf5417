package traces

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/domain/trace/payload"
	"colonnade/domain/trace/tracejson"
	"colonnade/migrations/schema"
	"colonnade/read/statements"
)

// identity names a span of a project.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

// keyRow is a row of statements.Keys.
type keyRow struct {
	statements.Key
	identity
	// partition and version say where in the stream it came from, and so where its
	// documents are.
	partition uint32
	version   uint64
	// created is when the span was received, in Unix milliseconds.
	created         int64
	bytes           uint32
	root, rewritten bool // rewritten: the row alone has the identifiers
}

// bytesOf is how long the documents of rows are.
func bytesOf(rows []keyRow) (sum int64) {
	for i := range rows {
		sum += int64(rows[i].bytes)
	}
	return sum
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

// keyScan reads the rows of statements.Keys. The driver writes each into the same
// places, so that a row costs no memory but its own.
type keyScan struct {
	to        []any
	row       keyRow
	traceType int8
	created   int64
}

func newKeyScan() *keyScan {
	k := new(keyScan)
	k.to = []any{&k.traceType, &k.row.Start, &k.row.SortHash, traceOf(&k.row.trace), spanOf(&k.row.span), &k.row.partition, &k.row.version, &k.created, &k.row.bytes, &k.row.root, &k.row.rewritten}
	return k
}

func (k *keyScan) scan(rows driver.Rows) (keyRow, error) {
	err := rows.Scan(k.to...)
	return k.done(), err
}

// done returns the row that was scanned into to.
func (k *keyScan) done() keyRow {
	k.row.Type, k.row.created = trace.Type(k.traceType), millis(k.created) //nolint:gosec // an enum's number
	return k.row
}

// millis rounds Unix microseconds down to milliseconds.
func millis(micros int64) int64 { return time.UnixMicro(micros).UnixMilli() }

// documentRow is a row of statements.Payloads.
type documentRow struct {
	identity
	version             uint64
	text, head, lengths string
}

// documentScan reads such rows, as keyScan does.
type documentScan struct {
	to  []any
	row documentRow
}

func newDocumentScan() *documentScan {
	d := new(documentScan)
	d.to = []any{traceOf(&d.row.trace), spanOf(&d.row.span), &d.row.version, &d.row.text, &d.row.head, &d.row.lengths}
	return d
}

func (d *documentScan) scan(rows driver.Rows) (documentRow, error) {
	err := rows.Scan(d.to...)
	return d.row, err
}

func (d *documentRow) bytes() int64 { return int64(len(d.text) + len(d.head)) }

// texts are the documents of a span: members of ag.data in the order of
// dataMembers, then the others.
type texts struct {
	data                                       [4]string
	events, attributes, links, resource, scope string
	head                                       string
}

var errLengths = domain.Wrap(domain.Internal, errors.New("traces: the lengths of a span's documents do not add up"), "A stored span cannot be read.")

// cut gives the parts of a row.
func (d *documentRow) cut() (t texts, err error) {
	if len(d.lengths) != 4*schema.PayloadCount {
		return t, errLengths
	}
	rest := d.text
	for i, to := range [schema.PayloadCount]*string{&t.data[0], &t.data[1], &t.data[2], &t.data[3], &t.events, &t.attributes, &t.links, &t.resource, &t.scope} {
		if i == schema.SearchedPayloads {
			if rest != "" {
				return t, errLengths
			}
			rest = d.head
		}
		n := d.length(i)
		if n > len(rest) {
			return t, errLengths
		}
		*to, rest = rest[:n], rest[n:]
	}
	t.head = rest
	return t, nil
}

// ownHead is texts.head alone, of a row that may come without its text.
func (d *documentRow) ownHead() (string, error) {
	if len(d.lengths) != 4*schema.PayloadCount {
		return "", errLengths
	}
	rest := d.head
	for i := schema.SearchedPayloads; i < schema.PayloadCount; i++ {
		n := d.length(i)
		if n > len(rest) {
			return "", errLengths
		}
		rest = rest[n:]
	}
	return rest, nil
}

// length is that of one of the documents.
func (d *documentRow) length(i int) int {
	return int(binary.LittleEndian.Uint32([]byte(d.lengths[4*i : 4*i+4])))
}

// dataMembers are the members of ag.data in the order of texts.data.
func dataMembers() [4]string {
	return [...]string{semconv.Inputs, semconv.Outputs, semconv.Parameters, semconv.Internals}
}

// stored is a span as its documents tell: all but the type of its trace and what
// follows from that.
type stored struct {
	payload.Header
}

// parse reads a span. Its documents stay trace.Documents, so that a page that
// only shows them writes their text.
func (d *documentRow) parse(from *producers) (s stored, err error) {
	t, err := d.cut()
	if err != nil {
		return s, err
	}
	if s.Header, err = payload.ParseHeader(t.head); err != nil {
		return s, err
	}
	span := &s.Span
	span.TraceID, span.SpanID, span.Version = d.trace, d.span, d.version
	if span.Attributes, err = tracejson.ParseAttributes(t.attributes); err != nil {
		return s, err
	}
	for i, name := range dataMembers() {
		if t.data[i] != "" {
			member(member(span.Attributes, semconv.Root), semconv.Data)[name] = jsonvalue.Raw(t.data[i])
		}
	}
	if span.Events, err = tracejson.ParseEvents(t.events); err != nil {
		return s, err
	}
	if span.Links, err = tracejson.ParseLinks(t.links); err != nil {
		return s, err
	}
	if span.Resource, err = from.resource.of(t.resource, tracejson.ParseResource); err != nil {
		return s, err
	}
	span.Scope, err = from.scope.of(t.scope, tracejson.ParseScope)
	return s, err
}

// producers are the resource and scope of the span before: those of one program
// are the same, and spans that follow each other share what was read.
type producers struct {
	resource lastRead[map[string]any] // one tree for all: two at once must not look into it
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

// of gives the whole span of a trace of a type, a root or not: with what is derived from
// its documents because it is stored nowhere by itself.
func (s *stored) of(t trace.Type, root bool) trace.Span {
	span := s.Span
	span.Type, span.Root = t, root
	// The type is that of the whole trace; the document's was right when it was written.
	member(member(span.Attributes, semconv.Root), semconv.Type)[semconv.TypeTrace] = t.String()
	span.References = trace.ReferencesOf(span.Attributes)
	if s.Hash != uuid.Nil {
		span.Hashes = []trace.Hash{{ID: s.Hash, Attributes: map[string]any{"key": "indirect"}}}
	}
	return span
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
