package domain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TokenHeader carries a Token in replies to writes and in reads that must see them.
const TokenHeader = "Colonnade-Token"

// Token is where a write stands in the stream: one position for each
// partition it touched, ascending by partition. A read that carries it waits
// until the sink has made these positions visible. Empty means "no write to
// wait for". Source: design §3.3.
type Token []Position

// Position is the last offset of a write in a partition.
type Position struct {
	Partition int32
	Offset    int64
}

// maxTokenPositions bounds what a header may ask us to wait for.
const maxTokenPositions = 4096

// String is the header's value: "partition:offset" pairs joined by commas.
func (t Token) String() string {
	var b strings.Builder
	for i, p := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(int64(p.Partition), 10))
		b.WriteByte(':')
		b.WriteString(strconv.FormatInt(p.Offset, 10))
	}
	return b.String()
}

// ParseToken reads a header's value. An empty value is an empty token; anything
// malformed is Rejected.
func ParseToken(s string) (Token, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxTokenPositions {
		return nil, E(Rejected, "%s names more than %d partitions.", TokenHeader, maxTokenPositions)
	}
	var t Token
	for _, part := range parts {
		partition, offset, ok := strings.Cut(strings.TrimSpace(part), ":")
		p, err1 := strconv.ParseInt(partition, 10, 32)
		o, err2 := strconv.ParseInt(offset, 10, 64)
		if !ok || err1 != nil || err2 != nil || p < 0 || o < 0 {
			return nil, E(Rejected, "%s is not a list of partition:offset pairs.", TokenHeader)
		}
		t = t.Add(Position{int32(p), o})
	}
	return t, nil
}

// Add gives the token that also waits for p, keeping one position, the later, for each partition.
func (t Token) Add(p Position) Token {
	i, found := slices.BinarySearchFunc(t, p, func(a, b Position) int { return cmp.Compare(a.Partition, b.Partition) })
	if found {
		t[i].Offset = max(t[i].Offset, p.Offset)
		return t
	}
	return slices.Insert(t, i, p)
}
