package migrations

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"colonnade/domain"
	"colonnade/migrations/schema"
)

//go:embed views/project.sql
var projectViews string

//go:embed views/tools.sql
var toolViews string

// ViewsVersion returns the checksum of the views of analysts as this build makes them.
func ViewsVersion() string {
	sum := sha256.Sum256([]byte(projectViews + toolViews))
	return hex.EncodeToString(sum[:])
}

// CreateViews creates the database of a project's views and the views, or replaces views
// of another build. The views of the deployment's tables are recorded in project_views when
// all of them exist, so that a run that stopped in the middle is repeated.
func CreateViews(ctx context.Context, conn driver.Conn, d Deployment, project domain.ProjectID) error {
	if d.Database == "" {
		if err := conn.QueryRow(ctx, "SELECT currentDatabase()").Scan(&d.Database); err != nil {
			return fmt.Errorf("migrations: find the database of the tables: %w", err)
		}
	}
	text, err := renderViews(d, project)
	if err != nil {
		return err
	}
	statements := append([]string{"CREATE DATABASE IF NOT EXISTS " + schema.Quote(schema.ViewsDatabase(project)) + d.OnCluster() + " ENGINE = Atomic"}, split(text)...)
	for i, s := range statements {
		if err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("migrations: statement %d of the views of project %s: %w", i+1, project, err)
		}
	}
	if err := conn.Exec(ctx, "INSERT INTO "+d.Table(schema.ProjectViews)+" (project_id, version, made_at) SELECT ?, ?, now64(6)", project.String(), ViewsVersion()); err != nil {
		return fmt.Errorf("migrations: record the views of project %s: %w", project, err)
	}
	return nil
}

// DropViews drops the database of a deleted project's views.
func DropViews(ctx context.Context, conn driver.Conn, d Deployment, project domain.ProjectID) error {
	if err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+schema.Quote(schema.ViewsDatabase(project))+d.OnCluster()); err != nil {
		return fmt.Errorf("migrations: drop the views of project %s: %w", project, err)
	}
	if err := conn.Exec(ctx, "INSERT INTO "+d.Table(schema.ProjectViews)+" (project_id, version, made_at) SELECT ?, '', now64(6)", project.String()); err != nil {
		return fmt.Errorf("migrations: record the dropped views of project %s: %w", project, err)
	}
	return nil
}

// spansView is a view of the table spans.
type spansView struct{ Name, Final, Comment string }

func spansViews() []spansView {
	return []spansView{
		{"spans", " FINAL", "one row a span"},
		{"spans_raw", "", "spans as they are stored, for sums over long ranges: a span that was sent again or edited may be here twice until ClickHouse merges, for minutes or longer"},
	}
}

func renderViews(d Deployment, project domain.ProjectID) (string, error) {
	global := ""
	if d.Cluster != "" {
		global = "GLOBAL "
	}
	const zero = "toUUID('00000000-0000-0000-0000-000000000000')"
	t, err := template.New("project.sql").Option("missingkey=error").Funcs(template.FuncMap{
		"view": func(name string) string {
			return schema.Quote(schema.ViewsDatabase(project)) + "." + schema.Quote(name)
		},
		"base":     d.Table,
		"database": func() string { return literal(schema.ViewsDatabase(project)) },
		"hidden": func(column string) string {
			return "NOT startsWith(" + column + ", 'system_') AND NOT startsWith(" + column + ", 'information_schema_')"
		},
		"project":    func() string { return "toUUID(" + literal(project.String()) + ")" },
		"on_cluster": d.OnCluster,
		"global":     func() string { return global },
		"security":   func() string { return "DEFINER = CURRENT_USER SQL SECURITY DEFINER" },
		"number":     func(column string) string { return "if(isNaN(" + column + "), NULL, " + column + ")" },
		"total": func(column string) string {
			return "if(isNaN(" + column + ") OR " + column + " = 0, NULL, " + column + ")"
		},
		"id": func(column string) string { return "nullIf(" + column + ", " + zero + ")" },
		"output": func(column, name string) string {
			key := "arrayFirst(k -> lower(k) = " + literal(name) + ", mapKeys(" + column + "))"
			return "if(arrayExists(k -> lower(k) = " + literal(name) + ", mapKeys(" + column + ")), " + column + "[" + key + "], NULL)"
		},
		"spans":     spansViews,
		"payloads":  payloads,
		"sums":      func() []string { return strings.Split(schema.MetricColumns(), ", ") },
		"quantiles": func() []string { return []string{"50", "95", "99"} },
		// viewed is the name of a metric's column in views.
		"viewed": func(column string) string {
			if column == "costs_total" {
				return "cost"
			}
			return strings.Replace(column, "costs_", "cost_", 1)
		},
	}).Parse(projectViews + toolViews)
	if err != nil {
		return "", fmt.Errorf("migrations: parse the views: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, nil); err != nil {
		return "", fmt.Errorf("migrations: render the views: %w", err)
	}
	return out.String(), nil
}
