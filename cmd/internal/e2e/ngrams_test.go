//go:build embedded

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filterjson"
	"colonnade/domain/jsonvalue/jsonvaluetest"
	"colonnade/domain/trace"
	"colonnade/domain/trace/tracejson"
	"colonnade/migrations/schema"
	"colonnade/read/filtersql"
	"colonnade/read/order"
	"colonnade/read/statements"
)

// apart makes sets of n-grams as if each span of a project were a section of the
// stream, which its tie numbers, and gives the project that has them. The store
// computes them from what it has: by the formula, not by our code.
func (w *pipeline) apart(t *testing.T, project domain.ProjectID) domain.ProjectID {
	t.Helper()
	out := domain.ProjectID(uuid.New())
	require.NoError(t, w.conn.Exec(t.Context(), `INSERT INTO span_payload_ngrams (project_id, stream_partition, offset_block, min_start, max_start, ngrams, digit_ngrams)
		WITH lower(text) AS folded, 11400714819323198485 AS m,
			n -> arrayMap(i -> substring(folded, i, n), range(1, toUInt64(greatest(toInt64(length(folded)) - n + 2, 1)))) AS stretches,
			arrayFilter(s -> trimRight(s, '0123456789') = '', stretches(6)) AS sixes,
			s -> bitXor(reinterpretAsUInt64(s) * m, bitShiftRight(reinterpretAsUInt64(s) * m, 32)) * m AS mixed
		SELECT toUUID(?), 0, bitAnd(xxHash64(concat(trace_id, span_id)), ?), start_time, start_time,
			arrayReduce('groupBitmapState', arrayMap(s -> toUInt32(bitShiftRight(reinterpretAsUInt64(s) * m, 44)), stretches(5))),
			arrayReduce('groupBitmapState', arrayMap(h -> toUInt32(bitAnd(h, 1048575)), arrayConcat(
				arrayMap(s -> bitShiftRight(mixed(s), 44), arrayFilter(s -> length(trimRight(s, '0123456789')) BETWEEN 2 AND 4, stretches(8))),
				arrayMap(s -> bitShiftRight(mixed(s), 44), sixes), arrayMap(s -> bitShiftRight(mixed(s), 24), sixes))))
		FROM span_payloads_packed WHERE project_id = ?`, out.String(), uint64(1)<<schema.RecordShift-1, project.String()))
	return out
}

// checkSections holds that the n-grams that a filter asks for are in every span
// for which it holds, and tells in how many others they are not.
func (w *pipeline) checkSections(t *testing.T, apart domain.ProjectID, e filter.Expr, corpus []trace.Span, text string) (narrowed int) {
	t.Helper()
	c, err := filtersql.Filter(e)
	require.NoError(t, err)
	s := statements.OffsetBlocks{Project: apart, Condition: c, Range: order.Everything(), Limit: len(corpus) + 1}.Statement()
	if !strings.Contains(s.SQL, "bitmap") {
		return 0 // it asks nothing of the sets, and would find all of them
	}
	var sections []uint64
	var first, last []int64
	var total uint64
	require.NoError(t, w.conn.QueryRow(t.Context(), s.SQL, s.Args...).Scan(&sections, &first, &last, &total), text)
	found := make(map[uint64]bool, len(sections))
	for _, n := range sections {
		found[n] = true
	}
	for i := range corpus {
		span := &corpus[i]
		switch in := found[place(span).SortHash&(1<<schema.RecordShift-1)]; {
		case !in && filter.Match(e, span):
			t.Fatalf("the n-grams of a filter are not in a span for which it holds\n%s\n%s", text, tracejson.AppendSpan(nil, span))
		case !in:
			narrowed++
		}
	}
	return narrowed
}

// piece is a condition on a part of a text of some span: in its documents, or in
// the attribute that it is of.
func (g *generator) piece(t *testing.T) (filter.Expr, string) {
	t.Helper()
	for {
		var leaves stringLeaves
		jsonvaluetest.Flatten(g.corpus[g.IntN(len(g.corpus))].Attributes, &leaves)
		path, text := "", ""
		for p, v := range leaves {
			if len(v) > len(text) {
				path, text = p, v
			}
		}
		runes := []rune(text)
		if len(runes) < 8 {
			continue
		}
		size := min(6+g.IntN(8), len(runes)-1)
		at := g.IntN(len(runes) - size)
		condition := object{"field": "attributes", "key": path, "operator": pick(g, "contains", "like"), "value": string(runes[at : at+size])}
		switch {
		case condition["operator"] == "like":
			condition["value"] = "%" + string(runes[at:at+size]) + "%"
		case g.IntN(2) == 0:
			condition = object{"field": "content", "operator": "contains", "value": `"` + string(runes[at:at+size]) + `"`}
		}
		encoded, err := json.Marshal(object{"conditions": []any{condition}})
		require.NoError(t, err)
		e, err := filterjson.Parse(encoded)
		if err != nil {
			continue // a quote within a phrase, or a % that is none
		}
		return e, string(encoded)
	}
}

// stringLeaves are the texts of attributes by their paths.
type stringLeaves map[string]string

func (l *stringLeaves) String(path, value string) {
	if *l == nil {
		*l = stringLeaves{}
	}
	(*l)[path] = value
}
func (*stringLeaves) Number(string, float64) {}
func (*stringLeaves) Bool(string, bool)      {}
func (*stringLeaves) Unindexed(string)       {}
