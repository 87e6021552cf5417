package evaluators

import (
	"context"

	"colonnade/write/invoke/handler"
)

// similarity judges how much text the answer and the expected one share, in
// blocks: Ratcliff and Obershelp's measure, as Python's difflib has it.
// Source: contract §5.7, auto_similarity_match.
func (i *Evaluators) similarity(ctx context.Context, c *handler.Call) (any, error) {
	expected, err := expectedText(c)
	if err != nil {
		return nil, err
	}
	answer, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	parameters := c.Parameters
	if own, ok := parameters["similarity_threshold"]; ok && parameters["threshold"] == nil {
		parameters = map[string]any{"threshold": own}
	}
	threshold, err := handler.Threshold(parameters)
	if err != nil {
		return nil, err
	}
	pair := folded(c, answer, expected)
	score, err := sharedRatio(ctx, []rune(pair[0]), []rune(pair[1]))
	if err != nil {
		return nil, err
	}
	return handler.Scores(score, threshold), nil
}

// popularFrom is the length from which characters that make up more than a
// hundredth of the expected text do not begin a block: difflib's rule, which
// the numbers of others rest on.
const popularFrom = 200

// sharedRatio is twice the shared characters over all of both, 1 for two empty texts.
func sharedRatio(ctx context.Context, a, b []rune) (float64, error) {
	if len(a)+len(b) == 0 {
		return 1, nil
	}
	at := map[rune][]int{}
	for j, r := range b {
		at[r] = append(at[r], j)
	}
	if n := len(b); n >= popularFrom {
		for r, places := range at {
			if len(places) > n/100+1 {
				delete(at, r)
			}
		}
	}
	m := matcher{a: a, b: b, at: at}
	shared := 0
	type area struct{ a0, a1, b0, b1 int }
	for areas := []area{{0, len(a), 0, len(b)}}; len(areas) > 0; {
		s := areas[len(areas)-1]
		areas = areas[:len(areas)-1]
		i, j, size, err := m.longest(ctx, s.a0, s.a1, s.b0, s.b1)
		if err != nil {
			return 0, err
		}
		if size == 0 {
			continue
		}
		shared += size
		if s.a0 < i && s.b0 < j {
			areas = append(areas, area{s.a0, i, s.b0, j})
		}
		if i+size < s.a1 && j+size < s.b1 {
			areas = append(areas, area{i + size, s.a1, j + size, s.b1})
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b)), nil
}

type matcher struct {
	a, b  []rune
	at    map[rune][]int // where in b a character begins a block
	steps int
}

// longest finds the longest block that a[a0:a1] and b[b0:b1] share, the
// earliest of several, and lets it grow over popular characters.
func (m *matcher) longest(ctx context.Context, a0, a1, b0, b1 int) (i, j, size int, err error) {
	i, j = a0, b0
	lengths := map[int]int{}
	for x := a0; x < a1; x++ {
		next := map[int]int{}
		for _, y := range m.at[m.a[x]] {
			if y < b0 {
				continue
			}
			if y >= b1 {
				break
			}
			m.steps++
			k := lengths[y-1] + 1
			next[y] = k
			if k > size {
				i, j, size = x-k+1, y-k+1, k
			}
		}
		lengths = next
		if m.steps++; m.steps > maxCells/10 {
			return 0, 0, 0, tooLongToCompare()
		}
		if x%256 == 0 && ctx.Err() != nil {
			return 0, 0, 0, context.Cause(ctx)
		}
	}
	for i > a0 && j > b0 && m.a[i-1] == m.b[j-1] {
		i, j, size = i-1, j-1, size+1
	}
	for i+size < a1 && j+size < b1 && m.a[i+size] == m.b[j+size] {
		size++
	}
	return i, j, size, nil
}
