package handler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/domain/trace"
)

func TestRedactorValue(t *testing.T) {
	t.Parallel()
	var r Redactor
	in := map[string]any{"a": []any{"sk-12345678", "Bearer sk-12345678!", int64(7), nil}, "sk-12345678": "x"}
	require.Equal(t, any(in), r.Value(in), "a call without secrets")
	for _, value := range []string{" sk-12345678 ", "sk-12345678-longer", `quo"te<d>`, "short", ""} {
		r.Add(value)
	}
	got := r.Value(in)
	require.Equal(t, map[string]any{"a": []any{"***", "Bearer ***!", int64(7), nil}, "***": "x"}, got)
	require.Equal(t, "sk-12345678", in["a"].([]any)[0], "the value of the caller stays")
	require.Equal(t, "***, ***, short, x", r.Value("sk-12345678-longer, sk-12345678, short, x"))
	require.Equal(t, `text "***", "***", ***`, r.Value(`text "quo\"te<d>", "quo\"te\u003cd\u003e", quo"te<d>`))
	var none *Redactor
	none.Add("sk-12345678")
	require.Equal(t, "sk-12345678", none.Value("sk-12345678"))
	require.NoError(t, r.Error(nil))
}

func TestRedactorError(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Add("sk-12345678")
	cause := errors.New("401 for sk-12345678")
	err := &domain.Error{Kind: domain.FailedDependency, Message: "refused: sk-12345678", RetryAfter: time.Second, Err: NewProblem(HookServer, cause)}
	got := r.Error(fmt.Errorf("calling with sk-12345678: %w", err))
	require.Equal(t, domain.FailedDependency, domain.KindOf(got))
	require.Equal(t, HookServer, ProblemOf(got))
	require.Equal(t, "refused: ***", Message(got))
	require.NotContains(t, got.Error(), "sk-12345678")
	require.ErrorIs(t, got, cause)
	other := r.Error(cause)
	require.Equal(t, "401 for ***", other.Error())
	require.ErrorIs(t, other, cause)
}

func TestRedactorSpans(t *testing.T) {
	t.Parallel()
	var r Redactor
	rec := NewRecorder(time.Now, strings.NewReader(strings.Repeat("x", 64)))
	s, err := rec.Start(trace.TraceID{1}, trace.SpanID{}, "call of sk-12345678", trace.Workflow, trace.KindServer)
	require.NoError(t, err)
	s.Set(map[string]any{"echo": "sk-12345678"}, "ag", "data", "outputs")
	s.End(domain.E(domain.Rejected, "no: sk-12345678"))
	r.Add("sk-12345678") // known after it was recorded
	spans := rec.Finish()
	r.Spans(spans)
	require.NotContains(t, fmt.Sprintf("%+v", spans), "sk-12345678")
	require.Equal(t, "call of ***", spans[0].Name)
	require.Equal(t, "no: ***", spans[0].StatusMessage)
	require.Equal(t, "no: ***", spans[0].Events[0].Attributes["exception.message"])
}
