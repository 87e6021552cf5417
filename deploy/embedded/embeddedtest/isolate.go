//go:build embedded

package embeddedtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// statementTimeout is long: a database goes when the last statement on it has ended.
const statementTimeout = 2 * time.Minute

// Database creates a ClickHouse database for this test alone, drops it at the
// test's end, and gives its address.
func Database(tb testing.TB) string {
	tb.Helper()
	base, err := clickHouse()
	if err != nil {
		tb.Fatal(err)
	}
	name := unique(tb)
	if err := clickHouseExec(base, "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := clickHouseExec(base, "DROP DATABASE IF EXISTS "+name+" SYNC"); err != nil {
			tb.Error(err)
		}
	})
	return withPath(tb, base, name)
}

// PostgresDatabase creates a Postgres database for this test alone, drops it
// at the test's end, and gives its address.
func PostgresDatabase(tb testing.TB) string {
	tb.Helper()
	base, err := postgres()
	if err != nil {
		tb.Fatal(err)
	}
	name := unique(tb)
	if err := postgresExec(base, "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := postgresExec(base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return withPath(tb, base, name)
}

// Topic gives a topic name that no other test has. It creates nothing.
func Topic(tb testing.TB) string {
	tb.Helper()
	return strings.ReplaceAll(unique(tb), "_", ".")
}

// unique makes a name of the test's name and of chance: lower case, a legal
// identifier everywhere, and within Postgres' 63 bytes.
func unique(tb testing.TB) string {
	tb.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(tb.Name()))
	return "t_" + name[:min(len(name), 36)] + "_" + strings.ToLower(rand.Text()[:12])
}

func withPath(tb testing.TB, base, name string) string {
	tb.Helper()
	u, err := url.Parse(base)
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func clickHouseExec(base, sql string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	u.Path = "/"
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(sql))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", sql, text)
	}
	return err
}

func postgresExec(base, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is pending
	_, err = conn.Exec(ctx, sql)
	return err
}
