//go:build embedded

// Package chdb binds libchdb, ClickHouse as a shared library, without cgo.
//
// It knows connections, queries, streams and insert streams, as the C header
// chdb.h declares them, and how to load the library without letting it take
// over the signal handlers of Go. It knows no HTTP and no settings of ours.
// One process can open one data directory.
//
//nolint:gosec // pointers for C are the purpose of this file
package chdb

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is the loaded libchdb.
type Library struct {
	api api
}

// api holds the C functions. Lengths travel as uintptr (size_t), handles as uintptr.
type api struct {
	version          func() string
	signalsEnabled   func(enabled int32)
	connect          func(argc int32, argv unsafe.Pointer) uintptr
	closeConn        func(conn uintptr)
	query            func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr, names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	streamQuery      func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr, names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	streamFetch      func(conn, stream uintptr) uintptr
	streamCancel     func(conn, stream uintptr)
	streamInsert     func(conn uintptr, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr, names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr
	append           func(stream uintptr, data unsafe.Pointer, length uintptr) int32
	done             func(stream uintptr) uintptr
	cancelInsert     func(stream uintptr)
	insertError      func(stream uintptr) string
	destroyInsert    func(stream uintptr)
	destroy          func(result uintptr)
	resultBuffer     func(result uintptr) unsafe.Pointer
	resultLength     func(result uintptr) uintptr
	resultError      func(result uintptr) string
	rowsRead         func(result uintptr) uint64
	bytesRead        func(result uintptr) uint64
	storageRowsRead  func(result uintptr) uint64
	storageBytesRead func(result uintptr) uint64
	rowsWritten      func(result uintptr) uint64
	bytesWritten     func(result uintptr) uint64
	classify         func(conn uintptr, sql unsafe.Pointer, sqlLen uintptr, database unsafe.Pointer, databaseLen uintptr, analysis unsafe.Pointer) int32
}

// Load opens the library at path. The path is looked at first, because the
// dynamic loader takes an empty one for the program itself.
func Load(path string) (*Library, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("chdb: there is no ClickHouse library at %q", path)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("chdb: loading the ClickHouse library: %w", err)
	}
	l := new(Library)
	for name, target := range map[string]any{
		"chdb_version":                     &l.api.version,
		"chdb_set_signal_handlers_enabled": &l.api.signalsEnabled,
		"chdb_connect":                     &l.api.connect,
		"chdb_close_conn":                  &l.api.closeConn,
		"chdb_query_with_params_n":         &l.api.query,
		"chdb_stream_query_with_params_n":  &l.api.streamQuery,
		"chdb_stream_fetch_result":         &l.api.streamFetch,
		"chdb_stream_cancel_query":         &l.api.streamCancel,
		"chdb_stream_insert_with_params_n": &l.api.streamInsert,
		"chdb_stream_append":               &l.api.append,
		"chdb_stream_done":                 &l.api.done,
		"chdb_stream_cancel_insert":        &l.api.cancelInsert,
		"chdb_stream_insert_error":         &l.api.insertError,
		"chdb_destroy_insert_stream":       &l.api.destroyInsert,
		"chdb_destroy_query_result":        &l.api.destroy,
		"chdb_result_buffer":               &l.api.resultBuffer,
		"chdb_result_length":               &l.api.resultLength,
		"chdb_result_error":                &l.api.resultError,
		"chdb_result_rows_read":            &l.api.rowsRead,
		"chdb_result_bytes_read":           &l.api.bytesRead,
		"chdb_result_storage_rows_read":    &l.api.storageRowsRead,
		"chdb_result_storage_bytes_read":   &l.api.storageBytesRead,
		"chdb_result_rows_written":         &l.api.rowsWritten,
		"chdb_result_bytes_written":        &l.api.bytesWritten,
		"chdb_classify_query_n":            &l.api.classify,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("chdb: the library at %s is not the expected version: %w", path, err)
		}
		purego.RegisterFunc(target, symbol)
	}
	// The library would otherwise install handlers without an alternate stack, and a nil
	// dereference in Go would hang the process. The call itself resets handlers, hence the guard.
	guardSignals(func() { l.api.signalsEnabled(0) })
	return l, nil
}

// Version of the library, such as "26.7.3".
func (l *Library) Version() string { return l.api.version() }

// Conn is one session: settings, current database and temporary tables. It
// runs one statement at a time and is not safe for concurrent use.
type Conn struct {
	lib    *Library
	handle uintptr // chdb_connection *
	conn   uintptr // chdb_connection
}

// Connect opens a session. The arguments of the first one in the process boot
// the engine: data path, memory limit, caches.
func (l *Library) Connect(args ...string) (*Conn, error) {
	argv := make([]unsafe.Pointer, 0, len(args)+2)
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, arg := range append([]string{"clickhouse"}, args...) {
		raw := append([]byte(arg), 0)
		pin.Pin(&raw[0])
		argv = append(argv, unsafe.Pointer(&raw[0]))
	}
	argv = append(argv, nil)
	var handle uintptr
	guardSignals(func() { handle = l.api.connect(int32(len(argv)-1), unsafe.Pointer(&argv[0])) }) //nolint:gosec // a handful of arguments
	runtime.KeepAlive(argv)
	if handle == 0 {
		return nil, errors.New("chdb: the engine refused to start: its data directory or one of its settings")
	}
	return &Conn{lib: l, handle: handle, conn: *deref(handle)}, nil
}

// Close ends the session and drops its temporary tables.
func (c *Conn) Close() {
	c.lib.api.closeConn(c.handle)
	c.handle, c.conn = 0, 0
}

// Param is one server-side query parameter, {name:Type} in the statement.
type Param struct{ Name, Value string }

// Query runs any statement and materialises its result.
func (c *Conn) Query(query, format string, params []Param) *Result {
	var handle uintptr
	withParams(params, func(a cParams) {
		handle = c.lib.api.query(c.conn, str(query), uintptr(len(query)), str(format), uintptr(len(format)), a.names, a.nameLens, a.values, a.valueLens, a.count)
	})
	return &Result{lib: c.lib, handle: handle}
}

// Stream runs a SELECT and yields its result in pieces; other statements are
// refused by the engine with code 36.
func (c *Conn) Stream(query, format string, params []Param) *Stream {
	var handle uintptr
	withParams(params, func(a cParams) {
		handle = c.lib.api.streamQuery(c.conn, str(query), uintptr(len(query)), str(format), uintptr(len(format)), a.names, a.nameLens, a.values, a.valueLens, a.count)
	})
	return &Stream{conn: c, head: Result{lib: c.lib, handle: handle}}
}

// Insert begins an INSERT, given without FORMAT and without data.
func (c *Conn) Insert(query, format string, params []Param) *Insert {
	var handle uintptr
	withParams(params, func(a cParams) {
		handle = c.lib.api.streamInsert(c.conn, str(query), uintptr(len(query)), str(format), uintptr(len(format)), a.names, a.nameLens, a.values, a.valueLens, a.count)
	})
	return &Insert{lib: c.lib, handle: handle}
}

// Statements counts the executable statements in the text; 0 when it does not parse.
func (c *Conn) Statements(sql string) int {
	analysis := [4]uint32{16} // struct_size, statement_count, flags, query_class
	if c.lib.api.classify(c.conn, str(sql), uintptr(len(sql)), nil, 0, unsafe.Pointer(&analysis[0])) != 0 {
		return 0
	}
	return int(analysis[1])
}

func str(s string) unsafe.Pointer {
	if s == "" {
		return unsafe.Pointer(unsafe.StringData("\x00"))
	}
	return unsafe.Pointer(unsafe.StringData(s))
}

type cParams struct {
	names, nameLens, values, valueLens unsafe.Pointer
	count                              uintptr
}

// withParams lays the parameters out as the parallel arrays that C wants and
// keeps them in place during the call.
func withParams(params []Param, call func(cParams)) {
	if len(params) == 0 {
		call(cParams{})
		return
	}
	n := len(params)
	pointers, lengths := make([]unsafe.Pointer, 2*n), make([]uintptr, 2*n)
	var pin runtime.Pinner
	defer pin.Unpin()
	for i, p := range params {
		for at, s := range map[int]string{i: p.Name, n + i: p.Value} {
			raw := append([]byte(s), 0)
			pin.Pin(&raw[0])
			pointers[at], lengths[at] = unsafe.Pointer(&raw[0]), uintptr(len(s))
		}
	}
	call(cParams{unsafe.Pointer(&pointers[0]), unsafe.Pointer(&lengths[0]), unsafe.Pointer(&pointers[n]), unsafe.Pointer(&lengths[n]), uintptr(n)})
	runtime.KeepAlive(pointers)
	runtime.KeepAlive(lengths)
}
