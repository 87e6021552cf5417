package tracejson

import (
	"encoding/hex"

	"colonnade/domain/jsonvalue"
	"colonnade/domain/trace"
)

// Walk visits the spans of a skeleton in the order in which AppendTree writes them.
// It calls span for each, and text with what stands between them. The text after a
// span closes its object, so that span appends it open, as AppendOpenSpan does.
func Walk(k *trace.Skeleton, text func([]byte), span func(index int32) error) error {
	w := walker{skeleton: k, text: text, span: span}
	return w.siblings(k.Roots)
}

// Order returns the spans of a skeleton in the order of Walk.
func Order(k *trace.Skeleton) []int32 {
	order := make([]int32, 0, len(k.Names))
	_ = Walk(k, func([]byte) {}, func(index int32) error { // no error of ours is possible
		order = append(order, index)
		return nil
	})
	return order
}

type walker struct {
	skeleton *trace.Skeleton
	text     func([]byte)
	span     func(int32) error
	buf      []byte
}

func (w *walker) siblings(of []int32) error {
	byName := make(map[string][]int32, len(of))
	names := make([]string, 0, len(of))
	for _, i := range of {
		name := w.skeleton.Names[i]
		if _, found := byName[name]; !found {
			names = append(names, name)
		}
		byName[name] = append(byName[name], i)
	}
	separator := byte('{')
	for _, name := range names {
		w.buf = append(jsonvalue.AppendString(append(w.buf[:0], separator), name), ':')
		separator = ','
		same := byName[name]
		if len(same) > 1 {
			w.buf = append(w.buf, '[')
		}
		w.text(w.buf)
		for j, i := range same {
			if j > 0 {
				w.text([]byte{','})
			}
			if err := w.node(i); err != nil {
				return err
			}
		}
		if len(same) > 1 {
			w.text([]byte{']'})
		}
	}
	if len(names) == 0 {
		w.text([]byte{'{'})
	}
	w.text([]byte{'}'})
	return nil
}

func (w *walker) node(i int32) error {
	if err := w.span(i); err != nil {
		return err
	}
	if children := w.skeleton.Children(i); len(children) > 0 {
		w.text([]byte(`,"spans":`))
		if err := w.siblings(children); err != nil {
			return err
		}
	}
	w.text([]byte{'}'})
	return nil
}

// AppendOpenTrace appends the beginning of AppendTrace, up to the tree; a brace ends it.
func AppendOpenTrace(dst []byte, id trace.TraceID) []byte {
	dst = append(dst, `{"trace_id":"`...)
	dst = hex.AppendEncode(dst, id[:])
	return append(dst, `","spans":`...)
}
