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
	// Probe returns nil when the condition holds; its error is shown at /status.
	Probe func(ctx context.Context) error
	// Lag returns for how long the oldest record has waited; nil where nothing waits.
	Lag func() time.Duration
}

const probeTimeout = 2 * time.Second

// CheckState is what /readyz tells everyone about a check.
type CheckState struct {
	// Status is ok or unavailable.
	Status string `json:"status"`
	// LagSeconds is for how long the oldest record has waited to become visible.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
}

// Ready is the body of /readyz. Anyone may read it, so it holds no addresses and no errors.
type Ready struct {
	Status string                `json:"status"`
	Checks map[string]CheckState `json:"checks"`
	// Problems is the number of problems that GET /status describes.
	Problems int `json:"problems,omitempty"`
}

// CheckResult is a check in the body of /status.
type CheckResult struct {
	CheckState

	// Error says what does not hold; empty when all is well.
	Error string `json:"error,omitempty"`
	// DurationMS is how long the probe took, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// Readiness is the body of /status.
type Readiness struct {
	Status string                 `json:"status"`
	Checks map[string]CheckResult `json:"checks"`
	// Problems are what someone must act on although the service works.
	Problems []string `json:"problems,omitempty"`
}

func (s *Server) mountProcess() {
	process := func(path string, permission domain.Permission, summary string, response any) domain.Operation {
		return domain.Operation{Method: http.MethodGet, Path: path, Permission: permission, Summary: summary, Tag: "process", Response: response}
	}
	ok := func(c *gin.Context) error {
		c.JSON(http.StatusOK, gin.H{"status": "ok"})
		return nil
	}
	s.Handle(process("/health", domain.Public, "The service answers.", gin.H{}), ok)
	s.Handle(process("/healthz", domain.Public, "The process is alive.", gin.H{}), ok)
	s.Handle(process("/readyz", domain.Public, "The stores are reachable and the lag is in bounds.", Ready{}), s.ready)
	s.Handle(process("/status", domain.ViewProject, "What /readyz checks, with errors, durations and problems.", Readiness{}), s.status)
	s.Handle(process("/metrics", domain.Admin, "Prometheus metrics, where http.admin_addr does not serve them.", nil), func(c *gin.Context) error {
		if s.cfg.AdminAddr != "" {
			return errNoRoute
		}
		s.scrape().ServeHTTP(c.Writer, c.Request)
		return nil
	})
}

// scrape returns the handler of /metrics.
func (s *Server) scrape() http.Handler {
	return promhttp.HandlerFor(s.deps.Registry, promhttp.HandlerOpts{DisableCompression: true})
}

// admin returns the handler of Config.AdminAddr.
func (s *Server) admin() http.Handler {
	mux, engine := http.NewServeMux(), s.Handler()
	mux.Handle("GET /metrics", s.scrape())
	mux.Handle("GET /healthz", engine)
	mux.Handle("GET /readyz", engine)
	return mux
}

// ready answers /readyz.
func (s *Server) ready(c *gin.Context) error {
	state := s.Readiness(c.Request.Context())
	body := Ready{Status: state.Status, Checks: make(map[string]CheckState, len(state.Checks)), Problems: len(state.Problems)}
	for name, check := range state.Checks {
		body.Checks[name] = check.CheckState
	}
	code := http.StatusOK
	if body.Status != statusOK {
		code = http.StatusServiceUnavailable
	}
	c.JSON(code, body)
	return nil
}

// status answers /status. Its own status is 200 in any state: the answer is the state.
func (s *Server) status(c *gin.Context) error {
	c.JSON(http.StatusOK, s.Readiness(c.Request.Context()))
	return nil
}

const (
	statusOK          = "ok"
	statusUnavailable = "unavailable"
)

// Readiness returns the state of all checks within probeTimeout. All are asked at once, so
// that one slow store does not hide another.
func (s *Server) Readiness(ctx context.Context) Readiness {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	results := make([]CheckResult, len(s.deps.Checks))
	var wg sync.WaitGroup
	for i, check := range s.deps.Checks {
		wg.Go(func() { results[i] = s.probe(ctx, check) })
	}
	wg.Wait()
	body := Readiness{Status: statusOK, Checks: map[string]CheckResult{}}
	if s.deps.Problems != nil {
		body.Problems = s.deps.Problems()
	}
	for i, check := range s.deps.Checks {
		body.Checks[check.Name] = results[i]
		if results[i].Error != "" {
			body.Status = statusUnavailable
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
	result := CheckResult{CheckState: CheckState{Status: statusOK}, DurationMS: float64(s.deps.Now().Sub(start).Microseconds()) / 1000}
	if check.Lag != nil {
		lag := check.Lag().Seconds()
		result.LagSeconds = &lag
	}
	if err != nil {
		result.Status, result.Error = statusUnavailable, err.Error()
	}
	return result
}

var errNoAnswer = errors.New("no answer within " + probeTimeout.String())
