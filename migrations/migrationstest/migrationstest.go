//go:build embedded

// Package migrationstest gives tests databases that have all tables. It is a
// test's way to the embedded engines, as embeddedtest, and for tests alone.
package migrationstest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/deploy/embedded/embeddedtest"
	"colonnade/migrations"
)

// made is what the migrations left in the first database of this test process.
// They take a second of a processor, and there are a hundred databases in some
// packages; to create the same tables takes a sixth of that.
//
//nolint:gochecknoglobals // the tests of a package have no other common ground
var made struct {
	once       sync.Once
	err        error
	statements []string // in an order in which they run; names bear no database
	names      []string // of the files that were applied
	checksums  []string // of each
}

// Database creates a ClickHouse database for this test alone that has all
// tables of migrations.ClickHouse without a cluster, says that it has them,
// drops it at the test's end, and gives its address.
func Database(tb testing.TB) string {
	tb.Helper()
	address := embeddedtest.Database(tb)
	options, err := clickhouse.ParseDSN(address)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is pending
	first := false
	made.once.Do(func() {
		first = true
		made.err = apply(tb.Context(), conn, options.Auth.Database)
	})
	if err = made.err; err == nil && !first {
		err = repeat(tb.Context(), conn)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return address
}

// apply migrates a database and keeps what came of it.
func apply(ctx context.Context, conn driver.Conn, database string) error {
	if _, err := migrations.ClickHouse(ctx, conn, migrations.Deployment{}); err != nil {
		return err
	}
	var tables []string
	// Views read tables, which therefore come first.
	if err := conn.QueryRow(ctx, "SELECT groupArray(create_table_query) FROM (SELECT create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY endsWith(engine, 'View'), name)").Scan(&tables); err != nil {
		return fmt.Errorf("migrationstest: read the tables: %w", err)
	}
	for _, statement := range tables {
		made.statements = append(made.statements, strings.ReplaceAll(statement, database+".", ""))
	}
	if err := conn.QueryRow(ctx, "SELECT groupArray(name), groupArray(checksum) FROM schema_migrations").Scan(&made.names, &made.checksums); err != nil {
		return fmt.Errorf("migrationstest: read the record: %w", err)
	}
	return nil
}

// repeat makes the tables anew in another database.
func repeat(ctx context.Context, conn driver.Conn) error {
	for _, statement := range made.statements {
		if err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("migrationstest: %s: %w", statement, err)
		}
	}
	if err := conn.Exec(ctx, "INSERT INTO schema_migrations (name, checksum, applied_at) SELECT f.1, f.2, now64(6) FROM (SELECT arrayJoin(arrayZip(?, ?)) AS f)", made.names, made.checksums); err != nil {
		return fmt.Errorf("migrationstest: record what was applied: %w", err)
	}
	return nil
}
