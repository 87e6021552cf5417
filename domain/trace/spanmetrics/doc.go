// Package spanmetrics sums the metrics of a trace: from the incremental errors, tokens
// and costs of single spans to the cumulative ones of spans with all spans below them.
// Prices are in write/cost, statistics over many traces in read/analytics. The
// sink, finalization and every reader of spans call it.
package spanmetrics
