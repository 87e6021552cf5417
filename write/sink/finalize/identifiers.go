package finalize

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/semconv"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/write/sink/clickhouse"
	"colonnade/write/sink/plan"
	"colonnade/write/sink/recent"
	"colonnade/write/sink/rows"
)

// A root is a span without a parent, from its insertion on, or a span whose parent is not
// stored when its trace is finalized, and not before: children are exported before their
// parents. The finalizer writes the rows of the few spans again that become a root, and
// those that are none any more because their parent came.
//
// A root without a session, user or agent has the one of the first span of its trace that
// names one. Within a batch write/normalize copies it. If the spans
// come in several batches the finalization does, for the few traces that need it: it does
// not read the attributes of the others.

// identifierColumns returns the columns of spans that hold the identifiers, and
// identifierTokens the prefixes of their search terms.
func identifierColumns() [recent.Identifiers]string {
	return [...]string{"session_id", "user_id", "agent_id"}
}

func identifierTokens() [recent.Identifiers]string {
	return [...]string{schema.SessionTerm, schema.UserTerm, schema.AgentTerm}
}

// identifierPaths returns the attributes that name the identifiers.
func identifierPaths() [recent.Identifiers]string {
	return [...]string{
		jsonvalue.JoinPath(semconv.Root, semconv.Session, semconv.ID),
		jsonvalue.JoinPath(semconv.Root, semconv.User, semconv.ID),
		jsonvalue.JoinPath(semconv.Root, semconv.Unsupported, semconv.Agent, semconv.ID),
	}
}

// maxRerooted bounds the spans that one statement names because they become roots, or are
// none any more. With more of them all rows of their traces are read.
const maxRerooted = 1000

// identify makes spans the roots that they are, and gives roots the identifiers that their
// descendants name.
func (t *Traces) identify(ctx context.Context) ([]plan.Step, error) {
	var keys []rows.TraceKey
	var changed []trace.SpanID
	byKey := map[rows.TraceKey]*total{}
	for i := range t.found {
		x := &t.found[i]
		spans, orphans := x.rerooted()
		k := t.from.Cache.Trace(x.key)
		if len(spans) == 0 && !orphans && (k == nil || !k.MayPromote(t.index[x.key].CreatedAt)) {
			continue
		}
		x.identified, byKey[x.key] = true, x
		keys, changed = append(keys, x.key), append(changed, spans...)
	}
	among := ""
	if len(changed) > maxRerooted {
		among = " OR true"
	} else if len(changed) > 0 {
		among = " OR " + clickhouse.OfSpans(changed)
	}
	var due []promotion
	for which := range clickhouse.AnyOf(t.conditions(keys)) {
		byTrace, err := t.identified(ctx, which, among)
		if err != nil {
			return nil, err
		}
		for key, spans := range byTrace {
			due = append(due, promotions(byKey[key], spans)...)
		}
	}
	return t.promote(due), nil
}

// identifiedSpan is a stored row of a root, or of a span that names an identifier.
type identifiedSpan struct {
	id        trace.SpanID
	root      bool // as the row says
	traceType trace.Type
	version   uint64
	start     int64 // microseconds
	startNS   uint16
	// own are the identifiers that the span itself names, shown those in its columns.
	own, shown [recent.Identifiers]string
}

// identified reads the roots of traces, the spans that name identifiers, and those of a
// further condition. An identifier that is too long for attributes_string is only in the column of a root, and stays.
func (t *Traces) identified(ctx context.Context, which, among string) (map[rows.TraceKey][]identifiedSpan, error) {
	paths, columns := identifierPaths(), identifierColumns()
	var own, named strings.Builder
	for i := range recent.Identifiers {
		fmt.Fprintf(&own, ", if(has(attributes_unindexed, '%[1]s'), %[2]s, attributes_string['%[1]s'])", paths[i], columns[i])
		fmt.Fprintf(&named, " OR attributes_string['%s'] != ''", paths[i])
	}
	statement := fmt.Sprintf(`SELECT project_id, trace_id, span_id, toUInt8(is_root), toInt8(trace_type), version, toUnixTimestamp64Micro(start_time), start_ns, session_id, user_id, agent_id%s
FROM %s WHERE trace_type IN ('invocation', 'annotation', 'unknown') AND (%s) AND (is_root%s%s)`,
		own.String(), t.from.DB.Table(schema.Spans), which, named.String(), among)
	found := map[rows.TraceKey][]identifiedSpan{}
	err := t.from.DB.Query(ctx, "find identifiers", statement, func() { clear(found) }, func(result driver.Rows) error {
		var project uuid.UUID
		var rawTrace, rawSpan string
		var root uint8
		var traceType int8
		var s identifiedSpan
		if err := result.Scan(&project, &rawTrace, &rawSpan, &root, &traceType, &s.version, &s.start, &s.startNS,
			&s.shown[0], &s.shown[1], &s.shown[2], &s.own[0], &s.own[1], &s.own[2]); err != nil {
			return err
		}
		copy(s.id[:], rawSpan)
		s.root, s.traceType = root != 0, trace.Type(traceType) //nolint:gosec // an enum is small and positive
		key := rows.TraceKey{Project: domain.ProjectID(project), Trace: clickhouse.TraceID(rawTrace)}
		found[key] = append(found[key], s)
		return nil
	})
	return found, err
}

// promotion is a row of a span that is a root or was one: whether it is one, and the
// identifiers that its columns should have.
type promotion struct {
	key  rows.TraceKey
	row  identifiedSpan
	root bool
	want [recent.Identifiers]string
}

// promotions returns the rows of one trace that do not say whether they are roots, and the
// roots whose identifiers differ from what they would be if all spans had come in one batch.
func promotions(t *total, spans []identifiedSpan) (due []promotion) {
	tops := make(map[trace.SpanID]bool, len(t.tops))
	for _, i := range t.tops {
		tops[t.spans[i].ID] = true
	}
	latest := map[trace.SpanID]uint64{}
	for _, s := range spans {
		latest[s.id] = max(latest[s.id], s.version)
	}
	spans = slices.DeleteFunc(spans, func(s identifiedSpan) bool { return s.version < latest[s.id] })
	slices.SortFunc(spans, func(a, b identifiedSpan) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.startNS, b.startNS), bytes.Compare(a.id[:], b.id[:]))
	})
	var named [recent.Identifiers]string
	for _, s := range spans {
		for i := range named {
			if !tops[s.id] {
				named[i] = cmp.Or(named[i], s.own[i])
			}
		}
	}
	for _, s := range spans {
		var want [recent.Identifiers]string // of a span that is no root
		for i := range want {
			if tops[s.id] {
				want[i] = cmp.Or(s.own[i], named[i])
			}
		}
		if s.root != tops[s.id] || tops[s.id] && s.shown != want {
			due = append(due, promotion{t.key, s, tops[s.id], want})
		}
	}
	return due
}

// promote returns the steps that insert rows again as they should be and delete the
// others. A crash between the two leaves both, of equal versions; the next finalization
// deletes those that differ.
func (t *Traces) promote(due []promotion) (steps []plan.Step) {
	for len(due) > 0 {
		n, statement, replaced := promoting(t.from.DB.Table(schema.Spans), due)
		steps = append(steps, plan.Statement{What: "promote roots", SQL: statement}, plan.Delete{Table: schema.Spans, Where: replaced})
		due = due[n:]
	}
	return steps
}

// promotingBytes bounds the identifiers that one statement names: clients choose their
// length.
const promotingBytes = clickhouse.ConditionBytes / 2

// promoting returns the statement that inserts the first n of these rows again, and the
// condition on the rows that it replaces: those that differ. A version and a span name one
// row of a partition.
func promoting(table string, due []promotion) (n int, statement, replaced string) {
	columns, tokens := identifierColumns(), identifierTokens()
	var places, rows, shown, roots []string
	var wanted [recent.Identifiers][]string
	for size := 0; n < len(due) && n < clickhouse.TracesAtOnce && size < promotingBytes; n++ {
		p := &due[n]
		var ids [recent.Identifiers]string
		for i, id := range p.want {
			ids[i] = clickhouse.Quote(id)
			wanted[i] = append(wanted[i], ids[i])
			size += len(id)
		}
		row := fmt.Sprintf("%d,%s", p.row.version, clickhouse.BytesLiteral(p.row.id[:]))
		places = append(places, fmt.Sprintf("('%s','%s',%s,%s,%s)", p.key.Project, p.row.traceType, clickhouse.TimeLiteral(p.row.start), clickhouse.BytesLiteral(p.key.Trace[:]), row))
		rows = append(rows, "("+row+")")
		root := strconv.FormatBool(p.root)
		roots = append(roots, root)
		shown = append(shown, "("+row+","+root+","+strings.Join(ids[:], ",")+")")
	}
	replaced = fmt.Sprintf("(project_id, trace_type, start_time, trace_id, version, span_id) IN (%s) AND (version, span_id, is_root, %s) NOT IN (%s)",
		strings.Join(places, ","), strings.Join(columns[:], ", "), strings.Join(shown, ","))
	var lists, replace, prefixes, added [recent.Identifiers]string
	for i := range recent.Identifiers {
		lists[i] = fmt.Sprintf("[%s] AS wanted_%d", strings.Join(wanted[i], ","), i)
		id := fmt.Sprintf("wanted_%d[at]", i)
		replace[i] = id + " AS " + columns[i]
		prefixes[i] = "startsWith(x, " + clickhouse.Quote(tokens[i]) + ")"
		added[i] = fmt.Sprintf("if(%[1]s = '', [], [%[2]s || %[1]s])", id, clickhouse.Quote(tokens[i]))
	}
	statement = fmt.Sprintf(`INSERT INTO %[1]s WITH %[2]s, [%[8]s] AS wanted_roots, indexOf(CAST([%[3]s], 'Array(Tuple(UInt64, FixedString(8)))'), (t.version, t.span_id)) AS at
SELECT t.* REPLACE (wanted_roots[at] AS is_root, true AS is_rewritten, %[4]s, arrayConcat(arrayFilter(x -> NOT (%[5]s), t.search_terms), %[6]s) AS search_terms) FROM (SELECT * FROM %[1]s WHERE %[7]s LIMIT 1 BY version, span_id) AS t`,
		table, strings.Join(lists[:], ", "), strings.Join(rows, ","), strings.Join(replace[:], ", "), strings.Join(prefixes[:], " OR "), strings.Join(added[:], ", "), replaced, strings.Join(roots, ","))
	return n, statement, replaced
}
