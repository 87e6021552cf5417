package request

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// decoder decodes text that check accepted into a Go value and collects the errors of its
// members. Its methods themselves return only errors of the reader.
type decoder struct {
	fieldErrors
	r *Reader
	// ignoreUnknown skips members that a struct does not have.
	ignoreUnknown bool
}

func (d *decoder) fail(kind, msg string, raw []byte, loc []any) {
	d.add(domain.Field{Type: kind, Loc: loc, Msg: msg, Input: shown(raw)})
}

// failNext reports the next value as one of another type than the expected one.
func (d *decoder) failNext(kind, msg string, loc []any) error {
	raw, err := d.r.Value()
	if err == nil {
		d.fail(kind, msg, raw, loc)
	}
	return err
}

func (d *decoder) value(to reflect.Value, loc []any) error {
	null := d.r.Kind() == 'n'
	target := to.Addr().Interface()
	switch p := target.(type) {
	case *json.RawMessage:
		raw, err := d.r.Value()
		*p = append((*p)[:0], raw...)
		return err
	case maybe:
		if inner := p.bind(null); !null {
			return d.value(inner, loc)
		}
	}
	if !null {
		switch kind := to.Kind(); {
		case parsesItself(target):
		case kind == reflect.Pointer:
			to.Set(reflect.New(to.Type().Elem()))
			return d.value(to.Elem(), loc)
		case kind == reflect.Slice:
			return d.slice(to, loc)
		case kind == reflect.Map:
			return d.mapping(to, loc)
		case kind == reflect.Struct:
			return d.object(to, loc)
		}
	}
	raw, err := d.r.Value()
	if err == nil && !null {
		d.scalar(to, target, raw, loc)
	}
	return err
}

// parsesItself reports whether scalar decodes a value by the type's own parser.
func parsesItself(target any) bool {
	switch target.(type) {
	case *uuid.UUID, *time.Time, json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	default:
		return false
	}
}

// scalar decodes the text of a value that is not an object or array, or that parses itself.
func (d *decoder) scalar(to reflect.Value, target any, raw []byte, loc []any) {
	is := kindOf(raw)
	switch p := target.(type) {
	case *uuid.UUID:
		d.uuid(p, raw, loc)
		return
	case *time.Time:
		*p = d.time(trace.ParseTime, raw, loc)
		return
	case json.Unmarshaler:
		if err := p.UnmarshalJSON(raw); err != nil {
			d.failOwn(err, raw, loc)
		}
		return
	case encoding.TextUnmarshaler:
		if is != '"' {
			d.fail("string_type", "Input should be a valid string", raw, loc)
		} else if err := p.UnmarshalText([]byte(text(raw))); err != nil {
			d.failOwn(err, raw, loc)
		}
		return
	}
	switch to.Kind() {
	case reflect.Interface:
		v, err := jsonvalue.Parse(raw)
		if err != nil {
			d.failOwn(err, raw, loc)
			return
		}
		to.Set(reflect.ValueOf(v))
	case reflect.String:
		if is != '"' {
			d.fail("string_type", "Input should be a valid string", raw, loc)
			return
		}
		to.SetString(text(raw))
	case reflect.Bool:
		if is != 't' {
			d.fail("bool_type", "Input should be a valid boolean", raw, loc)
			return
		}
		to.SetBool(raw[0] == 't')
	default:
		d.number(to, is == '0', raw, loc)
	}
}

// failOwn reports an error that a type's own parser returned.
func (d *decoder) failOwn(err error, raw []byte, loc []any) {
	if e, ok := errors.AsType[*domain.Error](err); ok && len(e.Fields) > 0 {
		for _, f := range e.Fields {
			f.Loc = below(loc, f.Loc...)
			d.add(f)
		}
		return
	}
	d.fail("value_error", messageOf(err), raw, loc)
}

func (d *decoder) time(parse func(any) (time.Time, bool), raw []byte, loc []any) time.Time {
	v, err := jsonvalue.Parse(raw)
	t, ok := parse(v)
	if err != nil || !ok {
		d.fail("datetime_parsing", "Input should be a valid datetime", raw, loc)
		return time.Time{}
	}
	return t
}

func (d *decoder) uuid(to *uuid.UUID, raw []byte, loc []any) {
	if kindOf(raw) != '"' {
		d.fail("uuid_type", "UUID input should be a string, bytes or UUID object", raw, loc)
		return
	}
	id, err := uuid.Parse(text(raw))
	if err != nil {
		d.fail("uuid_parsing", "Input should be a valid UUID", raw, loc)
		return
	}
	*to = id
}

func (d *decoder) number(to reflect.Value, isNumber bool, raw []byte, loc []any) {
	if to.CanFloat() {
		f, err := strconv.ParseFloat(string(raw), to.Type().Bits())
		if !isNumber || err != nil {
			d.fail("float_type", "Input should be a valid number", raw, loc)
			return
		}
		to.SetFloat(f)
		return
	}
	n, ok := whole(raw)
	switch {
	case !isNumber:
		d.fail("int_type", "Input should be a valid integer", raw, loc)
	case !ok:
		d.fail("int_from_float", "Input should be a valid integer, got a number with a fractional part or out of range", raw, loc)
	case to.CanInt() && !to.OverflowInt(n):
		to.SetInt(n)
	case to.CanUint() && n >= 0 && !to.OverflowUint(uint64(n)):
		to.SetUint(uint64(n))
	case to.CanUint() && n < 0:
		d.fail("greater_than_equal", "Input should be greater than or equal to 0", raw, loc)
	default:
		d.fail("int_parsing_size", "Unable to parse input number as an integer, exceeded maximum size", raw, loc)
	}
}

// whole parses an integer, also one that is written as 5.0 or 5e0.
func whole(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Trunc(f) != f || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// kindOf returns the kind of a value as Reader.Kind does.
func kindOf(raw []byte) byte {
	switch c := raw[0]; c {
	case '{', '[', '"', 't', 'n':
		return c
	case 'f':
		return 't'
	default:
		return '0'
	}
}
