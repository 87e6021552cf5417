//go:build embedded && !linux

package chdb

// guardSignals only runs the call: the library is packaged for Linux alone,
// and elsewhere the engine is refused before this is reached.
func guardSignals(call func()) { call() }
