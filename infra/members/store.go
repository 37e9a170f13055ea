package members

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store keeps lists; see commands.MemberLists.
type Store struct {
	pool    *pgxpool.Pool
	storing time.Duration
}

// New makes a store. A list that was begun less than storing ago is left out by
// Lists: somebody may still be adding to it.
func New(pool *pgxpool.Pool, storing time.Duration) *Store {
	return &Store{pool: pool, storing: storing}
}

const insertPart = `insert into sale_members (list, part, sale_id, buyers) values ($1, $2, $3, $4)`

// AddPart stores a part of a list.
func (s *Store) AddPart(ctx context.Context, sale, list string, part int, buyers []string) error {
	if _, err := s.pool.Exec(ctx, insertPart, list, part, sale, buyers); err != nil {
		return fmt.Errorf("store part %d of member list %s: %w", part, list, err)
	}
	return nil
}

const selectParts = `select buyers from sale_members where list = $1 order by part`

// Read gives a list part by part; one part is in memory at a time.
func (s *Store) Read(ctx context.Context, list string, each func(buyers []string)) error {
	rows, err := s.pool.Query(ctx, selectParts, list)
	if err != nil {
		return fmt.Errorf("read member list %s: %w", list, err)
	}
	var buyers []string
	_, err = pgx.ForEachRow(rows, []any{&buyers}, func() error {
		each(buyers)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read member list %s: %w", list, err)
	}
	return nil
}

const deleteList = `delete from sale_members where list = $1`

// Drop takes a list away; one that is not there is no error.
func (s *Store) Drop(ctx context.Context, list string) error {
	if _, err := s.pool.Exec(ctx, deleteList, list); err != nil {
		return fmt.Errorf("take member list %s away: %w", list, err)
	}
	return nil
}

const selectLists = `select list from sale_members where sale_id = $1 and part = 0 and stored_at <= now() - make_interval(secs => $2) order by list`

// Lists names the lists of a sale that nobody can be storing any more.
func (s *Store) Lists(ctx context.Context, sale string) ([]string, error) {
	rows, err := s.pool.Query(ctx, selectLists, sale, s.storing.Seconds())
	if err != nil {
		return nil, fmt.Errorf("look for member lists of sale %s: %w", sale, err)
	}
	lists, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for member lists of sale %s: %w", sale, err)
	}
	return lists, nil
}
