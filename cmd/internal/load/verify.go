package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"colonnade/cmd/internal/client"
	"colonnade/domain/trace"
)

// autoVerifySpans is how many spans auto reads back one by one.
const autoVerifySpans = 300_000

// replySpan is what of a stored span the checksum needs.
type replySpan struct {
	TraceID    trace.TraceID `json:"trace_id"`
	SpanID     trace.SpanID  `json:"span_id"`
	ParentID   *trace.SpanID `json:"parent_id"`
	Name       string        `json:"span_name"`
	Type       string        `json:"span_type"`
	Status     string        `json:"status_code"`
	Start      time.Time     `json:"start_time"`
	End        time.Time     `json:"end_time"`
	Attributes struct {
		AG struct {
			Data struct {
				Inputs  any `json:"inputs"`
				Outputs any `json:"outputs"`
			} `json:"data"`
			Metrics struct {
				Tokens struct {
					Incremental struct {
						Total float64 `json:"total"`
					} `json:"incremental"`
				} `json:"tokens"`
			} `json:"metrics"`
		} `json:"ag"`
	} `json:"attributes"`
}

// sum is the same number that the generator counted when it made the span.
func (s *replySpan) sum() uint64 {
	var parent trace.SpanID
	if s.ParentID != nil {
		parent = *s.ParentID
	}
	ag := &s.Attributes.AG
	digest := contentDigest(s.Name, s.Type, s.Status, ag.Data.Inputs, ag.Data.Outputs, uint64(ag.Metrics.Tokens.Incremental.Total))
	return spanSum(s.TraceID, s.SpanID, parent, uint64(s.Start.UnixNano()), uint64(s.End.UnixNano()), digest)
}

// verify reads back what was sent and compares counts and checksums.
func (r *Runner) verify(ctx context.Context, report *Report) (string, error) {
	mode := r.plan.Verify
	if mode == "auto" {
		mode = "sample"
		if report.Spans <= autoVerifySpans {
			mode = "full"
		}
	}
	switch mode {
	case "full":
		return r.verifyAll(ctx, report)
	case "sample":
		return r.verifySample(ctx)
	default:
		return "", nil
	}
}

// readBack asks for spans. A request that the limit of the project refuses is sent again when
// the service says.
func (r *Runner) readBack(ctx context.Context, query map[string]any, reply any) error {
	for {
		_, err := r.client.Query(ctx, "/spans/query", query, "", reply)
		status, refused := errors.AsType[*client.StatusError](err)
		if !refused || status.RetryAfter == 0 || status.Status != http.StatusTooManyRequests { //nolint:forbidigo // the status of a reply
			return err
		}
		if wait(ctx, status.RetryAfter); ctx.Err() != nil {
			return err
		}
	}
}

// verifyAll walks every span of the run through the query API.
func (r *Runner) verifyAll(ctx context.Context, report *Report) (string, error) {
	const page = 1000
	window := map[string]any{"limit": page, "order": "ascending"}
	query := map[string]any{
		"filtering": map[string]any{"conditions": []any{map[string]any{"field": "attributes", "key": "ag.tags.load", "operator": "is", "value": r.plan.Tag}}},
		"windowing": window,
	}
	var count int64
	var sum uint64
	for {
		var reply struct {
			Spans     []replySpan `json:"spans"`
			Windowing struct {
				Next string `json:"next"`
			} `json:"windowing"`
		}
		if err := r.readBack(ctx, query, &reply); err != nil {
			return "", err
		}
		for i := range reply.Spans {
			sum += reply.Spans[i].sum()
		}
		count += int64(len(reply.Spans))
		if r.live || count%50_000 == 0 {
			r.show("reading back: %d of %d spans", count, report.Spans)
		}
		if reply.Windowing.Next == "" {
			break
		}
		window["next"] = reply.Windowing.Next
	}
	r.endLine()
	if count != report.Spans || sum != report.Sum {
		return "", fmt.Errorf("load: sent %d spans with checksum %016x, read back %d with %016x", report.Spans, report.Sum, count, sum)
	}
	return fmt.Sprintf("all %d spans were read back, checksum %016x", count, sum), nil
}

// verifySample reads some traces back, one by one.
func (r *Runner) verifySample(ctx context.Context) (string, error) {
	spans := 0
	for i, want := range r.kept {
		reply, err := r.client.Do(ctx, http.MethodGet, "/traces/"+want.id, "", nil)
		if err != nil {
			return "", err
		}
		var body struct {
			Trace struct {
				Spans map[string]json.RawMessage `json:"spans"`
			} `json:"trace"`
		}
		if err := json.Unmarshal(reply.Body, &body); err != nil {
			return "", fmt.Errorf("load: reading trace %s: %w", want.id, err)
		}
		count, sum := 0, uint64(0)
		if err := walkTree(body.Trace.Spans, func(s *replySpan) { count, sum = count+1, sum+s.sum() }); err != nil {
			return "", err
		}
		if count != want.spans || sum != want.sum {
			return "", fmt.Errorf("load: trace %s was sent with %d spans and checksum %016x, read back with %d and %016x", want.id, want.spans, want.sum, count, sum)
		}
		spans += count
		if r.live {
			r.show("reading back: %d of %d sampled traces", i+1, len(r.kept))
		}
	}
	r.endLine()
	return fmt.Sprintf("%d sampled traces with %d spans were read back, checksums equal", len(r.kept), spans), nil
}

// walkTree visits every span of a tree, whose siblings of one name are a list.
func walkTree(level map[string]json.RawMessage, visit func(*replySpan)) error {
	for _, raw := range level {
		nodes := []json.RawMessage{raw}
		if len(raw) > 0 && raw[0] == '[' {
			if err := json.Unmarshal(raw, &nodes); err != nil {
				return fmt.Errorf("load: reading a tree: %w", err)
			}
		}
		for _, node := range nodes {
			var span struct {
				replySpan
				Spans map[string]json.RawMessage `json:"spans"`
			}
			if err := json.Unmarshal(node, &span); err != nil {
				return fmt.Errorf("load: reading a span: %w", err)
			}
			visit(&span.replySpan)
			if err := walkTree(span.Spans, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) endLine() {
	if r.live {
		_, _ = fmt.Fprintln(r.out)
	}
}
