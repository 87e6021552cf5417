package migrations

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/migrations/schema"
)

// Waiting returns the names of the files of both databases that are not applied. A
// ClickHouse with tables and without a record of migrations was created by a Script, and
// counts as complete.
func Waiting(ctx context.Context, conn driver.Conn, pool *pgxpool.Pool, d Deployment) (names []string, err error) {
	inClickHouse, err := waitingInClickHouse(ctx, conn, d)
	if err != nil {
		return nil, err
	}
	all, err := read(files, "postgres")
	if err != nil {
		return nil, err
	}
	var there bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass('schema_migrations') IS NOT NULL").Scan(&there); err != nil {
		return nil, fmt.Errorf("migrations: look for the record in Postgres: %w", err)
	}
	recorded := map[string]string{}
	if there {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, fmt.Errorf("migrations: connect to Postgres: %w", err)
		}
		defer conn.Release()
		if recorded, err = recordedInPostgres(ctx, conn); err != nil {
			return nil, err
		}
	}
	inPostgres, err := pending("Postgres", all, recorded)
	for _, f := range append(inClickHouse, inPostgres...) {
		names = append(names, f.name)
	}
	return names, err
}

func waitingInClickHouse(ctx context.Context, conn driver.Conn, d Deployment) ([]file, error) {
	all, err := read(files, "clickhouse")
	if err != nil {
		return nil, err
	}
	var record, tables uint64
	err = conn.QueryRow(ctx, "SELECT countIf(name = ?), countIf(name = ?) FROM system.tables WHERE database = "+database(d), recordName, schema.Spans).Scan(&record, &tables)
	switch {
	case err != nil:
		return nil, fmt.Errorf("migrations: look for the record in ClickHouse: %w", err)
	case record == 0 && tables > 0:
		return nil, nil
	case record == 0:
		return all, nil
	}
	recorded, err := recordedInClickHouse(ctx, conn, d)
	if err != nil {
		return nil, err
	}
	return pending("ClickHouse", all, recorded)
}
