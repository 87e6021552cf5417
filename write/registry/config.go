package registry

import (
	"errors"
	"net/url"
	"time"
)

// Config says what a command may wait for and where handlers are served.
type Config struct {
	// LockTimeout is how long a command waits for another one on the same thing
	// before it answers 503. Source: contract §5.2.
	LockTimeout time.Duration
	// ServicesURL is where the runtime of built-in handlers is served, without
	// a trailing slash: data.url of a revision is below it. Source: contract §5.2.
	ServicesURL string
}

// DefaultConfig suits an interactive caller whose own timeout is ten seconds.
func DefaultConfig() Config {
	return Config{LockTimeout: 5 * time.Second, ServicesURL: "http://127.0.0.1:8080/services"}
}

// Validate names every field that cannot work.
func (c Config) Validate() error {
	var errs []error
	if c.LockTimeout < time.Millisecond {
		errs = append(errs, errors.New("lock_timeout: must be at least 1ms"))
	}
	if u, err := url.Parse(c.ServicesURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("services_url: must be an http or https URL"))
	}
	return errors.Join(errs...)
}
