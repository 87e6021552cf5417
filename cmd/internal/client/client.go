// Package client calls a running Colonnade over HTTP, for the subcommands that
// send and look: demo, load and the end-to-end tests. It knows the wire and
// none of the rooms behind it.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"colonnade/domain"
)

// PendingHeader holds a token of the writes that a query did not wait out.
const PendingHeader = "Colonnade-Token-Pending"

// Client calls one service with one key.
type Client struct {
	base, authorization string
	http                *http.Client
}

// New makes a client for the service at base, with an API key.
func New(base, key string) *Client { return withCredential(base, "ApiKey "+key) }

// NewAdmin makes a client with the administration key.
func NewAdmin(base, key string) *Client { return withCredential(base, "Access "+key) }

func withCredential(base, authorization string) *Client {
	return &Client{
		base: strings.TrimRight(base, "/"), authorization: authorization,
		http: &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
			// A machine that is not there says nothing: the system would wait for minutes.
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: ofThisMachine(base),
		}},
	}
}

// ofThisMachine tells that a service is reached without a network: to pack its replies and
// to unpack them takes the processors that both share, of a page of traces an eighth of the
// service's time and as much here.
func ofThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// StoredKey reads the key that the first start of an embedded service kept.
func StoredKey(path string) (string, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // a path inside the data directory
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no API key: %s does not exist (start the service first, or set COLONNADE_API_KEY)", path)
	}
	return strings.TrimSpace(string(raw)), err
}

// StatusError is a reply that is no success.
type StatusError struct {
	Status int
	// Body is the beginning of the reply.
	Body string
	// RetryAfter is what the service asks for; zero means nothing.
	RetryAfter time.Duration
}

// Error returns the status and the error text of the service.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the service answered %d: %s", e.Status, e.Body)
}

// Temporary tells whether the same request may work later.
func (e *StatusError) Temporary() bool { return e.Status == 503 || e.Status == 429 }

// Reply is a success.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and reads the reply whole. Any status but a success is a StatusError.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte, headers ...string) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("Authorization", c.authorization)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Reply{}, fmt.Errorf("client: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read, or its error is returned
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("client: reading a reply: %w", err)
	}
	if res.StatusCode >= 300 {
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return Reply{}, &StatusError{
			Status: res.StatusCode, Body: strings.TrimSpace(string(raw[:min(len(raw), 500)])), RetryAfter: time.Duration(seconds) * time.Second,
		}
	}
	return Reply{Status: res.StatusCode, Header: res.Header, Body: raw}, nil
}

// Events reads a stream of server-sent events and hands each to do, until the
// service ends the stream (nil), do fails, or ctx ends.
func (c *Client) Events(ctx context.Context, path string, do func(name string, data []byte) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	req.Header.Set("Authorization", c.authorization)
	endless := &http.Client{Transport: c.http.Transport} // without a bound on the time of the reply
	res, err := endless.Do(req)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read, or its error is returned
	if res.StatusCode >= 300 {
		raw, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		return &StatusError{Status: res.StatusCode, Body: strings.TrimSpace(string(raw))}
	}
	lines := bufio.NewReader(res.Body)
	name, data := "", []byte(nil)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("client: reading events: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(line) == 0 && name != "":
			if err := do(name, data); err != nil {
				return err
			}
			name, data = "", nil
		case string(field) == "event":
			name = string(value)
		case string(field) == "data":
			data = value
		default: // a comment: the service is alive
		}
	}
}

// Accepted is the answer to spans that were taken in.
type Accepted struct {
	Count int
	// Token names what was written, for the service alone.
	Token string
}

// Send posts an ExportTraceServiceRequest. The token of the reply names what the tokens of
// carried name as well; empty carries none.
func (c *Client) Send(ctx context.Context, body []byte, carried string) (Accepted, error) {
	var headers []string
	if carried != "" {
		headers = []string{domain.TokenHeader, carried}
	}
	reply, err := c.Do(ctx, http.MethodPost, "/otlp/v1/traces", "application/x-protobuf", body, headers...)
	if err != nil {
		return Accepted{}, err
	}
	var parsed struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(reply.Body, &parsed); err != nil {
		return Accepted{}, fmt.Errorf("client: reading a receipt: %w", err)
	}
	return Accepted{Count: parsed.Count, Token: reply.Header.Get(domain.TokenHeader)}, nil
}

// Query posts a query and reads the reply into out. pending is a token of what of the token was
// not yet visible; empty tokens name nothing.
func (c *Client) Query(ctx context.Context, path string, query any, token string, out any) (pending string, err error) {
	body, err := json.Marshal(query)
	if err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	reply, err := c.Do(ctx, http.MethodPost, path, "application/json", body, domain.TokenHeader, token)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return "", fmt.Errorf("client: reading the reply of %s: %w", path, err)
	}
	return reply.Header.Get(PendingHeader), nil
}
