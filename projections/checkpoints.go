package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/eventstore"
	"seckill/infra/pg"
)

// DB is what projections need of a database; a pgx pool is one. Its sessions
// find the tables without a schema before their names.
type DB interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const (
	countCheckpoints = `
select count(*), coalesce(max(shard) + 1, 0) from checkpoints where projection = $1 and version = $2 and store = $3`

	// Rows that another version has folded must not be folded onto.
	otherVersion = `
select version from checkpoints where projection = $1 and store = $3 and version <> $2 order by version desc limit 1`

	insertCheckpoints = `
insert into checkpoints (projection, version, store, shard, position, hash, applied_at)
select $1, $2, $3, shard, 0, $5, clock_timestamp() from generate_series(0, $4::int - 1) as shard
on conflict (projection, version, store, shard) do nothing`

	selectCheckpoint = `
select position, hash, letters from checkpoints where projection = $1 and version = $2 and store = $3 and shard = $4`

	// The commit need not wait for the disk: rows and checkpoint are lost
	// together or not at all, and what is lost is folded again from the log.
	lockCheckpoint = `
with fast as (select set_config('synchronous_commit', 'off', true))
select c.position, c.hash, c.letters from checkpoints c, fast
where projection = $1 and version = $2 and store = $3 and shard = $4 for update of c`

	moveCheckpoint = `
update checkpoints set position = $5, hash = $6, applied_at = clock_timestamp()
where projection = $1 and version = $2 and store = $3 and shard = $4`

	skipCheckpoint = `
with fast as (select set_config('synchronous_commit', 'off', true))
update checkpoints set position = $5, hash = $6, applied_at = clock_timestamp() from fast
where projection = $1 and version = $2 and store = $3 and shard = $4 and position = $7 and hash = $8 and letters = $9`

	savePlace = `
with fast as (select set_config('synchronous_commit', 'off', true))
insert into checkpoints (projection, version, store, shard, position, hash, applied_at)
select $1, $2, $3, $4, $5, $6, clock_timestamp() from fast
on conflict (projection, version, store, shard) do update
set position = excluded.position, hash = excluded.hash, applied_at = excluded.applied_at
where checkpoints.position < excluded.position`

	listCheckpoints = `
select projection, version, shard, position, hash, applied_at from checkpoints where store = $1
order by projection, version, shard`
)

// checkpoint names a row of checkpoints.
type checkpoint struct {
	projection string
	version    int
	store      int16
	shard      int
}

func (c checkpoint) String() string {
	return fmt.Sprintf("checkpoint of %s version %d, store %d, shard %d", c.projection, c.version, c.store, c.shard)
}

// errNoCheckpoint: a row that was made at the start is gone.
var errNoCheckpoint = errors.New("there is no such checkpoint")

// ShardsError says that a projection was folded with another number of shards
// than this program is set to.
type ShardsError struct {
	Projection string
	Have, Want int
}

// Error is a sentence for the operator.
func (e *ShardsError) Error() string {
	return fmt.Sprintf("the projection %s was folded with %d shards, but this program is set to %d; set it to %d or rebuild the projection",
		e.Projection, e.Have, e.Want, e.Have)
}

// VersionError says that the rows in a projection's tables are those of another
// version of its fold. They are served, but not folded on, until a rebuild has
// put those of this version in their place.
type VersionError struct {
	Projection string
	Have, Want int
}

// Error is a sentence for the operator.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the rows of %s are of version %d and this program folds version %d: run `seckill rebuild %s`",
		e.Projection, e.Have, e.Want, e.Projection)
}

// ensureCheckpoints makes the checkpoints of a projection at the beginning of
// the log where there are none. A *ShardsError where they are for another
// number, a *VersionError where its tables hold rows of another version.
func ensureCheckpoints(ctx context.Context, db DB, p *Projection, c checkpoint, shards int) error {
	return pg.InTx(ctx, db, func(tx pgx.Tx) error {
		zero := eventstore.Hash{}
		var count, next int
		if err := tx.QueryRow(ctx, countCheckpoints, c.projection, c.version, c.store).Scan(&count, &next); err != nil {
			return fmt.Errorf("count checkpoints of %s: %w", c.projection, err)
		}
		if count > 0 && (count != shards || next != shards) {
			return &ShardsError{Projection: c.projection, Have: next, Want: shards}
		}
		if count == 0 {
			if err := refuseOther(ctx, tx, p, c); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, insertCheckpoints, c.projection, c.version, c.store, shards, zero[:]); err != nil {
				return fmt.Errorf("make checkpoints of %s: %w", c.projection, err)
			}
		}
		return nil
	})
}

// standing is what a checkpoint says: how far the log is applied, and a count
// of the changes of which sequences are set aside.
type standing struct {
	at      eventstore.Mark
	letters int64
}

// refuseOther refuses to begin on rows of another version.
func refuseOther(ctx context.Context, tx pgx.Tx, p *Projection, c checkpoint) error {
	var have int
	err := tx.QueryRow(ctx, otherVersion, c.projection, c.version, c.store).Scan(&have)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for other versions of %s: %w", c.projection, err)
	}
	for _, table := range p.Tables {
		var rows bool
		err := tx.QueryRow(ctx, "select exists (select from "+pgx.Identifier{table}.Sanitize()+")").Scan(&rows)
		if err != nil {
			return fmt.Errorf("look for rows in %s: %w", table, err)
		}
		if rows {
			return &VersionError{Projection: c.projection, Have: have, Want: c.version}
		}
	}
	return nil
}

// load reads where a checkpoint stands, without a lock.
func (c checkpoint) load(ctx context.Context, db DB) (standing, error) {
	return c.scan(db.QueryRow(ctx, selectCheckpoint, c.projection, c.version, c.store, c.shard))
}

// lock reads where a checkpoint stands and keeps it from moving until tx ends.
func (c checkpoint) lock(ctx context.Context, tx pgx.Tx) (standing, error) {
	return c.scan(tx.QueryRow(ctx, lockCheckpoint, c.projection, c.version, c.store, c.shard))
}

func (c checkpoint) scan(row pgx.Row) (standing, error) {
	var (
		s    standing
		hash []byte
	)
	err := row.Scan(&s.at.Number, &hash, &s.letters)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoCheckpoint
	}
	if err != nil {
		return s, fmt.Errorf("read the %s: %w", c, err)
	}
	copy(s.at.Hash[:], hash)
	return s, nil
}

// move sets a checkpoint that tx has locked.
func (c checkpoint) move(ctx context.Context, tx pgx.Tx, to eventstore.Mark) error {
	if _, err := tx.Exec(ctx, moveCheckpoint, c.projection, c.version, c.store, c.shard, to.Number, to.Hash[:]); err != nil {
		return fmt.Errorf("move the %s: %w", c, err)
	}
	return nil
}

// skip moves a checkpoint over a stretch in which nothing is to be written;
// false when it does not stand at from.
func (c checkpoint) skip(ctx context.Context, db DB, from standing, to eventstore.Mark) (bool, error) {
	tag, err := db.Exec(ctx, skipCheckpoint, c.projection, c.version, c.store, c.shard, to.Number, to.Hash[:],
		from.at.Number, from.at.Hash[:], from.letters)
	if err != nil {
		return false, fmt.Errorf("move the %s: %w", c, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Names under which the places of relays are kept.
const (
	relayProjection  = "relay"
	publicProjection = "relay-public"
)

// Place keeps a place in the log that only moves forward, such as the relay's.
type Place struct {
	db  DB
	row checkpoint
}

// RelayPlace gives the place that the relay of a store keeps among the checkpoints.
func RelayPlace(db DB, store int16) *Place {
	return &Place{db: db, row: checkpoint{projection: relayProjection, version: 1, store: store}}
}

// PublicPlace gives the place of the relay that publishes for outsiders.
func PublicPlace(db DB, store int16) *Place {
	return &Place{db: db, row: checkpoint{projection: publicProjection, version: 1, store: store}}
}

// Load gives the place, the zero Mark where none was saved yet.
func (p *Place) Load(ctx context.Context) (eventstore.Mark, error) {
	s, err := p.row.load(ctx, p.db)
	if errors.Is(err, errNoCheckpoint) {
		return eventstore.Mark{}, nil
	}
	return s.at, err
}

// Save moves the place to at, unless it is there or further already.
func (p *Place) Save(ctx context.Context, at eventstore.Mark) error {
	r := p.row
	_, err := p.db.Exec(ctx, savePlace, r.projection, r.version, r.store, r.shard, at.Number, at.Hash[:])
	if err != nil {
		return fmt.Errorf("move the %s: %w", r, err)
	}
	return nil
}

// Checkpoint is how far a shard of a projection has applied the log.
type Checkpoint struct {
	Projection string
	Version    int
	Shard      int
	At         eventstore.Mark
	AppliedAt  time.Time
}

// checkpointsOf reads every checkpoint of a store, the relay's among them.
func checkpointsOf(ctx context.Context, q querier, store int16) ([]Checkpoint, error) {
	rows, err := q.Query(ctx, listCheckpoints, store)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Checkpoint, error) {
		var (
			c    Checkpoint
			hash []byte
		)
		err := row.Scan(&c.Projection, &c.Version, &c.Shard, &c.At.Number, &hash, &c.AppliedAt)
		copy(c.At.Hash[:], hash)
		c.AppliedAt = c.AppliedAt.UTC()
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	return all, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}
