//go:build embedded

package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Error codes of ClickHouse that the server itself raises.
const (
	codeSyntax          = 62
	codeUnknownSetting  = 115
	codeReadonly        = 164
	codeOutfile         = 356
	codeSessionNotFound = 372
	codeSessionLocked   = 373
	codeAuthentication  = 516
	codeBadArguments    = 36
	codeNetwork         = 210
	codeCannotDecode    = 271
)

// exception is an error of the engine, kept as its text: the code in it is what clients type their errors by.
type exception string

func (e exception) Error() string { return string(e) }

func raise(code int, name, format string, args ...any) exception {
	return exception(fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name))
}

// code reads the number out of "Code: 60. DB::Exception: ..."; 1001, the
// engine's own code for a foreign exception, when there is none.
func (e exception) code() int {
	rest, found := strings.CutPrefix(strings.TrimSpace(string(e)), "Code: ")
	if end := strings.IndexByte(rest, '.'); found && end > 0 {
		if code, err := strconv.Atoi(rest[:end]); err == nil {
			return code
		}
	}
	return 1001
}

// status is the HTTP status that a server gives to the code.
func (e exception) status() int {
	//nolint:forbidigo // this is a ClickHouse server's face, not a handler of the core: its statuses are its own
	switch e.code() {
	case 194:
		return http.StatusUnauthorized
	case 192, 193, 497, codeAuthentication:
		return http.StatusForbidden
	case 26, 27, 32, 33, codeBadArguments, 38, 41, 43, 53, codeSyntax, 69, 70, 72, 117, 130, 190, 441, 456, 457, codeCannotDecode:
		return http.StatusBadRequest
	case 16, 46, 47, 50, 56, 60, 63, 73, 81, codeUnknownSetting, codeSessionNotFound:
		return http.StatusNotFound
	case codeSessionLocked:
		return http.StatusLocked
	case 48:
		return http.StatusNotImplemented
	case 209, 439:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
