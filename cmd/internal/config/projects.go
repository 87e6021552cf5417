package config

import (
	"errors"
	"fmt"

	"colonnade/domain/limit"
	"colonnade/write/audit"
	"colonnade/write/quota"
)

// Projects bounds what each project may use, and says what is kept about it.
type Projects struct {
	Limits limit.Config
	Quotas quota.Config
	Audit  audit.Config
}

// Validate returns an error that names every field that cannot work.
func (p Projects) Validate() error {
	var errs []error
	if err := p.Limits.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("limits: %w", err))
	}
	if err := p.Quotas.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("quotas: %w", err))
	}
	if err := p.Audit.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("audit: %w", err))
	}
	return errors.Join(errs...)
}

func defaultProjects() Projects {
	return Projects{Limits: limit.DefaultConfig(), Audit: audit.DefaultConfig()}
}
