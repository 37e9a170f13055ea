package pg

import (
	"context"
	"fmt"
)

// MaxStore is the highest number of a store: an order id has one byte for it.
const MaxStore = 255

// StoreState is what must be known of a store to give it a number.
type StoreState struct {
	Number int
	UUID   string
	// Used says that something was stored, so that the number stands in what others
	// were given, and cannot change any more.
	Used bool
}

const selectStoreState = `select number, uuid::text,
	exists (select from events) or exists (select from archives) or exists (select from checkpoints) or exists (select from cursors) from store`

// StoreOf gives the state of the store of a migrated schema.
func StoreOf(ctx context.Context, db Querier) (s StoreState, err error) {
	if err := db.QueryRow(ctx, selectStoreState).Scan(&s.Number, &s.UUID, &s.Used); err != nil {
		return s, fmt.Errorf("read the number of the store: %w", err)
	}
	return s, nil
}

// OwnersStoreOf is StoreOf as the owner of a database.
func OwnersStoreOf(ctx context.Context, ownerURL, ns string) (s StoreState, err error) {
	conn, err := connectOwner(ctx, ownerURL, ns)
	if err != nil {
		return s, err
	}
	defer closeQuietly(ctx, conn)
	if _, err := conn.Exec(ctx, "set role "+OwnerRole(ns)); err != nil {
		return s, fmt.Errorf("work as %s: %w", OwnerRole(ns), err)
	}
	return StoreOf(ctx, conn)
}

const updateStoreNumber = `update store set number = $1`

// NumberStore gives a store that nothing was stored in its number, 1 to MaxStore. A
// store that was used is a Problem. No process may run on it meanwhile: it would go on
// under the old number.
func NumberStore(ctx context.Context, ownerURL, ns string, number int) error {
	if number < 1 || number > MaxStore {
		return problem(nil, "A store has a number from 1 to %d, and all are taken.", MaxStore)
	}
	conn, err := connectOwner(ctx, ownerURL, ns)
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, conn)
	if _, err := conn.Exec(ctx, "set role "+OwnerRole(ns)); err != nil {
		return fmt.Errorf("work as %s: %w", OwnerRole(ns), err)
	}
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", LockKey(ns, "migrate")); err != nil {
		return fmt.Errorf("take the migration lock: %w", err)
	}
	now, err := StoreOf(ctx, conn)
	switch {
	case err != nil:
		return err
	case now.Number == number:
		return nil
	case now.Used:
		return problem(nil, "The database at %s is store %d and holds events already: it cannot become store %d, because its number stands in every order id.",
			where(conn.Config()), now.Number, number)
	}
	if _, err := conn.Exec(ctx, updateStoreNumber, number); err != nil {
		return fmt.Errorf("number the store: %w", err)
	}
	return nil
}
