package handler

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

func TestParseTraceparent(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	id, span, ok := ParseTraceparent(good)
	require.True(t, ok)
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", id.String())
	require.Equal(t, "b7ad6b7169203331", span.String())
	_, _, ok = ParseTraceparent("01" + good[2:] + "-more")
	require.True(t, ok, "a later version may say more")
	for _, bad := range []string{
		"", good[1:], good + "-more", "ff" + good[2:], strings.Replace(good, "b7ad6b7169203331", "0000000000000000", 1),
		strings.Replace(good, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1), strings.Replace(good, "0a", "zz", 1), strings.ReplaceAll(good, "-", "_"),
	} {
		_, _, ok := ParseTraceparent(bad)
		require.False(t, ok, bad)
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, header string) {
		id, span, ok := ParseTraceparent(header)
		if ok {
			require.False(t, id.IsZero() || span.IsZero())
			require.True(t, strings.EqualFold(header[3:35], id.String()))
		}
	})
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	type named struct {
		A int `json:"a"`
	}
	in := map[string]any{
		"whole": json.Number("12"), "half": json.Number("0.5"), "large": json.Number("1e30"), "none": math.NaN(), "int": 3,
		"list": []any{json.Number("1"), nil, true}, "struct": named{1}, "words": []string{"x"}, "pointer": (*named)(nil), "func": func() {},
	}
	want := map[string]any{
		"whole": int64(12), "half": 0.5, "large": 1e30, "none": nil, "int": int64(3), "list": []any{int64(1), nil, true},
		"struct": map[string]any{"a": int64(1)}, "words": []any{"x"}, "pointer": nil, "func": nil,
	}
	require.Empty(t, cmp.Diff(want, Canonical(in)))
}

func TestSpanRecordsAnErrorWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	rec := NewRecorder(time.Now, strings.NewReader(strings.Repeat("x", 64)))
	root, err := rec.Start(trace.TraceID{1}, trace.SpanID{}, "root", trace.Workflow, trace.KindServer)
	require.NoError(t, err)
	child, err := root.Child("step", trace.Tool)
	require.NoError(t, err)
	child.Set(map[string]any{"n": 1}, "ag", "data", "inputs")
	child.End(errors.New("dial 10.0.0.1: password"))
	child.End(nil)
	root.End(Fail(domain.Rejected, MissingInput, "Missing input: x"))
	spans := rec.Finish()
	require.Len(t, spans, 2)
	require.Equal(t, root.SpanID(), spans[1].ParentID)
	require.Equal(t, trace.StatusError, spans[1].Status)
	require.NotContains(t, spans[1].StatusMessage, "password")
	ag := Object(spans[0].Attributes["ag"])
	require.Equal(t, map[string]any{"type": "v0:schemas:missing-input", "message": "Missing input: x"}, ag["exception"])
	require.Equal(t, "exception", spans[0].Events[0].Name)

	var none *Span
	below, err := none.Child("x", trace.LLM)
	require.NoError(t, err)
	below.Set(1, "a")
	below.End(nil)
	require.Empty(t, below.Traceparent())
}
