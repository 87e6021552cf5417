package migrations

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ClickHouse applies what is not applied yet and gives the names of the files
// it applied, in order. A second run applies nothing.
//
// Two runs at once lose nothing, because every statement bears repetition and a file
// recorded twice counts once. ClickHouse has no lock to take; Alone has.
func ClickHouse(ctx context.Context, conn driver.Conn, d Deployment) (applied []string, err error) {
	all, err := read(files, "clickhouse")
	if err != nil {
		return nil, err
	}
	return applyClickHouse(ctx, conn, d, all)
}

func applyClickHouse(ctx context.Context, conn driver.Conn, d Deployment, all []file) (applied []string, err error) {
	if err := conn.Exec(ctx, recordTable(d)); err != nil {
		return nil, fmt.Errorf("migrations: create the record in ClickHouse: %w", err)
	}
	recorded, err := recordedInClickHouse(ctx, conn, d)
	if err != nil {
		return nil, err
	}
	todo, err := pending("ClickHouse", all, recorded)
	if err != nil {
		return nil, err
	}
	for _, f := range todo {
		text, err := render(d, f)
		if err != nil {
			return applied, err
		}
		for i, statement := range split(text) {
			if err := conn.Exec(ctx, statement); err != nil {
				return applied, fmt.Errorf("migrations: statement %d of %s: %w", i+1, f.name, err)
			}
		}
		if err := conn.Exec(ctx, "INSERT INTO "+d.Table(recordName)+" (name, checksum, applied_at) SELECT ?, ?, now64(6)", f.name, f.checksum); err != nil {
			return applied, fmt.Errorf("migrations: record %s: %w", f.name, err)
		}
		applied = append(applied, f.name)
	}
	return applied, nil
}

const recordName = "schema_migrations"

// recordTable keeps the record whole on every node: it has one path for all
// shards, unlike the other tables, so any node answers for the cluster.
func recordTable(d Deployment) string {
	engine := "MergeTree"
	if d.Replicated {
		engine = "ReplicatedMergeTree('/clickhouse/tables/all/{database}/{table}', '{shard}-{replica}')"
	}
	return "CREATE TABLE IF NOT EXISTS " + d.Table(recordName) + d.OnCluster() + " (name String, checksum String, applied_at DateTime64(6, 'UTC')) ENGINE = " + engine + " ORDER BY name"
}

func recordedInClickHouse(ctx context.Context, conn driver.Conn, d Deployment) (_ map[string]string, err error) {
	rows, err := conn.Query(ctx, "SELECT name, argMin(checksum, applied_at) FROM "+d.Table(recordName)+" GROUP BY name")
	if err != nil {
		return nil, fmt.Errorf("migrations: read the record in ClickHouse: %w", err)
	}
	defer func() { _ = rows.Close() }()
	recorded := map[string]string{}
	for rows.Next() {
		var name, checksum string
		if err := rows.Scan(&name, &checksum); err != nil {
			return nil, fmt.Errorf("migrations: scan the record in ClickHouse: %w", err)
		}
		recorded[name] = checksum
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("migrations: read the record in ClickHouse: %w", err)
	}
	return recorded, nil
}
