package migrations

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/migrations/schema"
)

// ContentIndex gives the documents their full-text index, or takes it away, and
// tells whether that changed anything. It is no migration because it is a
// choice: a rare word is then found among all spans in the time that a look at
// one day takes without, and storing a span costs about a third more.
//
// Documents that are there already are indexed in the background; searches are
// right meanwhile.
func ContentIndex(ctx context.Context, conn driver.Conn, d Deployment, on bool) (changed bool, err error) {
	var there uint64
	err = conn.QueryRow(ctx, "SELECT count() FROM system.data_skipping_indices WHERE database = "+database(d)+" AND name = ?", schema.ContentIndex).Scan(&there)
	if err != nil {
		return false, fmt.Errorf("migrations: look for the index of documents: %w", err)
	}
	if on == (there > 0) {
		return false, nil
	}
	alter := "ALTER TABLE " + d.Local(schema.SpanPayloads) + d.OnCluster()
	statements := []string{alter + " DROP INDEX IF EXISTS " + schema.ContentIndex}
	if on {
		statements = []string{
			alter + " ADD INDEX IF NOT EXISTS " + schema.ContentIndex + " " + schema.ContentText + " TYPE text(tokenizer = splitByNonAlpha)",
			alter + " MATERIALIZE INDEX " + schema.ContentIndex,
		}
	}
	for _, s := range statements {
		if err := conn.Exec(ctx, s); err != nil {
			return false, fmt.Errorf("migrations: change the index of documents: %w", err)
		}
	}
	return true, nil
}
