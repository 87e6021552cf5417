//go:build embedded

package traces_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/ngram"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/migrations/schema"
	"colonnade/read/activity"
	"colonnade/read/analytics"
	"colonnade/read/analyticssql"
	"colonnade/read/order"
	"colonnade/read/traces"
)

// The environment of BenchmarkReads: a directory that keeps the data from one
// run to the next, and how many spans it gets when it is made.
const (
	envBenchDir   = "COLONNADE_BENCH_DIR"
	envBenchSpans = "COLONNADE_BENCH_SPANS"
)

const benchSpans = 200_000

// benchNow is the end of the data; it lies within a week, as the sink would have it.
var benchNow = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

var benchProject = domain.ProjectID(uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"))

// Ten spans make a trace; one trace in ten is an annotation; all of it covers
// 14 days up to benchNow. Sessions have 50 traces, customers 100.
const (
	benchCore = `INSERT INTO spans (project_id, trace_type, start_time, sort_hash, partition_week, trace_id, span_id, parent_id, start_ns, end_time, version, created_at, span_type, span_type_declared, span_kind, status_code, span_name, session_id, user_id,
	duration_ms, errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total, service, model, provider, application_id, application_slug, attributes_string, attributes_enum, attributes_number, attributes_bool, attributes_unindexed, search_terms, payload_bytes)
SELECT '01890a5d-ac96-774b-bcce-b302099a8057', if(t % 10 = 9, 'annotation', 'invocation'), at, sort_hash, toMonday(at), trace_id, span_id, if(i % 10 = 0, toFixedString(unhex('0000000000000000'), 8), toFixedString(reinterpretAsString(xxHash64('span', i - i % 10)), 8)),
	i % 1000, at + toIntervalMillisecond(i % 3000), bitOr(bitShiftLeft(t, 20), i % 10), at, if(i % 10 = 0, 'workflow', if(i % 3 = 0, 'chat', 'tool')), true, 'SPAN_KIND_INTERNAL', if(i % 97 = 0, 'STATUS_CODE_ERROR', 'STATUS_CODE_OK'),
	['chat', 'retrieve', 'tool_call', 'rerank', 'plan'][i % 5 + 1], if(i % 10 = 0, session, ''), if(i % 10 = 0, concat('user-', toString(t % 5000)), ''),
	i % 3000, nan, if(i % 3 = 0, i % 1000, nan), if(i % 3 = 0, i % 300, nan), if(i % 3 = 0, i % 1000 + i % 300, nan), if(i % 3 = 0, i % 1000 / 1e6, nan), if(i % 3 = 0, i % 300 / 1e6, nan), if(i % 3 = 0, (i % 1000 + i % 300) / 1e6, nan),
	'checkout', 'gpt-4o', 'openai', '01890a5d-ac96-774b-bcce-b302099a8058', 'my-app',
	map('ag.meta.system', 'openai', 'ag.meta.customer', customer, 'ag.meta.request.model', 'gpt-4o', 'ag.references.application.slug', 'my-app', 'gen_ai.operation.name', 'chat', 'ag.data.outputs', concat('answer ', toString(i % 1000))),
	map('ag.meta.system', 'openai', 'ag.meta.request.model', 'gpt-4o', 'gen_ai.operation.name', 'chat'),
	map('ag.meta.request.temperature', 0.7, 'ag.meta.score', i % 100 / 100), map('ag.flags.cached', i % 2 = 0), ['ag.data.inputs.messages'],
	arrayFilter(x -> x != '', [concat('ag.meta.customer=', customer), concat('ag.data.outputs=answer ', toString(i % 1000)), 'ag.references.application.slug=my-app', '@ref.application.slug=my-app', '@ref.slug=my-app', if(i % 10 = 0, concat('@session=', session), ''), if(i % 10 = 0, concat('@user=user-', toString(t % 5000)), '')]),
	2000
FROM (SELECT number AS i, intDiv(number, 10) AS t, concat('session-', toString(intDiv(t, 50))), concat('session-', toString(intDiv(intDiv(number, 10), 50))) AS session, concat('customer-', toString(intDiv(intDiv(number, 10), 100))) AS customer,
	toDateTime64('2026-03-11 12:00:00', 6, 'UTC') - toIntervalMicrosecond(toInt64(({total} - t * 10) * (14 * 86400 * 1000000. / {total})) - (i % 10) * 150000) AS at,
	sipHash128('trace', t) AS trace_id, toFixedString(reinterpretAsString(xxHash64('span', i)), 8) AS span_id, xxHash64(concat(trace_id, span_id)) AS sort_hash FROM numbers({from}, {n}))`

	// benchHead and benchLengths are the columns of span_payloads_packed: a header as payload.AppendHeader makes it.
	benchHead = `concat(char(1), parent_id, reinterpretAsFixedString(toInt64(toUnixTimestamp64Micro(start_time) * 1000 + start_ns)), reinterpretAsFixedString(toInt64(toUnixTimestamp64Micro(end_time) * 1000 + end_ns)),
	reinterpretAsFixedString(toUnixTimestamp64Micro(created_at)), reinterpretAsFixedString(toUnixTimestamp64Micro(updated_at)), toFixedString('', 48), char(toInt8(trace_type), if(span_type_declared, toInt8(span_type), 0), toInt8(span_kind), toInt8(status_code)),
	reinterpretAsFixedString(toUInt32(length(span_name))), reinterpretAsFixedString(toUInt32(length(status_message))), reinterpretAsFixedString(toUInt32(length(session_id))), reinterpretAsFixedString(toUInt32(length(user_id))), reinterpretAsFixedString(toUInt32(length(agent_id))),
	span_name, status_message, session_id, user_id, agent_id, char(toUInt8(arraySum(k -> if(isNaN(k.1), 0, bitShiftLeft(1, k.2)), arrayZip(` + benchMetrics + `, range(7))))), arrayStringConcat(arrayMap(v -> if(isNaN(v), '', concat(reinterpretAsFixedString(v), '')), ` + benchMetrics + `)))`
	benchMetrics = `[errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total]`
	benchLengths = `toFixedString(concat(reinterpretAsFixedString(toUInt32(length(inputs_text))), reinterpretAsFixedString(toUInt32(length(outputs_text))), toFixedString('', 12), reinterpretAsFixedString(toUInt32(length(attributes_text))), reinterpretAsFixedString(toUInt32(length(links_text))), toFixedString('', 8)), 36)`
	// benchDocument makes the rows from a statement that gives rows of spans with these texts.
	benchDocument = `INSERT INTO span_payloads_packed (project_id, stream_offset, version, partition_week, start_time, trace_id, span_id, text, head, lengths)
SELECT project_id, bitShiftRight(version, 20), version, partition_week, start_time, trace_id, span_id, concat(inputs_text, outputs_text, attributes_text), concat(links_text, ` + benchHead + `), ` + benchLengths + ` FROM `

	benchPayload = benchDocument + `(SELECT *, bitShiftRight(version, 20) * 10 + bitAnd(version, 15) AS i,
	concat('{"messages":[{"content":"You are a careful assistant who answers questions about travel, weather and food with few words and never invents facts.","role":"system"},{"content":"', arrayStringConcat(arrayMap(k -> substring(words, 1 + (cityHash64(i, k) % 180) * 5, 5 + cityHash64(k, i) % 9), range(60)), ' '), if(i % 1000003 = 7, ' xylophone', ''), '","role":"user"}]}') AS inputs_text,
	concat('"answer ', toString(i % 1000), '"') AS outputs_text,
	concat('{"ag":{"data":{},"flags":{"cached":', if(i % 2 = 0, 'true', 'false'), '},"meta":{"customer":"', attributes_string['ag.meta.customer'], '","request":{"model":"gpt-4o","temperature":0.7},"score":', toString(attributes_number['ag.meta.score']), ',"system":"openai"},"metrics":{"costs":{},"duration":{"cumulative":', toString(duration_ms), '},"errors":{},"tokens":{"incremental":{"total":', toString(if(isNaN(tokens_total), 0, tokens_total)), '}}},"references":{"application":{"slug":"my-app"}},"type":{"span":"chat","trace":"invocation"}},"gen_ai":{"operation":{"name":"chat"}}}') AS attributes_text, '' AS links_text
FROM (SELECT *, 'the weather in the mountains of the north is mild and the trains to the coast leave at noon while the market sells fish bread and fruit to visitors who ask about museums bridges towers gardens rivers castles and the history of small towns along the old road that merchants took when salt was worth its weight in silver and winters were attributes_unindexed and cold so that people told stories by the fire about bears wolves dragons kings queens and clever children who outwitted them all with riddles songs patience kindness and sometimes a little magic learned from grandmothers who knew herbs stars tides and the language of birds which is mostly gossip about cats and the best places to find worms after rain in spring or early summer before the hay is cut and stored for the animals that live below the house and warm it with their breath' AS words
	FROM spans WHERE version >= {low} AND version < {high}))`

	benchIndex = `INSERT INTO trace_index (project_id, trace_id, min_start, max_start, created_at, last_version, records) SELECT project_id, trace_id, min(start_time), max(start_time), min(created_at), max(version), groupUniqArray(bitShiftRight(version, 20)) FROM spans WHERE version >= {low} AND version < {high} GROUP BY project_id, trace_id`

	// All is settled.
	benchSums = `INSERT INTO span_cumulative (project_id, trace_type, start_time, sort_hash, partition_week, trace_id, span_id, version, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total)
SELECT project_id, any(trace_type), argMin(start_time, version) AS at, argMin(sort_hash, version), toMonday(at), trace_id, argMin(span_id, version), max(version),
	sumIf(tokens_prompt, NOT isNaN(tokens_prompt)), sumIf(tokens_completion, NOT isNaN(tokens_completion)), sumIf(tokens_total, NOT isNaN(tokens_total)), sumIf(costs_prompt, NOT isNaN(costs_prompt)), sumIf(costs_completion, NOT isNaN(costs_completion)), sumIf(costs_total, NOT isNaN(costs_total))
FROM spans WHERE version >= {low} AND version < {high} GROUP BY project_id, trace_id`
	benchSettled = `INSERT INTO trace_totals (project_id, trace_id, version) SELECT project_id, trace_id, max(version) FROM spans WHERE version >= {low} AND version < {high} GROUP BY project_id, trace_id`
)

// benchStore gives a reader on many spans.
func benchStore(b *testing.B, registry *prometheus.Registry) (reader *traces.Reader, total, pid int) {
	b.Helper()
	begun := time.Now()
	total = benchSpans
	if given := os.Getenv(envBenchSpans); given != "" {
		n, err := strconv.Atoi(given)
		require.NoError(b, err)
		total = n
	}
	dir := os.Getenv(envBenchDir)
	if dir == "" {
		dir = b.TempDir()
	}
	stack, err := embedded.Start(b.Context(), embedded.Config{Dir: dir, Only: []string{embedded.ClickHouse}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, stack.Close(context.Background())) })
	options, err := clickhouse.ParseDSN(stack.ClickHouse)
	require.NoError(b, err)
	options.Protocol, options.ReadTimeout = clickhouse.HTTP, 10*time.Minute
	conn, err := clickhouse.Open(options)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, conn.Close()) })
	_, err = migrations.ClickHouse(b.Context(), conn, migrations.Deployment{})
	require.NoError(b, err)
	fill(b, conn, total)
	reader, err = traces.New(traces.DefaultConfig(), conn, func() time.Time { return benchNow.Add(time.Since(begun)) }, registry)
	require.NoError(b, err)
	return reader, total, stack.PID(embedded.ClickHouse)
}

// benchValues are those of the statements that write n spans from a number on,
// so many to a record.
func benchValues(total, from, n, each int) *strings.Replacer {
	version := func(i int) string { return strconv.Itoa(i / each << schema.VersionShift) }
	return strings.NewReplacer("{total}", strconv.Itoa(total), "{from}", strconv.Itoa(from), "{n}", strconv.Itoa(n), "{low}", version(from), "{high}", version(from+n))
}

func fill(b *testing.B, conn driver.Conn, total int) {
	b.Helper()
	var there uint64
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT count() FROM trace_index").Scan(&there))
	if there > 0 {
		return
	}
	const step = 100_000
	for from := 0; from < total; from += step {
		n := min(step, total-from)
		values := benchValues(total, from, n, 10)
		for _, s := range []string{benchCore, benchPayload, benchIndex, benchSums, benchSettled} {
			require.NoError(b, conn.Exec(b.Context(), values.Replace(s)))
		}
	}
	fillNgrams(b, conn, total)
}

// fillNgrams writes the sets of n-grams of all sections.
func fillNgrams(b *testing.B, conn driver.Conn, total int) {
	b.Helper()
	for section := range uint64(total/10/schema.BlockOffsets + 1) {
		var set, digitNgrams ngram.Set
		var low, high time.Time
		from := section * schema.BlockOffsets
		rows, err := conn.Query(b.Context(), "SELECT start_time, text FROM span_payloads_packed WHERE project_id = ? AND stream_partition = 0 AND stream_offset BETWEEN ? AND ?",
			benchProject.String(), from, from+schema.BlockOffsets-1)
		require.NoError(b, err)
		for rows.Next() {
			var at time.Time
			var text string
			require.NoError(b, rows.Scan(&at, &text))
			if low.IsZero() || at.Before(low) {
				low = at
			}
			if at.After(high) {
				high = at
			}
			set.Add([]byte(text))
			digitNgrams.AddDigitNgrams([]byte(text))
		}
		require.NoError(b, rows.Err())
		require.NoError(b, rows.Close())
		insertSets(b, conn, benchProject, section, low.UnixNano(), high.UnixNano(), &set, &digitNgrams)
	}
}

// cpu is the processor time of a process so far: unlike the clock it says
// about the same on a busy machine.
func cpu(b *testing.B, process string) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/" + process + "/stat")
	require.NoError(b, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}

// spent is what statements of one name took so far.
type spent struct {
	count   uint64
	seconds float64
}

func statementsOf(b testing.TB, registry *prometheus.Registry) map[string]spent {
	b.Helper()
	families, err := registry.Gather()
	require.NoError(b, err)
	out := map[string]spent{}
	for _, f := range families {
		if f.GetName() != "colonnade_read_query_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = spent{m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()}
		}
	}
	return out
}

// BenchmarkReads measures what design §9 sets targets for, and reports the
// median and the 99th percentile.
func BenchmarkReads(b *testing.B) {
	registry := prometheus.NewRegistry()
	reader, total, pid := benchStore(b, registry)
	condition := func(text string) filter.Expr { return where(b, text) }
	spans := func(e func(i int) filter.Expr, w func(i int) domain.Window) func(i int) (int, error) {
		return func(i int) (int, error) {
			page, err := reader.Spans(b.Context(), benchProject, e(i), w(i))
			return len(page.Items), err
		}
	}
	always := func(e filter.Expr) func(int) filter.Expr { return func(int) filter.Expr { return e } }
	latest := func(int) domain.Window { return domain.Window{Limit: 50} }
	deep := func(i int) domain.Window {
		return domain.Window{Limit: 50, Newest: benchNow.Add(-time.Duration(i*7919%(14*86400)) * time.Second)}
	}
	root := condition(`{"field":"parent_id","value":null}`)
	var known []trace.Span
	for i := range 20 {
		page, err := reader.Spans(b.Context(), benchProject, nil, domain.Window{Limit: 5, Newest: benchNow.Add(-time.Duration(i) * 16 * time.Hour)})
		require.NoError(b, err)
		known = append(known, page.Items...)
	}
	sessions := total / 10 / 50
	needle := func(i int) filter.Expr {
		return condition(fmt.Sprintf(`{"field":"session_id","value":"session-%d"}`, i*31%sessions))
	}
	customer := func(i int) filter.Expr {
		return condition(fmt.Sprintf(`{"field":"attributes","key":"ag.meta.customer","value":"customer-%d"}`, i*31%(sessions/2)))
	}
	// ending is what few spans have, and no index of values finds.
	ending := func(i int) filter.Expr {
		return condition(fmt.Sprintf(`{"field":"attributes","key":"ag.meta.customer","operator":"endswith","value":"omer-%d"}`, i*31%(sessions/2)))
	}
	rare := condition(`{"field":"content","operator":"contains","value":"xylophone"}`)
	day := func(i int) domain.Window {
		w := deep(i)
		w.Oldest = w.Newest.Add(-24 * time.Hour)
		return w
	}
	analyst, err := analytics.New(analytics.DefaultConfig(), reader, func() time.Time { return benchNow })
	require.NoError(b, err)
	actors := activity.New(reader, analyst)
	grouped := func(i int) (int, error) {
		w := day(i)
		answer, err := analyst.Query(b.Context(), benchProject, analytics.Question{
			Roots: true, Oldest: w.Oldest, Newest: w.Newest, Interval: 60, Specs: analytics.DefaultSpecs()[:4],
			Grouping: analytics.Grouping{GroupBy: []analyticssql.Group{{Column: "toString(model)"}}, Top: 8},
		})
		return len(answer.Buckets), err
	}
	var next uuid.UUID // where the second page begins
	for _, bench := range []struct {
		name string
		ask  func(i int) (int, error)
		// before is what comes before the request and is not timed; nil for nothing.
		before func(i int) error
	}{
		{"latest 50 spans", spans(always(nil), latest), nil},
		{"50 spans at any depth", spans(always(nil), deep), nil},
		{"50 roots at any depth", spans(always(root), deep), nil},
		{"50 errors of a type", spans(always(condition(`{"field":"status_code","value":"STATUS_CODE_ERROR"},{"field":"span_type","value":"chat"}`)), deep), nil},
		{"50 slow spans", spans(always(condition(`{"field":"attributes","key":"ag.metrics.duration.cumulative","operator":"gt","value":2990}`)), deep), nil},
		{"50 annotations", spans(always(condition(`{"field":"trace_type","value":"annotation"}`)), deep), nil},
		{"a session", spans(needle, latest), nil},
		{"a customer attribute", spans(customer, latest), nil},
		{"an attribute by map", spans(always(condition(`{"field":"attributes","key":"ag.meta.score","operator":"gte","value":0.99}`)), deep), nil},
		{"content, frequent", spans(always(condition(`{"field":"content","operator":"contains","value":"dragons"}`)), latest), nil},
		{"content, rare, a day", spans(always(rare), day), nil},
		{"content, rare", spans(always(rare), latest), nil},
		{"a part of an attribute, a day", spans(ending, day), nil},
		{"a part of an attribute", spans(ending, latest), nil},
		{"latest 50 traces", func(int) (int, error) {
			page, err := reader.Traces(b.Context(), benchProject, nil, domain.Window{Limit: 50})
			return len(page.Items), err
		}, nil},
		{"second 50 traces", func(int) (int, error) {
			page, err := reader.Traces(b.Context(), benchProject, root, domain.Window{Limit: 50, Next: next})
			return len(page.Items), err
		}, func(i int) error {
			page, err := reader.Traces(b.Context(), benchProject, root, deep(i))
			next = page.Next
			return err
		}},
		{"roots of a day by model", grouped, nil},
		{"50 sessions of a day with totals", func(i int) (int, error) {
			w := day(i)
			page, err := actors.List(b.Context(), benchProject, order.Session, true, w)
			if err != nil {
				return 0, err
			}
			found, err := actors.Totals(b.Context(), benchProject, order.Session, page.IDs, w)
			return len(found), err
		}, nil},
		{"50 sessions of a day by cost", func(i int) (int, error) {
			found, _, err := actors.Ranked(b.Context(), benchProject, order.Session, activity.ByCost, day(i))
			return len(found), err
		}, nil},
		{"trace by id", func(i int) (int, error) {
			found, err := reader.TracesByID(b.Context(), benchProject, []trace.TraceID{known[i%len(known)].TraceID})
			return len(found), err
		}, nil},
		{"span by id", func(i int) (int, error) {
			s := known[i%len(known)]
			found, err := reader.SpansByID(b.Context(), benchProject, []trace.TraceID{s.TraceID}, []trace.SpanID{s.SpanID})
			return len(found), err
		}, nil},
	} {
		b.Run(strings.ReplaceAll(bench.name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			rows := 0
			engine, self, statements := cpu(b, strconv.Itoa(pid)), cpu(b, "self"), statementsOf(b, registry)
			for i := 0; b.Loop(); i++ {
				if bench.before != nil {
					require.NoError(b, bench.before(i))
				}
				started := time.Now()
				n, err := bench.ask(i)
				require.NoError(b, err)
				took = append(took, time.Since(started))
				rows += n
			}
			per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(len(took)) }
			b.ReportMetric(per(cpu(b, strconv.Itoa(pid))-engine), "engine-cpu-ms")
			b.ReportMetric(per(cpu(b, "self")-self), "self-cpu-ms")
			for name, now := range statementsOf(b, registry) {
				if n := now.count - statements[name].count; n > 0 {
					b.Logf("%-12s %5.1f a request, %6.1f ms each", name, float64(n)/float64(len(took)), (now.seconds-statements[name].seconds)*1000/float64(n))
				}
			}
			slices.Sort(took)
			at := func(q float64) float64 {
				return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
			}
			b.ReportMetric(took[0].Seconds()*1000, "min-ms")
			b.ReportMetric(at(.5), "p50-ms")
			b.ReportMetric(at(.99), "p99-ms")
			b.ReportMetric(float64(rows)/float64(len(took)), "items/op")
		})
	}
}
