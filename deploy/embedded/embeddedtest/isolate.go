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

const statementTimeout = 30 * time.Second

// Database creates a ClickHouse database for this test alone, drops it at the
// test's end, and gives its address.
func Database(t testing.TB) string {
	t.Helper()
	base, err := clickHouse()
	if err != nil {
		t.Fatal(err)
	}
	name := unique(t)
	if err := clickHouseExec(base, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clickHouseExec(base, "DROP DATABASE IF EXISTS "+name+" SYNC"); err != nil {
			t.Error(err)
		}
	})
	return withPath(t, base, name)
}

// PostgresDatabase creates a Postgres database for this test alone, drops it
// at the test's end, and gives its address.
func PostgresDatabase(t testing.TB) string {
	t.Helper()
	base, err := postgres()
	if err != nil {
		t.Fatal(err)
	}
	name := unique(t)
	if err := postgresExec(base, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := postgresExec(base, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return withPath(t, base, name)
}

// Topic gives a topic name that no other test has. It creates nothing.
func Topic(t testing.TB) string {
	t.Helper()
	return strings.ReplaceAll(unique(t), "_", ".")
}

// unique makes a name of the test's name and of chance: lower case, a legal
// identifier everywhere, and within Postgres' 63 bytes.
func unique(t testing.TB) string {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(t.Name()))
	return "t_" + name[:min(len(name), 36)] + "_" + strings.ToLower(rand.Text()[:12])
}

func withPath(t testing.TB, base, name string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
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
