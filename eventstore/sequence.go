package eventstore

import (
	"errors"
	"fmt"
	"hash/fnv"
)

// DefaultShards is how many shards readers of the log split it into unless told
// otherwise. Checkpoints are kept per shard: a database that has been read with
// one number is not read with another without a rebuild.
const DefaultShards = 8

// MaxShards bounds the number of shards.
const MaxShards = 256

// SequenceKey names what must be applied in order: the order of the record if
// it has one, else its stream. Records of one key are in one shard, and what
// cannot be applied is set aside together with what follows of its key.
func (r *Record) SequenceKey() string {
	if r.OrderID != "" {
		return r.OrderID
	}
	return r.Stream
}

// ShardOf gives the shard of a sequence key, 0 to shards-1. It is the same on
// every machine and in every version: rows and checkpoints are kept by it.
func ShardOf(key string, shards int) int {
	if shards <= 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	// fnv's bits mix poorly where keys differ in their last letters only.
	s := h.Sum64()
	s ^= s >> 32
	s *= 0x9E3779B97F4A7C15
	return int((s >> 33) % uint64(shards))
}

// Shard gives the shard of a record.
func (r *Record) Shard(shards int) int { return ShardOf(r.SequenceKey(), shards) }

// ErrLogChanged: the log does not go on from the place it was read up to. It
// went back (a backup was restored) and perhaps grew again, or lost a record.
var ErrLogChanged = errors.New("the log is not the one that was read before")

// CheckNext tells whether r stands right behind m: at the next position, its
// hash a link to that of m. ErrLogChanged otherwise.
func CheckNext(m Mark, r *Record) error {
	if r.Position != m.Number+1 {
		return fmt.Errorf("read on after position %d: the next record is at %d: %w", m.Number, r.Position, ErrLogChanged)
	}
	if ComputeHash(m.Hash, r) != r.Hash {
		return fmt.Errorf("read on after position %d: the hash of the next record does not follow %s: %w", m.Number, m.Hash, ErrLogChanged)
	}
	return nil
}

// Batch is every record that one shard has after Prev and up to Last, in order;
// it may be empty. Prev and Last are places of the whole log, whether or not
// the record there is of this shard. Who gets a batch must not change Records.
type Batch struct {
	Store   int16
	Shard   int
	Shards  int
	Prev    Mark
	Last    Mark
	Records []Record
}

// Validate tells what is wrong with a batch that came from elsewhere: a shard
// out of range, places that do not go forward, records outside of them, out of
// order or of another shard.
func (b *Batch) Validate() error {
	switch {
	case b.Store < 1:
		return fmt.Errorf("batch of store %d: want 1 or more", b.Store)
	case b.Shards < 1 || b.Shards > MaxShards || b.Shard < 0 || b.Shard >= b.Shards:
		return fmt.Errorf("batch of shard %d of %d: want a shard of 1 to %d", b.Shard, b.Shards, MaxShards)
	case b.Prev.Number < 0 || b.Last.Number <= b.Prev.Number:
		return fmt.Errorf("batch after %d up to %d: want it to go forward", b.Prev.Number, b.Last.Number)
	}
	at := b.Prev.Number
	for i := range b.Records {
		r := &b.Records[i]
		if r.Position <= at || r.Position > b.Last.Number {
			return fmt.Errorf("batch after %d up to %d: record at position %d is out of place", at, b.Last.Number, r.Position)
		}
		if s := r.Shard(b.Shards); s != b.Shard {
			return fmt.Errorf("batch of shard %d: record at position %d is of shard %d", b.Shard, r.Position, s)
		}
		at = r.Position
	}
	return nil
}

// After gives the part of b that lies behind a place at or after Prev; it may
// be empty of records. It shares them with b.
func (b Batch) After(m Mark) Batch {
	for len(b.Records) > 0 && b.Records[0].Position <= m.Number {
		b.Records = b.Records[1:]
	}
	b.Prev = m
	return b
}
