package jsonvalue

// Lazy is an object or array of a tree that is kept as JSON text until a caller
// reads it. Append writes its text, Lookup, Member and Expand parse it.
type Lazy interface {
	// Value returns the parsed value; nil if the text is not JSON.
	Value() any
	// AppendJSON appends the canonical JSON of the value.
	AppendJSON(dst []byte) []byte
}

// Raw is the canonical JSON of a value that is not parsed yet.
type Raw string

// Value returns the parsed value; nil if the text is not JSON.
func (r Raw) Value() any {
	v, err := ParseString(string(r))
	if err != nil {
		return nil
	}
	return v
}

// AppendJSON appends the text.
func (r Raw) AppendJSON(dst []byte) []byte { return append(dst, r...) }

// Expand parses every Lazy value of a tree, in place.
func Expand(tree map[string]any) {
	for key, v := range tree {
		switch v := v.(type) {
		case map[string]any:
			Expand(v)
		case Lazy:
			tree[key] = v.Value()
		}
	}
}

// Member returns a member of an object, nil if there is none. A Lazy member is
// parsed and replaced by its value; objects below it are not visited.
func Member(object map[string]any, key string) any {
	v := object[key]
	if lazy, ok := v.(Lazy); ok {
		v = lazy.Value()
		object[key] = v
	}
	return v
}
