package pg

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Activity is what the clients of a database do.
type Activity struct {
	Active, Idle, IdleInTransaction, Other int
	// WaitingForLocks are among the active ones.
	WaitingForLocks int
	// Max is max_connections of the server.
	Max int
	// Oldest is the age of the oldest transaction; 0 where none is open.
	Oldest time.Duration
	// Slow are the statements that have run for longer than was asked for, the slowest
	// first.
	Slow []Statement
}

// Statement is one that runs.
type Statement struct {
	PID         int
	Application string
	Took        time.Duration
	Wait        string // as PostgreSQL names it, such as Lock:advisory; "" for none
	Query       string // its beginning
}

const selectActivity = `
select pid, coalesce(application_name, ''), coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''),
  coalesce(extract(epoch from clock_timestamp() - query_start), 0)::float8, coalesce(extract(epoch from clock_timestamp() - xact_start), 0)::float8,
  left(coalesce(query, ''), 200), current_setting('max_connections')::int
from pg_stat_activity
where datname = current_database() and coalesce(backend_type, 'client backend') = 'client backend'`

// LookAtActivity asks what all clients of the database do, the one that asks among
// them. slow is from when on a statement is slow. It asks as the user that it signed in
// as, who may see sessions of that user, which the application's role may not.
func LookAtActivity(ctx context.Context, db interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}, slow time.Duration) (Activity, error) {
	var a Activity
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local role none"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectActivity)
		if err != nil {
			return err
		}
		var s session
		_, err = pgx.ForEachRow(rows, []any{&s.PID, &s.Application, &s.state, &s.waitType, &s.wait, &s.query, &s.transaction, &s.Query, &a.Max}, func() error {
			if s.PID != int(tx.Conn().PgConn().PID()) {
				a.add(s, slow)
			} else {
				a.Active++
			}
			return nil
		})
		return err
	})
	if err != nil {
		return Activity{}, fmt.Errorf("look at what the database does: %w", err)
	}
	slices.SortFunc(a.Slow, func(x, y Statement) int { return int(y.Took - x.Took) })
	return a, nil
}

// session is a row of pg_stat_activity.
type session struct {
	Statement
	state, waitType, wait string
	query, transaction    float64 // seconds
}

func (a *Activity) add(s session, slow time.Duration) {
	a.Oldest = max(a.Oldest, seconds(s.transaction))
	switch s.state {
	case "active":
		a.Active++
	case "idle":
		a.Idle++
	case "idle in transaction", "idle in transaction (aborted)":
		a.IdleInTransaction++
	default:
		a.Other++
	}
	if s.state != "active" {
		return
	}
	if s.waitType == "Lock" {
		a.WaitingForLocks++
	}
	if s.Took = seconds(s.query); s.Took > slow {
		if s.waitType != "" {
			s.Wait = s.waitType + ":" + s.wait
		}
		a.Slow = append(a.Slow, s.Statement)
	}
}

func seconds(s float64) time.Duration { return max(time.Duration(s*float64(time.Second)), 0) }
