// Package evals reads what was said about spans: all annotations of some
// invocations, all results of an evaluator over an application revision. Each
// is one ordered read of the table that is kept in just that order.
//
// What counts as an annotation is decided where it is written (write/sink). A
// list of annotations by any filter is read/traces' and read/api's; SQL is in
// read/compile; statements run through read/traces, under its bounds.
package evals

import (
	"context"
	"errors"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/simple"
	"colonnade/domain/trace"
	"colonnade/migrations/schema"
	"colonnade/read/compile"
)

// Config bounds one read.
type Config struct {
	// MaxRows is how many annotations one read may find; beyond it is an error
	// that says what to narrow, never a part of them.
	MaxRows int
	// MaxTargets is how many targets one read may name.
	MaxTargets int
	// MaxOutputs is how many outputs are fetched from beside the rows that copy
	// none, for one read.
	MaxOutputs int
}

// DefaultConfig suits a grid on a screen and a comparison of two long runs.
func DefaultConfig() Config { return Config{MaxRows: 100_000, MaxTargets: 1000, MaxOutputs: 10_000} }

// Validate tells whether every bound is positive.
func (c Config) Validate() error {
	if min(c.MaxRows, c.MaxTargets, c.MaxOutputs) <= 0 {
		return errors.New("evals: every bound must be positive")
	}
	return nil
}

// Runner runs a statement for a project under bounds; read/traces.Reader does.
type Runner interface {
	Run(ctx context.Context, project domain.ProjectID, name string, s compile.Statement, each func(driver.Rows) error) error
}

// Reader answers for all projects. It is safe for concurrent use.
type Reader struct {
	cfg    Config
	runner Runner
}

// New makes a reader that runs its statements through another.
func New(cfg Config, runner Runner) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Reader{cfg: cfg, runner: runner}, nil
}

// Annotation is what one span says of another.
type Annotation struct {
	// Of is what it is about; zero for an annotation about nothing.
	Of compile.Target
	// TraceID and SpanID are the annotation's own.
	TraceID trace.TraceID
	SpanID  trace.SpanID
	// Start is in Unix microseconds.
	Start  int64
	Status trace.Status
	// CreatedAt and UpdatedAt are zero where they are not known or never were.
	CreatedAt, UpdatedAt time.Time
	CreatedBy            uuid.UUID

	Origin  simple.Origin
	Kind    simple.Kind
	Channel simple.Channel

	// Evaluator and Application are as the span refers to them.
	Evaluator, Application domain.Reference
	// The keys of revisions and of the test case (schema.RevisionKey); empty means that none is named.
	EvaluatorRevision, ApplicationRevision, TestsetRevision, Testcase string

	// Numbers, Strings and Bools are the scalars of the outputs by their paths
	// (trace.JoinPath); outputs that are one scalar have the path "".
	Numbers map[string]float64
	Strings map[string]string
	Bools   map[string]bool
	// Outputs is ag.data.outputs as JSON; empty means none.
	Outputs []byte

	key     compile.Key
	version uint64
	whole   bool
}

// Annotations gives all annotations of these targets, in the order of target,
// evaluator and time. evaluators restricts them; none means any.
func (r *Reader) Annotations(ctx context.Context, project domain.ProjectID, of []compile.Target, evaluators ...domain.Reference) ([]Annotation, error) {
	switch {
	case len(of) == 0:
		return nil, nil
	case len(of) > r.cfg.MaxTargets:
		return nil, domain.E(domain.Rejected, "Annotations of at most %d targets can be read at once.", r.cfg.MaxTargets)
	}
	var keys []string
	for _, e := range evaluators {
		found, err := r.keysOf(ctx, project, e)
		if err != nil {
			return nil, err
		}
		if keys = append(keys, found...); len(keys) == 0 {
			return nil, nil
		}
	}
	return r.read(ctx, project, "annotations", compile.Annotations(project, of, keys, r.cfg.MaxRows+1))
}

// Question asks for results of an evaluator.
type Question struct {
	// Evaluator has an id, a slug, or both.
	Evaluator domain.Reference
	// ApplicationRevision, TestsetRevision and Testcase are keys
	// (schema.RevisionKey); empty means any.
	ApplicationRevision, TestsetRevision, Testcase string
	// Oldest and Newest bound the starts of the annotations, both inclusive; zero means no bound.
	Oldest, Newest time.Time
}

// Results gives all results that a question asks for, in the order of
// application revision, testset revision, test case and time.
func (r *Reader) Results(ctx context.Context, project domain.ProjectID, q Question) ([]Annotation, error) {
	keys, err := r.keysOf(ctx, project, q.Evaluator)
	if err != nil {
		return nil, err
	}
	starts := compile.Everything()
	if !q.Oldest.IsZero() {
		starts.Low.Start = q.Oldest.UnixMicro()
	}
	if !q.Newest.IsZero() {
		starts.High.Start = q.Newest.UnixMicro()
	}
	var out []Annotation
	for _, key := range keys { // one, but for an evaluator that was renamed, or named by its id alone at times
		found, err := r.read(ctx, project, "eval_results", compile.Results{
			Project: project, Evaluator: key, Application: q.ApplicationRevision, Testset: q.TestsetRevision, Testcase: q.Testcase,
			Starts: starts, Limit: r.cfg.MaxRows + 1 - len(out),
		}.Statement())
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// keysOf gives the keys under which an evaluator's rows stand.
func (r *Reader) keysOf(ctx context.Context, project domain.ProjectID, e domain.Reference) ([]string, error) {
	switch {
	case e.Slug != "" && e.ID == uuid.Nil:
		return []string{e.Slug}, nil
	case e.ID == uuid.Nil:
		return nil, domain.E(domain.Rejected, "An evaluator is named by its slug or its id.")
	}
	var keys []string
	if e.Slug != "" {
		keys = append(keys, schema.EvaluatorKey(e.ID, e.Slug))
	}
	err := r.runner.Run(ctx, project, "evaluator_keys", compile.EvaluatorKeys(project, e.ID.String()), func(rows driver.Rows) error {
		var key string
		err := rows.Scan(&key)
		if key != e.Slug {
			keys = append(keys, key)
		}
		return err
	})
	return keys, err
}
