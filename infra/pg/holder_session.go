package pg

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	tryLock = "select pg_try_advisory_lock($1)"
	unlock  = "select pg_advisory_unlock($1)"
)

// sessionRests is for how long a session without a lock stays.
const sessionRests = 5 * time.Second

// lockSession is one connection whose locks belong to many. Its goroutine alone uses
// the connection: whoever asks may give up, and takes nobody else's lock along.
type lockSession struct {
	asks  chan *lockAsk
	ended chan struct{}
	err   error // why it ended, once ended is closed; nil: nobody needed it

	held  int // locks
	since time.Time
}

// lockAsk is one question. Whoever moves it out of asked owns the lock that it took.
type lockAsk struct {
	sql   string
	key   int64
	state atomic.Int32
	done  chan struct{}
	ok    bool
	err   error
}

const (
	asked int32 = iota
	answered
	abandoned
)

// errSessionOver: it had ended before the question, because nobody needed it.
var errSessionOver = errors.New("the session has ended")

func newLockSession() *lockSession {
	return &lockSession{asks: make(chan *lockAsk), ended: make(chan struct{})}
}

func (s *lockSession) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// ask gives the answer of the server. A lock that was taken for somebody who has given
// up is given back.
func (s *lockSession) ask(ctx context.Context, sql string, key int64) (ok bool, err error) {
	a := &lockAsk{sql: sql, key: key, done: make(chan struct{})}
	select {
	case s.asks <- a:
	case <-s.ended:
		if s.err == nil {
			return false, errSessionOver
		}
		return false, s.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case <-a.done:
		return a.ok, a.err
	case <-ctx.Done():
	}
	if a.state.CompareAndSwap(asked, abandoned) {
		return false, ctx.Err()
	}
	<-a.done // in this moment
	return a.ok, a.err
}

// run answers until the connection is lost, nobody needs it for a while, or ctx ends.
func (s *lockSession) run(ctx context.Context, pool *pgxpool.Pool) {
	connecting, cancel := context.WithTimeout(ctx, 2*leaseCheckTakes)
	conn, err := connectHolder(connecting, pool)
	cancel()
	if err != nil {
		s.end(fmt.Errorf("connect to take locks: %w", err))
		return
	}
	s.end(s.serve(ctx, conn)) // holders hear of it before the connection has said good-bye
	closeQuietly(ctx, conn)
}

func (s *lockSession) end(err error) {
	s.err = err
	close(s.ended)
}

// serve gives nil when nobody needs the session.
func (s *lockSession) serve(ctx context.Context, conn *pgx.Conn) error {
	check := time.NewTicker(leaseCheckEvery)
	defer check.Stop()
	for s.since = time.Now(); ; {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case a := <-s.asks:
			err = s.answer(ctx, conn, a)
		case <-check.C:
			if s.held == 0 && time.Since(s.since) >= sessionRests {
				return nil
			}
			asking, cancel := context.WithTimeout(ctx, leaseCheckTakes)
			err = conn.Ping(asking)
			cancel()
		}
		if err != nil {
			return err
		}
	}
}

// answer asks the server within a time of its own: an error means that the session, and
// all its locks with it, is gone.
func (s *lockSession) answer(ctx context.Context, conn *pgx.Conn, a *lockAsk) error {
	defer close(a.done)
	s.since = time.Now()
	ask := func(sql string) (ok bool, err error) {
		asking, cancel := context.WithTimeout(ctx, leaseCheckTakes)
		defer cancel()
		if err = conn.QueryRow(asking, sql, a.key).Scan(&ok); err != nil {
			return false, fmt.Errorf("ask for a lock: %w", err)
		}
		if ok && sql == tryLock {
			s.held++
		}
		if sql == unlock {
			s.held--
		}
		return ok, nil
	}
	if a.ok, a.err = ask(a.sql); a.err != nil {
		return a.err
	}
	if !a.state.CompareAndSwap(asked, answered) && a.ok && a.sql == tryLock {
		_, err := ask(unlock)
		return err
	}
	return nil
}
