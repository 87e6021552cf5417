package jsonvaluetest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Value returns a random value of at most that depth, with the keys of spans among its keys.
func Value(rng *rand.Rand, depth int) any {
	n := 8
	if depth == 0 {
		n = 6
	}
	switch rng.IntN(n) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return rng.Int64()
	case 3:
		return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20))
	case 4:
		return float64(rng.IntN(5))
	case 5:
		return Text(rng)
	case 6:
		array := make([]any, rng.IntN(4))
		for i := range array {
			array[i] = Value(rng, depth-1)
		}
		return array
	default:
		return Object(rng, depth-1)
	}
}

// Object returns a random object whose members are Values of at most that depth.
func Object(rng *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range rng.IntN(4) {
		object[[]string{"ag", "data", "", "a.b", `"`, `\`, "metrics", "z"}[rng.IntN(8)]] = Value(rng, max(depth, 0))
	}
	return object
}

// Text returns a random string of those that JSON must escape or could confuse.
func Text(rng *rand.Rand) string {
	texts := []string{"", "a", "é", `"quoted" \ {[`, "}é\n\u2028]", "\x00\"}", "日本", "plain text of some length"}
	return texts[rng.IntN(len(texts))]
}

// Paths calls each with the keys of every member of an object and of the objects in it.
func Paths(object map[string]any, each func(keys []string, value any)) { paths(nil, object, each) }

func paths(keys []string, object map[string]any, each func([]string, any)) {
	for k, v := range object {
		path := append(slices.Clip(keys), k)
		each(path, v)
		if below, ok := v.(map[string]any); ok {
			paths(path, below, each)
		}
	}
}
