//go:build embedded

//nolint:gosec // pointers from C are the purpose of this file
package chdb

import "unsafe"

// Result is the outcome of a statement, or one piece of a stream. Its memory
// belongs to C until Destroy.
type Result struct {
	lib    *Library
	handle uintptr
}

// Err is the engine's exception text, "Code: 60. DB::Exception: ...", or empty.
func (r *Result) Err() string {
	if r.handle == 0 {
		return "Code: 1002. DB::Exception: the engine gave no result. (UNKNOWN_EXCEPTION)"
	}
	return r.lib.api.resultError(r.handle)
}

// Bytes is the formatted result, without a copy: valid until Destroy.
func (r *Result) Bytes() []byte {
	if r.handle == 0 {
		return nil
	}
	n := r.lib.api.resultLength(r.handle)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(r.lib.api.resultBuffer(r.handle)), n)
}

// Destroy gives the memory back.
func (r *Result) Destroy() {
	if r.handle != 0 {
		r.lib.api.destroy(r.handle)
		r.handle = 0
	}
}

// Summary counts what a statement read and wrote.
type Summary struct {
	ReadRows, ReadBytes, WrittenRows, WrittenBytes, ResultRows, ResultBytes uint64
}

// Summary of the statement.
func (r *Result) Summary() Summary {
	if r.handle == 0 {
		return Summary{}
	}
	a := &r.lib.api
	return Summary{
		ReadRows: a.storageRowsRead(r.handle), ReadBytes: a.storageBytesRead(r.handle),
		WrittenRows: a.rowsWritten(r.handle), WrittenBytes: a.bytesWritten(r.handle),
		ResultRows: a.rowsRead(r.handle), ResultBytes: a.bytesRead(r.handle),
	}
}

// Stream is a running SELECT.
type Stream struct {
	conn *Conn
	head Result
}

// Err tells that the statement could not begin.
func (s *Stream) Err() string { return s.head.Err() }

// Next yields the next piece; an empty piece without an error is the end. The
// caller destroys each piece.
func (s *Stream) Next() *Result {
	return &Result{lib: s.conn.lib, handle: s.conn.lib.api.streamFetch(s.conn.conn, s.head.handle)}
}

// Close ends the statement, finished or not. It must follow every Stream.
func (s *Stream) Close(finished bool) {
	if !finished && s.head.handle != 0 {
		s.conn.lib.api.streamCancel(s.conn.conn, s.head.handle)
	}
	s.head.Destroy()
}

// Insert is an INSERT that takes its data in pieces.
type Insert struct {
	lib    *Library
	handle uintptr
}

// Err is the engine's exception text so far, or empty.
func (i *Insert) Err() string { return i.lib.api.insertError(i.handle) }

// Append hands over a piece of formatted data; the engine copies it. It blocks
// while the engine is behind and tells false when the insert has failed.
func (i *Insert) Append(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	return i.lib.api.append(i.handle, unsafe.Pointer(&data[0]), uintptr(len(data))) == 0
}

// Done ends the data, waits until the rows are stored and yields the counts.
func (i *Insert) Done() *Result {
	return &Result{lib: i.lib, handle: i.lib.api.done(i.handle)}
}

// Abort gives the insert up.
func (i *Insert) Abort() { i.lib.api.cancelInsert(i.handle) }

// Destroy must follow every Insert.
func (i *Insert) Destroy() { i.lib.api.destroyInsert(i.handle) }

// deref reads the chdb_connection behind a chdb_connection *.
func deref(handle uintptr) *uintptr {
	// The address is C memory, which the collector neither moves nor frees; going through a
	// pointer to the variable tells vet that this is meant.
	return *(**uintptr)(unsafe.Pointer(&handle))
}
