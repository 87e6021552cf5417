package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/entity"
	"colonnade/domain/evaluation"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
)

// complete adds what the table of a run shows of each result of a project: of its step, its
// testcase and its trace.
func (p *Publisher) complete(ctx context.Context, project domain.ProjectID, rows []*row) error {
	if err := p.addSteps(ctx, project, rows); err != nil {
		return err
	}
	if err := p.addTestcases(ctx, project, rows); err != nil {
		return err
	}
	var traces []trace.TraceID
	for _, r := range rows {
		if id := r.result.TraceID; !id.IsZero() {
			r.pending = true
			traces = append(traces, id)
		}
	}
	if len(traces) == 0 {
		return nil
	}
	found, err := p.outcomes(ctx, project, traces)
	if err != nil {
		return fmt.Errorf("outbox: read the traces of results: %w", err)
	}
	for _, r := range rows {
		if o, ok := found[r.result.TraceID]; ok {
			r.outcome, r.pending = o, false
		}
	}
	return nil
}

// outcomes returns the outcomes of traces. A trace that is too large to be read counts as
// not visible, and does not keep the others from being read.
func (p *Publisher) outcomes(ctx context.Context, project domain.ProjectID, ids []trace.TraceID) (map[trace.TraceID]evaluation.Outcome, error) {
	found, err := p.deps.Outcomes(ctx, project, ids)
	if err == nil || domain.KindOf(err) != domain.Rejected {
		return found, err
	}
	if len(ids) == 1 {
		p.deps.Log.WarnContext(ctx, "a trace of an evaluation run cannot be read, its result is published without outputs",
			slog.String("trace_id", ids[0].String()), slog.Any("error", err))
		return map[trace.TraceID]evaluation.Outcome{}, nil
	}
	all := map[trace.TraceID]evaluation.Outcome{}
	for half := range slices.Chunk(ids, (len(ids)+1)/2) {
		some, err := p.outcomes(ctx, project, half)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// steps are the steps of a run.
type steps struct {
	data *evaluation.Data
	// expected are the columns of testcases that evaluators compare with.
	expected []string
}

// addSteps adds the steps of results.
func (p *Publisher) addSteps(ctx context.Context, project domain.ProjectID, rows []*row) error {
	runs := map[uuid.UUID]*steps{}
	for _, r := range rows {
		of := runs[r.run]
		if of == nil {
			run, err := p.deps.Runs.Run(ctx, project, r.run)
			if err != nil {
				return err
			}
			of = &steps{}
			runs[r.run] = of
			if run != nil {
				of.data = run.Data
			}
			if of.expected, err = p.expected(ctx, project, of.data); err != nil {
				return err
			}
		}
		r.expectedIn = of.expected
		step := of.data.Step(r.place.step)
		if step == nil {
			continue
		}
		r.step = step
		r.position = slices.IndexFunc(of.data.Steps, func(s evaluation.Step) bool { return s.Key == step.Key })
		from := step
		if step.Type == evaluation.Annotation {
			ref := step.References["evaluator"]
			r.evaluator = schema.EvaluatorKey(ref.ID, ref.Slug)
			if from = of.data.Judged(*step); from == nil {
				continue
			}
		}
		if revision, application := from.References["application_revision"], from.References["application"]; !revision.IsZero() {
			r.revision = schema.RevisionKey(revision.ID, revision.Slug, revision.Version, application.Slug)
		}
	}
	return nil
}

// defaultExpected are the columns of a testcase that hold the expected output where no
// evaluator of the run names one. The first is the default of the built-in evaluators.
func defaultExpected() []string {
	return []string{"correct_answer", "expected_output", "expected", "ground_truth"}
}

// expected returns the columns of testcases with which the evaluators of a run compare.
func (p *Publisher) expected(ctx context.Context, project domain.ProjectID, data *evaluation.Data) ([]string, error) {
	named := map[string]bool{}
	if data != nil {
		for _, s := range data.Steps {
			ref := s.References["evaluator_revision"]
			if s.Type != evaluation.Annotation || ref.ID == uuid.Nil {
				continue
			}
			revision, ok, err := p.deps.Entities.FindRevision(ctx, project, entity.Evaluators(), domain.Reference{ID: ref.ID})
			if err != nil {
				return nil, err
			}
			parameters, _ := revision.Data["parameters"].(map[string]any)
			if key, is := parameters["correct_answer_key"].(string); ok && is && key != "" {
				named[key] = true
			}
		}
	}
	if len(named) > 0 {
		return slices.Sorted(maps.Keys(named)), nil
	}
	return defaultExpected(), nil
}

// addTestcases adds previews of the testcases of input steps.
func (p *Publisher) addTestcases(ctx context.Context, project domain.ProjectID, rows []*row) error {
	var ids []uuid.UUID
	for _, r := range rows {
		if r.step != nil && r.step.Type == evaluation.Input && r.result.TestcaseID != nil {
			ids = append(ids, *r.result.TestcaseID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := p.deps.Entities.TestcasesByID(ctx, domain.Principal{Project: project}, ids)
	if err != nil {
		return err
	}
	data := make(map[uuid.UUID]map[string]any, len(found))
	for _, t := range found {
		text, err := json.Marshal(t.Data)
		if err != nil {
			return fmt.Errorf("outbox: read a testcase: %w", err)
		}
		if data[t.ID], err = jsonvalue.ParseObject(string(text)); err != nil {
			return fmt.Errorf("outbox: read a testcase: %w", err)
		}
	}
	for _, r := range rows {
		if r.step != nil && r.step.Type == evaluation.Input && r.result.TestcaseID != nil {
			r.inputs, r.expected = previews(data[*r.result.TestcaseID], r.expectedIn)
		}
	}
	return nil
}

// previews returns previews of the inputs of a testcase and of what is expected of it.
func previews(testcase map[string]any, expectedIn []string) (inputs, expected string) {
	rest := map[string]any{}
	right := map[string]any{}
	for name, value := range testcase {
		if slices.Contains(expectedIn, name) {
			right[name] = value
		} else {
			rest[name] = value
		}
	}
	if len(right) == 1 {
		for _, value := range right {
			return columnsText(rest), trace.Preview(value, "", "assistant", evaluation.PreviewLength)
		}
	}
	return columnsText(rest), columnsText(right)
}

// columnsText returns the columns of a testcase as text: its last message if it has
// messages, else each column with its name.
func columnsText(columns map[string]any) string {
	if _, chat := columns["messages"].([]any); chat || len(columns) == 0 {
		return strings.TrimPrefix(trace.Preview(columns, "messages", "user", evaluation.PreviewLength), "{}")
	}
	parts := make([]string, 0, len(columns))
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		parts = append(parts, name+": "+trace.Preview(columns[name], "", "user", evaluation.PreviewLength))
	}
	return trace.Cut(strings.Join(parts, ", "), evaluation.PreviewLength)
}

// maxErrorLength is the length of an error in characters.
const maxErrorLength = 1000

// values returns the values of a row in the order of insertRows.
func (r *row) values() []any {
	stepType, testcase, outputs := "none", uuid.Nil, r.outcome
	about := r.outcome.About
	if r.step != nil {
		stepType = string(r.step.Type)
	}
	if stepType != string(evaluation.Annotation) {
		outputs.JSON, outputs.Numbers, outputs.Strings, outputs.Bools = "", nil, nil, nil
		about = trace.TraceID{}
	}
	if r.result.TestcaseID != nil {
		testcase = *r.result.TestcaseID
	}
	inputs := r.inputs
	if inputs == "" {
		inputs = r.outcome.Inputs
	}
	return []any{
		uuid.UUID(r.project), r.run, r.scenario, uint32(r.repeat), r.place.step, uint64(r.version), r.deleted, stepType, uint16(r.position), //nolint:gosec // none is negative, and a run has at most 1 000 steps
		string(r.result.Status), errorText(r.result.Error), testcase, string(r.result.TraceID[:]), string(about[:]), r.evaluator, r.revision,
		r.outcome.LatencyMs, r.outcome.Cost, inputs, r.expected, r.outcome.Outputs, outputs.JSON, orEmpty(outputs.Numbers), orEmpty(outputs.Strings), orEmpty(outputs.Bools),
	}
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// errorText returns why a step failed: the message of its error, else the error as JSON.
func errorText(of entity.Document) string {
	if len(of) == 0 {
		return ""
	}
	if message, ok := of["message"].(string); ok && message != "" {
		return trace.Cut(message, maxErrorLength)
	}
	text, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	return trace.Cut(string(text), maxErrorLength)
}
