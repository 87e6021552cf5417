//go:build embedded

package traces_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"colonnade/deploy/embedded"
	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/migrations"
	"colonnade/read/traces"
)

// Five evaluators judge each of 500 invocations of a run, one run after the
// other, over 14 days up to benchNow. A run is of one application revision;
// there are 40 of them, and 8 testset revisions. envBenchSpans is the number of
// annotations.
const (
	saidCore = `INSERT INTO spans (project_id, trace_type, start_time, sort_hash, partition_week, trace_id, span_id, start_ns, end_time, version, created_at, span_type, span_type_declared, trace_type_declared, span_kind, status_code, span_name,
	errors, tokens_prompt, tokens_completion, tokens_total, costs_prompt, costs_completion, costs_total, evaluator_id, evaluator_slug, testcase_id, link_count, link_trace_id, link_span_id, link_trace_ids, link_span_ids, attributes_string, attributes_number, attributes_bool, search_terms, payload_bytes)
SELECT '01890a5d-ac96-774b-bcce-b302099a8057', 'annotation', at, sort_hash, toMonday(at), trace_id, span_id, n % 1000, at, bitShiftLeft(n, 20), at, 'task', true, 'annotation', 'SPAN_KIND_INTERNAL', 'STATUS_CODE_UNSET', evaluator,
	nan, nan, nan, nan, nan, nan, nan, toUUID(evaluator_id), evaluator, toUUID(testcase), 1, of, of_span, [of], [of_span],
	map('ag.references.evaluator.slug', evaluator, 'ag.references.evaluator.id', evaluator_id, 'ag.references.application_revision.id', revision, 'ag.references.testset_revision.id', testset, 'ag.references.testcase.id', testcase, 'ag.data.outputs.verdict', if(n % 3 = 0, 'good', 'bad'), 'ag.tags.run', concat('run-', toString(run))),
	map('ag.data.outputs.score', n % 100 / 100), map('ag.flags.is_evaluation', true, 'ag.flags.is_evaluator', true),
	[concat('@ref.evaluator.slug=', evaluator), concat('@ref.slug=', evaluator), concat('@ref.evaluator.id=', evaluator_id), concat('@ref.id=', evaluator_id), concat('@ref.application_revision.id=', revision), concat('@ref.id=', revision), concat('@ref.testset_revision.id=', testset), concat('@ref.id=', testset),
		concat('@ref.testcase.id=', testcase), concat('@ref.id=', testcase), concat('@link.trace=', lower(hex(of))), concat('@link.span=', lower(hex(of_span))), concat('ag.references.evaluator.slug=', evaluator), concat('ag.references.application_revision.id=', revision), concat('ag.tags.run=run-', toString(run))],
	600
FROM (SELECT number AS n, n % 5 AS e, intDiv(n, 5) AS i, intDiv(n, 2500) AS run, concat('judge-', toString(e)) AS evaluator, concat('01890a5d-0000-7000-8000-00000000000', toString(e)) AS evaluator_id,
	concat('01890a5d-0001-7000-8000-0000000000', leftPad(toString(run % 40), 2, '0')) AS revision, concat('01890a5d-0002-7000-8000-00000000000', toString(run % 8)) AS testset, concat('01890a5d-0003-7000-8000-000000000', leftPad(toString(i % 500), 3, '0')) AS testcase,
	toDateTime64('2026-03-11 12:00:00', 6, 'UTC') - toIntervalMicrosecond(toInt64(({total} - n) * (14 * 86400 * 1000000. / {total}))) AS at,
	sipHash128('judgment', n) AS trace_id, toFixedString(reinterpretAsString(xxHash64('judgment', n)), 8) AS span_id, xxHash64(concat(trace_id, span_id)) AS sort_hash,
	sipHash128('invocation', i) AS of, toFixedString(reinterpretAsString(xxHash64('invocation', i)), 8) AS of_span FROM numbers({from}, {n}))`

	saidPayload = benchDocument + `(SELECT *, '' AS inputs_text, concat('{"score":', toString(attributes_number['ag.data.outputs.score']), ',"verdict":"', attributes_string['ag.data.outputs.verdict'], '"}') AS outputs_text,
	concat('{"ag":{"data":{},"flags":{"is_evaluation":true,"is_evaluator":true},"metrics":{"costs":{},"duration":{},"errors":{},"tokens":{}},"references":{"application_revision":{"id":"', attributes_string['ag.references.application_revision.id'], '"},"evaluator":{"id":"', attributes_string['ag.references.evaluator.id'], '","slug":"', evaluator_slug, '"},"testcase":{"id":"', attributes_string['ag.references.testcase.id'], '"},"testset_revision":{"id":"', attributes_string['ag.references.testset_revision.id'], '"}},"tags":{"run":"', attributes_string['ag.tags.run'], '"},"type":{"span":"task","trace":"annotation"}}}') AS attributes_text,
	concat('[{"attributes":{"key":"invocation"},"span_id":"', lower(hex(link_span_id)), '","trace_id":"', lower(hex(link_trace_id)), '"}]') AS links_text
FROM spans WHERE version >= {low} AND version < {high})`

	saidLinks = `INSERT INTO annotation_index (project_id, link_trace_id, evaluator_key, start_time, sort_hash, link_span_id, trace_type, trace_id, span_id, version, evaluator_slug, application_revision, testset_revision, testcase, numbers, strings, whole)
SELECT project_id, link_trace_id, evaluator_slug, start_time, sort_hash, link_span_id, trace_type, trace_id, span_id, version, evaluator_slug, attributes_string['ag.references.application_revision.id'], attributes_string['ag.references.testset_revision.id'], attributes_string['ag.references.testcase.id'], map('score', attributes_number['ag.data.outputs.score']), map('verdict', attributes_string['ag.data.outputs.verdict']), false
FROM spans WHERE version >= {low} AND version < {high}`

	saidResults = `INSERT INTO evaluation_index (project_id, evaluator_key, application_revision, testset_revision, testcase, start_time, sort_hash, trace_type, trace_id, span_id, version, evaluator_id)
SELECT project_id, evaluator_slug, attributes_string['ag.references.application_revision.id'], attributes_string['ag.references.testset_revision.id'], attributes_string['ag.references.testcase.id'], start_time, sort_hash, trace_type, trace_id, span_id, version, evaluator_id
FROM spans WHERE version >= {low} AND version < {high}`
)

const saidSpans = 100_000

// saidStore gives a reader on many annotations, and their number.
func saidStore(b *testing.B, registry *prometheus.Registry) (*traces.Reader, int) {
	b.Helper()
	total := saidSpans
	if given := os.Getenv(envBenchSpans); given != "" {
		n, err := strconv.Atoi(given)
		require.NoError(b, err)
		total = n
	}
	dir := b.TempDir()
	if given := os.Getenv(envBenchDir); given != "" {
		dir = filepath.Join(given, "said")
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
	var there uint64
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT count() FROM trace_index").Scan(&there))
	const step = 100_000
	for from := int(there); from < total; from += step {
		n := min(step, total-from)
		values := benchValues(total, from, n, 1)
		for _, s := range []string{saidCore, saidPayload, saidLinks, saidResults, benchIndex} {
			require.NoError(b, conn.Exec(b.Context(), values.Replace(s)))
		}
	}
	begun := time.Now()
	reader, err := traces.New(traces.DefaultConfig(), conn, func() time.Time { return benchNow.Add(time.Since(begun)) }, registry)
	require.NoError(b, err)
	return reader, total
}

// invocationsOf gives invocations that were judged: 50 of each of 60 moments, so
// that neighbours and strangers can be chosen.
func invocationsOf(b *testing.B, reader *traces.Reader, total int) []trace.Link {
	b.Helper()
	var out []trace.Link
	for i := range 60 {
		newest := benchNow.Add(-time.Duration(i) * 14 * 24 * time.Hour / 60)
		page, err := reader.Records(b.Context(), benchProject, filter.Reference{Key: "evaluator", Slug: "judge-0"}, domain.Window{Limit: 50, Newest: newest})
		require.NoError(b, err)
		for _, s := range page.Items {
			out = append(out, s.Links[0])
		}
	}
	require.Greater(b, len(out), min(total/5, 3000)/2)
	return out
}

// BenchmarkSaid measures what a dashboard of evaluations asks: the grid of 50
// invocations by all evaluators, an evaluator's latest results, and all of them
// over a revision. Targets: design §9. "As spans" is the same question in a form
// of which neither annotation_index nor evaluation_index tells where the answer is.
func BenchmarkSaid(b *testing.B) {
	registry := prometheus.NewRegistry()
	reader, total := saidStore(b, registry)
	links := invocationsOf(b, reader, total)
	query := func(q simple.Query) filter.Expr {
		e, err := q.Filter(simple.Annotation)
		require.NoError(b, err)
		return e
	}
	grid := func(at func(i int) trace.Link, more ...string) simple.Query {
		q := simple.Query{AnyLink: true}
		for i := range 50 {
			l := at(i)
			q.Links = append(q.Links, simple.Link{TraceID: l.TraceID, SpanID: l.SpanID})
		}
		for _, slug := range more {
			q.References = map[string]domain.Reference{"evaluator": {Slug: slug}}
		}
		return q
	}
	run := func(n int) func(int) trace.Link {
		return func(i int) trace.Link { return links[(n*50%len(links)+i)%len(links)] }
	}
	scattered := func(n int) func(int) trace.Link {
		return func(i int) trace.Link { return links[(n+i*(len(links)/50))%len(links)] }
	}
	results := func(n int, more map[string]domain.Reference) simple.Query {
		q := simple.Query{References: map[string]domain.Reference{"evaluator": {Slug: fmt.Sprint("judge-", n%5)}}}
		maps.Copy(q.References, more)
		return q
	}
	revision := func(n int) domain.Reference {
		return domain.Reference{ID: uuid.MustParse(fmt.Sprintf("01890a5d-0001-7000-8000-0000000000%02d", n*7%40))}
	}
	testset := func(n int) domain.Reference {
		return domain.Reference{ID: uuid.MustParse(fmt.Sprintf("01890a5d-0002-7000-8000-00000000000%d", n*7%40%8))}
	}
	asSpans := func(e filter.Expr) filter.Expr {
		var out filter.And
		for _, child := range e.(filter.And) {
			if or, ok := child.(filter.Or); ok {
				switch or[0].(type) {
				case filter.Link:
					child = append(slices.Clone(or), filter.Link{SpanID: trace.SpanID{9}})
				case filter.Reference:
					child = append(slices.Clone(or), filter.Reference{Key: or[0].(filter.Reference).Key, Version: "none"})
				}
			}
			out = append(out, child)
		}
		return out
	}
	for _, bench := range []struct {
		name  string
		limit int
		ask   func(i int) filter.Expr
	}{
		{"grid of a run", 1000, func(n int) filter.Expr { return query(grid(run(n))) }},
		{"grid of scattered invocations", 1000, func(n int) filter.Expr { return query(grid(scattered(n))) }},
		{"one evaluator of a grid", 1000, func(n int) filter.Expr { return query(grid(run(n), "judge-3")) }},
		{"latest 50 of an evaluator", 50, func(n int) filter.Expr { return query(results(n, nil)) }},
		{"latest 50 of an evaluator by id", 50, func(n int) filter.Expr {
			return query(simple.Query{References: map[string]domain.Reference{"evaluator": {ID: uuid.MustParse(fmt.Sprintf("01890a5d-0000-7000-8000-00000000000%d", n%5))}}})
		}},
		{"latest 50 over a revision", 50, func(n int) filter.Expr {
			return query(results(n, map[string]domain.Reference{"application_revision": revision(n)}))
		}},
		{"500 results of a run", 500, func(n int) filter.Expr {
			return query(results(n, map[string]domain.Reference{"application_revision": revision(n), "testset_revision": testset(n)}))
		}},
		{"one testcase over a revision", 50, func(n int) filter.Expr {
			return query(results(n, map[string]domain.Reference{"application_revision": revision(n), "testcase": {ID: uuid.MustParse(fmt.Sprintf("01890a5d-0003-7000-8000-000000000%03d", n*31%500))}}))
		}},
	} {
		for _, way := range []string{"said", "as spans"} {
			b.Run(strings.ReplaceAll(bench.name+"/"+way, " ", "_"), func(b *testing.B) {
				b.ReportAllocs()
				var took []time.Duration
				rows := 0
				statements := statementsOf(b, registry)
				for i := 0; b.Loop(); i++ {
					e := bench.ask(i)
					if way != "said" {
						e = asSpans(e)
					}
					started := time.Now()
					page, err := reader.Records(b.Context(), benchProject, e, domain.Window{Limit: bench.limit})
					require.NoError(b, err)
					took = append(took, time.Since(started))
					rows += len(page.Items)
				}
				for name, now := range statementsOf(b, registry) {
					if n := now.count - statements[name].count; n > 0 {
						b.Logf("%-14s %5.1f a request, %6.1f ms each", name, float64(n)/float64(len(took)), (now.seconds-statements[name].seconds)*1000/float64(n))
					}
				}
				slices.Sort(took)
				at := func(q float64) float64 {
					return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
				}
				b.ReportMetric(at(.5), "p50-ms")
				b.ReportMetric(at(.99), "p99-ms")
				b.ReportMetric(float64(rows)/float64(len(took)), "items/op")
			})
		}
	}
}
