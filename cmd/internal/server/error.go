package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"colonnade/cmd/internal/server/exception"
	"colonnade/domain"
)

var (
	errNoRoute = domain.E(domain.NotFound, "Not Found")
	// errNoMethod is not a domain error: no room but this one knows verbs.
	errNoMethod = errors.New("Method Not Allowed") //nolint:staticcheck // the text is the body of the reply (contract §1.1)
	// errSlowBody is in the chain of what a reader of a body returns that stopped arriving.
	errSlowBody = errors.New("server: the request body stopped arriving")
	// errRequestTimeout is the cause of a request's context that its own timeout ended.
	errRequestTimeout = errors.New("server: the request reached its timeout")
)

// statusClientGone is what the log and the metrics say of a request whose
// client left; nobody reads the reply.
const statusClientGone = 499

const (
	operationKey = "colonnade.operation"
	// connectionKey holds the context of the connection, which net/http cancels
	// when the client leaves. The request's own context ends at our timeouts, too.
	connectionKey = "colonnade.connection"
)

// clientGone reports whether nobody waits for the reply.
func clientGone(c *gin.Context) bool {
	connection := c.Request.Context()
	if value, ok := c.Get(connectionKey); ok {
		if ctx, ok := value.(context.Context); ok {
			connection = ctx
		}
	}
	return connection.Err() != nil
}

// interrupted reports whether a context ended the work.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func fails(err error) gin.HandlerFunc {
	return func(c *gin.Context) {
		_ = c.Error(err)
		c.Abort()
	}
}

// recoverPanic turns a panic into an error: bad input never ends the process.
func (s *Server) recoverPanic(c *gin.Context) {
	defer func() {
		reason := recover()
		if reason == nil {
			return
		}
		if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares the panic's value in the same way
			panic(reason)
		}
		s.metrics.panics.Inc()
		s.log.ErrorContext(c.Request.Context(), "handler panicked",
			slog.Any("reason", reason), slog.String("route", c.FullPath()), slog.String("stack", string(debug.Stack())))
		_ = c.Error(fmt.Errorf("server: panic: %v", reason))
		c.Abort()
	}()
	c.Next()
}

// renderErrors writes the status and the body of a failed request. It is the
// only code that does. Source: contract §8.
func (s *Server) renderErrors(c *gin.Context) {
	c.Next()
	last := c.Errors.Last()
	if last == nil {
		return
	}
	err := last.Err
	reply := s.replyTo(c, err)
	c.Set(failureKey, failure{err: err, supportID: reply.supportID})
	if c.Writer.Written() {
		// The status is gone; cutting the connection tells the client that the body is not whole.
		s.log.WarnContext(c.Request.Context(), "writing a reply failed, the client got a part of it", slog.String("route", c.FullPath()), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
	if reply.supportID != "" {
		c.Header("x-ag-support-id", reply.supportID)
		c.Header("x-ag-support-ts", s.deps.Now().UTC().Format(time.RFC3339Nano))
	}
	if reply.retryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(reply.retryAfter.Seconds()))))
	}
	if reply.status == http.StatusRequestTimeout {
		c.Header("Connection", "close") // what else comes is the rest of this body
	}
	if value, _ := c.Get(operationKey); value != nil {
		if op, ok := value.(domain.Operation); ok && op.ClickHouse {
			c.Data(reply.status, "text/plain; charset=UTF-8", exception.Render(c.Writer.Header(), err, reply.message))
			return
		}
	}
	if isOTLP(c) && reply.status != http.StatusUnauthorized && reply.status != http.StatusForbidden {
		s.writeRPCStatus(c, reply)
		return
	}
	var whole any = map[string]any{"detail": reply.detail}
	if reply.body != nil {
		whole = reply.body
	}
	body, merr := json.Marshal(whole)
	if merr != nil {
		body = []byte(`{"detail":"Internal Server Error"}`)
	}
	c.Data(reply.status, "application/json", body)
}

type failure struct {
	err       error
	supportID string
}

const failureKey = "colonnade.failure"

type errorReply struct {
	status     int
	detail     any
	body       any
	message    string
	supportID  string
	retryAfter time.Duration
}

func (s *Server) replyTo(c *gin.Context, err error) errorReply {
	switch {
	case errors.Is(err, errNoMethod):
		return errorReply{status: http.StatusMethodNotAllowed, detail: errNoMethod.Error(), message: errNoMethod.Error()}
	case clientGone(c) && interrupted(err):
		return errorReply{status: statusClientGone, detail: "Client closed the request.", message: "Client closed the request."}
	case errors.Is(err, errSlowBody):
		const message = "The request body did not arrive in time. Send it again."
		return errorReply{status: http.StatusRequestTimeout, detail: message, message: message}
	default:
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = domain.E(domain.TooLarge, "The request body exceeds %d bytes.", tooLarge.Limit)
	} else if _, classified := errors.AsType[*domain.Error](err); !classified && interrupted(err) {
		err = &domain.Error{
			Kind: domain.Unavailable, RetryAfter: time.Second, Err: errors.Join(err, context.Cause(c.Request.Context())),
			Message: "The request took too long and was given up. Narrow the time window or the filter, or try again.",
		}
	}
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		e = &domain.Error{Err: err}
	}
	reply := errorReply{status: statusOf(e.Kind), message: e.Message, body: e.Body, retryAfter: e.RetryAfter}
	switch {
	case e.Kind == domain.Internal:
		reply.supportID = uuid.NewString()
		reply.message = "An unexpected error occurred. Please try again later or contact support."
		reply.detail = map[string]any{"message": reply.message, "operation_id": operationID(c)}
	case e.Kind == domain.Unauthenticated && e.Detail == nil:
		reply.detail = map[string]any{"message": "Unauthorized"}
	case e.Detail != nil:
		reply.detail = e.Detail
	case e.Fields != nil:
		reply.detail = shownFields(e.Fields)
		reply.message = fieldsSentence(e)
	default:
		reply.detail = e.Message
	}
	if e.Kind == domain.Unavailable {
		reply.supportID = uuid.NewString()
	}
	if e.Kind == domain.Unavailable || e.Kind == domain.TooMany {
		reply.retryAfter = max(reply.retryAfter, time.Second)
	}
	return reply
}

// StatusOf is the status that an error is answered with, for replies that hold
// it in their body, too.
func StatusOf(err error) int { return statusOf(domain.KindOf(err)) }

func statusOf(k domain.Kind) int {
	switch k {
	case domain.Rejected:
		return http.StatusBadRequest
	case domain.Unauthenticated:
		return http.StatusUnauthorized
	case domain.Forbidden:
		return http.StatusForbidden
	case domain.NotFound:
		return http.StatusNotFound
	case domain.Conflict:
		return http.StatusConflict
	case domain.TooLarge:
		return http.StatusRequestEntityTooLarge
	case domain.Invalid:
		return http.StatusUnprocessableEntity
	case domain.TooMany:
		return http.StatusTooManyRequests
	case domain.Unavailable:
		return http.StatusServiceUnavailable
	case domain.NotAcceptable:
		return http.StatusNotAcceptable
	case domain.FailedDependency:
		return http.StatusFailedDependency
	default:
		return http.StatusInternalServerError
	}
}

// operationID names the route in a 500 body: its verb and words, joined by underscores.
func operationID(c *gin.Context) string {
	path := strings.NewReplacer("/", "_", ":", "", "-", "_").Replace(strings.Trim(c.FullPath(), "/"))
	return strings.Trim(strings.ToLower(c.Request.Method)+"_"+path, "_")
}

// shownFields bounds what a reply repeats of a body: one long name in the
// locations of many mistakes would make it many times as large as what was sent.
func shownFields(fields []domain.Field) []domain.Field {
	const mostFields, mostName, mostInput = 100, 1 << 10, 4 << 10
	out := slices.Clone(fields[:min(len(fields), mostFields)])
	for i := range out {
		f := &out[i]
		f.Loc = slices.Clone(f.Loc)
		for j, step := range f.Loc {
			if name, ok := step.(string); ok && len(name) > mostName {
				f.Loc[j] = strings.ToValidUTF8(name[:mostName], "") + "..."
			}
		}
		if left := mostInput; !short(reflect.ValueOf(f.Input), &left) {
			f.Input = nil
		}
	}
	return out
}

// short tells whether a value's JSON is about as long as what is left at most.
func short(v reflect.Value, left *int) bool {
	const about = 8 // of a number, or of what surrounds a member
	*left -= about
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Interface, reflect.Pointer:
		return short(v.Elem(), left)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && *left >= 0; i++ {
			short(v.Index(i), left)
		}
	case reflect.Map:
		for members := v.MapRange(); *left >= 0 && members.Next(); {
			short(members.Key(), left)
			short(members.Value(), left)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			short(field, left)
		}
	default:
	}
	return *left >= 0
}

func fieldsSentence(e *domain.Error) string {
	if e.Message != "" || len(e.Fields) == 0 {
		return e.Message
	}
	return fmt.Sprintf("%v: %s", e.Fields[0].Loc, e.Fields[0].Msg)
}

// isOTLP tells whether the route speaks OTLP, whose errors are google.rpc.Status messages. Source: contract §1.1.
func isOTLP(c *gin.Context) bool {
	path := c.FullPath()
	return strings.HasSuffix(path, "/v1/traces") || strings.HasSuffix(path, "/v1/metrics") || strings.HasSuffix(path, "/v1/logs")
}

// writeRPCStatus answers in the encoding of the request, as OTLP/HTTP asks; a
// JSON client also finds "detail", as on every other route.
func (s *Server) writeRPCStatus(c *gin.Context, reply errorReply) {
	status := &rpcstatus.Status{Code: int32(rpcCode(reply.status)), Message: reply.message}
	if strings.HasPrefix(c.ContentType(), "application/json") {
		c.JSON(reply.status, map[string]any{"code": status.GetCode(), "message": status.GetMessage(), "detail": reply.detail})
		return
	}
	body, err := proto.Marshal(status)
	if err != nil {
		s.log.ErrorContext(c.Request.Context(), "encoding of an error reply failed", slog.Any("error", err))
	}
	c.Data(reply.status, "application/x-protobuf", body)
}

func rpcCode(status int) rpccode.Code {
	switch status {
	case http.StatusNotFound:
		return rpccode.Code_NOT_FOUND
	case http.StatusMethodNotAllowed:
		return rpccode.Code_UNIMPLEMENTED
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge:
		return rpccode.Code_RESOURCE_EXHAUSTED
	case http.StatusServiceUnavailable:
		return rpccode.Code_UNAVAILABLE
	case statusClientGone:
		return rpccode.Code_CANCELLED
	case http.StatusRequestTimeout:
		return rpccode.Code_DEADLINE_EXCEEDED
	case http.StatusInternalServerError:
		return rpccode.Code_INTERNAL
	default:
		return rpccode.Code_INVALID_ARGUMENT
	}
}
