package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Shares divides a fixed number of parts of some work evenly among the live
// processes that joined it. A part has one holder at a time, but for moments, as
// with a Leader: what a holder does must be fenced or idempotent.
//
// Who lives is who holds the leader lock of that name, shared: a process that leads
// all of it alone (as Leader does) keeps the others out, and they keep him out.
type Shares struct {
	pool   *pgxpool.Pool
	name   string
	member int64
	parts  []int64 // lock keys
}

// NewShares gives the division of name within namespace ns into parts. All that join
// must name the same number.
func NewShares(pool *pgxpool.Pool, ns, name string, parts int) *Shares {
	s := &Shares{pool: pool, name: name, member: LockKey(ns, "leader "+name), parts: make([]int64, parts)}
	for i := range s.parts {
		s.parts[i] = LockKey(ns, "part "+strconv.Itoa(i)+" of "+name)
	}
	return s
}

// Share is what one process holds of the parts. One goroutine at a time uses it.
type Share struct {
	shares *Shares
	conn   *pgx.Conn
	held   map[int]bool
	offset int // where it begins to look for parts
}

// shareAnswers bounds one question about the locks: a server that does not answer
// for longer is taken for gone.
const shareAnswers = 3 * time.Second

// Join makes this process one of the holders, without any part yet. It waits while
// somebody leads all of it alone, until ctx ends.
func (s *Shares) Join(ctx context.Context) (*Share, error) {
	conn, err := connectHolder(ctx, s.pool)
	if err != nil {
		return nil, fmt.Errorf("connect to share %s: %w", s.name, err)
	}
	for {
		var ok bool
		err := conn.QueryRow(ctx, "select pg_try_advisory_lock_shared($1)", s.member).Scan(&ok)
		if err != nil {
			closeQuietly(ctx, conn)
			return nil, fmt.Errorf("ask to share %s: %w", s.name, err)
		}
		if ok {
			return &Share{shares: s, conn: conn, held: map[int]bool{}, offset: rand.N(len(s.parts))}, nil
		}
		pause := time.NewTimer(leaseRetryEvery)
		select {
		case <-ctx.Done():
			pause.Stop()
			closeQuietly(ctx, conn)
			return nil, fmt.Errorf("wait to share %s: %w", s.name, ctx.Err())
		case <-pause.C:
		}
	}
}

// Held lists the parts held, in order.
func (s *Share) Held() []int {
	var held []int
	for part := range s.held {
		held = append(held, part)
	}
	slices.Sort(held)
	return held
}

// Taken tells how many of the parts somebody holds now, without taking any.
func (s *Shares) Taken(ctx context.Context) (int, error) {
	var self int32
	var pids []int32
	var keys []int64
	if err := s.pool.QueryRow(ctx, selectHolders, s.parts).Scan(&self, &pids, &keys); err != nil {
		return 0, fmt.Errorf("see who shares %s: %w", s.name, err)
	}
	slices.Sort(keys)
	return len(slices.Compact(keys)), nil
}

// Balance takes parts that nobody holds, up to the fair share, and gives those held
// beyond it: the caller ends its work on them and then calls Give. An error means
// that the locks are gone, or may be: the share is of no use any more.
func (s *Share) Balance(ctx context.Context) (surplus []int, err error) {
	ctx, cancel := context.WithTimeout(ctx, shareAnswers)
	defer cancel()
	seen, err := s.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("see who shares %s: %w", s.shares.name, err)
	}
	missing := seen.fair - len(s.held)
	if missing < 0 {
		return s.Held()[seen.fair:], nil
	}
	var free []int
	for i := range s.shares.parts {
		part := (s.offset + i) % len(s.shares.parts)
		if len(free) < missing && !seen.taken[part] {
			free = append(free, part)
		}
	}
	if err := s.take(ctx, free); err != nil {
		return nil, fmt.Errorf("take parts of %s: %w", s.shares.name, err)
	}
	return nil, nil
}

const selectHolders = `select pg_backend_pid(), coalesce(array_agg(l.pid order by l.pid), '{}'), coalesce(array_agg(k.key order by l.pid), '{}')
	from pg_locks l, lateral (select (l.classid::bigint << 32) | l.objid::bigint as key) k
	where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and k.key = any($1)
	and l.database = (select oid from pg_database where datname = current_database())`

// sharing is how the parts are divided at one moment.
type sharing struct {
	fair  int          // of this process: as many as of any other, or one more
	taken map[int]bool // by anybody
}

var errShareLost = errors.New("the server holds no lock of this session")

func (s *Share) look(ctx context.Context) (sharing, error) {
	var self int32
	var pids []int32
	var keys []int64
	err := s.conn.QueryRow(ctx, selectHolders, append([]int64{s.shares.member}, s.shares.parts...)).Scan(&self, &pids, &keys)
	if err != nil {
		return sharing{}, err
	}
	seen := sharing{taken: map[int]bool{}}
	members, before, here := 0, 0, false
	for i, key := range keys {
		if key != s.shares.member {
			seen.taken[slices.Index(s.shares.parts, key)] = true
			continue
		}
		if here = here || pids[i] == self; !here {
			before++
		}
		members++
	}
	if !here {
		return sharing{}, errShareLost
	}
	seen.fair = len(s.shares.parts) / members
	if before < len(s.shares.parts)%members { // the rest goes to the first of them
		seen.fair++
	}
	return seen, nil
}

func (s *Share) take(ctx context.Context, parts []int) error {
	for _, part := range parts {
		var ok bool
		if err := s.conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", s.shares.parts[part]).Scan(&ok); err != nil {
			return err
		}
		if ok {
			s.held[part] = true
		}
	}
	return nil
}

// Give lets go of parts on which the caller works no longer.
func (s *Share) Give(ctx context.Context, parts []int) error {
	ctx, cancel := context.WithTimeout(ctx, shareAnswers)
	defer cancel()
	for _, part := range parts {
		if _, err := s.conn.Exec(ctx, "select pg_advisory_unlock($1)", s.shares.parts[part]); err != nil {
			return fmt.Errorf("give back part %d of %s: %w", part, s.shares.name, err)
		}
		delete(s.held, part)
	}
	return nil
}

// Leave gives everything back.
func (s *Share) Leave(ctx context.Context) {
	closeQuietly(ctx, s.conn) // the locks end with their session
}
