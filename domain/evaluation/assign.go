package evaluation

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// defaultBatch is how many lots there are: it divides by all small numbers of people.
const defaultBatch = 1 * 2 * 3 * 4 * 5

// Assign tells which scenarios are a person's, for each repeat: the people of
// a repeat share its scenarios evenly, always in the same way. Scenarios are
// dealt out by lots, which follow their order in a sequential queue and their
// ids in any other, so that they stay with a person when more come in.
func (q *Queue) Assign(user uuid.UUID, scenarios []uuid.UUID) [][]uuid.UUID {
	out := make([][]uuid.UUID, len(q.Data.UserIDs))
	lots, offset := uint64(defaultBatch), uint64(0)
	sequential := q.Flags[IsSequential]
	if sequential {
		if q.Data.BatchSize != nil {
			lots = uint64(*q.Data.BatchSize) //nolint:gosec // Check keeps it positive
		}
		lots = max(1, min(lots, uint64(len(scenarios))))
		if q.Data.BatchOffset != nil {
			offset = uint64(*q.Data.BatchOffset) //nolint:gosec // Check keeps it from being negative
		}
	}
	for repeat, people := range q.Data.UserIDs {
		for i, scenario := range scenarios {
			lot := (offset + uint64(i)) % lots
			if !sequential {
				// The low half of a UUIDv7 is random.
				lot = binary.BigEndian.Uint64(scenario[8:]) % lots
			}
			if holds(people, user, lot, lots) {
				out[repeat] = append(out[repeat], scenario)
			}
		}
	}
	return out
}

// holds reports whether a lot falls to a person: the i-th of n has the lots from
// i/n to (i+1)/n of all, and one who stands there twice has both shares.
func holds(people []uuid.UUID, user uuid.UUID, lot, lots uint64) bool {
	n := uint64(len(people))
	for i, p := range people {
		if p == user && lot >= uint64(i)*lots/n && lot < uint64(i+1)*lots/n {
			return true
		}
	}
	return false
}
