package request

import (
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"

	"colonnade/domain/trace"
)

func (d *decoder) slice(to reflect.Value, loc []any) error {
	if d.r.Kind() != '[' {
		return d.failNext("list_type", "Input should be a valid list", loc)
	}
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	return d.r.Elements(func(i int) error {
		to.Set(reflect.Append(to, reflect.Zero(to.Type().Elem())))
		return d.value(to.Index(i), below(loc, i))
	})
}

func (d *decoder) mapping(to reflect.Value, loc []any) error {
	if d.r.Kind() != '{' {
		return d.failNext("dict_type", "Input should be a valid dictionary", loc)
	}
	to.Set(reflect.MakeMap(to.Type()))
	return d.r.Members(func(name string) error {
		at := below(loc, name)
		key := reflect.New(to.Type().Key()).Elem()
		if p, ok := reflect.TypeAssert[encoding.TextUnmarshaler](key.Addr()); ok {
			if err := p.UnmarshalText([]byte(name)); err != nil {
				d.failOwn(err, strconv.AppendQuote(nil, name), at)
				_, err := d.r.Value()
				return err
			}
		} else {
			key.SetString(name)
		}
		v := reflect.New(to.Type().Elem()).Elem()
		err := d.value(v, at)
		to.SetMapIndex(key, v)
		return err
	})
}

// member is one field of a struct or of a struct embedded in it.
type member struct {
	value                 reflect.Value
	required, bound, seen bool
}

func (d *decoder) object(to reflect.Value, loc []any) error {
	if d.r.Kind() != '{' {
		return d.failNext("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", loc)
	}
	known := map[string]*member{}
	var order []string
	collect(to, known, &order)
	start := d.r.Offset()
	err := d.r.Members(func(name string) error {
		at := below(loc, name)
		m, ok := known[name]
		if !ok && d.ignoreUnknown {
			_, err := d.r.Value()
			return err
		}
		if !ok {
			return d.failNext("extra_forbidden", "Extra inputs are not permitted", at)
		}
		null := d.r.Kind() == 'n'
		m.seen = !m.required || !null
		if p, ok := reflect.TypeAssert[*(*time.Time)](m.value.Addr()); ok && m.bound && !null {
			raw, err := d.r.Value()
			if err == nil {
				t := d.time(trace.ParseBound, raw, at)
				*p = &t
			}
			return err
		}
		return d.value(m.value, at)
	})
	for _, name := range order {
		if m := known[name]; m.required && !m.seen {
			d.fail("missing", "Field required", d.r.since(start), below(loc, name))
		}
	}
	return err
}

// collect adds the members of a struct to known, and their names to order.
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
		tag := field.Tag.Get("request")
		known[name] = &member{value: value, required: tag == "required", bound: tag == "bound"}
		*order = append(*order, name)
	}
}
