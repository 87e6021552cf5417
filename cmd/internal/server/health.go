package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"colonnade/domain"
)

// Check is one condition of readiness: a store that answers, a lag in bounds.
type Check struct {
	Name string
	// Probe returns nil when the condition holds; its error is shown at /readyz.
	Probe func(ctx context.Context) error
}

const probeTimeout = 2 * time.Second

// CheckResult is one line of /readyz.
type CheckResult struct {
	Status string `json:"status"`
	// Error says what does not hold; empty when all is well.
	Error string `json:"error,omitempty"`
	// DurationMS is how long the probe took, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// Readiness is the body of /readyz.
type Readiness struct {
	Status string                 `json:"status"`
	Checks map[string]CheckResult `json:"checks"`
	// Problems are what someone must act on although the service works.
	Problems []string `json:"problems,omitempty"`
}

func (s *Server) mountProcess() {
	public := func(path, summary string, response any) domain.Operation {
		return domain.Operation{Method: http.MethodGet, Path: path, Permission: domain.Public, Summary: summary, Tag: "process", Response: response}
	}
	ok := func(c *gin.Context) error {
		c.JSON(http.StatusOK, gin.H{"status": "ok"})
		return nil
	}
	s.Handle(public("/health", "The service answers.", gin.H{}), ok)
	s.Handle(public("/healthz", "The process is alive.", gin.H{}), ok)
	s.Handle(public("/readyz", "The stores are reachable and the lag is in bounds.", Readiness{}), s.ready)
	scrape := promhttp.HandlerFor(s.deps.Registry, promhttp.HandlerOpts{DisableCompression: true})
	s.Handle(public("/metrics", "Prometheus metrics.", nil), func(c *gin.Context) error {
		scrape.ServeHTTP(c.Writer, c.Request)
		return nil
	})
}

// ready answers /readyz.
func (s *Server) ready(c *gin.Context) error {
	body := s.Readiness(c.Request.Context())
	status := http.StatusOK
	if body.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	c.JSON(status, body)
	return nil
}

// Readiness is what /readyz answers, within probeTimeout. All checks are asked
// at once, so that one slow store does not hide another.
func (s *Server) Readiness(ctx context.Context) Readiness {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results := make([]CheckResult, len(s.deps.Checks))
	var wg sync.WaitGroup
	for i, check := range s.deps.Checks {
		wg.Go(func() { results[i] = s.probe(ctx, check) })
	}
	wg.Wait()
	body := Readiness{Status: "ok", Checks: map[string]CheckResult{}}
	if s.deps.Problems != nil {
		body.Problems = s.deps.Problems()
	}
	for i, check := range s.deps.Checks {
		body.Checks[check.Name] = results[i]
		if results[i].Error != "" {
			body.Status = "unavailable"
		}
	}
	return body
}

// Missing are the checks that do not hold, by name in ascending order; none when all do.
func (r Readiness) Missing() []string {
	var names []string
	for name, check := range r.Checks {
		if check.Error != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// probe asks a check until ctx ends. A probe that goes on without noticing its
// context is not asked a second time beside itself.
func (s *Server) probe(ctx context.Context, check Check) CheckResult {
	start := s.deps.Now()
	asked := s.probes.DoChan(check.Name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		defer cancel()
		return nil, check.Probe(ctx)
	})
	var err error
	select {
	case answer := <-asked:
		err = answer.Err
	case <-ctx.Done():
		err = errNoAnswer
	}
	result := CheckResult{Status: "ok", DurationMS: float64(s.deps.Now().Sub(start).Microseconds()) / 1000}
	if err != nil {
		result.Status, result.Error = "unavailable", err.Error()
	}
	return result
}

var errNoAnswer = errors.New("no answer within " + probeTimeout.String())
