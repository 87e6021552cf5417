package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

// limits are those of a result.
type limits struct {
	// rows is the maximum; zero means no limits of the result.
	rows int
	// cut ends a result at the maximum without an error.
	cut bool
	// tool is how the client of the ClickHouse interface asks; nil for other statements.
	tool *Tool
}

// columns are the limits of a reply in JSON: one row more shows that the result was cut.
func (r *Runner) columns() limits { return limits{rows: r.cfg.MaxRows + 1, cut: true} }

// file are the limits of a file.
func (r *Runner) file() limits { return limits{rows: r.cfg.MaxFileRows} }

// send runs a text in the project's database, read-only and with all limits. ClickHouse
// sends the reply when it is whole, so that an error never follows a part of the result.
func (r *Runner) send(ctx context.Context, q Query, text, format string, l limits) (*http.Response, error) {
	base, err := url.Parse(r.cfg.ClickHouseURL)
	if err != nil {
		return nil, domain.Wrap(domain.Unavailable, err, "sql.clickhouse_url is malformed.")
	}
	address := url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/", RawQuery: r.values(ctx, q, format, l).Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("sql: make the request: %w", err)
	}
	password, _ := base.User.Password()
	req.SetBasicAuth(base.User.Username(), password)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, &domain.Error{Kind: domain.Unavailable, Message: "ClickHouse did not reply.", RetryAfter: 5 * time.Second, Err: err}
	}
	if code := resp.Header.Get("X-ClickHouse-Exception-Code"); resp.StatusCode != http.StatusOK || code != "" {
		defer resp.Body.Close()                                   //nolint:errcheck // the error counts
		words, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what arrived is the message
		return nil, classify(code, string(words))
	}
	return resp, nil
}

// values returns the parameters of a request, of which those that bound the statement are
// set last.
func (r *Runner) values(ctx context.Context, q Query, format string, l limits) url.Values {
	seconds := 1
	if end, ok := ctx.Deadline(); ok {
		seconds = max(1, int(end.Sub(r.deps.Now()).Seconds()))
	}
	v := url.Values{}
	v.Set("output_format_json_quote_denormals", "0")
	v.Set("output_format_json_quote_64bit_integers", "0")
	if l.tool != nil {
		v = l.tool.form()
	}
	for name, value := range q.Parameters {
		v.Set("param_"+name, value)
	}
	set := func(name string, value int64) {
		if l.tool != nil {
			value = l.tool.lower(name, value)
		}
		v.Set(name, strconv.FormatInt(value, 10))
	}
	set("max_execution_time", int64(seconds))
	set("max_memory_usage", r.cfg.MaxMemoryBytes)
	set("max_rows_to_read", r.cfg.MaxRowsRead)
	set("max_bytes_to_read", r.cfg.MaxBytesRead)
	if l.rows > 0 {
		set("max_result_rows", int64(l.rows))
		v.Set("result_overflow_mode", "throw")
		if l.cut || l.tool.cuts(int64(l.rows)) {
			v.Set("result_overflow_mode", "break")
		} else {
			set("max_result_bytes", r.cfg.MaxResultBytes)
		}
	}
	v.Set("database", schema.ViewsDatabase(q.Project))
	v.Set("default_format", format)
	v.Set("wait_end_of_query", "1")
	v.Set("log_comment", "sql "+q.ID)
	v.Set("priority", "10")
	v.Set("readonly", "1")
	return v
}

// classify turns an exception of ClickHouse into an error that says what to change.
func classify(code, words string) error {
	err := describe(code, plain(words))
	if n, parse := strconv.Atoi(code); parse == nil {
		err.Err = errors.Join(err.Err, &exceptionError{n})
	}
	return err
}

// exceptionError is an exception of ClickHouse, by whose code its clients tell it.
type exceptionError struct{ code int }

// Error names the code.
func (e *exceptionError) Error() string {
	return "sql: exception " + strconv.Itoa(e.code) + " of ClickHouse"
}

// ExceptionCode returns the code.
func (e *exceptionError) ExceptionCode() int { return e.code }

func describe(code, message string) *domain.Error {
	limit := func(what string) *domain.Error {
		return domain.E(domain.Rejected, "The statement %s: narrow its range of start_time and partition_week, name fewer columns, or aggregate. ClickHouse: %s", what, message)
	}
	switch code {
	case "158", "307":
		return limit("reads too much")
	case "159", "160":
		return limit("takes too long")
	case "241":
		return limit("needs too much memory")
	case "396":
		return domain.E(domain.Rejected, "The result is too large: narrow its range of start_time, add a LIMIT, or aggregate. ClickHouse: %s", message)
	case "202":
		return &domain.Error{Kind: domain.TooMany, Message: "Too many statements are running: wait for one to end.", RetryAfter: 2 * time.Second}
	case "81":
		return &domain.Error{Kind: domain.Unavailable, Message: "The views of this project are not made yet.", RetryAfter: 10 * time.Second}
	case "164", "497":
		return domain.E(domain.Forbidden, "The statement is not allowed here. ClickHouse: %s", message)
	case "192", "193", "194", "516":
		return domain.E(domain.Unavailable, "ClickHouse refuses the user of sql.clickhouse_url.")
	case "210", "":
		return &domain.Error{Kind: domain.Unavailable, Message: "ClickHouse did not reply.", RetryAfter: 5 * time.Second, Err: fmt.Errorf("sql: %s", message)}
	default:
		return domain.E(domain.Rejected, "%s", message)
	}
}

// plain takes what only operators need out of the words of an exception: its version, its
// prefixes, and the text of the views, which follows the words "in scope".
func plain(words string) string {
	words = strings.TrimSpace(words)
	words, _, _ = strings.Cut(words, " in scope ")
	if end := strings.LastIndex(words, " (version "); end >= 0 {
		words = words[:end]
	}
	for {
		_, rest, found := strings.Cut(words, "DB::Exception: ")
		if !found {
			return words
		}
		words = rest
	}
}

// shifted moves the position of a syntax error to that in the caller's text.
func shifted(err error, by int) error {
	e, ok := err.(*domain.Error) //nolint:errorlint // classify makes it
	if !ok {
		return err
	}
	position := regexp.MustCompile(`failed at position (\d+)`)
	e.Message = position.ReplaceAllStringFunc(e.Message, func(s string) string {
		n, _ := strconv.Atoi(position.FindStringSubmatch(s)[1]) // digits
		return "failed at position " + strconv.Itoa(max(1, n-by))
	})
	return e
}
