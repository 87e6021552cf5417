//go:build embedded

package traces_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/ngram"
	"colonnade/domain/trace"
	"colonnade/domain/trace/payload"
	"colonnade/domain/trace/spanmetrics"
	"colonnade/domain/trace/tracejson"
	"colonnade/migrations/migrationstest"
	"colonnade/migrations/schema"
	"colonnade/read/traces"
)

func TestMain(m *testing.M) { os.Exit(embeddedtest.Main(m)) }

// The moment that tests take for now.
var now = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// store is a database of its own with a reader on it.
type store struct {
	t       testing.TB
	conn    driver.Conn
	reader  *traces.Reader
	project domain.ProjectID
	version uint64
	// batched has the spans of one call of insert come in one record, where each
	// comes in one of its own.
	batched bool
	// covered has spans come with their sets of n-grams.
	covered bool
	// apart is how many offsets lie between two spans; 0 is as 1.
	apart uint64
}

func newStore(t testing.TB) *store {
	t.Helper()
	return newStoreWith(t, traces.DefaultConfig())
}

func newStoreWith(t testing.TB, cfg traces.Config) *store {
	t.Helper()
	return newStoreOver(t, cfg, nil)
}

// newStoreOver has the connections of a store go through dial, nil for none of its own.
func newStoreOver(t testing.TB, cfg traces.Config, dial func(ctx context.Context, addr string) (net.Conn, error)) *store {
	t.Helper()
	options, err := clickhouse.ParseDSN(migrationstest.Database(t))
	require.NoError(t, err)
	options.Protocol, options.DialContext = clickhouse.HTTP, dial
	options.Settings = clickhouse.Settings{"materialize_statistics_on_insert": 1} // as the sink
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	reader, err := traces.New(cfg, conn, func() time.Time { return now }, prometheus.NewRegistry())
	require.NoError(t, err)
	return &store{t: t, conn: conn, reader: reader, project: domain.ProjectID(uuid.New())}
}

// some are all cases, or one in four with -short, as under the race detector. The
// others go the same ways through the reader with other words; their statements took
// the store three minutes, which CI does not have twice.
func some[T any](cases []T) []T {
	if !testing.Short() {
		return cases
	}
	var out []T
	for chunk := range slices.Chunk(cases, 4) {
		out = append(out, chunk[0])
	}
	return out
}

// insert writes spans as the sink does, each call later than the one before.
func (s *store) insert(spans ...trace.Span) {
	s.t.Helper()
	s.insertInto(s.project, spans...)
}

func (s *store) insertInto(project domain.ProjectID, spans ...trace.Span) {
	s.t.Helper()
	const core = "INSERT INTO spans (project_id, trace_type, start_time, sort_hash, partition_week, trace_id, span_id, parent_id, is_root, start_ns, end_time, end_ns, version, created_at, updated_at, created_by_id, updated_by_id, " +
		"span_type, span_type_declared, span_kind, status_code, span_name, status_message, response_hash, failure_hash, session_id, user_id, agent_id, duration_ms, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total, service, " +
		"link_count, link_trace_ids, link_span_ids, event_names, hash_id, attributes_string, attributes_enum, attributes_number, attributes_bool, attributes_unindexed, search_terms, payload_bytes)"
	var batch, payloads, index, annotations, results [][]any
	for i := range spans {
		sp := &spans[i]
		if s.batched && i > 0 {
			s.version++
		} else {
			s.version = (s.version>>schema.VersionShift + max(s.apart, 1)) << schema.VersionShift
		}
		sp.Version = s.version
		p := uuid.UUID(project)
		tie, week := tieOf(sp), weekOf(sp.Start)
		start, end := time.Unix(0, sp.Start).UTC(), time.Unix(0, sp.End).UTC()
		l := newLeaves(sp)
		text, head, lengths := documents(sp)
		linkTraces, linkSpans, names := []string{}, []string{}, []string{}
		for _, k := range sp.Links {
			linkTraces, linkSpans = append(linkTraces, string(k.TraceID[:])), append(linkSpans, string(k.SpanID[:]))
			annotations = append(annotations, []any{p, string(k.TraceID[:]), string(k.SpanID[:]), start, tie, sp.Type.String(), string(sp.TraceID[:]), string(sp.SpanID[:]), sp.Version})
		}
		for _, r := range sp.References {
			if key := schema.EvaluatorKey(r.ID, r.Slug); r.Key == "evaluator" && key != "" && (sp.IsRoot() || len(sp.Links) > 0) {
				results = append(results, []any{p, key, start, tie, sp.Type.String(), string(sp.TraceID[:]), string(sp.SpanID[:]), sp.Version, r.ID})
			}
		}
		for _, e := range sp.Events {
			names = append(names, e.Name)
		}
		service, _ := jsonvalue.Lookup(sp.Resource, []string{"service", "name"})
		name, _ := service.(string)
		var hash uuid.UUID
		if len(sp.Hashes) > 0 {
			hash = sp.Hashes[0].ID
		}
		batch = append(batch, []any{
			p, sp.Type.String(), start, tie, week, string(sp.TraceID[:]), string(sp.SpanID[:]), string(sp.ParentID[:]), sp.Root || sp.IsRoot(), uint16(sp.Start % 1000), end, uint16(sp.End % 1000),
			sp.Version, sp.CreatedAt, zero(sp.UpdatedAt), sp.CreatedBy, sp.UpdatedBy, sp.EffectiveType().String(), sp.SpanType != 0, sp.Kind.String(), sp.Status.String(), sp.Name, sp.StatusMessage, spanmetrics.TraitsOf(sp).Response, uint64(spanmetrics.TraitsOf(sp).Failure),
			sp.SessionID, sp.UserID, sp.AgentID, l.column("duration_ms"), l.column("errors"), l.column("tokens_prompt"), l.column("tokens_completion"), l.column("tokens_total"),
			l.column("costs_prompt"), l.column("costs_completion"), l.column("costs_total"), name,
			uint16(len(sp.Links)), linkTraces, linkSpans, names, hash, l.str, l.labels, l.num, l.bools, l.long, l.kv, uint32(len(text) + len(head)),
		})
		payloads = append(payloads, []any{p, sp.Version >> schema.VersionShift, sp.Version, week, start, string(sp.TraceID[:]), string(sp.SpanID[:]), text, head, lengths})
		index = append(index, []any{p, string(sp.TraceID[:]), start, start, []uint64{schema.Record(0, sp.Version)}})
	}
	if s.covered {
		s.insertNgrams(project, spans)
	}
	s.send("INSERT INTO span_payloads_packed (project_id, stream_offset, version, partition_week, start_time, trace_id, span_id, text, head, lengths)", payloads)
	s.send("INSERT INTO annotation_index (project_id, link_trace_id, link_span_id, start_time, sort_hash, trace_type, trace_id, span_id, version)", annotations)
	s.send("INSERT INTO evaluation_index (project_id, evaluator_key, start_time, sort_hash, trace_type, trace_id, span_id, version, evaluator_id)", results)
	s.send("INSERT INTO trace_index (project_id, trace_id, min_start, max_start, records)", index)
	s.send(core, batch)
}

// send inserts rows, if there are any.
func (s *store) send(statement string, rows [][]any) {
	s.t.Helper()
	if len(rows) == 0 {
		return
	}
	batch, err := s.conn.PrepareBatch(s.t.Context(), statement)
	require.NoError(s.t, err)
	for _, row := range rows {
		require.NoError(s.t, batch.Append(row...))
	}
	require.NoError(s.t, batch.Send())
}

// rollUp has statistics count the roots among spans that start before a moment.
func (s *store) rollUp(until time.Time, spans ...trace.Span) {
	s.t.Helper()
	type key struct {
		minute time.Time
		of     trace.Type
	}
	roots := map[key]uint64{}
	for i := range spans {
		if at := time.Unix(0, spans[i].Start).UTC(); spans[i].IsRoot() && at.Before(until) {
			roots[key{at.Truncate(time.Minute), spans[i].Type}]++
		}
	}
	var rows [][]any
	for k, n := range roots {
		rows = append(rows, []any{uuid.UUID(s.project), k.minute, k.of.String(), uint64(1), n})
	}
	s.send("INSERT INTO trace_metrics_1m (project_id, minute, trace_type, version, roots)", rows)
}

// nextSection has what is inserted next be in a section of its own.
func (s *store) nextSection() {
	s.version = (s.version>>schema.VersionShift/schema.BlockOffsets + 1) * schema.BlockOffsets << schema.VersionShift
}

// insertNgrams writes the sets of n-grams of spans.
func (s *store) insertNgrams(project domain.ProjectID, spans []trace.Span) {
	s.t.Helper()
	for rest := spans; len(rest) > 0; {
		var set, digitNgrams ngram.Set
		section, n := rest[0].Version>>schema.VersionShift/schema.BlockOffsets, 0
		low, high := rest[0].Start, rest[0].Start
		for ; n < len(rest) && rest[n].Version>>schema.VersionShift/schema.BlockOffsets == section; n++ {
			text, _, _ := documents(&rest[n])
			set.Add([]byte(text))
			digitNgrams.AddDigitNgrams([]byte(text))
			low, high = min(low, rest[n].Start), max(high, rest[n].Start)
		}
		insertSets(s.t, s.conn, project, section, low, high, &set, &digitNgrams)
		rest = rest[n:]
	}
}

// insertSets writes the n-grams and the digit n-grams of a section, in several rows where
// they are many. Starts are Unix nanoseconds.
func insertSets(t testing.TB, conn driver.Conn, project domain.ProjectID, section uint64, low, high int64, ngrams, digitNgrams *ngram.Set) {
	t.Helper()
	var lists [2][]uint32
	for k, set := range [...]*ngram.Set{ngrams, digitNgrams} {
		for i, word := range set {
			for ; word != 0; word &= word - 1 {
				lists[k] = append(lists[k], uint32(i*64+bits.TrailingZeros64(word)))
			}
		}
	}
	for left := true; left; {
		left = false
		args := []any{project.String(), section, low / 1000, high / 1000}
		const statement = "INSERT INTO span_payload_ngrams (project_id, stream_partition, offset_block, min_start, max_start, ngrams, digit_ngrams)" +
			" SELECT toUUID(?), 0, ?, fromUnixTimestamp64Micro(?), fromUnixTimestamp64Micro(?), bitmapBuild(CAST(?, 'Array(UInt32)')), bitmapBuild(CAST(?, 'Array(UInt32)'))"
		for k := range lists {
			n := min(len(lists[k]), 20_000)
			text := []byte{'['}
			for i, v := range lists[k][:n] {
				if i > 0 {
					text = append(text, ',')
				}
				text = strconv.AppendUint(text, uint64(v), 10)
			}
			args = append(args, string(append(text, ']')))
			lists[k] = lists[k][n:]
			left = left || len(lists[k]) > 0
		}
		require.NoError(t, conn.Exec(t.Context(), statement, args...))
	}
}

func zero(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t
}

func tieOf(s *trace.Span) uint64 {
	return xxhash.Sum64(append(append([]byte{}, s.TraceID[:]...), s.SpanID[:]...))
}

func weekOf(start int64) time.Time {
	t := time.Unix(0, start).UTC()
	if t.Before(now.AddDate(0, 0, -400)) || t.After(now.AddDate(0, 0, 7)) {
		return time.Unix(0, 0).UTC()
	}
	return t.Truncate(24*time.Hour).AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

func documents(s *trace.Span) (text, head, lengths string) {
	ag, _ := s.Attributes["ag"].(map[string]any)
	data, _ := ag["data"].(map[string]any)
	var l []byte
	add := func(to *string, more []byte) {
		*to += string(more)
		l = binary.LittleEndian.AppendUint32(l, uint32(len(more)))
	}
	rest := map[string]any{}
	maps.Copy(rest, data)
	for _, name := range []string{"inputs", "outputs", "parameters", "internals"} {
		var member []byte
		if v, ok := data[name]; ok {
			member = jsonvalue.Append(nil, v)
		}
		delete(rest, name)
		add(&text, member)
	}
	attributes, root := map[string]any{}, map[string]any{}
	maps.Copy(attributes, s.Attributes)
	maps.Copy(root, ag)
	if data != nil {
		root["data"] = rest
	}
	attributes["ag"] = root
	var events, links, resource, scope []byte
	if len(s.Events) > 0 {
		events = tracejson.AppendEvents(nil, s.Events)
	}
	if len(s.Links) > 0 {
		links = tracejson.AppendLinks(nil, s.Links)
	}
	if s.Resource != nil {
		resource = jsonvalue.Append(nil, s.Resource)
	}
	if s.Scope != nil {
		scope = tracejson.AppendScope(nil, s.Scope)
	}
	add(&text, events)
	add(&text, jsonvalue.Append(nil, attributes))
	add(&head, links)
	add(&head, resource)
	add(&head, scope)
	of := payload.Header{Span: *s, Traits: spanmetrics.TraitsOf(s)}
	own := newLeaves(s)
	for i, name := range []string{"errors", "tokens_prompt", "tokens_completion", "tokens_total", "costs_prompt", "costs_completion", "costs_total"} {
		of.Metrics[i] = own.column(name)
	}
	types, _ := ag["type"].(map[string]any)
	if types["trace"] == s.Type.String() {
		of.Declared = s.Type
	}
	if len(s.Hashes) > 0 {
		of.Hash = s.Hashes[0].ID
	}
	return text, head + string(payload.AppendHeader(nil, &of)), string(l)
}

// leaves are the maps and tokens of a row.
type leaves struct {
	str     map[string]string
	labels  map[string]string
	num     map[string]float64
	bools   map[string]bool
	long    []string
	kv      []string
	numbers map[string]float64
}

func newLeaves(s *trace.Span) *leaves {
	l := &leaves{map[string]string{}, map[string]string{}, map[string]float64{}, map[string]bool{}, []string{}, []string{}, map[string]float64{}}
	jsonvaluetest.Flatten(s.Attributes, l)
	for _, r := range s.References {
		for name, v := range map[string]string{"id": r.ID.String(), "slug": r.Slug, "version": r.Version} {
			if v != "" && v != uuid.Nil.String() {
				l.kv = append(l.kv, schema.RefTerm+r.Key+"."+name+"="+v, schema.RefTerm+name+"="+v)
			}
		}
	}
	for _, k := range s.Links {
		l.kv = append(l.kv, schema.LinkTerm+"trace="+k.TraceID.String(), schema.LinkTerm+"span="+k.SpanID.String())
	}
	for _, h := range s.Hashes {
		l.kv = append(l.kv, schema.HashTerm+h.ID.String())
	}
	for token, id := range map[string]string{schema.SessionTerm: s.SessionID, schema.UserTerm: s.UserID, schema.AgentTerm: s.AgentID} {
		if id != "" {
			l.kv = append(l.kv, token+id)
		}
	}
	return l
}

func (l *leaves) column(name string) float64 {
	if v, ok := l.numbers[name]; ok {
		return v
	}
	return math.NaN()
}

func (l *leaves) String(path, v string) {
	if path == schema.TraceTypePath || path == schema.SpanTypePath {
		return
	}
	l.str[path] = v
	if schema.EnumPath(path) {
		l.labels[path] = v
	}
	if schema.Indexed(path) && len(v) <= schema.MaxTermValueBytes {
		l.kv = append(l.kv, path+"="+v)
	}
}

func (l *leaves) Number(path string, v float64) {
	if c, ok := schema.NumberColumn(path); ok {
		l.numbers[c] = v
		return
	}
	l.num[path] = v
}
func (l *leaves) Bool(path string, v bool) { l.bools[path] = v }
func (l *leaves) Unindexed(path string)    { l.long = append(l.long, path) }

// span makes a span of a trace; numbers choose its ids and its start after the epoch of the tests.
func span(traceNumber, spanNumber uint64, start time.Time) trace.Span {
	var s trace.Span
	binary.BigEndian.PutUint64(s.TraceID[8:], traceNumber)
	binary.BigEndian.PutUint64(s.TraceID[:8], 0xabcd)
	binary.BigEndian.PutUint64(s.SpanID[:], spanNumber)
	s.Type, s.Kind, s.Status = trace.Invocation, trace.KindInternal, trace.StatusOK
	s.Name = fmt.Sprint("span ", spanNumber)
	s.Start = start.UnixNano()
	s.End = s.Start + int64(time.Second)
	s.CreatedAt = start.Truncate(time.Microsecond)
	s.CreatedBy = uuid.UUID{15: 1}
	s.Attributes = map[string]any{"ag": map[string]any{"type": map[string]any{"trace": "invocation"}, "metrics": map[string]any{
		"duration": map[string]any{"cumulative": 1000.0}, "errors": map[string]any{}, "tokens": map[string]any{}, "costs": map[string]any{},
	}}}
	return s
}

// where parses a filter of conditions.
func where(t testing.TB, conditions ...string) filter.Expr {
	t.Helper()
	e, err := filterjson.Parse([]byte(`{"conditions":[` + strings.Join(conditions, ",") + `]}`))
	require.NoError(t, err)
	return e
}

// opened reads all that spans of the store have not been looked into for.
func opened(spans []trace.Span) []trace.Span {
	for i := range spans {
		jsonvalue.Expand(spans[i].Attributes)
		jsonvalue.Expand(spans[i].Resource)
	}
	return spans
}
