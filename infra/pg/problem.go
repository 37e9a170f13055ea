package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Problem is a fault of opening or migrating that a person can act on. Error
// is one full sentence without secrets; the cause is behind Unwrap.
type Problem struct {
	Sentence string
	Cause    error
}

func (p *Problem) Error() string { return p.Sentence }

// Unwrap gives the cause, which is for logs and not for people.
func (p *Problem) Unwrap() error { return p.Cause }

func problem(cause error, format string, args ...any) error {
	return &Problem{Sentence: fmt.Sprintf(format, args...), Cause: cause}
}

// SQLSTATE classes and codes this package tells apart.
const (
	codeInvalidParameter  = "22023"
	codeInvalidPassword   = "28P01"
	codeInvalidAuth       = "28000"
	codeUndefinedDatabase = "3D000"
	codeUndefinedSchema   = "3F000"
	codeUndefinedTable    = "42P01"
	codeUndefinedObject   = "42704"
	codeForbidden         = "42501"
	codeDuplicateObject   = "42710"
	codeUniqueViolation   = "23505"
	codeTooMany           = "53300"
	codeStarting          = "57P03"
)

// SQLState gives the code PostgreSQL answered with, or "".
func SQLState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// Away tells whether an error means that PostgreSQL is away or overloaded for the
// moment, so that trying again may help, and not that it refused what was asked.
func Away(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	code := SQLState(err)
	switch {
	case err == nil:
		return false
	case code != "": // connection, resources, operator's intervention
		return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57")
	}
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// parseConfig reads a database URL and never repeats it in its error.
func parseConfig(url string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, problem(err, "The database URL cannot be read: it must look like postgres://user:password@host:5432/database.")
	}
	return cfg, nil
}

func where(cfg *pgx.ConnConfig) string {
	if len(cfg.Host) > 0 && cfg.Host[0] == '/' {
		return cfg.Host
	}
	return net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
}

// explainConnect turns the error of a first connection into a Problem.
func explainConnect(err error, cfg *pgx.ConnConfig) error {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	switch SQLState(err) {
	case codeInvalidPassword, codeInvalidAuth:
		return problem(err, "PostgreSQL at %s does not let %q in: check the user and password of the database URL.", where(cfg), cfg.User)
	case codeUndefinedDatabase:
		return problem(err, "PostgreSQL at %s has no database %q: create it, or name another in the database URL.", where(cfg), cfg.Database)
	case codeTooMany:
		return problem(err, "PostgreSQL at %s has no connection left: raise its max_connections or lower ours.", where(cfg))
	case codeStarting:
		return problem(err, "PostgreSQL at %s is still starting up.", where(cfg))
	case "":
		if errors.Is(err, context.Canceled) {
			return err
		}
		return problem(err, "PostgreSQL at %s cannot be reached: make sure that it is running and that the database URL names the right place.", where(cfg))
	}
	return fmt.Errorf("connect to PostgreSQL at %s: %w", where(cfg), err)
}
