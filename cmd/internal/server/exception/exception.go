// Package exception renders errors as ClickHouse's HTTP interface does, and reads the API key
// that its clients send as a password. The server calls it for the routes that speak that interface.
package exception

import (
	"errors"
	"net/http"
	"strconv"

	"colonnade/domain"
)

// UsePassword turns an API key that a client of ClickHouse sends as a password into the
// credential of other routes. The name of the user is anything.
func UsePassword(r *http.Request) {
	_, password, ok := r.BasicAuth()
	if !ok {
		password = r.Header.Get("X-ClickHouse-Key")
	}
	if !ok && password == "" {
		password = r.URL.Query().Get("password")
	}
	if ok || password != "" {
		r.Header.Set("Authorization", "ApiKey "+password)
	}
}

// Codes of exceptions for what a request fails at before ClickHouse sees it.
const (
	codeBadArguments    = 36
	codeUnknownDatabase = 81
	codeTooMany         = 202
	codeNetwork         = 210
	codeTooLarge        = 307
	codeAccessDenied    = 497
	codeAuthentication  = 516
)

// Render sets the headers of an error and returns its text, of which clients read the code
// and what follows "DB::Exception".
func Render(header http.Header, err error, message string) []byte {
	code := codeOf(err)
	if code == codeAuthentication {
		header.Set("WWW-Authenticate", `Basic realm="ClickHouse server HTTP API"`)
		message = "Authentication failed: the password is an API key of the project, the user is anything."
	}
	header.Set("X-ClickHouse-Exception-Code", strconv.Itoa(code))
	return []byte("Code: " + strconv.Itoa(code) + ". DB::Exception: " + message + "\n")
}

// codeOf returns the code of an exception of ClickHouse in the chain, else one that says the
// same as the kind of the error.
func codeOf(err error) int {
	if known, ok := errors.AsType[interface {
		error
		ExceptionCode() int
	}](err); ok {
		return known.ExceptionCode()
	}
	switch domain.KindOf(err) {
	case domain.Unauthenticated:
		return codeAuthentication
	case domain.Forbidden:
		return codeAccessDenied
	case domain.TooMany:
		return codeTooMany
	case domain.TooLarge:
		return codeTooLarge
	case domain.NotFound:
		return codeUnknownDatabase
	case domain.Rejected, domain.Invalid, domain.Conflict:
		return codeBadArguments
	default:
		return codeNetwork
	}
}
