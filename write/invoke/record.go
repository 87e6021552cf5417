package invoke

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"colonnade/write/invoke/handler"
)

// source names our spans in the log and in metrics.
const source = "invoke"

// record completes the root span with what was asked and what came of it.
// Source: interface.md §2.5, §2.6, contract §6.
func (i *Invoke) record(req *Request, c *handler.Call, run *running, err error) {
	root := run.root
	run.rec.Rename(root, rootName(c))
	root.Set(run.reply.SessionID, "ag", "session", "id")
	if c.Inputs != nil {
		root.Set(c.Inputs, "ag", "data", "inputs")
	}
	if len(c.Parameters) > 0 {
		root.Set(c.Parameters, "ag", "data", "parameters")
	}
	if run.reply.Outputs != nil {
		root.Set(run.reply.Outputs, "ag", "data", "outputs")
	}
	if c.Outputs != nil {
		root.Set(c.Outputs, "ag", "data", "internals", "outputs")
	}
	if c.Testcase != nil {
		root.Set(c.Testcase, "ag", "data", "internals", "testcase")
	}
	if len(c.References) > 0 {
		root.Set(handler.References(c.References), "ag", "references")
	}
	for name, labels := range map[string]map[string]any{"flags": req.Flags, "tags": req.Tags, "meta": req.Meta} {
		if len(labels) > 0 {
			root.Set(labels, "ag", name)
		}
	}
	if c.URI.Key != "" {
		u := c.URI
		if u.Provider == "" {
			u = i.catalog.Handler(u)
		}
		root.Set(u.String(), "colonnade", "handler")
	}
	run.rec.Link(root, c.Links)
	root.End(err)
}

// rootName is how the trace is called in lists: by what ran.
func rootName(c *handler.Call) string {
	for _, name := range []string{"application", "evaluator", "workflow"} {
		if slug := c.References[name].Slug; slug != "" && (len(c.Links) == 0 || name != "application") {
			return slug
		}
	}
	if c.URI.Key != "" {
		return c.URI.Key
	}
	return "invoke"
}

// publish publishes the trace, also after the caller has left. A trace that cannot
// be published is reported in Reply.Lost; the outputs are returned nevertheless.
func (i *Invoke) publish(ctx context.Context, call *handler.Call, run *running) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.cfg.PublishTimeout)
	defer cancel()
	start := i.deps.Now()
	spans := run.rec.Finish()
	call.Redactor.Spans(spans)
	receipt, err := i.deps.Ingest.JSON(ctx, source, spans, nil)
	i.metrics.publish.Observe(i.deps.Now().Sub(start).Seconds())
	if err != nil {
		run.reply.Lost = fmt.Errorf("invoke: recording trace %s: %w", run.reply.TraceID, err)
		i.metrics.lost.Inc()
		i.deps.Log.ErrorContext(ctx, "publication of the trace of an invocation failed, the trace is lost", slog.String("trace_id", run.reply.TraceID.String()), slog.Any("error", err))
		return
	}
	run.reply.Token = receipt.Token
}

// observe counts and times.
func (i *Invoke) observe(c *handler.Call, run *running, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "failed"
	}
	key := c.URI.Key
	if _, ok := i.handler(c.URI); !ok {
		key = "unknown" // a label is bounded by the table
	}
	i.metrics.invocations.WithLabelValues(key, outcome).Inc()
	i.metrics.seconds.WithLabelValues(key).Observe(time.Duration(i.deps.Now().UnixNano() - run.started()).Seconds())
}

func (r *running) started() int64 {
	return r.root.Start()
}
