package evaluators

import (
	"context"

	"colonnade/domain"
	"colonnade/write/invoke/handler"
)

// levenshtein judges how far the answer is from the expected one, in edits of
// characters: 1 is the same, 0 nothing in common. Source: contract §5.7,
// auto_levenshtein_distance.
func (i *Evaluators) levenshtein(ctx context.Context, c *handler.Call) (any, error) {
	expected, err := expectedText(c)
	if err != nil {
		return nil, err
	}
	answer, err := judgedText(c)
	if err != nil {
		return nil, err
	}
	threshold, err := handler.Threshold(c.Parameters)
	if err != nil {
		return nil, err
	}
	pair := folded(c, answer, expected)
	score, err := closeness(ctx, []rune(pair[0]), []rune(pair[1]))
	if err != nil {
		return nil, err
	}
	return handler.Scores(score, threshold), nil
}

// maxCells bounds the work of a comparison, lengths multiplied: about a second.
const maxCells = 400_000_000

func tooLongToCompare() error {
	return handler.Fail(domain.TooLarge, handler.InvalidOutputs, "The answer and the expected one are too long to be compared character by character.")
}

// closeness is 1 - distance / length of the longer.
func closeness(ctx context.Context, a, b []rune) (float64, error) {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1, nil
	}
	distance, err := editDistance(ctx, a, b)
	return 1 - float64(distance)/float64(longer), err
}

// editDistance counts insertions, deletions and substitutions, with one row of
// the table in memory.
func editDistance(ctx context.Context, a, b []rune) (int, error) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(b) > len(a) {
		a, b = b, a
	}
	if len(b) == 0 {
		return len(a), nil
	}
	if len(a) > maxCells/len(b) {
		return 0, tooLongToCompare()
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		if i%256 == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)], nil
}
