package pg

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Identity is who a store is: its number and uuid, and the keys that sign
// order ids, by key number. Every key has 32 bytes. It is secret: never log it.
type Identity struct {
	Store     int
	UUID      uuid.UUID
	OrderKeys map[int][]byte
	// NewestKey is the number of the key to sign with.
	NewestKey int
}

const (
	selectStore = `select number, uuid::text from store`
	selectKeys  = `select number, key from order_keys order by number`
)

// LoadIdentity reads who the store is, made once by the migrations.
func LoadIdentity(ctx context.Context, db interface {
	Querier
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}) (Identity, error) {
	id := Identity{OrderKeys: map[int][]byte{}}
	var text string
	if err := db.QueryRow(ctx, selectStore).Scan(&id.Store, &text); err != nil {
		return Identity{}, fmt.Errorf("read identity of the store: %w", err)
	}
	parsed, err := uuid.Parse(text)
	if err != nil {
		return Identity{}, fmt.Errorf("read identity of the store: %w", err)
	}
	id.UUID = parsed
	rows, err := db.Query(ctx, selectKeys)
	if err != nil {
		return Identity{}, fmt.Errorf("read order keys: %w", err)
	}
	var key []byte
	_, err = pgx.ForEachRow(rows, []any{&id.NewestKey, &key}, func() error {
		id.OrderKeys[id.NewestKey] = append([]byte(nil), key...)
		return nil
	})
	if err != nil {
		return Identity{}, fmt.Errorf("read order keys: %w", err)
	}
	if len(id.OrderKeys) == 0 {
		return Identity{}, problem(nil, "The store has no key for order ids: run `seckill migrate up`.")
	}
	return id, nil
}
