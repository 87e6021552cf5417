package client

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever was written stays named, by headers that the service takes.
func TestTokens(t *testing.T) {
	t.Parallel()
	var tokens Tokens
	named := map[string]string{} // what each token names
	for i := range 100 {
		carried := tokens.Carry()
		require.LessOrEqual(t, strings.Count(carried, ","), maxTokens-1)
		if i%10 == 9 { // the write fails
			tokens.Add(carried)
			continue
		}
		reply := "t" + strconv.Itoa(i)
		named[reply] = strconv.Itoa(i) + " "
		for one := range strings.SplitSeq(carried, ",") {
			named[reply] += named[one]
		}
		tokens.Add(reply)
	}
	var all strings.Builder
	for _, header := range tokens.All() {
		require.LessOrEqual(t, strings.Count(header, ","), maxTokens-1)
		for one := range strings.SplitSeq(header, ",") {
			all.WriteString(named[one])
		}
	}
	require.Len(t, strings.Fields(all.String()), 90)
	require.Empty(t, new(Tokens).All())
}
