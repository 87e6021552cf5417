package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// loadReport is what benchpair reads of the lines that the load command prints.
type loadReport struct {
	spans    int
	visible  time.Duration // until all of it could be read
	p50, p99 time.Duration // from a receipt to visibility; zero when none was timed
}

// parseLoad parses the output of colonnade load, of this build and of older ones.
func parseLoad(text string) (loadReport, error) {
	var r loadReport
	spans := regexp.MustCompile(`(?m)^sent +(\d+) spans`).FindStringSubmatch(text)
	visible := regexp.MustCompile(`(?m)^visible +.* all after ([\d.]+) s$`).FindStringSubmatch(text)
	if spans == nil || visible == nil {
		return r, fmt.Errorf("the load command printed no report:\n%s", strings.TrimSpace(text))
	}
	var err error
	if r.spans, err = strconv.Atoi(spans[1]); err != nil {
		return r, err
	}
	if r.visible, err = time.ParseDuration(visible[1] + "s"); err != nil {
		return r, err
	}
	delays := regexp.MustCompile(`(?m)^receipt to visible +p50 (\S+), p99 (\S+), ([1-9]\d*) timed$`).FindStringSubmatch(text)
	if delays == nil {
		return r, nil
	}
	if r.p50, err = time.ParseDuration(delays[1]); err != nil {
		return r, err
	}
	r.p99, err = time.ParseDuration(delays[2])
	return r, err
}
