package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"colonnade/domain/jsonvalue"
)

// Reader reads JSON text value by value. Every error that it returns itself is Invalid, of type
// json_invalid, with the offset in the text as the last key of its location. It accepts
// text that is not UTF-8, replaced by U+FFFD, and members of one name.
type Reader struct {
	dec *jsontext.Decoder
	loc []any
	// name is the name of the last member that Members read, as sent.
	name []byte
	data []byte
}

// NewReader returns a reader at the start of data; errors are located below loc.
func NewReader(data []byte, loc ...any) *Reader { return newReader(data, true, loc) }

func newReader(data []byte, duplicates bool, loc []any) *Reader {
	options := []jsontext.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(duplicates)}
	return &Reader{dec: jsontext.NewDecoder(bytes.NewReader(data), options...), loc: loc, data: data}
}

// Kind returns the kind of the next value by its first byte, one of {["0tfn, where t
// and f are booleans and 0 is a number; 0x00 if the text is malformed.
func (r *Reader) Kind() byte { return byte(r.dec.PeekKind()) }

// Value returns the text of the next value, which is valid until the next call.
func (r *Reader) Value() ([]byte, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.malformed(err)
	}
	return v, nil
}

// Members calls each with the name of every member of the object that comes next. Each must read its value.
func (r *Reader) Members(each func(name string) error) error {
	if err := r.token(); err != nil {
		return err
	}
	for k := r.Kind(); k != '}'; k = r.Kind() {
		name, err := r.Value()
		if err != nil {
			return err
		}
		r.name = append(r.name[:0], name...)
		if err := each(text(name)); err != nil {
			return err
		}
	}
	return r.token()
}

// Elements calls each with the index of every element of the array that comes next. Each must read the element.
func (r *Reader) Elements(each func(i int) error) error {
	if err := r.token(); err != nil {
		return err
	}
	for i := 0; r.Kind() != ']'; i++ {
		if r.Kind() == 0 {
			_, err := r.Value()
			return err
		}
		if err := each(i); err != nil {
			return err
		}
	}
	return r.token()
}

// NameIsExact reports whether the name of the current member was valid text as sent, so
// that nothing of it was replaced.
func (r *Reader) NameIsExact() bool {
	_, err := jsonvalue.ParseExact(string(r.name))
	return err == nil
}

// End returns an error if the text continues after its value.
func (r *Reader) End() error {
	_, err := r.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return r.malformed(err)
}

// Offset returns the number of bytes read.
func (r *Reader) Offset() int { return int(r.dec.InputOffset()) }

// since returns the text from an offset before a value, to the current one.
func (r *Reader) since(offset int) []byte {
	return bytes.TrimLeft(r.data[offset:r.Offset()], " \t\r\n,:")
}

// token reads the next delimiter.
func (r *Reader) token() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.malformed(err)
	}
	return nil
}

// malformed returns the error of text that is not JSON. The offset counts the byte that is wrong.
func (r *Reader) malformed(err error) error {
	offset := r.Offset()
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return Invalid("json_invalid", "The member "+e.JSONPointer.LastToken()+" is there twice", nil, below(r.loc, int(e.ByteOffset))...)
		}
		if offset = int(e.ByteOffset); !errors.Is(err, io.ErrUnexpectedEOF) {
			offset++
		}
	}
	return Invalid("json_invalid", "JSON decode error", nil, below(r.loc, min(offset, len(r.data)))...)
}

// check rejects text that is not one JSON value, is nested too deeply, or has an object with
// two members of one name, of which different decoders use different ones.
func check(data []byte, loc []any) error {
	r := newReader(data, false, loc)
	for first := true; first || r.dec.StackDepth() > 0; first = false {
		if err := r.token(); err != nil {
			return err
		}
		if r.dec.StackDepth() > MaxDepth {
			return Invalid("json_invalid", "JSON is nested too deeply", nil, below(loc, r.Offset()-1)...)
		}
	}
	return r.End()
}

// value returns the next value as maps, slices and scalars, with numbers as json.Number.
func (r *Reader) value() (value any, err error) {
	switch r.Kind() {
	case '{':
		object := map[string]any{}
		err = r.Members(func(name string) (err error) {
			object[name], err = r.value()
			return err
		})
		return object, err
	case '[':
		array := []any{}
		err = r.Elements(func(int) error {
			v, err := r.value()
			array = append(array, v)
			return err
		})
		return array, err
	}
	raw, err := r.Value()
	if err != nil {
		return nil, err
	}
	switch raw[0] {
	case 'n':
		return nil, nil //nolint:nilnil // null is a value
	case 't', 'f':
		return raw[0] == 't', nil
	case '"':
		return text(raw), nil
	default:
		return json.Number(raw), nil
	}
}

// text decodes a JSON string; it is empty for other values.
func text(raw []byte) string {
	v, err := jsonvalue.Parse(raw)
	s, ok := v.(string)
	if err != nil || !ok {
		return ""
	}
	return s
}

// shown returns a wrong value for a reply; nil for a long one.
func shown(raw []byte) any {
	if len(raw) > maxInputBytes {
		return nil
	}
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil
	}
	return v
}
