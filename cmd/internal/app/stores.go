package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"colonnade/cmd/internal/config"
)

// clickHouseOptions reads the address of ClickHouse in any of its four forms
// and fills in the port of each host that names none.
func clickHouseOptions(c config.ClickHouse) (*clickhouse.Options, error) {
	scheme, rest, ok := strings.Cut(c.URL, "://")
	port, secure := "", false
	switch scheme {
	case "clickhouse":
		port = "9000"
	case "clickhouses":
		scheme, port, secure = "clickhouse", "9440", true
	case "http":
		port = "8123"
	case "https":
		port, secure = "8443", true
	default:
		ok = false
	}
	if !ok {
		return nil, errors.New("clickhouse.url: must begin with clickhouse://, clickhouses://, http:// or https://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, path, _ := strings.Cut(rest, "/")
	user, hosts, found := "", rest, false
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, hosts, found = rest[:at], rest[at+1:], true
	}
	list := strings.Split(hosts, ",")
	for i, host := range list {
		if host == "" {
			return nil, errors.New("clickhouse.url: names no host")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			list[i] = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("clickhouse.url: the part after ? is malformed")
	}
	if secure {
		params.Set("secure", "true")
	}
	dsn := scheme + "://"
	if found {
		dsn += user + "@"
	}
	dsn += strings.Join(list, ",") + "/" + path
	if len(params) > 0 {
		dsn += "?" + params.Encode()
	}
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("clickhouse.url: %w", err) // the driver takes the password out of its message
	}
	options.ClientInfo.Products = append(options.ClientInfo.Products, struct{ Name, Version string }{"colonnade", "1"})
	options.DialTimeout = c.DialTimeout
	options.MaxOpenConns = c.MaxOpenConns
	options.MaxIdleConns = c.MaxOpenConns
	return options, nil
}

// overHTTP is the same ClickHouse over HTTP, which alone takes ready-made blocks.
func overHTTP(c config.ClickHouse) config.ClickHouse {
	scheme, port := "http", 8123
	rest, ok := strings.CutPrefix(c.URL, "clickhouse://")
	if !ok {
		if rest, ok = strings.CutPrefix(c.URL, "clickhouses://"); !ok {
			return c
		}
		scheme, port = "https", 8443
	}
	if c.HTTPPort != 0 {
		port = c.HTTPPort
	}
	rest, query, asked := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	user, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, hosts = authority[:at+1], authority[at+1:]
	}
	list := strings.Split(hosts, ",")
	for i, host := range list {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		list[i] = net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port))
	}
	c.URL = scheme + "://" + user + strings.Join(list, ",") + "/" + path
	if asked {
		c.URL += "?" + query
	}
	return c
}

func openClickHouse(c config.ClickHouse, change ...func(*clickhouse.Options)) (driver.Conn, error) {
	options, err := clickHouseOptions(c)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	for _, f := range change {
		f(options)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("app: opening ClickHouse: %w", err)
	}
	return conn, nil
}

func openPostgres(ctx context.Context, c config.Postgres) (*pgxpool.Pool, error) {
	options, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("app: postgres.url: %w", err) // pgx takes the password out of its message
	}
	options.MaxConns = c.MaxConns
	options.MaxConnIdleTime = 5 * time.Minute
	pool, err := pgxpool.NewWithConfig(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("app: opening Postgres: %w", err)
	}
	return pool, nil
}

// Stores holds the clients of ClickHouse and Postgres.
type Stores struct {
	ClickHouse driver.Conn
	Postgres   *pgxpool.Pool
	// inserts is the client of the sink's inserts. It may be ClickHouse.
	inserts driver.Conn
	// queries is the client of the read side, so that reads hold no connection that
	// the sink and the commands need.
	queries driver.Conn
	// probes are the clients of /readyz, which answers while all other connections are
	// in use.
	probes probes
}

// probes holds a connection to each store that nothing but /readyz uses.
type probes struct {
	clickHouse driver.Conn
	// reads is a client of the read side's user; nil if it is the same user.
	reads    driver.Conn
	postgres *pgxpool.Pool
}

// otherStatements is how many connections the read side has beside one for each slot:
// statements that belong to no project need no slot.
const otherStatements = 4

// openStores creates the clients. They connect at their first use.
func (p *process) openStores(ctx context.Context) (s Stores, err error) {
	if err := p.requireAddresses(); err != nil {
		return s, err
	}
	if s.ClickHouse, err = openClickHouse(p.cfg.ClickHouse); err != nil {
		return s, err
	}
	s.inserts = s.ClickHouse
	if http := overHTTP(p.cfg.ClickHouse); p.Roles.Sink && http != p.cfg.ClickHouse {
		if s.inserts, err = openClickHouse(http); err != nil {
			return s, errors.Join(err, s.close())
		}
	}
	queries := forReads(p.cfg.ClickHouse)
	queries.MaxOpenConns = p.cfg.Read.Store.Slots.Count + otherStatements
	if s.queries, err = openClickHouse(queries); err != nil {
		return s, errors.Join(err, s.close())
	}
	if s.Postgres, err = openPostgres(ctx, p.cfg.Postgres); err != nil {
		return s, errors.Join(err, s.close())
	}
	if s.probes, err = p.openProbes(ctx); err != nil {
		return s, errors.Join(err, s.close())
	}
	return s, nil
}

// forReads returns the configuration of the read side's client.
func forReads(c config.ClickHouse) config.ClickHouse {
	c.URL = cmp.Or(c.ReadURL, c.URL)
	return c
}

// openProbes creates the clients of /readyz. The checks of a store and of its
// migrations run at once and need a connection each.
func (p *process) openProbes(ctx context.Context) (o probes, err error) {
	const conns = 2
	clickHouse, postgres := p.cfg.ClickHouse, p.cfg.Postgres
	clickHouse.MaxOpenConns, postgres.MaxConns = conns, conns
	if o.clickHouse, err = openClickHouse(clickHouse); err != nil {
		return o, err
	}
	if clickHouse.ReadURL != "" {
		if o.reads, err = openClickHouse(forReads(clickHouse)); err != nil {
			return o, err
		}
	}
	o.postgres, err = openPostgres(ctx, postgres)
	return o, err
}

func (o probes) close() (err error) {
	if o.clickHouse != nil {
		err = o.clickHouse.Close()
	}
	if o.reads != nil {
		err = errors.Join(err, o.reads.Close())
	}
	if o.postgres != nil {
		o.postgres.Close()
	}
	return err
}

func (p *process) requireAddresses() error {
	var missing []string
	for setting, given := range map[string]bool{
		"kafka.brokers":  len(p.cfg.Kafka.Brokers) > 0 || !p.Roles.Write && !p.Roles.Sink,
		"clickhouse.url": p.cfg.ClickHouse.URL != "",
		"postgres.url":   p.cfg.Postgres.URL != "",
	} {
		if !given {
			missing = append(missing, config.Variable(setting))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the addresses of the stores are missing: set %s, or run colonnade serve --embedded", strings.Join(missing, ", "))
}

func (s Stores) close() error {
	var err error
	if s.ClickHouse != nil {
		err = s.ClickHouse.Close()
	}
	if s.inserts != nil && s.inserts != s.ClickHouse {
		err = errors.Join(err, s.inserts.Close())
	}
	if s.queries != nil {
		err = errors.Join(err, s.queries.Close())
	}
	if s.Postgres != nil {
		s.Postgres.Close()
	}
	return errors.Join(err, s.probes.close())
}
