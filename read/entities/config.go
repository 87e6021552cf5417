package entities

import (
	"errors"
	"net/url"
)

// Config says where handlers are served and bounds what a list may hold.
type Config struct {
	// ServicesURL is where the runtime of built-in handlers is served, without
	// a trailing slash. Source: contract §5.2.
	ServicesURL string
	// MaxPage bounds a page of artifacts and variants, MaxRevisions one of
	// revisions, which carry data, MaxEnvironments one of environment revisions,
	// which carry a reference for everything deployed. What does not fit is on
	// the next page.
	MaxPage, MaxRevisions, MaxEnvironments int
	// MaxPageBytes bounds what a page or a log reads of the store: it ends before
	// it is larger. One record is always whole.
	MaxPageBytes int
	// MaxTestsets bounds a page of testset revisions, which carry ids, and
	// MaxTestcaseBytes the testcases in one reply; one revision is always whole.
	MaxTestsets, MaxTestcaseBytes int
}

// DefaultConfig keeps a page within some tens of megabytes.
func DefaultConfig() Config {
	return Config{
		ServicesURL: "http://127.0.0.1:8080/services",
		MaxPage:     10_000, MaxRevisions: 1000, MaxEnvironments: 100, MaxPageBytes: 32 << 20, MaxTestsets: 100, MaxTestcaseBytes: 32 << 20,
	}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if u, err := url.Parse(c.ServicesURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("services_url: must be an http or https URL"))
	}
	if c.MaxPage <= 0 || c.MaxRevisions <= 0 || c.MaxEnvironments <= 0 || c.MaxPageBytes <= 0 || c.MaxTestsets <= 0 || c.MaxTestcaseBytes <= 0 {
		errs = append(errs, errors.New("max_page, max_revisions, max_environments, max_page_bytes, max_testsets, max_testcase_bytes: must be positive"))
	}
	return errors.Join(errs...)
}
