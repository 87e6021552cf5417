package jsonvalue

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

// Number is a JSON number: an int64 or, with IsFloat, a float64.
type Number struct {
	Int     int64
	Float   float64
	IsFloat bool
}

// Value returns the number as an int64 or a float64.
func (n Number) Value() any {
	if n.IsFloat {
		return n.Float
	}
	return n.Int
}

// AppendJSON appends the number as Append does.
func (n Number) AppendJSON(dst []byte) []byte {
	if n.IsFloat {
		return appendFloat(dst, n.Float)
	}
	return strconv.AppendInt(dst, n.Int, 10)
}

// Float64 returns a number value as a float64; ok is false for any other value.
func Float64(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}

func (p *Parser) number() (any, error) {
	n, err := p.parseNumber()
	if err != nil {
		return nil, err
	}
	return n.Value(), nil
}

// parseNumber parses a number, whose first byte is a digit or a minus.
func (p *Parser) parseNumber() (Number, error) {
	start, whole := p.at, true
	if p.data[p.at] == '-' {
		p.at++
	}
	first := p.at
	digits := p.digits()
	if digits == 0 || digits > 1 && p.data[first] == '0' {
		return Number{}, p.bad("a number expected")
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if whole = false; p.digits() == 0 {
			return Number{}, p.bad("a digit expected")
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if whole = false; p.digits() == 0 {
			return Number{}, p.bad("a digit expected")
		}
	}
	text := p.data[start:p.at]
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Number{Int: n}, nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		return Number{}, p.bad("the number is too large")
	}
	if whole && p.exact && !holds(f, text) {
		return Number{}, p.bad("the whole number has more digits than are kept: send it as text")
	}
	return Number{Float: f, IsFloat: true}, nil
}

// holds reports whether f is exactly the whole number of the text, or is written as that text.
func holds(f float64, text string) bool {
	if strconv.FormatFloat(f, 'f', -1, 64) == text {
		return true
	}
	exact, ok := new(big.Int).SetString(text, 10)
	kept, _ := big.NewFloat(f).Int(nil)
	return ok && kept.Cmp(exact) == 0
}

func (p *Parser) digits() int {
	start := p.at
	for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}
