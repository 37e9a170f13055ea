package pg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options of Open. The zero value is usable.
type Options struct {
	// Namespace is the schema; default "seckill".
	Namespace string
	// MaxConns bounds the pool; default 10.
	MaxConns int
	// AppName is shown in pg_stat_activity; default "seckill".
	AppName string
	// ConnectTimeout bounds each attempt to connect; default 3 s.
	ConnectTimeout time.Duration
	// StatementTimeout stops a statement that runs longer, and a transaction
	// that idles longer; default 5 s. A server that does not even say so in time is
	// given up (see Patient). No transaction may live longer on a
	// database that holds the log.
	StatementTimeout time.Duration
	// LockTimeout stops a statement that waits longer for a lock; 0: none but
	// StatementTimeout does.
	LockTimeout time.Duration
	// ReadOnly makes every transaction of the pool read-only; PostgreSQL itself
	// refuses what writes. Open fails where that did not come into force.
	ReadOnly bool
}

func (o Options) withDefaults() Options {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 10
	}
	if o.AppName == "" {
		o.AppName = "seckill"
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 3 * time.Second
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 5 * time.Second
	}
	return o
}

// Open gives a pool whose every session works as <namespace>_app with the
// namespace as search_path, after making sure that the schema fits this
// program. Its errors are Problems where a person can act on them.
func Open(ctx context.Context, url string, opts Options) (*pgxpool.Pool, error) {
	opts = opts.withDefaults()
	if err := ValidNamespace(opts.Namespace); err != nil {
		return nil, err
	}
	if _, err := parseConfig(url); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, problem(err, "The database URL cannot be read: a pool setting in it is wrong.")
	}
	cfg.MaxConns = int32(opts.MaxConns)
	tuneSession(cfg.ConnConfig, opts)
	cfg.ConnConfig.Tracer = patience{within: opts.StatementTimeout}
	cfg.AfterConnect = asAppRole(opts.Namespace)
	if opts.ReadOnly {
		cfg.AfterConnect = readOnly(cfg.AfterConnect)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, explainConnect(err, cfg.ConnConfig)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, explainConnect(err, cfg.ConnConfig)
	}
	if err := errors.Join(CheckSchema(ctx, pool, opts.Namespace), checkReadOnly(ctx, pool, opts)); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// readOnly lets a session write nothing from here on. It is not a setting of the
// connection: with target_session_attrs=read-write, which finds the primary among
// several hosts, such a session would be turned away.
func readOnly(before func(context.Context, *pgx.Conn) error) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		if err := before(ctx, conn); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "set default_transaction_read_only = on")
		return err
	}
}

// checkReadOnly makes sure that nothing between here and the server, such as a
// pooler, has dropped what forbids writing.
func checkReadOnly(ctx context.Context, db Querier, opts Options) error {
	if !opts.ReadOnly {
		return nil
	}
	var on string
	if err := db.QueryRow(ctx, "show transaction_read_only").Scan(&on); err != nil {
		return fmt.Errorf("ask whether the session is read-only: %w", err)
	}
	if on != "on" {
		return problem(nil, "The session is not read-only although that was asked for: connect to PostgreSQL itself and not through a pooler that shares sessions.")
	}
	return nil
}

// tuneSession sets what must hold for every session from its first moment.
func tuneSession(cc *pgx.ConnConfig, opts Options) {
	limit := strconv.FormatInt(opts.StatementTimeout.Milliseconds(), 10)
	cc.ConnectTimeout = opts.ConnectTimeout
	params := cc.RuntimeParams
	params["application_name"] = opts.AppName
	params["search_path"] = opts.Namespace
	params["statement_timeout"] = limit
	params["idle_in_transaction_session_timeout"] = limit
	if opts.LockTimeout > 0 {
		params["lock_timeout"] = strconv.FormatInt(opts.LockTimeout.Milliseconds(), 10)
	}
	params["timezone"] = "UTC"
	if opts.ReadOnly {
		// Who only reads pages through the log by an index. While a young table has
		// no statistics, a bitmap would be taken for cheap, and all that is left
		// would be sorted for every page.
		params["enable_bitmapscan"] = "off"
	}
	dialer := &net.Dialer{
		Timeout:         opts.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 3},
	}
	cc.DialFunc = dialer.DialContext
}

func asAppRole(ns string) func(context.Context, *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set role "+AppRole(ns))
		switch SQLState(err) {
		case codeInvalidParameter, codeUndefinedObject:
			return problem(err, "The database %q has no role %s: run `seckill migrate up`.", conn.Config().Database, AppRole(ns))
		case codeForbidden:
			return problem(err, "The database user %q may not work as %s: ask an administrator to run GRANT %s TO %s.",
				conn.Config().User, AppRole(ns), AppRole(ns), pgx.Identifier{conn.Config().User}.Sanitize())
		}
		return err
	}
}
