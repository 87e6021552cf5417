package api

import (
	"io"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/write/ingest"
)

// Metered mounts commands on a router within the memory that requests may take
// together: what a body takes is given back when its command has answered. A
// body that there is no room for is Unavailable.
func Metered(r Router, budget *ingest.Budget) MeteredRouter { return MeteredRouter{r, budget} }

// MeteredRouter is what Metered makes.
type MeteredRouter struct {
	Router
	budget *ingest.Budget
}

// Handle mounts.
func (m MeteredRouter) Handle(op domain.Operation, h func(*gin.Context) error) {
	m.Router.Handle(op, func(c *gin.Context) error {
		body := metered{ReadCloser: c.Request.Body, budget: m.budget}
		defer func() { m.budget.Release(body.taken) }()
		c.Request.Body = &body
		return h(c)
	})
}

// metered reads a body whose memory is accounted for piece by piece as it comes:
// whoever announces much and sends nothing takes nothing from others.
type metered struct {
	io.ReadCloser
	budget *ingest.Budget
	taken  int64
	spent  error
}

// Read fails with Unavailable where the budget is spent, and from then on: what
// there was no room for is missing.
func (m *metered) Read(p []byte) (int, error) {
	const grows = 4 // what a body becomes is several times its size
	if m.spent != nil {
		return 0, m.spent
	}
	n, err := m.ReadCloser.Read(p)
	if n == 0 {
		return n, err
	}
	if m.spent = m.budget.Acquire(int64(n) * grows); m.spent != nil {
		return 0, m.spent
	}
	m.taken += int64(n) * grows
	return n, err
}
