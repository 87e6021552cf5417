package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"colonnade/domain"
	"colonnade/domain/limit"
	readapi "colonnade/read/api"
	readaudit "colonnade/read/audit"
	"colonnade/read/usage"
	"colonnade/write/audit"
	"colonnade/write/lease"
	"colonnade/write/quota"
)

// buildAudit keeps what requests change, of every role: analysts' SQL runs in the read role.
func (w *wiring) buildAudit() (err error) {
	w.Audit, err = audit.New(w.cfg.Projects.Audit, audit.Deps{Pool: w.Stores.Postgres, Now: w.Now, Log: w.log, Registerer: w.reg})
	return err
}

// mountProjects mounts the queries of the audit log and of what a project stores.
func (w *wiring) mountProjects() error {
	router := readapi.Bounded(w.Server)
	readaudit.New(w.Stores.Postgres).Mount(router)
	usage.New(usage.Deps{Postgres: w.Stores.Postgres, ClickHouse: w.Stores.queries, Deployment: w.cfg.Deployment(), Now: w.Now, Limits: w.cfg.Projects.Limits, Quotas: usage.Quotas(w.cfg.Projects.Quotas)}).Mount(router)
	return nil
}

// buildLimits bounds what each project uses, together with the other processes.
func (w *wiring) buildLimits() error {
	w.limits = limit.New(w.cfg.Projects.Limits, w.Now)
	w.Leaser = lease.New(lease.Deps{Pool: w.Stores.Postgres, Limits: w.limits, Log: w.log, Shared: func() {
		if w.invoke != nil {
			invocations, _ := w.invoke.Slots()
			invocations.Recheck()
		}
	}})
	for _, r := range []limit.Resource{limit.Spans, limit.Reads} {
		err := w.reg.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "colonnade_limit_refused_total", Help: "Requests refused with 429 because their project reached a limit by the second, by limit.",
			ConstLabels: prometheus.Labels{"limit": r.String()},
		}, func() float64 { return float64(w.limits.Refused(r)) }))
		if err != nil {
			return fmt.Errorf("app: registering metrics: %w", err)
		}
	}
	return nil
}

// admitRead refuses a read of a project beyond its limit.
func (w *wiring) admitRead(project domain.ProjectID) error {
	return w.limits.Take(project, limit.Reads, 1)
}

// admitSpans returns the function that refuses spans of a project beyond its limits and
// quotas.
func (w *wiring) admitSpans() func(project domain.ProjectID, spans, bytes int) error {
	w.Quotas = quota.New(w.cfg.Projects.Quotas, quota.Deps{
		Postgres: w.Stores.Postgres, ClickHouse: w.Stores.ClickHouse, Deployment: w.cfg.Deployment(), Now: w.Now, Log: w.log, Registerer: w.reg,
	})
	return func(project domain.ProjectID, spans, bytes int) error {
		if err := w.limits.Take(project, limit.Spans, spans); err != nil {
			return err
		}
		return w.Quotas.Admit(project, spans, bytes)
	}
}

// limitInvocations bounds the invocations of a project that run at once.
func (w *wiring) limitInvocations() {
	invocations, _ := w.invoke.Slots()
	invocations.Limit(func(project domain.ProjectID) int { return w.limits.Allowed(project, limit.Invocations) })
	w.limits.Count(limit.Invocations, invocations.Demand)
}
