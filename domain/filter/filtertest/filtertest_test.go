package filtertest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/filter"
	"colonnade/domain/filter/filtertest"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

func TestFilterIsOftenTrueAndOftenFalse(t *testing.T) {
	t.Parallel()
	attributes, err := jsonvalue.ParseObject(`{"ag":{"data":{"inputs":{"country":"France"},"outputs":["a",1.5,null,{"k":true}]},"meta":{"n":3}}}`)
	require.NoError(t, err)
	spans := []trace.Span{
		{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, Type: trace.Invocation, Name: "root", Start: 1735732800123456789, End: 1735732800123456789, Attributes: attributes},
		{
			TraceID: trace.TraceID{2}, SpanID: trace.SpanID{2}, Type: trace.Annotation, Name: "Other Name", Start: 1735732800123456790, End: 1735732900000000000,
			Links: []trace.Link{{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}}, Events: []trace.Event{{Name: "exception"}},
			References: []trace.Reference{{Key: "evaluator", Reference: domain.Reference{Slug: "e"}}}, Hashes: []trace.Hash{{ID: uuid.UUID{1}}},
		},
	}
	g := filtertest.New(rand.New(rand.NewPCG(1, 2)), spans)
	counts := map[bool]int{}
	for range 2000 {
		_, e := g.Filter()
		for i := range spans {
			counts[filter.Match(e, &spans[i])]++
		}
	}
	require.Greater(t, counts[true], 1000)
	require.Greater(t, counts[false], 1000)
}
