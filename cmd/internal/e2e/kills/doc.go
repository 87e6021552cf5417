// Package kills kills sinks, ClickHouse and Kafka while spans flow through them, and
// counts the spans afterwards. It is a package of its own because it needs a broker
// that it may kill: make test-kafka gives it one.
package kills
