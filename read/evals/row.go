package evals

import (
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/read/compile"
	"colonnade/read/traces"
)

// read runs a statement whose rows are facts. Of versions of one fact, which
// are neighbours, the latest stays.
func (r *Reader) read(ctx context.Context, project domain.ProjectID, name string, s compile.Statement) ([]Annotation, error) {
	var out []Annotation
	err := r.runner.Run(ctx, project, name, s, func(rows driver.Rows) error {
		a, err := scan(rows)
		if err != nil {
			return err
		}
		switch last := len(out) - 1; {
		case last < 0 || !out[last].same(&a):
			out = append(out, a)
		case out[last].version <= a.version:
			out[last] = a
		}
		if len(out) > r.cfg.MaxRows {
			return domain.E(domain.Rejected, "More than %d annotations were found. Narrow the question: fewer targets, one application or testset revision, or a shorter time.", r.cfg.MaxRows)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, r.complete(ctx, project, out)
}

func (a *Annotation) same(b *Annotation) bool {
	return a.TraceID == b.TraceID && a.SpanID == b.SpanID && a.Of == b.Of
}

func scan(rows driver.Rows) (a Annotation, err error) {
	var created, updated int64
	var whole uint8
	var origin, kind, channel, evaluatorKey string
	err = rows.Scan(traces.ScanTraceID(&a.Of.Trace), traces.ScanSpanID(&a.Of.Span), (*uint8)(&a.key.Type), &a.Start, &a.key.Tie,
		traces.ScanTraceID(&a.TraceID), traces.ScanSpanID(&a.SpanID), &a.version, &created, &updated, &a.CreatedBy, (*uint8)(&a.Status), &origin, &kind, &channel,
		&evaluatorKey, &a.Evaluator.ID, &a.Evaluator.Slug, &a.EvaluatorRevision, &a.Application.ID, &a.Application.Slug, &a.ApplicationRevision,
		&a.TestsetRevision, &a.Testcase, &a.Numbers, &a.Strings, &a.Bools, &a.Outputs, &whole)
	a.key.Start = a.Start
	a.Origin, a.Kind, a.Channel = simple.Origin(origin), simple.Kind(kind), simple.Channel(channel)
	a.CreatedAt, a.UpdatedAt, a.whole = moment(created), moment(updated), whole != 0
	return a, err
}

// moment reads a time of which 1970 means none.
func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// fetchAtOnce is how many outputs one statement looks up.
const fetchAtOnce = 500

// complete fetches the outputs that rows do not copy, from where the spans' documents are.
func (r *Reader) complete(ctx context.Context, project domain.ProjectID, all []Annotation) error {
	var missing []*Annotation
	for i := range all {
		if !all[i].whole {
			missing = append(missing, &all[i])
		}
	}
	if len(missing) > r.cfg.MaxOutputs {
		return domain.E(domain.Rejected, "The outputs of %d annotations would have to be fetched one by one, of at most %d. Narrow the question.", len(missing), r.cfg.MaxOutputs)
	}
	for some := range slices.Chunk(missing, fetchAtOnce) {
		if err := r.fetch(ctx, project, some); err != nil {
			return err
		}
	}
	return nil
}

type identity struct {
	trace   trace.TraceID
	span    trace.SpanID
	version uint64
}

func (r *Reader) fetch(ctx context.Context, project domain.ProjectID, missing []*Annotation) error {
	keys := make([]compile.Key, 0, 2*len(missing))
	for _, a := range missing {
		// Its type may just be changing.
		for _, t := range [...]trace.Type{trace.Invocation, trace.Annotation} {
			keys = append(keys, compile.Key{Type: t, Position: a.key.Position})
		}
	}
	found := map[identity][]byte{}
	err := r.runner.Run(ctx, project, "annotation_outputs", compile.OutputsOf(project, keys), func(rows driver.Rows) error {
		var id identity
		var outputs []byte
		err := rows.Scan(traces.ScanTraceID(&id.trace), traces.ScanSpanID(&id.span), &id.version, &outputs)
		found[id] = outputs
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range missing {
		if err := a.fill(found[identity{a.TraceID, a.SpanID, a.version}]); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the outputs and their scalars of the document.
func (a *Annotation) fill(outputs []byte) error {
	a.Outputs = outputs
	a.Numbers, a.Strings, a.Bools = map[string]float64{}, map[string]string{}, map[string]bool{}
	if len(outputs) == 0 {
		return nil
	}
	v, err := trace.ParseJSON(outputs)
	if err != nil {
		return err
	}
	object, ok := v.(map[string]any)
	if !ok {
		// A path below one key, cut off again: arrays have leaves, too.
		object = map[string]any{"": v}
		trace.Flatten(object, leaves{a, 1})
		return nil
	}
	trace.Flatten(object, leaves{a, 0})
	return nil
}

// leaves puts scalars into an annotation; what no map holds is in its outputs.
type leaves struct {
	a *Annotation
	// cut is the length of what stands before a path that is not the first key.
	cut int
}

func (l leaves) path(path string) string { return path[min(l.cut, len(path)):] }

// Str takes a text.
func (l leaves) Str(path, value string) { l.a.Strings[l.path(path)] = value }

// Num takes a number.
func (l leaves) Num(path string, value float64) { l.a.Numbers[l.path(path)] = value }

// Bool takes a truth.
func (l leaves) Bool(path string, value bool) { l.a.Bools[l.path(path)] = value }

// Long takes nothing.
func (l leaves) Long(string) {}
