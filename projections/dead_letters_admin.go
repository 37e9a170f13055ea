package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/infra/pg"
)

const (
	listDeadSequences = `
select projection, version, shard, sequence, min(state), min(position), max(position), count(*),
  (array_agg(reason order by position))[1], min(parked_at), (array_agg(note order by position))[1]
from dead_letters
where store = $1 and ($2 = '' or projection = $2) and ($3 = '' or sequence = $3)
group by projection, version, shard, sequence order by projection, version, min(position), sequence`

	listFirstSequences = listDeadSequences + ` limit $4`

	showLetters = `
select projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at, note, dropped_at
from dead_letters
where store = $1 and ($2 = '' or projection = $2) and sequence = $3 order by projection, version, position limit $4`

	nextLetters = `
select projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at, note, dropped_at
from dead_letters
where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5 order by position limit $6`

	deleteLetters = `
delete from dead_letters
where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5 and position <= $6`

	hasLetters = `
select exists (select from dead_letters
where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5)`

	// The first letter carries what was tried.
	noteTry = `
update dead_letters set tries = tries + 1, reason = $6
where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5
  and position = (select min(position) from dead_letters
    where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5)`

	dropLetters = `
update dead_letters set state = 'dropped', note = $6, dropped_at = clock_timestamp()
where projection = $1 and version = $2 and store = $3 and shard = $4 and sequence = $5`
)

// maxShown bounds the letters that Show gives.
const maxShown = 10_000

// retryPage is how many events of a sequence one transaction applies.
const retryPage = 200

// DeadLetters lets a person look at what is set aside, have it tried again, or
// give it up.
type DeadLetters struct {
	DB          DB
	Source      Source
	Projections []Projection
}

// List sums up what is set aside by sequence, of one projection and sequence or,
// where they are "", of all.
func (d DeadLetters) List(ctx context.Context, projection, sequence string) ([]DeadSequence, error) {
	return collectSequences(d.DB.Query(ctx, listDeadSequences, d.Source.Store, projection, sequence))
}

// First is List, but no more than so many of them.
func (d DeadLetters) First(ctx context.Context, projection, sequence string, most int) ([]DeadSequence, error) {
	return collectSequences(d.DB.Query(ctx, listFirstSequences, d.Source.Store, projection, sequence, most))
}

func collectSequences(rows pgx.Rows, err error) ([]DeadSequence, error) {
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanSequence)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return all, nil
}

func scanSequence(row pgx.CollectableRow) (DeadSequence, error) {
	var s DeadSequence
	err := row.Scan(&s.Projection, &s.Version, &s.Shard, &s.Sequence, &s.State, &s.First, &s.Last, &s.Events, &s.Reason, &s.Since, &s.Note)
	s.Since = s.Since.UTC()
	return s, err
}

// Show gives the letters of a sequence in order, up to 10,000 of them.
func (d DeadLetters) Show(ctx context.Context, projection, sequence string) ([]DeadLetter, error) {
	return collectLetters(d.DB.Query(ctx, showLetters, d.Source.Store, projection, sequence, maxShown))
}

func collectLetters(rows pgx.Rows, err error) ([]DeadLetter, error) {
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DeadLetter, error) {
		var (
			l       DeadLetter
			hash    []byte
			dropped *time.Time
		)
		err := row.Scan(&l.Projection, &l.Version, &l.Store, &l.Shard, &l.Sequence, &l.Position, &hash, &l.Type,
			&l.State, &l.Reason, &l.Tries, &l.ParkedAt, &l.Note, &dropped)
		copy(l.Hash[:], hash)
		l.ParkedAt, l.DroppedAt = l.ParkedAt.UTC(), orZero(dropped)
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	return all, nil
}

// Retry applies what is set aside of a sequence, in order, from the store and
// under the lock of its checkpoint; afterwards the sequence goes on like any
// other. It gives how many events it applied. Where one still cannot be applied
// the sequence stays set aside from there on, and the error is ErrUnfit.
// ErrNoLetters where there is nothing of it.
func (d DeadLetters) Retry(ctx context.Context, s DeadSequence) (applied int, err error) {
	p, err := d.projection(s)
	if err != nil {
		return 0, err
	}
	row := d.row(s)
	for {
		n, done, err := d.retryPage(ctx, p, row, s.Sequence)
		applied += n
		if isUnfit(err) {
			if _, noteErr := d.DB.Exec(ctx, noteTry, row.projection, row.version, row.store, row.shard, s.Sequence, printable(err.Error())); noteErr != nil {
				err = errors.Join(err, fmt.Errorf("note the attempt: %w", noteErr))
			}
		}
		if err != nil {
			return applied, fmt.Errorf("retry %s in %s: %w", s.Sequence, s.Projection, err)
		}
		if done {
			return applied, nil
		}
	}
}

// retryPage applies the next letters of a sequence; done when none is left.
func (d DeadLetters) retryPage(ctx context.Context, p *Projection, row checkpoint, sequence string) (n int, done bool, err error) {
	key := []any{row.projection, row.version, row.store, row.shard, sequence}
	letters, err := collectLetters(d.DB.Query(ctx, nextLetters, append(key, retryPage)...))
	if err != nil {
		return 0, false, err
	}
	if len(letters) == 0 {
		return 0, false, ErrNoLetters
	}
	rows, err := d.fold(ctx, p, letters)
	if err != nil {
		return 0, false, err
	}
	last := letters[len(letters)-1].Position
	err = pg.InTx(ctx, d.DB, func(tx pgx.Tx) error {
		if _, err := row.lock(ctx, tx); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, deleteLetters, append(key, last)...)
		if err != nil {
			return fmt.Errorf("take %d letters out: %w", len(letters), err)
		}
		if tag.RowsAffected() != int64(len(letters)) {
			return errors.New("somebody else retries this sequence right now")
		}
		if err := rows.Write(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, hasLetters, key...).Scan(&done); err != nil {
			return fmt.Errorf("look for more letters: %w", err)
		}
		done = !done
		return row.countChange(ctx, tx)
	})
	if err != nil {
		return 0, false, err
	}
	return len(letters), done, nil
}

// fold reads the events of letters from the store and folds them.
func (d DeadLetters) fold(ctx context.Context, p *Projection, letters []DeadLetter) (Rows, error) {
	records := make([]eventstore.Record, len(letters))
	for i, l := range letters {
		found, err := d.Source.Log.ReadAll(ctx, l.Position-1, 1)
		if err != nil {
			return nil, fmt.Errorf("read the event at position %d: %w", l.Position, err)
		}
		if len(found) == 0 || found[0].Position != l.Position || found[0].Hash != l.Hash {
			return nil, fmt.Errorf("read the event at position %d: %w", l.Position, eventstore.ErrLogChanged)
		}
		records[i] = found[0]
	}
	facts, err := p.facts(records, &decoder{}, 1)
	if err != nil {
		return nil, err
	}
	rows, err := p.fold(Share{Store: d.Source.Store, Shard: letters[0].Shard}, facts)
	if err != nil {
		return nil, fmt.Errorf("fold the events from position %d: %w", letters[0].Position, err)
	}
	return rows, nil
}

// Drop gives a sequence up: it and what follows of it is never applied, unless
// somebody retries it. The note, who and why, is kept with it and must be given.
func (d DeadLetters) Drop(ctx context.Context, s DeadSequence, note string) error {
	if strings.TrimSpace(note) == "" {
		return errors.New("dropping a sequence needs a reason")
	}
	row := d.row(s)
	err := pg.InTx(ctx, d.DB, func(tx pgx.Tx) error {
		if _, err := row.lock(ctx, tx); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, dropLetters, row.projection, row.version, row.store, row.shard, s.Sequence, printable(note))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrNoLetters
		}
		return row.countChange(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("drop %s in %s: %w", s.Sequence, s.Projection, err)
	}
	return nil
}

func (d DeadLetters) row(s DeadSequence) checkpoint {
	return checkpoint{projection: s.Projection, version: s.Version, store: d.Source.Store, shard: s.Shard}
}

// projection finds the fold that s was set aside by.
func (d DeadLetters) projection(s DeadSequence) (*Projection, error) {
	for i := range d.Projections {
		if p := &d.Projections[i]; p.Name == s.Projection && p.Version == s.Version {
			return p, nil
		}
	}
	return nil, fmt.Errorf("this program does not fold %s in version %d", s.Projection, s.Version)
}
