package api

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/domain/request"
	"colonnade/domain/trace"
)

// QueryIDs returns the ids of a query string: "trace_id" repeated, "trace_ids" joined by commas, or both; each once.
func QueryIDs[T comparable](c *gin.Context, name string, most int, parse func(string) (T, error)) ([]T, error) {
	words := slices.Concat(c.QueryArray(name), c.QueryArray(name+"s"))
	var ids []T
	for _, word := range words {
		for text := range strings.SplitSeq(word, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			id, err := parse(text)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			if len(ids) > most {
				return nil, domain.E(domain.Rejected, "At most %d ids of %s can be fetched at once.", most, name)
			}
		}
	}
	return ids, nil
}

// ParseNumber parses a number that JSON can express: neither NaN nor infinite.
func ParseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, strconv.ErrSyntax
	}
	return v, err
}

// FromQuery parses a parameter of a query string into to, and leaves to unchanged without it.
// The error is Invalid.
func FromQuery[T any](q url.Values, name string, to *T, parse func(string) (T, error)) error {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	v, err := parse(text)
	if err != nil {
		return request.Invalid("value_error", "Input is not a valid "+name, text, "query", name)
	}
	*to = v
	return nil
}

// PointerTo returns a parser of a value that may be absent.
func PointerTo[T any](parse func(string) (T, error)) func(string) (*T, error) {
	return func(s string) (*T, error) {
		v, err := parse(s)
		return &v, err
	}
}

// ParseTime parses a bound of a window.
func ParseTime(s string) (*time.Time, error) {
	t, ok := trace.ParseBound(s)
	if !ok {
		return nil, domain.E(domain.Rejected, "Not a time.")
	}
	return &t, nil
}
