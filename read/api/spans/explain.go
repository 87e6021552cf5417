package spans

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/gin-gonic/gin"

	"colonnade/domain"
	"colonnade/read/clickhouse"
)

// planKey holds the plan of a request that asked for it.
const planKey = "colonnade.plan"

// explain records the statements of a request with explain=true.
func (s *Routes) explain(c *gin.Context) error {
	text := c.Query("explain")
	if text == "" {
		return nil
	}
	asked, err := strconv.ParseBool(text)
	if err != nil {
		return domain.E(domain.Rejected, "explain must be true or false.")
	}
	if !asked {
		return nil
	}
	ctx := c.Request.Context()
	if !domain.Allows(domain.PrincipalFrom(ctx).Role, domain.ViewQueryPlan) {
		return domain.E(domain.Forbidden, "The caller may not see the plans of queries.")
	}
	ctx, plan := clickhouse.Explain(ctx, s.now())
	c.Request = c.Request.WithContext(ctx)
	c.Set(planKey, plan)
	return nil
}

// plan writes the plan of a request that asked for it.
func (w *writer) plan() error {
	value, _ := w.c.Get(planKey)
	plan, ok := value.(*clickhouse.Plan)
	if !ok {
		return nil
	}
	text, err := json.Marshal(plan.Steps())
	if err != nil {
		return fmt.Errorf("api: writing a plan: %w", err)
	}
	w.buf = append(w.buf, `,"plan":`...)
	w.buf = append(w.buf, text...)
	return nil
}
