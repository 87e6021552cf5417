package domain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// TokenHeader is the header with a Token, in replies to writes and in reads that must see them.
// Clients get and send it encrypted; handlers see the text of String.
const TokenHeader = "Colonnade-Token"

// Token is the position of a write in the topic: one position for each partition that the write
// touched, ascending by partition. A read with a token waits until the sink has made these
// positions visible. An empty token means that there is no write to wait for. Source:
// deploy/docs/api.md, Tokens.
type Token []Position

// Position is the last offset of a write in a partition.
type Position struct {
	Partition int32
	Offset    int64
}

// maxTokenPositions bounds the number of positions that one header may wait for.
const maxTokenPositions = 4096

// String returns the value of the header: "partition:offset" pairs joined by commas.
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

// ParseToken parses the value of the header. An empty value is an empty token; a malformed one is
// Rejected.
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

// Add returns the token that also waits for p, with one position, the later one, for each
// partition.
func (t Token) Add(p Position) Token {
	i, found := slices.BinarySearchFunc(t, p, func(a, b Position) int { return cmp.Compare(a.Partition, b.Partition) })
	if found {
		t[i].Offset = max(t[i].Offset, p.Offset)
		return t
	}
	return slices.Insert(t, i, p)
}
