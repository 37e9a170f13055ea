package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	// Of shards without letters, which is nearly all of them, this costs one look.
	listSequences = `
select sequence, min(position), min(state) from dead_letters
where projection = $1 and version = $2 and store = $3 and shard = $4 group by sequence`

	insertLetters = `
insert into dead_letters (projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at)
select $1, $2, $3, $4, sequence, position, hash, type, state, reason, tries, clock_timestamp()
from unnest($5::text[], $6::bigint[], $7::bytea[], $8::text[], $9::text[], $10::text[], $11::int[])
  as t (sequence, position, hash, type, state, reason, tries)
on conflict do nothing`

	// countLettersChange is what other holders of the checkpoint go by.
	countLettersChange = `
update checkpoints set letters = letters + 1 where projection = $1 and version = $2 and store = $3 and shard = $4`
)

// States of a dead letter.
const (
	StateParked  = "parked"
	StateDropped = "dropped"
)

// follows is the reason of a letter that was not tried itself.
const follows = "comes after position %d of the same sequence, which is not applied"

// letter is an event on its way into dead_letters.
type letter struct {
	record *eventstore.Record
	state  string
	reason string
	tries  int
}

// parkedSequence is what a runner must know about a sequence with letters.
type parkedSequence struct {
	first int64 // position of the first letter
	state string
}

// parkedSet are the sequences of a shard that are set aside, by key.
type parkedSet map[string]parkedSequence

// loadParked reads which sequences of a shard are set aside.
func (c checkpoint) loadParked(ctx context.Context, q querier) (parkedSet, error) {
	rows, err := q.Query(ctx, listSequences, c.projection, c.version, c.store, c.shard)
	if err != nil {
		return nil, fmt.Errorf("read the dead letters of the %s: %w", c, err)
	}
	set := parkedSet{}
	var key string
	var s parkedSequence
	_, err = pgx.ForEachRow(rows, []any{&key, &s.first, &s.state}, func() error {
		set[key] = s
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dead letters of the %s: %w", c, err)
	}
	return set, nil
}

// waiting counts the sequences that wait to be applied.
func (set parkedSet) waiting() int {
	n := 0
	for _, s := range set {
		if s.state == StateParked {
			n++
		}
	}
	return n
}

// split takes the records of sequences that are set aside out of records that p
// reads. It gives records itself where there are none.
func (set parkedSet) split(p *Projection, records []eventstore.Record) (keep []eventstore.Record, late []letter) {
	if len(set) == 0 {
		return records, nil
	}
	for i := range records {
		r := &records[i]
		s, aside := set[r.SequenceKey()]
		if !aside || r.Position < s.first || !p.reads(r) {
			if late != nil {
				keep = append(keep, *r)
			}
			continue
		}
		if late == nil {
			keep = append(make([]eventstore.Record, 0, len(records)), records[:i]...)
		}
		late = append(late, letter{record: r, state: s.state, reason: fmt.Sprintf(follows, s.first)})
	}
	if late == nil {
		keep = records
	}
	return keep, late
}

// put stores letters; one that stands already stays as it is.
func (c checkpoint) put(ctx context.Context, tx pgx.Tx, letters []letter) error {
	if len(letters) == 0 {
		return nil
	}
	var (
		sequences, types, states, reasons []string
		positions                         []int64
		hashes                            [][]byte
		tries                             []int32
	)
	for _, l := range letters {
		sequences, types = append(sequences, l.record.SequenceKey()), append(types, l.record.Type)
		states, reasons = append(states, l.state), append(reasons, printable(l.reason))
		positions, hashes = append(positions, l.record.Position), append(hashes, l.record.Hash[:])
		tries = append(tries, int32(l.tries))
	}
	_, err := tx.Exec(ctx, insertLetters, c.projection, c.version, c.store, c.shard, sequences, positions, hashes, types, states, reasons, tries)
	if err != nil {
		return fmt.Errorf("park %d events: %w", len(letters), err)
	}
	return nil
}

// countChange tells whoever holds the checkpoint next that other sequences are
// set aside now.
func (c checkpoint) countChange(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, countLettersChange, c.projection, c.version, c.store, c.shard); err != nil {
		return fmt.Errorf("count a change of the dead letters: %w", err)
	}
	return nil
}

// maxReason bounds what is kept of a reason, in bytes.
const maxReason = 2000

// printable makes text that PostgreSQL stores, whatever a payload put into it.
func printable(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "…"
	}
	clean := make([]rune, 0, len(reason))
	for _, c := range reason { // bytes that are no text come as U+FFFD
		if c == 0 {
			c = '\uFFFD'
		}
		clean = append(clean, c)
	}
	return string(clean)
}

// DeadLetter is an event that a projection has not applied.
type DeadLetter struct {
	Projection string
	Version    int
	Store      int16
	Shard      int
	Sequence   string
	Position   int64
	Hash       eventstore.Hash
	Type       string
	State      string
	Reason     string
	// Tries counts attempts that failed; 0 for an event that only follows another.
	Tries    int
	ParkedAt time.Time
	// Note is what the person who dropped it said, DroppedAt when.
	Note      string
	DroppedAt time.Time
}

// DeadSequence sums up the letters of a sequence.
type DeadSequence struct {
	Projection string
	Version    int
	Shard      int
	Sequence   string
	State      string
	// First and Last are the positions of its letters, Events how many there are.
	First, Last int64
	Events      int64
	// Reason is that of the first letter.
	Reason string
	// Since is when the first was parked.
	Since time.Time
	Note  string
}

// ErrNoLetters: nothing of this sequence is set aside.
var ErrNoLetters = errors.New("no dead letters")
