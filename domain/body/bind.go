package body

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"colonnade/domain"
	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// decoder walks well-formed text and a Go value in step and collects mistakes.
type decoder struct{ fields []domain.Field }

func (d *decoder) fail(kind, msg string, raw []byte, loc []any) {
	if len(d.fields) < maxFields {
		d.fields = append(d.fields, domain.Field{Type: kind, Loc: loc, Msg: msg, Input: shown(raw)})
	}
}

func (d *decoder) value(to reflect.Value, raw []byte, loc []any) {
	null := kindOf(raw) == 'n'
	switch p := to.Addr().Interface().(type) {
	case *json.RawMessage:
		*p = append((*p)[:0], raw...)
		return
	case maybe:
		if inner := p.bind(null); !null {
			d.value(inner, raw, loc)
		}
		return
	}
	if null {
		return
	}
	switch p := to.Addr().Interface().(type) {
	case *uuid.UUID:
		d.uuid(p, raw, loc)
		return
	case *time.Time:
		*p = d.time(trace.ParseTime, raw, loc)
		return
	case json.Unmarshaler:
		if err := p.UnmarshalJSON(raw); err != nil {
			d.own(err, raw, loc)
		}
		return
	case encoding.TextUnmarshaler:
		if kindOf(raw) != '"' {
			d.fail("string_type", "Input should be a valid string", raw, loc)
		} else if err := p.UnmarshalText([]byte(text(raw))); err != nil {
			d.own(err, raw, loc)
		}
		return
	}
	d.kind(to, raw, loc)
}

// own reports what a type's own reader found.
func (d *decoder) own(err error, raw []byte, loc []any) {
	if e, ok := errors.AsType[*domain.Error](err); ok && len(e.Fields) > 0 {
		for _, f := range e.Fields {
			f.Loc = below(loc, f.Loc...)
			if len(d.fields) < maxFields {
				d.fields = append(d.fields, f)
			}
		}
		return
	}
	d.fail("value_error", sentence(err), raw, loc)
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

func (d *decoder) kind(to reflect.Value, raw []byte, loc []any) {
	is := kindOf(raw)
	switch to.Kind() {
	case reflect.Pointer:
		target := reflect.New(to.Type().Elem())
		d.value(target.Elem(), raw, loc)
		to.Set(target)
	case reflect.Interface:
		v, err := jsonvalue.Parse(raw)
		if err != nil {
			d.own(err, raw, loc)
		} else {
			to.Set(reflect.ValueOf(v))
		}
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
	case reflect.Slice:
		if is != '[' {
			d.fail("list_type", "Input should be a valid list", raw, loc)
			return
		}
		d.slice(to, raw, loc)
	case reflect.Map:
		if is != '{' {
			d.fail("dict_type", "Input should be a valid dictionary", raw, loc)
			return
		}
		d.mapping(to, raw, loc)
	case reflect.Struct:
		if is != '{' {
			d.fail("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", raw, loc)
			return
		}
		d.object(to, raw, loc)
	default:
		d.number(to, is == '0', raw, loc)
	}
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

// whole reads an integer, also when it is written as 5.0 or 5e0.
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

func (d *decoder) slice(to reflect.Value, raw []byte, loc []any) {
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	elements(raw, func(i int, e []byte) {
		to.Set(reflect.Append(to, reflect.Zero(to.Type().Elem())))
		d.value(to.Index(i), e, below(loc, i))
	})
}

func (d *decoder) mapping(to reflect.Value, raw []byte, loc []any) {
	to.Set(reflect.MakeMap(to.Type()))
	members(raw, func(name string, e []byte) {
		at := below(loc, name)
		key := reflect.New(to.Type().Key()).Elem()
		if p, ok := reflect.TypeAssert[encoding.TextUnmarshaler](key.Addr()); ok {
			if err := p.UnmarshalText([]byte(name)); err != nil {
				d.own(err, strconv.AppendQuote(nil, name), at)
				return
			}
		} else {
			key.SetString(name)
		}
		v := reflect.New(to.Type().Elem()).Elem()
		d.value(v, e, at)
		to.SetMapIndex(key, v)
	})
}

// member is one field of a struct, those of embedded structs among them.
type member struct {
	value                 reflect.Value
	required, bound, seen bool
}

func (d *decoder) object(to reflect.Value, raw []byte, loc []any) {
	known := map[string]*member{}
	var order []string
	collect(to, known, &order)
	members(raw, func(name string, e []byte) {
		at := below(loc, name)
		m, ok := known[name]
		if !ok {
			d.fail("extra_forbidden", "Extra inputs are not permitted", e, at)
			return
		}
		m.seen = !m.required || kindOf(e) != 'n'
		if p, ok := reflect.TypeAssert[*(*time.Time)](m.value.Addr()); ok && m.bound {
			if kindOf(e) != 'n' {
				t := d.time(trace.ParseBound, e, at)
				*p = &t
			}
			return
		}
		d.value(m.value, e, at)
	})
	for _, name := range order {
		if m := known[name]; m.required && !m.seen {
			d.fail("missing", "Field required", raw, below(loc, name))
		}
	}
}

func collect(to reflect.Value, known map[string]*member, order *[]string) {
	for field, value := range to.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			collect(value, known, order)
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		tag := field.Tag.Get("body")
		known[name] = &member{value: value, required: tag == "required", bound: tag == "bound"}
		*order = append(*order, name)
	}
}
