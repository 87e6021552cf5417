package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
	"colonnade/write/invoke/handler"
)

// Headers of a request to a hook. The signature is over the timestamp, a dot
// and the body: HMAC-SHA256, in hex after "v1=". A receiver that refuses old
// timestamps cannot be fed the same request twice.
const (
	headerSignature = "X-Colonnade-Signature"
	headerTimestamp = "X-Colonnade-Timestamp"
)

// hookSecret is the name of the project's secret that signs requests to hooks.
const hookSecret = "hook"

// hook hands the request to the revision's URL and gives what it answers. Source: contract §6.
func (i *Client) hook(ctx context.Context, c *handler.Call) (any, error) {
	if c.Revision.URL == "" {
		return nil, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: the revision has no url")
	}
	value, err := i.post(ctx, c, invokeAddress(c.Revision.URL), c.Revision.Headers, hookRequest(c))
	if err != nil {
		return nil, err
	}
	return hookOutputs(value), nil
}

// invokeAddress returns where a hook is called: below its url at /invoke, as every application
// is, or at the url itself if that ends so. Source: contract §0 row 55.
func invokeAddress(address string) string {
	const suffix = "/invoke"
	u, err := url.Parse(address)
	if err != nil || strings.HasSuffix(u.Path, suffix) {
		return address
	}
	return u.JoinPath(suffix).String()
}

// hookRequest is what a hook gets: the request, as we would get it.
func hookRequest(c *handler.Call) map[string]any {
	data := map[string]any{"parameters": c.Parameters}
	if c.Inputs != nil {
		data["inputs"] = c.Inputs
	}
	if c.Outputs != nil {
		data["outputs"] = c.Outputs
	}
	if c.Trace != nil {
		data["trace"] = c.Trace
	}
	if c.Testcase != nil {
		data["testcase"] = c.Testcase
	}
	request := map[string]any{"version": handler.Version, "data": data, "session_id": c.SessionID}
	if len(c.References) > 0 {
		request["references"] = handler.References(c.References)
	}
	if len(c.Links) > 0 {
		links := map[string]any{}
		for name, l := range c.Links {
			links[name] = map[string]any{"trace_id": l.TraceID.String(), "span_id": l.SpanID.String()}
		}
		request["links"] = links
	}
	return request
}

// hookOutputs takes the outputs out of an answer in our own form; any other answer is outputs.
func hookOutputs(value any) any {
	m := handler.Object(value)
	if data := handler.Object(m["data"]); data != nil {
		if outputs, ok := data["outputs"]; ok {
			return outputs
		}
	}
	if outputs, ok := m["outputs"]; ok {
		return outputs
	}
	return value
}

// webhook has somebody else judge outputs (auto_webhook_test).
func (i *Client) webhook(ctx context.Context, c *handler.Call) (any, error) {
	address, ok := c.Parameters["webhook_url"].(string)
	if !ok || address == "" {
		return nil, handler.Fail(domain.Rejected, handler.MissingParameter, "Missing parameter: webhook_url")
	}
	if c.Outputs == nil {
		return nil, handler.Fail(domain.Rejected, handler.MissingOutput, "Missing outputs")
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"inputs": c.Inputs, "output": handler.TextOf(c.Outputs)}
	value, err := i.post(ctx, c, address, nil, body)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	return handler.ParseVerdict(value, threshold)
}

// post sends JSON to an address of a user's choice, within all limits, and
// gives the JSON or the text that comes back.
func (i *Client) post(ctx context.Context, c *handler.Call, address string, headers map[string]any, request any) (any, error) {
	span, err := c.Span.Child("POST "+host(address), trace.Task)
	if err != nil {
		return nil, err
	}
	value, err := i.exchange(ctx, c, span, address, headers, request)
	if err == nil {
		span.Set(value, "ag", "data", "outputs")
	}
	span.End(err)
	return value, err
}

func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return ""
}

func (i *Client) exchange(ctx context.Context, c *handler.Call, span *handler.Span, address string, headers map[string]any, request any) (any, error) {
	body := jsonvalue.Append(nil, handler.Canonical(request))
	if len(body) > i.cfg.MaxRequestBytes {
		return nil, handler.Fail(domain.Rejected, handler.HookClient, "The request to the hook is larger than %d bytes.", i.cfg.MaxRequestBytes)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout, errHookTimeout)
	defer cancel()
	ctx, lent := withLent(ctx)
	r, err := i.hookPost(ctx, c, span, lent, address, headers, body)
	if err != nil {
		return nil, err
	}
	resp, err := i.http.Do(r)
	if err != nil {
		return nil, hookError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or to the limit
	answer, err := io.ReadAll(io.LimitReader(resp.Body, i.cfg.MaxReplyBytes+1))
	if err != nil {
		return nil, hookError(ctx, err)
	}
	span.Set(int64(resp.StatusCode), "http", "response", "status_code")
	if int64(len(answer)) > i.cfg.MaxReplyBytes {
		return nil, handler.Fail(domain.Internal, handler.HookClient, "The hook's answer is larger than %d bytes.", i.cfg.MaxReplyBytes)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, hookRefusal(resp.StatusCode, answer)
	}
	if value, err := jsonvalue.Parse(answer); err == nil {
		return value, nil
	}
	return strings.ToValidUTF8(string(answer), "\uFFFD"), nil
}

// hookPost builds the request: the revision's headers, the trace, the signature.
func (i *Client) hookPost(ctx context.Context, c *handler.Call, span *handler.Span, lent *lentHeaders, address string, headers map[string]any, body []byte) (*http.Request, error) {
	if err := i.cfg.check(address); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, handler.Fail(domain.Rejected, handler.InvalidParameter, "Invalid parameter: the hook's url cannot be used")
	}
	if err := i.setHeaders(ctx, c, r, lent, headers); err != nil {
		return nil, err
	}
	if err := i.setTicket(r, c); err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Colonnade")
	if parent := span.Traceparent(); parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	secret, ok, err := i.deps.Secret.Of(ctx, c, hookSecret)
	if err != nil {
		return nil, err
	}
	key := secret.Value
	if !ok {
		key = i.cfg.SigningKey
	}
	if key != "" {
		at := strconv.FormatInt(i.deps.Now().Unix(), 10)
		r.Header.Set(headerTimestamp, at)
		r.Header.Set(headerSignature, Sign(key, at, body))
	}
	return r, nil
}

// setTicket adds the credential of a hook for the hosts that get one, unless the revision's
// headers have another. The caller's own credential is never sent on.
func (i *Client) setTicket(r *http.Request, c *handler.Call) error {
	if r.Header.Get("Authorization") != "" || !i.deps.Tickets.covers(r.URL) {
		return nil
	}
	var revision uuid.UUID
	for _, name := range []string{"application_revision", "evaluator_revision", "workflow_revision"} {
		if id := c.References[name].ID; id != uuid.Nil {
			revision = id
			break
		}
	}
	ticket, err := i.deps.Tickets.Sign(c.Caller, revision)
	if err != nil {
		return err
	}
	if ticket != "" {
		c.Redactor.Add(strings.TrimPrefix(ticket, "Secret "))
		r.Header.Set("Authorization", ticket)
	}
	return nil
}

// Sign is the signature of a request to a hook, for who receives one.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

var errHookTimeout = errors.New("invoke: the hook is out of time")

// hookError says why there is no answer, without addresses of our network.
func hookError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errForbiddenAddress):
		return handler.Fail(domain.Rejected, handler.HookClient, "The hook's url leads to an address that hooks may not reach.")
	case errors.Is(err, errRedirects):
		return handler.Fail(domain.Internal, handler.HookClient, "The hook redirects too often.")
	case unknownHost(err):
		return handler.Fail(domain.FailedDependency, handler.HookClient, "The hook's host is unknown.")
	case errors.Is(context.Cause(ctx), errHookTimeout):
		return handler.Fail(domain.Internal, handler.HookClient, "The hook took too long and was given up.")
	default:
		return domain.Wrap(domain.Internal, handler.NewProblem(handler.HookClient, err), "The hook does not answer: %s", handler.Reason(err))
	}
}

// unknownHost reports whether the host's name has no address, or its port is none. Both are
// mistakes in the URL of the revision; a resolver that does not answer is none of its mistakes.
func unknownHost(err error) bool {
	if failed, ok := errors.AsType[*net.DNSError](err); ok {
		return failed.IsNotFound
	}
	_, ok := errors.AsType[*net.AddrError](err)
	return ok
}

// hookRefusal is a status of the hook's: those that refuse us are a 424.
func hookRefusal(status int, answer []byte) error {
	const most = 2 << 10
	kind := domain.Internal
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests: //nolint:forbidigo // statuses of somebody else's
		kind = domain.FailedDependency
	default:
	}
	words := strings.ToValidUTF8(string(answer[:min(len(answer), most)]), "\uFFFD")
	return handler.Fail(kind, handler.HookServer, "The hook answered %d: %s", status, words)
}
