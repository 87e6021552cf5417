package api

import (
	"io"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/write/ingest"
)

// Metered returns a router whose request bodies share a memory budget. The memory
// of a body is released when its handler returns; a body that exceeds what is left
// of the budget is Unavailable.
func Metered(r Router, budget *ingest.Budget) MeteredRouter { return MeteredRouter{r, budget} }

// MeteredRouter is a Router with a memory budget.
type MeteredRouter struct {
	Router
	budget *ingest.Budget
}

// Handle mounts an operation.
func (m MeteredRouter) Handle(op domain.Operation, h func(*gin.Context) error) {
	m.Router.Handle(op, func(c *gin.Context) error {
		body := metered{ReadCloser: c.Request.Body, budget: m.budget}
		defer func() { m.budget.Release(body.taken) }()
		c.Request.Body = &body
		return h(c)
	})
}

// metered acquires the memory of a body piece by piece as it arrives, so that a
// client that announces much and sends nothing takes nothing from others.
type metered struct {
	io.ReadCloser
	budget *ingest.Budget
	taken  int64
	spent  error
}

// Read fails with Unavailable once the budget is spent, also when it is called
// again: the part that was refused is missing.
func (m *metered) Read(p []byte) (int, error) {
	const grows = 4 // decoded values take several times the size of the body
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
