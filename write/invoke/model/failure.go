package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// category says why a call to a model failed, as far as another try or another
// model could help.
type category int

const (
	categoryNone category = iota
	// categoryAvailability is a provider that does not answer, or answers 5xx.
	categoryAvailability
	// categoryCapacity is a rate limit.
	categoryCapacity
	// categoryTransient is a conflict that goes away by itself.
	categoryTransient
	// categoryAccess is a missing or refused key.
	categoryAccess
	// categoryContext is a prompt that is too long for the model.
	categoryContext
	// categoryAny is every other refusal.
	categoryAny
)

// callError is the cause of a failed call, under the words for the caller.
type callError struct {
	problem  handler.Problem
	category category
	// after is what the provider advises to wait.
	after time.Duration
	cause error
}

// Error is for logs.
func (f *callError) Error() string { return f.Unwrap().Error() }

// Unwrap lets ProblemOf find the problem, and others the cause.
func (f *callError) Unwrap() error { return handler.NewProblem(f.problem, f.cause) }

// retries tells whether a policy tries the same model again. Source: contract §6.
func retries(policy string, c category) bool {
	switch policy {
	case "availability":
		return c == categoryAvailability
	case "capacity":
		return c == categoryAvailability || c == categoryCapacity
	case "transient":
		return c == categoryAvailability || c == categoryCapacity || c == categoryTransient
	case "any":
		return c != categoryNone
	default:
		return false
	}
}

// fallsBack tells whether a policy goes on to the next model.
func fallsBack(policy string, c category) bool {
	switch policy {
	case "availability":
		return c == categoryAvailability
	case "capacity":
		return c == categoryAvailability || c == categoryCapacity
	case "access":
		return c == categoryAvailability || c == categoryCapacity || c == categoryAccess
	case "context":
		return c == categoryAvailability || c == categoryCapacity || c == categoryAccess || c == categoryContext
	case "any":
		return c != categoryNone
	default:
		return false
	}
}

func failureOf(err error) *callError {
	if f, ok := errors.AsType[*callError](err); ok {
		return f
	}
	return &callError{}
}

// modelError classifies what a call to a model ended with. A provider that
// refuses us is a 424, everything else about a model a 500, each with the
// provider's words. Source: contract §6.
func modelError(ctx context.Context, provider, key string, err error) error {
	if api, ok := errors.AsType[*openai.Error](err); ok {
		return refusal(provider, key, api)
	}
	f := &callError{problem: handler.PromptCompletion, category: categoryAvailability, cause: err}
	switch {
	case errors.Is(err, errReplyTooLarge):
		f.category = categoryAny
		return &domain.Error{Kind: domain.Internal, Message: provider + " answered more than is allowed.", Err: f}
	case errors.Is(context.Cause(ctx), errModelTimeout):
		return &domain.Error{Kind: domain.Internal, Message: provider + " took too long and was given up.", Err: f}
	case ctx.Err() != nil:
		f.category = categoryNone
		return &domain.Error{Kind: domain.Internal, Message: "The call to " + provider + " was given up.", Err: f}
	default:
		return &domain.Error{Kind: domain.Internal, Message: fmt.Sprintf("%s does not answer: %s", provider, handler.Reason(err)), Err: f}
	}
}

func refusal(provider, key string, e *openai.Error) error {
	f := &callError{problem: handler.PromptCompletion, cause: e}
	words := words(e)
	if key != "" {
		words = strings.ReplaceAll(words, key, "***")
	}
	failed := &domain.Error{Kind: domain.Internal, Message: fmt.Sprintf("%s answered %d: %s", provider, e.StatusCode, words), Err: f}
	switch status := e.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden: //nolint:forbidigo // a status of somebody else's
		failed.Kind, f.category = domain.FailedDependency, categoryAccess
	case status == http.StatusTooManyRequests: //nolint:forbidigo // a status of somebody else's
		failed.Kind, f.category = domain.FailedDependency, categoryCapacity
		if e.Response != nil {
			if seconds, err := strconv.Atoi(e.Response.Header.Get("Retry-After")); err == nil && seconds > 0 {
				f.after = time.Duration(seconds) * time.Second
				failed.RetryAfter = f.after
			}
		}
	case status >= http.StatusInternalServerError: //nolint:forbidigo // a status of somebody else's
		f.category = categoryAvailability
	case status == http.StatusConflict || status == http.StatusLocked: //nolint:forbidigo // a status of somebody else's
		f.category = categoryTransient
	case tooLong(words):
		f.category = categoryContext
	default:
		f.category = categoryAny
	}
	return failed
}

// words are the provider's own, bounded.
func words(e *openai.Error) string {
	const most = 2 << 10
	text := e.Message
	if text == "" {
		text = e.RawJSON()
	}
	if text == "" {
		text = http.StatusText(e.StatusCode)
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}

// tooLong tells a prompt that does not fit the model, which providers say in
// words alone.
func tooLong(words string) bool {
	words = strings.ToLower(words)
	for _, mark := range []string{
		"context length", "context window", "context limit", "maximum context", "max context",
		"context_length", "token limit", "too many tokens", "input is too long",
	} {
		if strings.Contains(words, mark) {
			return true
		}
	}
	return false
}
