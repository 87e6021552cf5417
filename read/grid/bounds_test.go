package grid_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"colonnade/domain"
	"colonnade/read/grid"
	"colonnade/read/sqltext"
)

// results are rows of run_results: so many of each run, each of a scenario of its own.
type results struct {
	driver.Rows
	runs  []uuid.UUID
	each  int
	at    int
	reads int
}

func (r *results) Scan(to ...any) error {
	*to[0].(*uuid.UUID) = r.runs[r.at/r.each]
	binary.BigEndian.PutUint64(to[1].(*uuid.UUID)[:8], uint64(r.at)+1)
	*to[3].(*string), *to[4].(*string) = "answer", "invocation"
	return nil
}

func (r *results) Run(_ context.Context, _ domain.ProjectID, _ string, _ sqltext.Statement, each func(driver.Rows) error) error {
	for ; r.at < r.each*len(r.runs); r.at++ {
		r.reads++
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// A grid is refused once it has more results than fit, and no more of them are read.
func TestAGridIsBounded(t *testing.T) {
	t.Parallel()
	one, two, three := uuid.New(), uuid.New(), uuid.New()
	for _, tt := range []struct {
		name string
		runs []uuid.UUID
		each int
		want string
	}{
		{"as large as may be", []uuid.UUID{one, two}, grid.MaxCells, ""},
		{"a run too large", []uuid.UUID{one}, grid.MaxCells + 10, "no run of that size"},
		{"runs too large together", []uuid.UUID{one, two, three}, grid.MaxGridCells/3 + 10, "fewer runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			of := &results{runs: tt.runs, each: tt.each}
			_, err := grid.New(of).Read(t.Context(), domain.ProjectID(uuid.New()), tt.runs)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, domain.Rejected, domain.KindOf(err))
			require.ErrorContains(t, err, tt.want)
			require.Less(t, of.reads, tt.each*len(tt.runs))
		})
	}
}
